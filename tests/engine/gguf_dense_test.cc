// Dense families from GGUF files: a golden case written the way converters write it gives the golden logits,
// and the bytes that it gives under its transformers names. Facts: llama.cpp's conversion scripts and loaders
// (those of llama-cpp-python 0.3.36), gguf-py 0.19.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "backend/cpu/cpu_backend.h"
#include "engine/gguf_files.h"
#include "golden_check/golden_run.h"
#include "models/gguf_import.h"

namespace skua::test {
namespace {

using Rewrite = std::function<void(Tensors& all, Json& metadata, const Json& config)>;

struct Case {
  const char* name;
  const char* golden;
  const char* arch;
  const char* metadata;  // see gguf_metadata
  Renames own = {};
  Rewrite rewrite = [](Tensors&, Json&, const Json&) {};
  const char* changes = "{}";  // to the golden's config: what such files cannot say; then without its logits
  bool exact = true;  // the same bytes; else numbers close to them, since 1 was added or factors were rounded
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Norm weights around zero, stored around one.
void add_one(Tensors& all, Json&, const Json&) {
  for (auto& [name, t] : all) {
    if (!name.ends_with("norm.weight")) continue;
    std::vector<float> values = values_of(t);
    for (float& v : values) v += 1.0f;
    t = f32(t.shape, values);
  }
}

/// All golden cases have four heads, and two of keys.
void turn_qk(Tensors& all, Json&, const Json&) { pair_wise_qk(all, 4, 2); }

/// q, k and v of each layer in one tensor, as converters write them when told to fuse.
void fuse_qkv(Tensors& all) {
  for (const std::string suffix : {".weight", ".bias"}) {
    each(all, ".q_proj" + suffix, [&](const std::string& p, const Stored& t, Tensors& out) {
      Stored& to = out[p + ".qkv_proj" + suffix] = t;
      std::vector<float> values = values_of(t);
      for (const char* part : {".k_proj", ".v_proj"}) {
        const Stored& more = all.at(p + part + suffix);
        to.rows.insert(to.rows.end(), more.rows.begin(), more.rows.end());
        const std::vector<float> own = values_of(more);
        values.insert(values.end(), own.begin(), own.end());
      }
      if (suffix == ".bias") to = f32({static_cast<int64_t>(values.size())}, values);
      if (suffix != ".bias") to.shape[0] = to.n();
    });
  }
  std::erase_if(all, [](const auto& entry) {
    return entry.first.find(".k_proj") != std::string::npos ||
           entry.first.find(".v_proj") != std::string::npos;
  });
}

void transpose(Stored& t) {
  const std::vector<float> values = values_of(t);
  const auto rows = static_cast<size_t>(t.n()), cols = values.size() / rows;
  std::vector<float> turned;
  for (size_t c = 0; c < cols; ++c)
    for (size_t r = 0; r < rows; ++r) turned.push_back(values[r * cols + c]);
  t = f32({static_cast<int64_t>(cols), static_cast<int64_t>(rows)}, turned);
}

/// GPT-2's matrices lie transposed under their transformers names.
void turn_conv1d(Tensors& all, Json&, const Json&) {
  for (auto& [name, t] : all)
    if (name.find(".c_") != std::string::npos && name.ends_with(".weight")) transpose(t);
}

/// Rows of q, k, v head by head -> all of q, all of k, all of v.
void untangle_qkv(Tensors& all, Json&, const Json&) {
  for (auto& [name, t] : all) {
    if (name.find("query_key_value") == std::string::npos) continue;
    const std::vector<float> values = values_of(t);
    const int64_t n = t.shape[0], d = n / 12, cols = static_cast<int64_t>(values.size()) / n;
    std::vector<float> turned;
    for (int64_t part = 0; part < 3; ++part)
      for (int64_t head = 0; head < 4; ++head)
        for (int64_t i = 0; i < d * cols; ++i)
          turned.push_back(values[static_cast<size_t>((head * 3 + part) * d * cols + i)]);
    t = f32(t.shape, turned);
  }
}

Stored vector_of(const Json& list) {
  std::vector<float> values;
  for (const Json& value : list.items()) values.push_back(static_cast<float>(value.as_double()));
  return f32({static_cast<int64_t>(values.size())}, values);
}

void add_longrope(Tensors& all, Json& metadata, const Json& config) {
  const Json& rope = *config.find("rope_parameters");
  all["rope_factors_long.weight"] = vector_of(*rope.find("long_factor"));
  all["rope_factors_short.weight"] = vector_of(*rope.find("short_factor"));
  const double original = rope.find("original_max_position_embeddings")->as_double();
  const double scale = config.find("max_position_embeddings")->as_double() / original;
  metadata.set("phi3.rope.scaling.attn_factor", Json(std::sqrt(1 + std::log(scale) / std::log(original))));
}

/// llama3's rule, as divisors of the frequencies.
void add_rope_freqs(Tensors& all, const Json& rope, int64_t head_dim) {
  const auto number = [&](const char* key) { return rope.find(key)->as_double(); };
  const double factor = number("factor"), low = number("low_freq_factor"), high = number("high_freq_factor");
  std::vector<float> factors;
  for (int64_t i = 0; i < head_dim; i += 2) {
    const double f = std::pow(number("rope_theta"), -static_cast<double>(i) / static_cast<double>(head_dim));
    const double turns = number("original_max_position_embeddings") * f / (2 * std::numbers::pi);
    const double smooth = (turns - low) / (high - low);
    factors.push_back(static_cast<float>(turns > high  ? 1.0
                                         : turns < low ? factor
                                                       : 1 / ((1 - smooth) / factor + smooth)));
  }
  all["rope_freqs.weight"] = f32({static_cast<int64_t>(factors.size())}, factors);
}

/// The four numbers of each layer's xIELU are lists of the metadata.
void take_xielu(Tensors& all, Json& metadata, const Json& config) {
  add_rope_freqs(all, *config.find("rope_parameters"), 16);
  for (const std::string part : {"alpha_p", "alpha_n", "beta", "eps"}) {
    Json list = Json::array();  // the tensors come sorted: layer by layer
    each(all, ".mlp.act_fn." + part, [&](const std::string&, const Stored& t, Tensors&) {
      list.push_back(Json(static_cast<double>(values_of(t)[0])));
    });
    metadata.set("apertus.xielu." + part, std::move(list));
  }
}

const Renames kAfterNorms = {{"post_attention_layernorm", "post_attention_norm"},
                             {"pre_feedforward_layernorm", "ffn_norm"},
                             {"post_feedforward_layernorm", "post_ffw_norm"}};
const Renames kPhiNames = {{"model.final_layernorm", "output_norm"},
                           {"self_attn.dense", "attn_output"},
                           {"self_attn.qkv_proj", "attn_qkv"},
                           {"mlp.fc1", "ffn_up"},
                           {"mlp.fc2", "ffn_down"}};
const Renames kPhi3Names = {{"self_attn.qkv_proj", "attn_qkv"},
                            {"mlp.gate_up_proj", "ffn_up"},
                            {"rope_factors_long", "rope_factors_long"},
                            {"rope_factors_short", "rope_factors_short"}};

constexpr const char* kPhiKeys =
    R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "rope.freq_base": null,
        "rope.dimension_count": 8, "attention.key_length": null, "attention.value_length": null})";
constexpr const char* kLlamaKeys =
    R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 16})";

