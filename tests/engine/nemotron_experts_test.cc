// Nemotron-H's layers of experts, for which there is no golden case, against a float64 written here from the
// published description (transformers modeling_nemotron_h.py, 5.17: NemotronHMoE).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr int64_t kWidth = 24, kVocab = 30;

using Matrix = std::vector<std::vector<double>>;  // rows

/// Random numbers by name: every checkpoint here has the same ones under a name.
std::vector<float> numbers(const std::string& name, int64_t n, double size) {
  uint64_t state = 7;
  for (const char c : name) state = state * 1099511628211u + static_cast<unsigned char>(c);
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<float>(size * (static_cast<double>(state >> 40) / 8388608.0 - 1.0)));
  }
  return out;
}

Matrix matrix(const std::string& name, int64_t rows, int64_t cols, double size = 0.4) {
  const std::vector<float> flat = numbers(name, rows * cols, size);
  Matrix out;
  for (int64_t r = 0; r < rows; ++r) out.emplace_back(flat.begin() + r * cols, flat.begin() + (r + 1) * cols);
  return out;
}

std::vector<double> times(const Matrix& m, const std::vector<double>& x) {
  std::vector<double> out;
  for (const auto& row : m) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
    out.push_back(sum);
  }
  return out;
}

std::vector<double> mlp(const Matrix& up, const Matrix& down, const std::vector<double>& x) {
  std::vector<double> hidden = times(up, x);
  for (double& h : hidden) h = h > 0 ? h * h : 0;
  return times(down, hidden);
}

std::vector<double> norm(std::vector<double> x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  for (double& v : x) v *= scale;
  return x;
}

struct Sizes {
  int64_t n_experts, top_k, n_group, topk_group, d_ff, d_shared, latent;
  double scale;
};

const std::string kMixer = "backbone.layers.0.mixer.";

std::string expert(int64_t e) { return kMixer + "experts." + std::to_string(e) + "."; }

/// What the layer makes of the normed stream x, from the published description.
std::vector<double> experts64(const Sizes& s, const std::vector<double>& x) {
  const std::vector<double> logits = times(matrix(kMixer + "gate.weight", s.n_experts, kWidth), x);
  const std::vector<float> bias = numbers(kMixer + "gate.e_score_correction_bias", s.n_experts, 0.3);
  std::vector<double> score, choice;
  for (size_t e = 0; e < logits.size(); ++e) {
    score.push_back(1.0 / (1.0 + std::exp(-logits[e])));
    choice.push_back(score[e] + bias[e]);
  }
  const int64_t per_group = s.n_experts / s.n_group;
  std::vector<std::pair<double, int64_t>> groups;
  for (int64_t g = 0; g < s.n_group; ++g) {
    std::vector<double> own(choice.begin() + g * per_group, choice.begin() + (g + 1) * per_group);
    std::sort(own.rbegin(), own.rend());
    groups.emplace_back(own[0] + (own.size() > 1 ? own[1] : 0.0), g);
  }
  std::sort(groups.rbegin(), groups.rend());
  std::vector<std::pair<double, size_t>> order;
  for (int64_t i = 0; i < s.topk_group; ++i)
    for (int64_t e = groups[static_cast<size_t>(i)].second * per_group, end = e + per_group; e < end; ++e)
      order.emplace_back(choice[static_cast<size_t>(e)], static_cast<size_t>(e));
  std::sort(order.rbegin(), order.rend());
  order.resize(static_cast<size_t>(s.top_k));
  double sum = 1e-20;
  for (const auto& [c, e] : order) sum += score[e];
  std::vector<double> in = x;
  if (s.latent > 0) in = times(matrix(kMixer + "fc1_latent_proj.weight", s.latent, kWidth), x);
  const auto width = static_cast<int64_t>(in.size());
  std::vector<double> y(in.size(), 0.0);
  for (const auto& [c, e] : order) {
    const std::string p = expert(static_cast<int64_t>(e));
    const auto part =
        mlp(matrix(p + "up_proj.weight", s.d_ff, width), matrix(p + "down_proj.weight", width, s.d_ff), in);
    for (size_t i = 0; i < y.size(); ++i) y[i] += s.scale * score[e] / sum * part[i];
  }
  if (s.latent > 0) y = times(matrix(kMixer + "fc2_latent_proj.weight", kWidth, s.latent), y);
  const auto shared = mlp(matrix(kMixer + "shared_experts.up_proj.weight", s.d_shared, kWidth),
                          matrix(kMixer + "shared_experts.down_proj.weight", kWidth, s.d_shared), x);
  for (size_t i = 0; i < y.size(); ++i) y[i] += shared[i];
  return y;
}

