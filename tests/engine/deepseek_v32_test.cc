// DeepSeek-V3.2 has no golden case, so it is judged twice: against a float64 forward pass written here from
// the public description alone (keys and values decompressed, scores of all pairs, a mask), and by the bytes
// of DeepSeek-V3 while the context is no longer than what the indexer chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/cpu/cpu_backend.h"
#include "backend/host_random.h"
#include "backend/ref/ref_backend.h"
#include "engine/hand_runner.h"
#include "tensor/decode.h"

namespace skua::test {
namespace {

constexpr int kLayers = 2, kModel = 40, kFf = 36, kHeads = 3, kVocab = 88, kRank = 24, kQRank = 20,
              kNope = 12, kRope = 8, kV = 14, kIndexHeads = 5, kIndexDim = 22;
constexpr int32_t kTokens = 150;

std::string config(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 2, "hidden_size": 40,
    "intermediate_size": 36, "num_attention_heads": 3, "vocab_size": 88, "kv_lora_rank": 24, "q_lora_rank": 20,
    "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 14, "n_routed_experts": 4, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 12, "first_k_dense_replace": 2, "n_group": 1,
    "topk_group": 1, "routed_scaling_factor": 2.5, "norm_topk_prob": true, "rope_theta": 100.0,
    "rms_norm_eps": 1e-6, "head_dim": 8, "max_position_embeddings": 4096)" +
         more + "}";
}

FamilyModel v32(int top_k) {
  return {"v32",
          "deepseek_v32",
          config("deepseek_v32",
                 R"(, "index_n_heads": 5, "index_head_dim": 22, "index_topk": )" + std::to_string(top_k)),
          {FormatKind::kF32}};
}
FamilyModel v3() { return {"v32", "deepseek_v3", config("deepseek_v3", ""), {FormatKind::kF32}}; }

using Vec = std::vector<double>;

/// What a wrong reading of the description would do.
struct Mistake {
  bool interleaved_index = false;
  bool no_relu = false;
  bool no_norm_bias = false;
  bool rotated_last = false;
  bool unrotated_key = false;  // of the attention itself
  bool scale_of_nope = false;  // its scores divided by the root of the nope dimensions alone
  int top_k_off = 0;
};

class Plain {
 public:
  Plain(const Checkpoint& weights, int top_k, Mistake mistake)
      : weights_(weights), top_k_(top_k + mistake.top_k_off), mistake_(mistake) {}

  /// Logits of every position.
  std::vector<Vec> run(const std::vector<int32_t>& ids) {
    std::vector<Vec> x;
    for (int32_t id : ids) {
      const Vec all = tensor("model.embed_tokens.weight");
      x.emplace_back(all.begin() + id * kModel, all.begin() + (id + 1) * kModel);
    }
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::string p = "model.layers." + std::to_string(layer) + ".";
      std::vector<Vec> normed;
      for (const Vec& row : x) normed.push_back(rms(row, p + "input_layernorm.weight"));
      const std::vector<Vec> attended = attention(normed, p + "self_attn.");
      for (size_t t = 0; t < x.size(); ++t) {
        for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += attended[t][i];
        const Vec y = rms(x[t], p + "post_attention_layernorm.weight");
        Vec gate = times(p + "mlp.gate_proj.weight", y), up = times(p + "mlp.up_proj.weight", y);
        for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
        const Vec down = times(p + "mlp.down_proj.weight", gate);
        for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += down[i];
      }
    }
    std::vector<Vec> out;
    for (const Vec& row : x) out.push_back(times("lm_head.weight", rms(row, "model.norm.weight")));
    return out;
  }

 private:
  const Vec& tensor(const std::string& name) {
    Vec& values = cache_[name];
    if (values.empty()) {
      const EncodedMatrix m = must(weights_.matrix(name));
      std::vector<float> row(static_cast<size_t>(m.cols));
      for (int64_t r = 0; r < m.rows; ++r) {
        decode_row(m, r, 0, m.cols, row.data());
        values.insert(values.end(), row.begin(), row.end());
      }
    }
    return values;
  }

  Vec times(const std::string& name, const Vec& x) {
    const Vec& w = tensor(name);
    Vec y(w.size() / x.size(), 0.0);
    for (size_t n = 0; n < y.size(); ++n) {
      for (size_t k = 0; k < x.size(); ++k) y[n] += w[n * x.size() + k] * x[k];
    }
    return y;
  }

  Vec rms(const Vec& x, const std::string& name) {
    const Vec& w = tensor(name);
    double square = 0;
    for (double v : x) square += v * v / static_cast<double>(x.size());
    Vec y = x;
    for (size_t i = 0; i < y.size(); ++i) y[i] *= w[i] / std::sqrt(square + 1e-6);
    return y;
  }

