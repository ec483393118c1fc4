// The router: logits in f32 (threads share the experts), then per token scores, choice and mixing weights.
// The order of every sum is that of the experts, so nothing depends on batch or threads.
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/linear_part.h"
#include "backend/cpu/kernels/math.h"

namespace skua::cpu::SKUA_ISA {
namespace {

/// out[i] = fn(in[i]), 16 at a time.
template <typename Fn>
void map_row(const float* in, int64_t n, float* out, Fn&& fn) {
  for (int64_t i = 0; i < n; i += 16) {
    const int64_t count = min_of(int64_t{16}, n - i);
    store_part(out + i, fn(load_part(in + i, count)), count);
  }
}

void score_row(RouterScore score, const float* logits, int64_t n, float* scores) {
  if (score == RouterScore::kSigmoid) {
    map_row(logits, n, scores, [](V16 x) { return sigmoid(x); });
    return;
  }
  float top = logits[0];
  for (int64_t i = 1; i < n; ++i) top = max_of(top, logits[i]);
  map_row(logits, n, scores, [&](V16 x) { return exp(x - splat(top)); });
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) sum += scores[i];
  map_row(scores, n, scores, [&](V16 x) { return x / splat(sum); });
}

constexpr float kOpen = 1.0f, kClosed = 0.0f;

/// Closes the `n_best` largest of the open values (ties: the lower index first) by setting state to `mark`.
void mark_best(const float* values, int64_t n, int64_t n_best, float* state, float mark) {
  for (int64_t k = 0; k < n_best; ++k) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (state[i] == kOpen && (best < 0 || values[i] > values[best])) best = i;
    }
    if (best >= 0) state[best] = mark;
  }
}

constexpr float kChosen = 2.0f;

/// One token's memory: the output row holds its logits and gets the mixing weights.
struct Token {
  const MoeRouter& op;
  int64_t n;
  float* row;
  float* scores;  // [n]
  float* choice;  // [n]
  float* state;   // [n]
  float* groups;  // [n_groups]

  /// Closes the experts of all but the best groups.
  void limit_groups() const {
    const int64_t size = n / op.n_groups;
    float group_state[kMaxRouterGroups];
    for (int64_t g = 0; g < op.n_groups; ++g) {
      float first = choice[g * size], second = -__builtin_inff();
      for (int64_t i = g * size + 1; i < (g + 1) * size; ++i) {
        if (choice[i] > first) {
          second = first;
          first = choice[i];
        } else if (choice[i] > second) {
          second = choice[i];
        }
      }
      groups[g] = op.group_score == GroupScore::kTopTwoSum && size > 1 ? first + second : first;
      group_state[g] = kOpen;
    }
    mark_best(groups, op.n_groups, op.top_k_groups, group_state, kChosen);
    for (int64_t i = 0; i < n; ++i) {
      if (group_state[i / size] != kChosen) state[i] = kClosed;
    }
  }

  void route(const float* selection_bias, const float* expert_scale) const {
    score_row(op.score, row, n, scores);
    for (int64_t i = 0; i < n; ++i) {
      choice[i] = selection_bias == nullptr ? row[i] : scores[i] + selection_bias[i];
      state[i] = kOpen;
    }
    if (op.n_groups > 1) limit_groups();
    mark_best(choice, n, op.top_k, state, kChosen);
    float divisor = 1.0f;
    if (op.normalize == MoeRouter::Normalize::kYes) {
      float sum = 0.0f;
      for (int64_t i = 0; i < n; ++i) sum += state[i] == kChosen ? scores[i] : 0.0f;
      divisor = max_of(sum, op.sum_floor) + op.sum_eps;
    }
    for (int64_t i = 0; i < n; ++i) {
      float weight = state[i] == kChosen ? scores[i] / divisor * op.scale : 0.0f;
      if (expert_scale != nullptr && state[i] == kChosen) weight *= expert_scale[i];
      row[i] = weight;
    }
  }
};

}  // namespace

void moe_router(const KernelCall& kernel_call) {
  const Call<RouterArgs> call(kernel_call);
  const PartView view(call.args.part, call.operands);
  const int64_t n_x = call.n_rows(), n = view.part.weight.rows, k = view.part.weight.cols;
  float* y = call.output(0);
  call.thread_ranges(n, max_of(int64_t{kRowTile}, 65536 / (k * max_of(n_x, int64_t{1}))),
                     [&](int thread, int64_t begin, int64_t end) {
                       auto* scratch = reinterpret_cast<float*>(call.workspace(thread));
                       for (int64_t row = begin; row < end; row += kLinearTileRows) {
                         DotTile tile = view.load_rows(row, min_of(kLinearTileRows, end - row), n_x, scratch);
                         tile.x = call.input(0);
                         tile.x_stride = k;
                         tile.n_x = n_x;
                         dot_tile(tile, y + row, n);
                         view.add_bias(row, tile.n, n_x, y + row, n);
                       }
                     });
  const auto vector = [&](int operand) {
    return operand < 0 ? nullptr : reinterpret_cast<const float*>(call.operands[operand]);
  };
  const float* selection_bias = vector(call.args.selection_bias_operand);
  const float* expert_scale = vector(call.args.expert_scale_operand);
  call.thread_ranges(n_x, 16, [&](int thread, int64_t begin, int64_t end) {
    auto* memory = reinterpret_cast<float*>(call.workspace(thread) + scratch_bytes(k));
    const int64_t stride = n + 16;
    for (int64_t t = begin; t < end; ++t) {
      Token{call.args.op, n, y + t * n, memory, memory + stride, memory + 2 * stride, memory + 3 * stride}
          .route(selection_bias, expert_scale);
    }
  });
}

}  // namespace skua::cpu::SKUA_ISA