/// A model of one layer of experts.
std::unique_ptr<MemoryCheckpoint> checkpoint_of(const Sizes& s) {
  Json config = *parse_json(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "E", "hidden_size": 24,
    "vocab_size": 30, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 8, "head_dim": 12,
    "mamba_num_heads": 2, "mamba_head_dim": 8, "n_groups": 1, "ssm_state_size": 4, "layer_norm_epsilon": 1e-5,
    "max_position_embeddings": 256})");
  const auto set = [&](const char* key, int64_t value) { config.set(key, Json(value)); };
  set("n_routed_experts", s.n_experts);
  set("num_experts_per_tok", s.top_k);
  set("n_group", s.n_group);
  set("topk_group", s.topk_group);
  set("moe_intermediate_size", s.d_ff);
  set("moe_shared_expert_intermediate_size", s.d_shared);
  if (s.latent > 0) set("moe_latent_size", s.latent);
  config.set("routed_scaling_factor", Json(s.scale));
  auto out = std::make_unique<MemoryCheckpoint>("experts");
  out->set_config(config);
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, double size = 0.4) {
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    SKUA_CHECK(out->add_values(name, std::move(shape), DType::kF32, numbers(name, n, size)).ok());
  };
  const int64_t in = s.latent > 0 ? s.latent : kWidth;
  add("backbone.embeddings.weight", {kVocab, kWidth}, 1.0);
  add("lm_head.weight", {kVocab, kWidth});
  add(kMixer + "gate.weight", {s.n_experts, kWidth});
  add(kMixer + "gate.e_score_correction_bias", {s.n_experts}, 0.3);
  for (int64_t e = 0; e < s.n_experts; ++e) {
    add(expert(e) + "up_proj.weight", {s.d_ff, in});
    add(expert(e) + "down_proj.weight", {in, s.d_ff});
  }
  add(kMixer + "shared_experts.up_proj.weight", {s.d_shared, kWidth});
  add(kMixer + "shared_experts.down_proj.weight", {kWidth, s.d_shared});
  if (s.latent > 0) add(kMixer + "fc1_latent_proj.weight", {s.latent, kWidth});
  if (s.latent > 0) add(kMixer + "fc2_latent_proj.weight", {kWidth, s.latent});
  const std::vector<float> ones(static_cast<size_t>(kWidth), 1.0f);
  SKUA_CHECK(out->add_values("backbone.layers.0.norm.weight", {kWidth}, DType::kF32, ones).ok());
  SKUA_CHECK(out->add_values("backbone.norm_f.weight", {kWidth}, DType::kF32, ones).ok());
  return out;
}

class NemotronExperts : public testing::TestWithParam<Sizes> {};
void PrintTo(const Sizes& s, std::ostream* out) { *out << s.n_experts << " experts, latent " << s.latent; }

TEST_P(NemotronExperts, AreWhatFloat64Says) {
  const Sizes& s = GetParam();
  const auto checkpoint = checkpoint_of(s);
  const std::vector<int32_t> ids = random_ids(5, 20, kVocab);
  const Matrix embed = matrix("backbone.embeddings.weight", kVocab, kWidth, 1.0);
  const Matrix head = matrix("lm_head.weight", kVocab, kWidth);
  for (const bool exact : {true, false}) {
    auto backend = exact ? make_ref_backend({}) : must(make_cpu_backend({.n_threads = 1}));
    HandRunner hand(*checkpoint, std::move(backend),
                    {.context = 128, .max_tokens = 128, .max_seqs = 1, .fusion = Fusion::kOn});
    HandSeq seq = hand.new_seq();
    const Rows rows = hand.step({{&seq, ids}});
    for (size_t t = 0; t < ids.size(); ++t) {
      std::vector<double> x = embed[static_cast<size_t>(ids[t])];
      const std::vector<double> y = experts64(s, norm(x));
      for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
      const std::vector<double> logits = times(head, norm(x));
      for (size_t v = 0; v < logits.size(); ++v)
        ASSERT_NEAR(rows[t][v], logits[v], (exact ? 1e-6 : 2e-5) * (1.0 + std::abs(logits[v])))
            << (exact ? "ref" : "cpu") << " token " << t << " logit " << v;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NemotronExperts,
                         testing::Values(Sizes{1, 1, 1, 1, 9, 5, 0, 1.0}, Sizes{6, 2, 1, 1, 7, 11, 0, 2.5},
                                         Sizes{8, 3, 4, 2, 5, 10, 0, 1.0},
                                         Sizes{6, 3, 3, 2, 7, 11, 13, 2.5}));

}  // namespace
}  // namespace skua::test