  /// Rotates kRope elements from `at`; the pairs are (2i, 2i + 1) or (i, i + kRope / 2).
  static void rotate(Vec& x, size_t at, size_t position, bool interleaved) {
    for (size_t i = 0; i < kRope / 2; ++i) {
      const double angle =
          static_cast<double>(position) / std::pow(100.0, 2.0 * static_cast<double>(i) / kRope);
      double& a = x[at + (interleaved ? 2 * i : i)];
      double& b = x[at + (interleaved ? 2 * i + 1 : i + kRope / 2)];
      const double old = a;
      a = old * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + old * std::sin(angle);
    }
  }

  Vec index_key(const Vec& x, const std::string& p, size_t position) {
    Vec key = times(p + "wk.weight", x);
    const Vec &w = tensor(p + "k_norm.weight"), &b = tensor(p + "k_norm.bias");
    const double mean = std::accumulate(key.begin(), key.end(), 0.0) / kIndexDim;
    double square = 0;
    for (double v : key) square += (v - mean) * (v - mean) / kIndexDim;
    for (size_t i = 0; i < key.size(); ++i) {
      key[i] = (key[i] - mean) / std::sqrt(square + 1e-6) * w[i] + (mistake_.no_norm_bias ? 0 : b[i]);
    }
    rotate(key, mistake_.rotated_last ? kIndexDim - kRope : 0, position, mistake_.interleaved_index);
    return key;
  }

  /// Which of the positions 0 .. t are seen from t.
  std::vector<char> seen(size_t t, const Vec& x, const Vec& q_resid, const std::vector<Vec>& keys,
                         const std::string& p) {
    Vec q = times(p + "wq_b.weight", q_resid);
    const Vec weights = times(p + "weights_proj.weight", x);
    for (size_t h = 0; h < kIndexHeads; ++h) {
      rotate(q, h * kIndexDim + (mistake_.rotated_last ? kIndexDim - kRope : 0), t,
             mistake_.interleaved_index);
    }
    Vec score(t + 1, 0.0);
    for (size_t s = 0; s <= t; ++s) {
      for (size_t h = 0; h < kIndexHeads; ++h) {
        double product = 0;
        for (size_t i = 0; i < kIndexDim; ++i) product += q[h * kIndexDim + i] * keys[s][i];
        product /= std::sqrt(double{kIndexDim});
        if (!mistake_.no_relu) product = std::max(product, 0.0);
        score[s] += weights[h] / std::sqrt(double{kIndexHeads}) * product;
      }
    }
    std::vector<char> out(t + 1, 0);
    for (int chosen = 0; chosen < std::min<int>(top_k_, static_cast<int>(t) + 1); ++chosen) {
      size_t best = t + 1;
      for (size_t s = 0; s <= t; ++s) {
        if (out[s] == 0 && (best > t || score[s] > score[best])) best = s;
      }
      out[best] = 1;
    }
    return out;
  }

  std::vector<Vec> attention(const std::vector<Vec>& x, const std::string& p) {
    const std::string index = p + "indexer.";
    std::vector<Vec> kv, kpe, keys, out;
    for (size_t t = 0; t < x.size(); ++t) {
      const Vec both = times(p + "kv_a_proj_with_mqa.weight", x[t]);
      kv.push_back(times(p + "kv_b_proj.weight",
                         rms(Vec(both.begin(), both.begin() + kRank), p + "kv_a_layernorm.weight")));
      kpe.emplace_back(both.begin() + kRank, both.end());
      if (!mistake_.unrotated_key) rotate(kpe.back(), 0, t, true);
      keys.push_back(index_key(x[t], index, t));
      const Vec q_resid = rms(times(p + "q_a_proj.weight", x[t]), p + "q_a_layernorm.weight");
      Vec q = times(p + "q_b_proj.weight", q_resid);
      const std::vector<char> mask = seen(t, x[t], q_resid, keys, index);
      Vec mixed;
      for (size_t h = 0; h < kHeads; ++h) {
        const size_t at = h * (kNope + kRope);
        rotate(q, at + kNope, t, true);
        Vec weight(t + 1, 0.0), value(kV, 0.0);
        double total = 0;
        for (size_t s = 0; s <= t; ++s) {
          if (mask[s] == 0) continue;
          double score = 0;
          for (size_t i = 0; i < kNope; ++i) score += q[at + i] * kv[s][h * (kNope + kV) + i];
          for (size_t i = 0; i < kRope; ++i) score += q[at + kNope + i] * kpe[s][i];
          weight[s] = std::exp(
              score / std::sqrt(static_cast<double>(mistake_.scale_of_nope ? kNope : kNope + kRope)));
          total += weight[s];
        }
        for (size_t s = 0; s <= t; ++s) {
          for (size_t i = 0; i < kV; ++i) value[i] += weight[s] / total * kv[s][h * (kNope + kV) + kNope + i];
        }
        mixed.insert(mixed.end(), value.begin(), value.end());
      }
      out.push_back(times(p + "o_proj.weight", mixed));
    }
    return out;
  }

