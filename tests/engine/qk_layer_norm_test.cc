// Layer norms of each head's queries and keys, for which there are no golden cases: Command R+, StableLM 2
// 12B and Phi, against a float64 written here from the published description (transformers 5.24:
// CohereAttention, StableLmLayerNormPerHead, PhiAttention). In all three attention and MLP stand side by
// side.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "backend/cpu/cpu_backend.h"
#include "backend/ref/ref_backend.h"
#include "engine/gguf_files.h"
#include "engine/hand_runner.h"

namespace skua::test {
namespace {

constexpr size_t kWidth = 32, kHidden = 20, kVocab = 30, kHeads = 4, kKvHeads = 2, kDim = 8, kLayers = 2;

using Vec = std::vector<double>;

struct Kind {
  const char* name;
  const char* config;     // beside the sizes
  bool biases;            // of norms, and for Phi of everything
  bool neighbours;        // the pairs that turn are (2i, 2i + 1), not (i, i + half)
  size_t turning;         // dimensions of a head
  double theta, scale;    // of the logits
  const char* attention;  // its last projection
  const char* final_norm;
  std::function<std::string(char, size_t)> head_norm;  // of 'q' or 'k' and a head
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

bool is(const Kind& kind, std::string_view name) { return name == kind.name; }

const Kind kKinds[] = {
    {"cohere", R"("use_qk_norm": true, "rope_theta": 500.0, "logit_scale": 0.25)", false, true, kDim, 500.0,
     0.25, "o_proj", "norm", [](char x, size_t) { return std::string(1, x) + "_norm"; }},
    {"stablelm", R"("qk_layernorm": true, "use_parallel_residual": true, "rope_theta": 100.0)", true, false,
     kDim / 4, 100.0, 1.0, "o_proj", "norm",
     [](char x, size_t head) { return std::string(1, x) + "_layernorm.norms." + std::to_string(head); }},
    {"phi", R"("qk_layernorm": true, "rope_theta": 100.0)", true, false, kDim / 2, 100.0, 1.0, "dense",
     "final_layernorm", [](char x, size_t) { return std::string(1, x) + "_layernorm"; }},
};

/// A checkpoint as transformers names and shapes it.
std::unique_ptr<MemoryCheckpoint> checkpoint_of(const Kind& kind) {
  auto out = std::make_unique<MemoryCheckpoint>(kind.name);
  out->set_config(*parse_json(R"({"hidden_size": 32, "intermediate_size": 20, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 30, "max_position_embeddings": 256,
    "layer_norm_eps": 1e-3, "model_type": ")" +
                              std::string(kind.name) + "\", " + kind.config + "}"));
  uint64_t state = 11;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape, double size, double around) {
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      values.push_back(
          static_cast<float>(around + size * (static_cast<double>(state >> 40) / 8388608.0 - 1.0)));
    }
    SKUA_CHECK(out->add_values(name, std::move(shape), DType::kF32, values).ok());
  };
  const bool phi = is(kind, "phi"), cohere = is(kind, "cohere");
  const auto norm = [&](const std::string& name, int64_t n, bool bias) {
    add(name + ".weight", {n}, 0.8, 1.0);
    if (bias) add(name + ".bias", {n}, 0.5, 0.0);
  };
  const auto linear = [&](const std::string& name, int64_t rows, int64_t cols) {
    add(name + ".weight", {rows, cols}, 0.4, 0.0);
    if (phi) add(name + ".bias", {rows}, 0.3, 0.0);
  };
  add("model.embed_tokens.weight", {kVocab, kWidth}, 1.0, 0.0);
  for (size_t layer = 0; layer < kLayers; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".", a = p + "self_attn.";
    norm(p + "input_layernorm", kWidth, kind.biases);
    for (const char x : {'q', 'k', 'v'}) {
      const auto n = static_cast<int64_t>(x == 'q' ? kHeads : kKvHeads);
      linear(a + x + "_proj", n * static_cast<int64_t>(kDim), kWidth);
      if (x == 'v') continue;
      if (cohere) add(a + kind.head_norm(x, 0) + ".weight", {n, kDim}, 0.8, 1.0);
      if (phi) norm(a + kind.head_norm(x, 0), kDim, true);
      for (int64_t head = 0; head < n && !cohere && !phi; ++head)
        norm(a + kind.head_norm(x, static_cast<size_t>(head)), kDim, false);
    }
    linear(a + kind.attention, kWidth, kWidth);
    for (const char* name : {"gate_proj", "up_proj"})
      if (!phi) linear(p + "mlp." + name, kHidden, kWidth);
    if (phi) linear(p + "mlp.fc1", kHidden, kWidth);
    linear(p + (phi ? "mlp.fc2" : "mlp.down_proj"), kWidth, kHidden);
  }
  norm("model." + std::string(kind.final_norm), kWidth, kind.biases);
  if (!cohere) linear("lm_head", kVocab, kWidth);
  return out;
}

class Plain {
 public:
  Plain(const Kind& kind, const Checkpoint& checkpoint) : kind_(kind) {
    for (const auto& [name, stored] : tensors_of(checkpoint)) {
      const std::vector<float> values = values_of(stored);
      all_[name] = Vec(values.begin(), values.end());
    }
  }

