// Nothing of a config is guessed: for every golden config, each key in turn is given a value that no family
// handles, and keys that change the maths elsewhere are added. The outcome must be an error that names the
// key, or a model whose graph differs (the key is handled); a graph that stays the same is only right for the
// keys that are listed here, with why they have no say.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "models/golden_configs.h"
#include "models/spelling.h"

namespace skua {
namespace {

/// Keys that a family's reference does not look at, or not with the golden's other values.
struct Idle {
  const char* reason;
  std::vector<std::string> model_types;
  std::set<std::string> keys;
};
const std::vector<Idle> kIdle = {
    {"how weights of the scan are initialised", {"mamba2"}, {"time_step_min", "time_step_rank"}},
    {"heads times their width decide; use_bias decides; time_step_min decides",
     {"nemotron_h"},
     {"expand", "mamba_proj_bias", "time_step_limit"}},
    {"no layer of this golden has experts",
     {"nemotron_h"},
     {"moe_intermediate_size", "moe_latent_size", "moe_shared_expert_intermediate_size", "n_group",
      "num_local_experts", "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
      "routed_scaling_factor", "topk_group"}},
    {"written by the class that the reference's config is derived from; it has no experts",
     {"minicpm3", "youtu"},
     {"first_k_dense_replace", "moe_intermediate_size", "n_group", "n_routed_experts", "n_shared_experts",
      "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor", "topk_group", "topk_method",
      "scoring_func"}},
    {"written by the same class; its router has no groups, shared experts or dense layers",
     {"longcat_flash"},
     {"first_k_dense_replace", "moe_intermediate_size", "n_group", "n_shared_experts", "norm_topk_prob",
      "topk_group", "topk_method"}},
    {"intermediate_size is that of an expert",
     {"mixtral", "minimax_m2", "olmoe", "granitemoe"},
     {"moe_intermediate_size"}},
    {"there are no experts without enable_moe_block",
     {"gemma4_text"},
     {"moe_intermediate_size", "num_experts", "top_k_experts"}},
    {"no layer shares keys in these goldens", {"gemma4_text"}, {"use_double_wide_mlp"}},
    {"hidden_activation decides",
     {"gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "vaultgemma"},
     {"hidden_act"}},
    {"mlp_layer_types decides", {"exaone_moe", "glm4_moe_lite"}, {"first_k_dense_replace"}},
    {"the reference has no dense layers", {"solar_open"}, {"first_k_dense_replace"}},
    {"the reference routes by bias and groups", {"glm4_moe_lite"}, {"topk_method"}},
    {"neither says anything without the other",
     {"qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "smollm3",
      "dots1"},
     {"use_sliding_window", "sliding_window"}},
    {"every layer is of both kinds; without mamba_rms_norm there is no norm to place",
     {"falcon_h1"},
     {"layer_types", "mamba_norm_before_gate"}},
    {"layer_types decides", {"lfm2"}, {"full_attn_idxs"}},
    {"true if it is not given", {"gpt_neox"}, {"attention_bias"}},
    {"true if it is not given", {"hunyuan_v1_dense", "hunyuan_v1_moe", "minimax_m2"}, {"use_qk_norm"}},
    {"written by the class that the reference's config is derived from",
     {"hunyuan_v1_moe"},
     {"routed_scaling_factor"}},
};

/// Counts that may be any number above 0.
const std::set<std::string> kNumbers = {"query_pre_attn_scalar", "dim_model_base"};

/// Keys whose values are refused for what they make of another, which the error then names.
const std::vector<std::pair<std::string, std::vector<std::string>>> kOtherNames = {
    {"rope_parameters", {"rope parameter"}},
    {"enable_moe_block", {"moe_intermediate_size"}},
    {"head_dim", {"mamba heads of 7"}},
    {"hidden_activation", {"\"hidden_act\" is \"odd\""}},
    {"n_routed_experts", {"3 experts"}},
    {"num_experts", {"num_local_experts", "3 that can be chosen"}},
    {"num_kv_shared_layers", {"shares keys"}},
    {"activation_sparsity_pattern", {"activation sparsity"}},
    {"layers_block_type", {"num_hidden_layers"}},
};

enum class Outcome { kRefused, kOtherError, kSame, kDiffers };

struct Tried {
  Outcome outcome;
  std::string error;
};

/// `names`: parts of an error that would name the key.
Tried try_config(const Json& config, const std::string& original, const std::vector<std::string>& names) {
  const std::string text = text_of(config);
  if (text == original) return {Outcome::kSame, ""};
  if (!text.starts_with("error: ")) return {Outcome::kDiffers, ""};
  for (const std::string& name : names)
    if (text.find(name) != std::string::npos) return {Outcome::kRefused, text};
  return {Outcome::kOtherError, text};
}

class ConfigDangers : public testing::TestWithParam<GoldenConfig> {
 protected:
  void SetUp() override {
    original_ = text_of(GetParam().config);
    ASSERT_FALSE(original_.starts_with("error: ")) << original_;
  }

  Tried with_value(const std::string& key, Json value, std::vector<std::string> more = {}) const {
    Json changed = GetParam().config;
    changed.set(key, std::move(value));
    more.push_back(key);
    for (const auto& [other, names] : kOtherNames)
      if (other == key) more.insert(more.end(), names.begin(), names.end());
    return try_config(changed, original_, more);
  }

  bool idle(const std::string& key) const {
    const std::string type = GetParam().config.find("model_type")->as_string();
    for (const Idle& idle : kIdle) {
      const bool here =
          std::find(idle.model_types.begin(), idle.model_types.end(), type) != idle.model_types.end();
      if (here && idle.keys.contains(key)) return true;
    }
    return kNoSay.contains(key);
  }

  std::string original_;
};

TEST_P(ConfigDangers, ValuesOfAnotherTypeAreRefusedByName) {
  for (const auto& [key, value] : GetParam().config.members()) {
    if (idle(key) || key == "model_type") continue;
    for (const char* odd : {R"("odd")", R"({"odd": 1})", R"([["odd"]])"}) {
      const Tried tried = with_value(key, *parse_json(odd));
      EXPECT_TRUE(tried.outcome == Outcome::kRefused) << key << " = " << odd << ": " << tried.error;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConfigDangers, testing::ValuesIn(golden_configs()),
                         [](const testing::TestParamInfo<GoldenConfig>& param) { return param.param.name; });

TEST_P(ConfigDangers, CountsThatCountNothingAreRefusedByName) {
  for (const auto& [key, value] : GetParam().config.members()) {
    if (idle(key) || value.kind() != Json::Kind::kInt) continue;
    for (const int64_t odd : {int64_t{-1}, int64_t{1} << 40}) {
      if (odd > 0 && kNumbers.contains(key)) continue;
      if (odd == -1 && key == "moe_layer_end_index") continue;  // the last layer
      const Tried tried = with_value(key, Json(odd));
      EXPECT_TRUE(tried.outcome == Outcome::kRefused) << key << " = " << odd << ": " << tried.error;
    }
  }
}

TEST_P(ConfigDangers, FlagsAreHandledOrRefused) {
  for (const auto& [key, value] : GetParam().config.members()) {
    if (idle(key) || !value.is_bool()) continue;
    const Tried tried = with_value(key, Json(!value.as_bool()));
    EXPECT_TRUE(tried.outcome == Outcome::kRefused || tried.outcome == Outcome::kDiffers)
        << key << " = " << !value.as_bool() << ": " << tried.error;
  }
}

TEST_P(ConfigDangers, ListsThatDoNotFitTheLayersAreRefused) {
  for (const auto& [key, value] : GetParam().config.members()) {
    if (idle(key) || !value.is_array() || value.size() == 0) continue;
    Json odd = Json::array(), shorter = Json::array();
    for (size_t i = 0; i < value.size(); ++i) {
      odd.push_back(i == 0 ? Json("odd_layer") : value.items()[i]);
      if (i > 0) shorter.push_back(value.items()[i]);
    }
    Tried tried = with_value(key, odd);
    EXPECT_TRUE(tried.outcome == Outcome::kRefused)
        << key << " = " << odd.dump().substr(0, 60) << ": " << tried.error;
    // A list of layers, but for the one that says how many there are.
    const Json* n_layers = GetParam().config.find("num_hidden_layers");
    if (n_layers == nullptr || *n_layers != Json(static_cast<int64_t>(value.size()))) continue;
    tried = with_value(key, shorter);
    EXPECT_TRUE(tried.outcome == Outcome::kRefused)
        << key << " = " << shorter.dump().substr(0, 60) << ": " << tried.error;
  }
}

TEST_P(ConfigDangers, RopeOfAnUnknownTypeOrWithUnknownKeysIsRefused) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    for (const char* odd : {R"({"rope_type": "odd", "factor": 2.0, "rope_theta": 10000.0})",
                            R"({"type": "odd", "factor": 2.0})",
                            R"({"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0, "odd_key": 3})",
                            R"({"rope_type": "linear", "factor": "2", "rope_theta": 10000.0})",
                            R"({"rope_type": "yarn", "factor": -1.0, "rope_theta": 10000.0})",
                            R"({"rope_type": "llama3", "factor": "odd"})"}) {
      const Tried tried =
          with_value(key, *parse_json(odd), {"rope", "\"odd\"", "odd_key", "yarn", "llama3", "linear"});
      EXPECT_TRUE(tried.outcome == Outcome::kRefused) << key << " = " << odd << ": " << tried.error;
    }
  }
}

/// Keys that change the maths in some family, with a value that is not the default of any.
struct Danger {
  const char* key;
  const char* value;
};
constexpr Danger kDangers[] = {
    {"attn_logit_softcapping", "7.5"},
    {"final_logit_softcapping", "7.5"},
    {"logit_scale", "0.37"},
    {"logits_scaling", "3.7"},
    {"attention_multiplier", "0.37"},
    {"embedding_multiplier", "3.7"},
    {"residual_multiplier", "0.37"},
    {"scale_emb", "3.7"},
    {"scale_depth", "3.7"},
    {"partial_rotary_factor", "0.5"},
    {"rotary_pct", "0.5"},
    {"use_qk_norm", "true"},
    {"qk_norm", "true"},
    {"attention_bias", "true"},
    {"mlp_bias", "true"},
    {"qkv_bias", "true"},
    {"clip_qkv", "3.7"},
    {"alibi", "true"},
    {"sliding_window", "7"},
    {"attention_chunk_size", "7"},
    {"num_experts", "3"},
    {"num_local_experts", "3"},
    {"n_routed_experts", "3"},
    {"n_shared_experts", "2"},
    {"moe_intermediate_size", "7"},
    {"first_k_dense_replace", "2"},
    {"routed_scaling_factor", "3.7"},
    {"scoring_func", "\"odd\""},
    {"topk_method", "\"odd\""},
    {"hidden_act", "\"odd\""},
    {"hidden_activation", "\"odd\""},
    {"position_embedding_type", "\"odd\""},
    {"head_dim", "7"},
    {"num_key_value_heads", "3"},
    {"tie_word_embeddings", "\"odd\""},
    {"rms_norm_eps", "\"odd\""},
    {"rope_interleave", "\"odd\""},
    {"use_parallel_residual", "\"odd\""},
    {"parallel_attn", "true"},
    {"layer_types", R"(["odd_layer"])"},
    {"query_pre_attn_scalar", "3.7"},
    {"index_topk", "7"},
    {"num_kv_shared_layers", "1"},
    {"use_bidirectional_attention", "true"},
    {"norm_topk_prob", "\"odd\""},
    {"swiglu_limit", "3.7"},
    {"time_step_limit", "[0.5, 0.7]"},
    {"a_key_of_tomorrow", "3.7"},
};

TEST_P(ConfigDangers, KeysThatChangeTheMathsElsewhereAreHandledOrRefused) {
  for (const Danger& danger : kDangers) {
    const Json value = *parse_json(danger.value);
    const Json* has = GetParam().config.find(danger.key);
    if (idle(danger.key) || (has != nullptr && *has == value)) continue;
    const Tried tried = with_value(danger.key, value);
    EXPECT_TRUE(tried.outcome == Outcome::kRefused || tried.outcome == Outcome::kDiffers)
        << danger.key << " = " << danger.value << ": "
        << (tried.error.empty() ? "the same graph as without it" : tried.error);
  }
}

}  // namespace
}  // namespace skua