  const Checkpoint& weights_;
  int top_k_;
  Mistake mistake_;
  std::map<std::string, Vec> cache_;
};

Rows all_rows(const FamilyModel& model, std::unique_ptr<Backend> backend, const std::vector<int32_t>& chunks,
              const std::vector<int32_t>& ids) {
  HandRunner hand(model, std::move(backend), {.context = 512, .max_tokens = 512, .max_seqs = 1});
  HandSeq seq = hand.new_seq();
  Rows out;
  for (int32_t n : chunks) {
    const std::vector<int32_t> part(ids.begin() + seq.n_cached, ids.begin() + seq.n_cached + n);
    for (auto& row : hand.step({{&seq, part}})) out.push_back(std::move(row));
  }
  return out;
}

/// Largest difference of the two, row by row from `first` on.
double distance(const std::vector<Vec>& truth, const Rows& got, size_t first = 0) {
  double worst = truth.size() == got.size() ? 0 : INFINITY;
  for (size_t t = first; t < got.size() && worst < INFINITY; ++t) {
    for (size_t i = 0; i < got[t].size(); ++i) {
      const double error = std::abs(truth[t][i] - static_cast<double>(got[t][i]));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

TEST(DeepSeekV32, AgreesWithAnIndependentFloat64) {
  const FamilyModel model = v32(30);
  const auto weights = make_checkpoint(model);
  const std::vector<int32_t> ids = random_ids(5, kTokens, kVocab);
  const std::vector<Vec> truth = Plain(*weights, 30, {}).run(ids);
  const double exact = distance(truth, all_rows(model, make_ref_backend({}), {kTokens}, ids));
  const double cpu = distance(truth, all_rows(model, must(make_cpu_backend({})), {100, 49, 1}, ids));
  std::printf("  ref %.2e, cpu %.2e from the independent float64\n", exact, cpu);
  EXPECT_LE(exact, 2e-6);  // read back as f32
  EXPECT_LE(cpu, 2e-4);
}

TEST(DeepSeekV32, MistakesInTheIndexerWouldShow) {
  const FamilyModel model = v32(30);
  const auto weights = make_checkpoint(model);
  const std::vector<int32_t> ids = random_ids(5, kTokens, kVocab);
  const Rows got = all_rows(model, make_ref_backend({}), {kTokens}, ids);
  for (const Mistake& mistake :
       {Mistake{.interleaved_index = true}, Mistake{.no_relu = true}, Mistake{.no_norm_bias = true},
        Mistake{.rotated_last = true}, Mistake{.top_k_off = -1}, Mistake{.top_k_off = 1},
        Mistake{.top_k_off = 1000}, Mistake{.unrotated_key = true}, Mistake{.scale_of_nope = true}}) {
    EXPECT_GT(distance(Plain(*weights, 30, mistake).run(ids), got), 1e-2);
  }
}

TEST(DeepSeekV32, IsDeepSeekV3ByteForByteWhileTheIndexerChoosesEveryToken) {
  const std::vector<int32_t> ids = random_ids(6, kTokens, kVocab);
  for (const std::vector<int32_t>& chunks : {std::vector<int32_t>{kTokens}, {70, 64, 15, 1}}) {
    const Rows dense = all_rows(v3(), must(make_cpu_backend({})), chunks, ids);
    EXPECT_EQ(first_different_row(dense, all_rows(v32(kTokens), must(make_cpu_backend({})), chunks, ids)),
              -1);
    // One fewer, and the last position alone differs.
    EXPECT_EQ(first_different_row(dense, all_rows(v32(kTokens - 1), must(make_cpu_backend({})), chunks, ids)),
              kTokens - 1);
  }
}

TEST(DeepSeekV32, RefusesAnIndexerThatCannotBe) {
  for (const char* more : {R"(, "index_n_heads": 5, "index_head_dim": 8, "index_topk": 9)",
                           R"(, "index_n_heads": 5, "index_head_dim": 22)",
                           R"(, "index_n_heads": 5, "index_head_dim": 22, "index_topk": 9,
                               "layer_types": ["full_attention", "full_attention"])"}) {
    EXPECT_FALSE(parse_model(must(parse_json(config("deepseek_v32", more))), ConfigPolicy::kStrict).ok())
        << more;
  }
}

}  // namespace
}  // namespace skua::test
