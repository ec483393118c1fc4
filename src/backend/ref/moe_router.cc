// MoeRouter: scores, choice and mixing weights of one token. The choice may be biased; the mixing weight
// never is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/ref/parts.h"

namespace skua::ref {
namespace {

constexpr double kOut = -std::numeric_limits<double>::infinity();

/// Indices of the `n` largest values, ties to the lower index.
std::vector<size_t> best(const std::vector<double>& values, size_t n) {
  std::vector<size_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(n);
  return order;
}

std::vector<double> scores_of(RouterScore score, const std::vector<double>& logits) {
  std::vector<double> out(logits);
  if (score == RouterScore::kSigmoid) {
    for (double& s : out) s = 1.0 / (1.0 + std::exp(-s));
    return out;
  }
  const double maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (double& s : out) sum += s = std::exp(s - maximum);
  for (double& s : out) s /= sum;
  return out;
}

/// Takes the experts of all but the best groups out of the choice.
void limit_groups(const MoeRouter& op, std::vector<double>& choice) {
  if (op.n_groups == 1) return;
  const size_t size = choice.size() / static_cast<size_t>(op.n_groups);
  std::vector<double> groups;
  for (size_t g = 0; g < static_cast<size_t>(op.n_groups); ++g) {
    std::vector<double> members(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                                choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
    std::sort(members.rbegin(), members.rend());
    const bool two = op.group_score == GroupScore::kTopTwoSum && size > 1;
    groups.push_back(two ? members[0] + members[1] : members[0]);
  }
  std::vector<char> kept(groups.size(), 0);
  for (size_t g : best(groups, static_cast<size_t>(op.top_k_groups))) kept[g] = 1;
  for (size_t e = 0; e < choice.size(); ++e) {
    if (kept[e / size] == 0) choice[e] = kOut;
  }
}

}  // namespace

void moe_router(const Call& call) {
  const auto& op = call.op<MoeRouter>();
  size_t next = 0;
  const EncodedMatrix w = call.weight(next++);
  const auto vector_or = [&](bool given, double fallback) {
    return given ? call.weight_row(next++, 0) : std::vector<double>(static_cast<size_t>(w.rows), fallback);
  };
  const std::vector<double> bias = vector_or(op.bias.has_value(), 0.0);
  const std::vector<double> selection_bias = vector_or(op.selection_bias.has_value(), 0.0);
  const std::vector<double> expert_scale = vector_or(op.expert_scale.has_value(), 1.0);
  std::vector<std::vector<double>> matrix;
  for (int64_t e = 0; e < w.rows; ++e) matrix.push_back(call.weight_row(0, e));
  const Rows x = call.input(0);
  const Rows y = call.output(0);
  for_each(call.pool, x.n, [&](int64_t t) {
    std::vector<double> logits;
    for (size_t e = 0; e < matrix.size(); ++e)
      logits.push_back(dot(x.row(t), matrix[e].data(), x.width) + bias[e]);
    const std::vector<double> scores = scores_of(op.score, logits);
    std::vector<double> choice = logits;
    if (op.selection_bias) {
      for (size_t e = 0; e < choice.size(); ++e) choice[e] = scores[e] + selection_bias[e];
    }
    limit_groups(op, choice);
    std::vector<size_t> chosen = best(choice, static_cast<size_t>(op.top_k));
    std::sort(chosen.begin(), chosen.end());
    double sum = 0.0;
    for (size_t e : chosen) sum += scores[e];
    const double divisor = op.normalize == MoeRouter::Normalize::kYes
                               ? std::max(sum, double{op.sum_floor}) + double{op.sum_eps}
                               : 1.0;
    for (int64_t e = 0; e < y.width; ++e) y.store(t, e, 0.0);
    for (size_t e : chosen) {
      y.store(t, static_cast<int64_t>(e), scores[e] / divisor * double{op.scale} * expert_scale[e]);
    }
  });
}

}  // namespace skua::ref