const std::vector<Case> kCases = {
    {"gemma",
     "gemma",
     "gemma",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": null})",
     {},
     add_one,
     "{}",
     false},
    {"gemma2", "gemma2", "gemma2",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": null, "attn_logit_softcapping": 50.0,
         "final_logit_softcapping": 30.0, "attention.sliding_window": 16})",
     kAfterNorms, add_one, "{}", false},
    {"gemma3", "gemma3_text", "gemma3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0,
         "attention.sliding_window": 16})",
     kAfterNorms, add_one, R"({"layer_types": null})", false},
    {"phi", "phi", "phi2", kPhiKeys, kPhiNames},
    {"phi_fused", "phi", "phi2", kPhiKeys, kPhiNames,
     [](Tensors& all, Json&, const Json&) { fuse_qkv(all); }},
    {"phi3", "phi3", "phi3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.scaling.original_context_length": 4096,
         "rope.dimension_count": 16, "attention.sliding_window": 0, "attention.key_length": null,
         "attention.value_length": null})",
     kPhi3Names},
    {"phi3_partial", "phi3", "phi3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.scaling.original_context_length": 4096,
         "rope.dimension_count": 12, "attention.sliding_window": 9, "attention.key_length": null,
         "attention.value_length": null})",
     kPhi3Names, [](Tensors&, Json&, const Json&) {},
     R"({"sliding_window": 9, "rope_parameters": {"partial_rotary_factor": 0.75, "rope_theta": 10000.0,
         "rope_type": "default"}})"},
    {"phi3_longrope", "phi3_longrope", "phi3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.scaling.original_context_length": 32,
         "rope.dimension_count": 16, "attention.sliding_window": 0, "attention.key_length": null,
         "attention.value_length": null})",
     kPhi3Names, add_longrope, "{}", false},
    {"olmo2", "olmo2", "olmo2",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "attention.key_length": null,
         "attention.value_length": null})",
     kAfterNorms},
    {"olmo3", "olmo3", "olmo2",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "attention.key_length": null, "attention.value_length": null,
         "rope.freq_base": 500000.0, "rope.freq_base_swa": 500000.0, "attention.sliding_window": 16,
         "attention.sliding_window_pattern": [true, true, false]})",
     kAfterNorms},
    {"olmo3_yarn", "olmo3", "olmo2",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "attention.key_length": null, "attention.value_length": null,
         "rope.freq_base": 500000.0, "attention.sliding_window": 16, "rope.scaling.type": "yarn",
         "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 64,
         "rope.scaling.yarn_attn_factor": 1.25, "rope.scaling.yarn_beta_fast": 32.0,
         "rope.scaling.yarn_beta_slow": 1.0, "attention.sliding_window_pattern": [true, true, false]})",
     kAfterNorms, [](Tensors&, Json&, const Json&) {},
     R"({"rope_parameters": null, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "yarn", "factor": 8.0,
         "original_max_position_embeddings": 64, "attention_factor": 1.25, "beta_fast": 32.0,
         "beta_slow": 1.0}})"},
    {"cohere", "cohere", "command-r",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "logit_scale": 0.0625,
         "rope.freq_base": 500000.0, "rope.scaling.type": "none", "attention.key_length": null,
         "attention.value_length": null})"},
    {"cohere2",
     "cohere2",
     "cohere2",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "logit_scale": 0.0625,
         "rope.scaling.type": "none", "rope.dimension_count": 16, "vocab_size": 320,
         "attention.sliding_window": 16})",
     {},
     [](Tensors&, Json&, const Json&) {},
     R"({"layer_types": null})"},
    {"cohere2_pattern", "cohere2", "cohere2",  // which loaders read, though converters do not write it
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "logit_scale": 0.0625,
         "attention.sliding_window": 16, "attention.sliding_window_pattern": [true, true, false]})"},
    {"granite",
     "granite",
     "granite",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 16,
         "attention.key_length": null, "attention.value_length": null, "attention.scale": 0.0156,
         "embedding_scale": 12.0, "residual_scale": 0.22, "logit_scale": 8.0})",
     {},
     turn_qk},
    {"granite_4",  // converted from granitemoehybrid without Mamba layers
     "granite",
     "granite",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 16,
         "attention.head_count_kv": [2, 2, 2], "attention.key_length": null, "attention.value_length": null,
         "attention.scale": 0.0156, "embedding_scale": 12.0, "residual_scale": 0.22, "logit_scale": 8.0,
         "expert_count": 0, "expert_used_count": 0, "expert_shared_feed_forward_length": 128,
         "ssm.conv_kernel": 4, "ssm.state_size": 128, "ssm.group_count": 1, "ssm.inner_size": 128,
         "ssm.time_step_rank": 2, "rope.scaling.finetuned": true})",
     {},
     turn_qk},
    {"glm4",
     "glm4",
     "glm4",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.dimension_count": 16})",
     {{"post_self_attn_layernorm", "post_attention_norm"},
      {"post_mlp_layernorm", "post_ffw_norm"},
      {"mlp.gate_up_proj", "ffn_up"}}},
    {"smollm3",
     "smollm3",
     "smollm3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 16,
         "attention.key_length": null, "attention.value_length": null, "rope.freq_base": 2000000.0})",
     {},
     turn_qk,
     R"({"no_rope_layers": null})"},  // every fourth, of which the golden has none
    {"starcoder2",
     "starcoder2",
     "starcoder2",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5,
         "attention.key_length": null, "attention.value_length": null})",
     {{"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}}},
    {"stablelm", "stablelm", "stablelm",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5,
         "attention.key_length": null, "attention.value_length": null, "rope.freq_base": null,
         "rope.dimension_count": 4, "use_parallel_residual": true})"},  // true where a config says nothing
    {"exaone4", "exaone4", "exaone4",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "attention.sliding_window": 16,
         "attention.key_length": null, "attention.value_length": null,
         "attention.sliding_window_pattern": [true, true, false]})",
     kAfterNorms},
    {"seed_oss",
     "seed_oss",
     "seed_oss",
     R"({"attention.layer_norm_rms_epsilon": 1e-6})",
     {{"post_attention_layernorm", "post_attention_norm"}}},
    {"ernie4_5", "ernie4_5", "ernie4_5",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 500000.0})"},
    {"hunyuan_v1_dense",
     "hunyuan_v1_dense",
     "hunyuan-dense",
     R"({"attention.layer_norm_rms_epsilon": 1e-6})",
     {{"self_attn.query_layernorm", "attn_q_norm"}, {"self_attn.key_layernorm", "attn_k_norm"}}},
    {"hunyuan_v1_dense_alpha",
     "hunyuan_v1_dense",
     "hunyuan-dense",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "rope.scaling.type": "none", "rope.scaling.factor": 1.0,
         "rope.scaling.original_context_length": 262144, "context_length": 262144})",
     {{"self_attn.query_layernorm", "attn_q_norm"}, {"self_attn.key_layernorm", "attn_k_norm"}},
     [](Tensors&, Json& metadata, const Json&) {  // the file holds the base that alpha gives
       metadata.set("hunyuan-dense.rope.freq_base", Json(10000.0 * std::pow(50.0, 32 / 30.0)));
     },
     R"({"rope_parameters": {"rope_type": "dynamic", "alpha": 50.0, "factor": 1.0, "rope_theta": 10000.0}})"},
    {"apertus",
     "apertus",
     "apertus",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 16,
         "attention.key_length": null, "attention.value_length": null, "rope.freq_base": 12000000.0})",
     {{"attention_layernorm", "attn_norm"},
      {"feedforward_layernorm", "ffn_norm"},
      {"rope_freqs", "rope_freqs"}},
     take_xielu,
     "{}",
     false},
    {"arcee", "arcee", "arcee", kLlamaKeys, {}, turn_qk},
    {"llama_bias", "llama_bias", "llama", kLlamaKeys, {}, turn_qk},
    {"llama_bias_fused",
     "llama_bias",
     "llama",
     kLlamaKeys,
     {{"self_attn.qkv_proj", "attn_qkv"}},
     [](Tensors& all, Json& metadata, const Json& config) {
       turn_qk(all, metadata, config);
       fuse_qkv(all);
     }},
    {"mistral",
     "mistral_sw",
     "llama",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 24,
         "attention.sliding_window": 16})",
     {},
     turn_qk},
    {"gpt2",
     "gpt2",
     "gpt2",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "rope.freq_base": null,
         "attention.head_count_kv": null, "attention.key_length": null, "attention.value_length": null})",
     {{"transformer.wte", "token_embd"},
      {"transformer.wpe", "position_embd"},
      {"transformer.ln_f", "output_norm"},
      {"ln_1", "attn_norm"},
      {"ln_2", "ffn_norm"},
      {"attn.c_attn", "attn_qkv"},
      {"attn.c_proj", "attn_output"},
      {"mlp.c_fc", "ffn_up"},
      {"mlp.c_proj", "ffn_down"}},
     turn_conv1d},
    {"gpt_neox",
     "gpt_neox",
     "gptneox",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "rope.freq_base": null,
         "attention.head_count_kv": null, "attention.key_length": null, "attention.value_length": null,
         "rope.dimension_count": 4, "use_parallel_residual": true})",
     {{"gpt_neox.embed_in", "token_embd"},
      {"gpt_neox.final_layer_norm", "output_norm"},
      {"embed_out", "output"},
      {"attention.query_key_value", "attn_qkv"},
      {"attention.dense", "attn_output"},
      {"mlp.dense_h_to_4h", "ffn_up"},
      {"mlp.dense_4h_to_h", "ffn_down"}},
     untangle_qkv},
    {"ministral3",
     "ministral3",
     "mistral3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 32,
         "rope.freq_base": 1000000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 16.0,
         "rope.scaling.original_context_length": 16384, "rope.scaling.yarn_beta_fast": 32.0,
         "rope.scaling.yarn_beta_slow": 1.0, "rope.scaling.yarn_log_multiplier": 1.0,
         "attention.temperature_scale": 0.1})",
     {},
     turn_qk},
    {"ministral3_long",
     "ministral3",
     "mistral3",
     R"({"attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 320, "rope.dimension_count": 32,
         "rope.freq_base": 1000000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 16.0,
         "rope.scaling.original_context_length": 32, "rope.scaling.yarn_log_multiplier": 0.5,
         "attention.temperature_scale": 0.3})",
     {},
     turn_qk,
     R"({"rope_parameters": {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 32,
         "mscale": 1.0, "mscale_all_dim": 0.5, "llama_4_scaling_beta": 0.3, "rope_theta": 1000000.0}})"},
};

