// What a config leaves out means what the reference takes it for: a config without a key must give the same
// model as one that states the reference's default. Source: the configuration classes of transformers 5.17.
#include <gtest/gtest.h>

#include "models/spelling.h"

namespace skua {
namespace {

struct Left {
  const char* config;    // without the keys
  const char* defaults;  // the keys, with the reference's defaults
};

class Defaults : public testing::TestWithParam<Left> {};

TEST_P(Defaults, AreThoseOfTheReference) {
  const Json without = with(GetParam().config);
  const auto defaults = parse_json(GetParam().defaults);
  ASSERT_TRUE(defaults.ok());
  Json stated = without;
  for (const auto& [key, value] : defaults->members()) stated.set(key, value);
  const std::string text = text_of(stated);
  EXPECT_FALSE(text.starts_with("error")) << text;
  EXPECT_EQ(text_of(without), text);
}

constexpr Left kLeft[] = {
    {R"({"model_type": "apertus", "hidden_act": "xielu"})",
     R"({"rms_norm_eps": 1e-5, "rope_parameters": {"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
         "original_max_position_embeddings": 8192, "low_freq_factor": 1.0, "high_freq_factor": 4.0}})"},
    {R"({"model_type": "qwen2", "use_sliding_window": true, "sliding_window": 9, "max_window_layers": 0})",
     R"({"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})"},
    {R"({"model_type": "qwen2_moe", "use_sliding_window": true, "sliding_window": 9, "max_window_layers": 2,
         "num_experts": 4, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8})",
     R"({"layer_types": ["sliding_attention", "full_attention", "full_attention", "full_attention"]})"},
    {R"({"model_type": "qwen3_moe", "use_sliding_window": true, "sliding_window": 9, "max_window_layers": 2,
         "num_experts_per_tok": 2, "num_experts": 4, "moe_intermediate_size": 8})",
     R"({"layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention"]})"},
    {R"({"model_type": "arcee"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "llama", "rope_scaling": {"type": "yarn", "factor": 4.0}})",
     R"({"original_max_position_embeddings": 256})"},
    {R"({"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 4.0}})",
     R"({"rope_scaling": null})"},
    {R"({"model_type": "cohere"})", R"({"rope_theta": 500000.0})"},
    {R"({"model_type": "ernie4_5"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "exaone4"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "glm4"})", R"({"rms_norm_eps": 1.5625e-07})"},
    {R"({"model_type": "hunyuan_v1_dense"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "ministral3", "rope_parameters": {"rope_type": "default"}})",
     R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "mistral"})", R"({"sliding_window": 4096})"},
    {R"({"model_type": "mixtral"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "olmo2"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "olmo3"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "phi3"})", R"({"rms_norm_eps": 1e-5})"},
    {R"({"model_type": "minicpm3", "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
         "qk_rope_head_dim": 4, "v_head_dim": 8})",
     R"({"rms_norm_eps": 1e-5, "scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256})"},
    // For this model null does not mean the default, but no factor: the depth's root over itself.
    {R"({"model_type": "minicpm3", "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
         "qk_rope_head_dim": 4, "v_head_dim": 8, "scale_depth": null, "dim_model_base": null})",
     R"({"scale_depth": 2, "dim_model_base": 32})"},
    {R"({"model_type": "deepseek_v3", "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 16,
         "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 32, "n_shared_experts": 1,
         "num_experts_per_tok": 2, "moe_intermediate_size": 8, "first_k_dense_replace": 1})",
     R"({"routed_scaling_factor": 2.5, "n_group": 8, "topk_group": 4, "norm_topk_prob": true})"},
    {R"({"model_type": "glm4_moe_lite", "num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 16,
         "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 4, "n_shared_experts": 1,
         "num_experts_per_tok": 2, "moe_intermediate_size": 8, "first_k_dense_replace": 1})",
     R"({"rms_norm_eps": 1e-5, "routed_scaling_factor": 1.8, "n_group": 1, "topk_group": 1})"},
};
INSTANTIATE_TEST_SUITE_P(Families, Defaults, testing::ValuesIn(kLeft));

struct Refused {
  const char* config;
  const char* names;
};

class RefusedValues : public testing::TestWithParam<Refused> {};

TEST_P(RefusedValues, AreNamed) {
  const std::string text = text_of(with(GetParam().config));
  EXPECT_TRUE(text.starts_with("error")) << GetParam().config;
  EXPECT_NE(text.find(GetParam().names), std::string::npos) << text;
}

// What the reference uses in more places than the feed-forward block, or not at all.
constexpr Refused kRefused[] = {
    {R"({"model_type": "falcon_h1", "hidden_act": "gelu", "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1,
         "mamba_d_state": 8})",
     "hidden_act"},
    {R"({"model_type": "granitemoehybrid", "hidden_act": "relu", "mamba_n_heads": 4, "mamba_d_head": 16,
         "mamba_n_groups": 1, "mamba_d_state": 8, "shared_intermediate_size": 16})",
     "hidden_act"},
    {R"({"model_type": "gemma3_text", "head_dim": 8, "attn_logit_softcapping": 20.0})",
     "attn_logit_softcapping"},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*-M", "mamba_num_heads": 4, "mamba_head_dim": 16,
         "n_groups": 1, "ssm_state_size": 8, "tie_word_embeddings": true})",
     "tie_word_embeddings"},
    {R"({"model_type": "ministral3"})", "rope_parameters"},
    {R"({"model_type": "ministral3", "rope_theta": 10000.0})", "rope_parameters"},
    {R"({"model_type": "apertus", "hidden_act": "xielu", "rope_theta": 10000.0})", "rope_parameters"},
    {R"({"model_type": "gpt_neox", "rope_theta": 500.0})", "rope_theta"},
    {R"({"model_type": "gpt_neox", "rope_theta": 500.0, "rotary_emb_base": 600})", "rotary_emb_base"},
    {R"({"model_type": "phi3", "rope_parameters": {"rope_type": "yarn", "factor": 4.0}})", "yarn"},
    {R"({"model_type": "phi3", "rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 64,
         "long_factor": [1, 1, 1, 1], "short_factor": [1, 1, 1, 1]}})",
     "original_max_position_embeddings"},
    {R"({"model_type": "gemma4_text", "head_dim": 8, "sliding_window": 8, "rope_parameters": {"full_attention": "x",
         "sliding_attention": {"rope_type": "default"}}})",
     "full_attention"},
    {R"({"model_type": "gemma3_text", "head_dim": 8, "sliding_window": 8, "rope_parameters": {"full_attention": {},
         "sliding_attention": 5}})",
     "sliding_attention"},
    {R"({"model_type": "qwen3_moe", "use_sliding_window": true, "sliding_window": 9, "num_experts": 4,
         "moe_intermediate_size": 8, "layer_types": ["full_attention", "sliding_attention", "full_attention",
         "sliding_attention"]})",
     "use_sliding_window"},
    {R"({"model_type": "llama", "partial_rotary_factor": 0.5})", "partial_rotary_factor"},
    {R"({"model_type": "gemma4_text", "head_dim": 8, "global_head_dim": 16, "sliding_window": 8,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "partial_rotary_factor": 0.25},
         "sliding_attention": {"rope_type": "default"}}})",
     "partial_rotary_factor"},
};
INSTANTIATE_TEST_SUITE_P(Families, RefusedValues, testing::ValuesIn(kRefused));

}  // namespace
}  // namespace skua