  std::vector<Vec> logits(const std::vector<int32_t>& ids) const {
    const Vec& table = all_.at("model.embed_tokens.weight");
    std::vector<Vec> x;
    for (const int32_t id : ids)
      x.emplace_back(&table[kWidth * static_cast<size_t>(id)],
                     &table[kWidth * static_cast<size_t>(id)] + kWidth);
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const std::string p = "model.layers." + std::to_string(layer) + ".";
      std::vector<Vec> normed;
      for (const Vec& row : x) normed.push_back(norm(p + "input_layernorm", row));
      const std::vector<Vec> mixed = attention(p + "self_attn.", normed);
      for (size_t t = 0; t < x.size(); ++t) {
        const Vec fed = feed(p + "mlp.", normed[t]);
        for (size_t i = 0; i < kWidth; ++i) x[t][i] += mixed[t][i] + fed[i];
      }
    }
    std::vector<Vec> out;
    for (const Vec& row : x) {
      out.push_back(linear(all_.contains("lm_head.weight") ? "lm_head" : "model.embed_tokens",
                           norm("model." + std::string(kind_.final_norm), row)));
      for (double& v : out.back()) v *= kind_.scale;
    }
    return out;
  }

 private:
  Vec linear(const std::string& name, const Vec& x) const {
    const Vec& w = all_.at(name + ".weight");
    const auto bias = all_.find(name + ".bias");
    Vec y;
    for (size_t r = 0; r < w.size() / x.size(); ++r) {
      y.push_back(bias == all_.end() ? 0.0 : bias->second[r]);
      for (size_t i = 0; i < x.size(); ++i) y[r] += w[r * x.size() + i] * x[i];
    }
    return y;
  }

  /// A layer norm whose weight starts at `first` of the tensor.
  Vec norm(const std::string& name, Vec x, size_t first = 0) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0, square = 0;
    for (const double v : x) mean += v / n;
    for (const double v : x) square += (v - mean) * (v - mean) / n;
    const Vec& w = all_.at(name + ".weight");
    const auto bias = all_.find(name + ".bias");
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = (x[i] - mean) / std::sqrt(square + 1e-3) * w[first + i];
      if (bias != all_.end()) x[i] += bias->second[i];
    }
    return x;
  }

  Vec feed(const std::string& p, const Vec& x) const {
    if (!is(kind_, "phi")) {
      Vec gate = linear(p + "gate_proj", x);
      const Vec up = linear(p + "up_proj", x);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      return linear(p + "down_proj", gate);
    }
    Vec h = linear(p + "fc1", x);
    const double root = std::sqrt(2 / std::acos(-1.0));
    for (double& v : h) v *= 0.5 * (1 + std::tanh(root * (v + 0.044715 * v * v * v)));
    return linear(p + "fc2", h);
  }

  /// The normed and turned head of a projection.
  Vec head_of(const std::string& p, char x, const Vec& all, size_t head, size_t position) const {
    const auto from = all.begin() + static_cast<int64_t>(head * kDim);
    Vec out =
        norm(p + kind_.head_norm(x, head), Vec(from, from + kDim), is(kind_, "cohere") ? head * kDim : 0);
    const size_t half = kind_.turning / 2;
    for (size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(kind_.theta, -static_cast<double>(2 * i) / static_cast<double>(kind_.turning));
      double& a = out[kind_.neighbours ? 2 * i : i];
      double& b = out[kind_.neighbours ? 2 * i + 1 : i + half];
      const double old = a;
      a = old * std::cos(angle) - b * std::sin(angle);
      b = b * std::cos(angle) + old * std::sin(angle);
    }
    return out;
  }

  std::vector<Vec> attention(const std::string& p, const std::vector<Vec>& x) const {
    std::vector<Vec> q, k, v, out;
    for (const Vec& row : x) {
      q.push_back(linear(p + "q_proj", row));
      k.push_back(linear(p + "k_proj", row));
      v.push_back(linear(p + "v_proj", row));
    }
    for (size_t t = 0; t < x.size(); ++t) {
      Vec mixed(kWidth, 0.0);
      for (size_t head = 0; head < kHeads; ++head) {
        const size_t kv = head / (kHeads / kKvHeads);
        const Vec query = head_of(p, 'q', q[t], head, t);
        Vec weight;
        double sum = 0;
        for (size_t s = 0; s <= t; ++s) {
          const Vec key = head_of(p, 'k', k[s], kv, s);
          double dot = 0;
          for (size_t i = 0; i < kDim; ++i) dot += query[i] * key[i];
          weight.push_back(std::exp(dot / std::sqrt(static_cast<double>(kDim))));
          sum += weight.back();
        }
        for (size_t s = 0; s <= t; ++s)
          for (size_t i = 0; i < kDim; ++i) mixed[head * kDim + i] += weight[s] / sum * v[s][kv * kDim + i];
      }
      out.push_back(linear(p + kind_.attention, mixed));
    }
    return out;
  }

  const Kind& kind_;
  std::map<std::string, Vec> all_;
};

class QkLayerNorm : public testing::TestWithParam<Kind> {};

TEST_P(QkLayerNorm, IsWhatFloat64Says) {
  const auto checkpoint = checkpoint_of(GetParam());
  const std::vector<int32_t> ids = random_ids(5, 30, kVocab);
  const std::vector<Vec> expected = Plain(GetParam(), *checkpoint).logits(ids);
  for (const bool exact : {true, false}) {
    auto backend = exact ? make_ref_backend({}) : must(make_cpu_backend({.n_threads = 1}));
    HandRunner hand(*checkpoint, std::move(backend),
                    {.context = 128, .max_tokens = 128, .max_seqs = 1, .fusion = Fusion::kOn});
    HandSeq seq = hand.new_seq();
    const Rows rows = hand.step({{&seq, ids}});
    for (size_t t = 0; t < ids.size(); ++t) {
      for (size_t i = 0; i < kVocab; ++i)
        ASSERT_NEAR(rows[t][i], expected[t][i], (exact ? 1e-6 : 2e-5) * (1.0 + std::abs(expected[t][i])))
            << (exact ? "ref" : "cpu") << " token " << t << " logit " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, QkLayerNorm, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace skua::test