golden::Case golden_of(const Case& c) {
  golden::Case out = must(golden::read_case(std::string(SKUA_TEST_DATA "/models/golden/") + c.golden));
  Json config = out.checkpoint->config(), kept = Json::object();
  const Json changes = *parse_json(c.changes);
  for (const auto& [key, value] : changes.members()) config.set(key, value);
  for (const auto& [key, value] : config.members())
    if (!value.is_null()) kept.set(key, value);
  out.checkpoint->set_config(std::move(kept));
  return out;
}

std::unique_ptr<FakeGguf> as_gguf(const Case& c, const Checkpoint& from) {
  const auto model = must(parse_model(from.config(), ConfigPolicy::kStrict));
  Tensors all = tensors_of(from);
  Json metadata = gguf_metadata(c.arch, model->info(), *parse_json(c.metadata));
  c.rewrite(all, metadata, from.config());
  return gguf_file(all, c.own, std::move(metadata));
}

class GgufDense : public testing::TestWithParam<Case> {};

TEST_P(GgufDense, GivesTheGoldenLogits) {
  const Case& c = GetParam();
  const golden::Case golden = golden_of(c);
  auto imported = import_gguf(as_gguf(c, *golden.checkpoint), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Rows expected = logits_of(*golden.checkpoint), got = logits_of(**imported);
  ASSERT_EQ(expected.size(), got.size());
  if (c.exact) {
    EXPECT_EQ(first_different_row(expected, got), -1);
  }
  for (size_t row = 0; row < got.size(); ++row) {
    for (size_t i = 0; i < got[row].size(); ++i)
      ASSERT_NEAR(got[row][i], expected[row][i], 2e-4f * (1.0f + std::abs(expected[row][i])))
          << "row " << row << " column " << i;
  }
  if (std::string_view(c.changes) != "{}") return;
  const auto backend = must(make_cpu_backend({.n_threads = 1}));
  const auto outcome = golden::run_case(**imported, golden.expected, *backend, {});
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->pass()) << "prompt error " << outcome->prompt_error << " of " << outcome->prompt_limit
                               << ", step error " << outcome->step_error << " of " << outcome->step_limit;
}

/// What the import or the family says of a changed file; empty if it is taken.
std::string refusal(const char* name, const std::function<void(Tensors& all, Json& metadata)>& change) {
  for (const Case& c : kCases) {
    if (std::string_view(c.name) != name) continue;
    Case changed = c;
    changed.rewrite = [&](Tensors& all, Json& metadata, const Json& config) {
      c.rewrite(all, metadata, config);
      change(all, metadata);
    };
    const golden::Case golden = golden_of(c);
    auto imported = import_gguf(as_gguf(changed, *golden.checkpoint), ConfigPolicy::kStrict);
    if (!imported.ok()) return imported.status().message();
    const auto backend = must(make_cpu_backend({.n_threads = 1}));
    return load_model(**imported, *backend, ConfigPolicy::kStrict, nullptr, 128).status().message();
  }
  return "no case " + std::string(name);
}

TEST(GgufRefusals, WhatIsNotHandledIsNamed) {
  const auto key = [](const char* name, const char* value) {
    return [name, value](Tensors&, Json& metadata) { metadata.set(name, *parse_json(value)); };
  };
  const auto vector = [](const char* name) {
    return [name](Tensors& all, Json&) { all[name] = f32({64}, std::vector<float>(64, 1.0f)); };
  };
  struct Refusal {
    const char* name;
    std::function<void(Tensors&, Json&)> change;
    const char* says;
  };
  const Refusal refusals[] = {
      {"cohere", vector("model.layers.0.self_attn.q_norm.weight"), "k_norm"},
      {"stablelm", vector("model.layers.0.self_attn.q_norm.weight"), "_layernorm"},
      {"cohere2", vector("model.layers.1.self_attn.q_norm.weight"), "q_norm"},
      {"gemma2", key("gemma2.rope.freq_base_swa", "20000.0"), "rope_local_base_freq"},
      {"gemma2", key("gemma2.attention.sliding_window_pattern", "2"), "layer_types"},
      {"glm4", key("glm4.rope.dimension_sections", "[8, 4, 4, 0]"), "glm4.rope.dimension_sections"},
      {"exaone4", key("exaone4.attention.sliding_window_pattern", "[1, 1, 0]"), "sliding_window_pattern"},
      {"exaone4", key("exaone4.attention.sliding_window_pattern", "[true]"), "layer_types"},
      {"exaone4", key("exaone4.nextn_predict_layers", "1"), "exaone4.nextn_predict_layers"},
      {"granite", key("granite.deepstack_mapping", "[-1, -1, 1]"), "granite.deepstack_mapping"},
      {"granite_4", key("granite.rope.scaling.finetuned", "false"), "granite.rope.scaling.finetuned"},
      {"granite_4", key("granite.expert_count", "4"), "granite.expert_count"},
      {"granite_4", key("granite.expert_shared_feed_forward_length", "64"),
       "expert_shared_feed_forward_length"},
      {"granite_4", key("granite.attention.head_count_kv", "[2, 2, 1]"), "num_key_value_heads"},
      {"llama_bias", key("llama.logit_scale", "2.0"), "logits_scaling"},
      {"phi3_longrope", key("phi3.rope.scaling.type", "\"yarn\""), "rope_factors_long"},
      {"phi3", key("phi3.rope.scaling.attn_factor", "1.5"), "phi3.rope.scaling.attn_factor"},
      {"apertus", key("apertus.xielu.beta", "[0.5, 0.5]"), "apertus.xielu.beta"},
      {"apertus", key("apertus.xielu.eps", R"([0.5, 0.5, "odd"])"), "apertus.xielu.eps"},
      {"ministral3_long", key("mistral3.rope.scaling.type", "\"none\""), "attention.temperature_scale"},
      {"gpt2", key("gpt2.attention.head_count_kv", "2"), "num_key_value_heads"},
      {"phi_fused", key("phi2.attention.head_count_kv", "3"), "blk.0.attn_qkv"},
      {"llama_bias", key("llama.attention.head_count", "5"), "blk.0.attn_q.bias"},
  };
  for (const auto& [name, change, says] : refusals) {
    const std::string error = refusal(name, change);
    EXPECT_NE(error.find(says), std::string::npos) << name << ", " << says << ": " << error;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufDense, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& param) { return param.param.name; });

}  // namespace
}  // namespace skua::test
