// Older and newer spellings of one config must give the same model; values that change the maths and are not
// handled must be refused.
#include <gtest/gtest.h>

#include "models/spelling.h"

namespace skua {
namespace {

struct Pair {
  const char* older;
  const char* newer;
};

class Spellings : public testing::TestWithParam<Pair> {};

TEST_P(Spellings, GiveTheSameModel) {
  const std::string newer = text_of(with(GetParam().newer));
  EXPECT_FALSE(newer.starts_with("error")) << newer;
  EXPECT_EQ(text_of(with(GetParam().older)), newer);
}

constexpr Pair kPairs[] = {
    {R"({"model_type": "gemma", "hidden_act": "gelu", "hidden_activation": null, "head_dim": 8, "rope_theta": 10000.0})",
     R"({"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "head_dim": 8,
         "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"},
    {R"({"model_type": "gemma2", "head_dim": 8, "sliding_window": 16, "hidden_act": "gelu_pytorch_tanh",
         "cache_implementation": "hybrid", "rope_theta": 10000.0})",
     R"({"model_type": "gemma2", "head_dim": 8, "sliding_window": 16, "rope_parameters": {"rope_theta": 10000.0,
         "rope_type": "default"}, "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
         "full_attention"]})"},
    {R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_theta": 10000.0, "rope_scaling":
         {"type": "su", "long_factor": [1.5, 1.6, 1.7, 1.8], "short_factor": [1, 1, 1, 1]}})",
     R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
         "original_max_position_embeddings": 64, "partial_rotary_factor": 1.0,
         "long_factor": [1.5, 1.6, 1.7, 1.8], "short_factor": [1, 1, 1, 1]}})"},
    {R"({"model_type": "smollm3", "rope_theta": 5000000.0, "no_rope_layer_interval": 2})",
     R"({"model_type": "smollm3", "rope_parameters": {"rope_theta": 5000000.0, "rope_type": "default"},
         "no_rope_layers": [1, 0, 1, 0]})"},
    {R"({"model_type": "olmo3", "sliding_window": 16, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "yarn",
         "factor": 8.0, "attention_factor": 1.2, "original_max_position_embeddings": 64, "beta_fast": 32.0,
         "beta_slow": 1.0}})",
     R"({"model_type": "olmo3", "sliding_window": 16, "rope_parameters": {"full_attention": {"rope_type": "yarn",
         "rope_theta": 500000.0, "factor": 8.0, "attention_factor": 1.2, "original_max_position_embeddings": 64,
         "beta_fast": 32.0, "beta_slow": 1.0}, "sliding_attention": {"rope_type": "default",
         "rope_theta": 500000.0}}})"},
    {R"({"model_type": "exaone4", "sliding_window": 16, "sliding_window_pattern": "LLLG", "rope_theta": 1000000.0})",
     R"({"model_type": "exaone4", "sliding_window": 16, "sliding_window_pattern": 4, "layer_types":
         ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "glm4", "attention_bias": true, "partial_rotary_factor": 0.5, "rope_theta": 10000.0})",
     R"({"model_type": "glm4", "attention_bias": true, "rope_parameters": {"rope_theta": 10000.0,
         "partial_rotary_factor": 0.5, "rope_type": "default"}})"},
    {R"({"model_type": "hunyuan_v1_dense", "use_qk_norm": true, "use_cla": false, "rope_theta": 10000.0,
         "rope_scaling": {"type": "dynamic", "alpha": 16.0, "factor": 1.0}})",
     R"({"model_type": "hunyuan_v1_dense", "rope_parameters": {"rope_type": "default", "rope_theta":
         403174.73596633737}})"},
    {R"({"model_type": "cohere2", "sliding_window": 16, "sliding_window_pattern": 4, "rotary_pct": 1.0,
         "position_embedding_type": "rope_gptj", "use_parallel_block": true, "rope_theta": 50000.0})",
     R"({"model_type": "cohere2", "sliding_window": 16, "layer_types": ["sliding_attention", "sliding_attention",
         "sliding_attention", "full_attention"], "rope_parameters": {"rope_theta": 50000.0, "rope_type": "default"}})"},
    {R"({"model_type": "stablelm", "partial_rotary_factor": 0.25, "rope_theta": 10000, "rope_scaling": null})",
     R"({"model_type": "stablelm", "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25,
         "rope_type": "default"}})"},
    {R"({"model_type": "phi", "partial_rotary_factor": 0.5, "rope_theta": 10000.0})",
     R"({"model_type": "phi", "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}})"},
    {R"({"model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 20000})",
     R"({"model_type": "gpt_neox", "rope_parameters": {"rope_theta": 20000.0, "partial_rotary_factor": 0.5,
         "rope_type": "default"}})"},
    {R"({"model_type": "gemma4_text", "head_dim": 8, "sliding_window": 16, "hidden_size_per_layer_input": 0,
         "attention_k_eq_v": true, "global_head_dim": 16, "num_global_key_value_heads": 1, "layer_types":
         ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]})",
     R"({"model_type": "gemma4_text", "head_dim": 8, "sliding_window": 16, "hidden_size_per_layer_input": 0,
         "attention_k_eq_v": true, "per_layer_config": {"3": {"head_dim": 16, "num_key_value_heads": 1}},
         "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
         "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})"},
    {R"({"model_type": "gemma3n_text", "head_dim": 8, "sliding_window": 16, "num_kv_shared_layers": 1,
         "intermediate_size": 24, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": null,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})",
     R"({"model_type": "gemma3n_text", "head_dim": 8, "sliding_window": 16, "num_kv_shared_layers": 1,
         "intermediate_size": [24, 24, 24, 24], "activation_sparsity_pattern": [0.0, 0.0, 0.0, 0.0],
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})"},
    {R"({"model_type": "lfm2", "block_dim": 32, "block_ff_dim": 36, "block_auto_adjust_ff_dim": true,
         "block_multiple_of": 8, "block_norm_eps": 1e-05, "block_use_swiglu": true,
         "conv_dim": 32, "conv_dim_out": 32, "num_heads": 4, "use_pos_enc": true, "full_attn_idxs": [1, 3],
         "tie_embedding": true, "norm_eps": 1e-05, "rope_theta": 1000000.0})",
     R"({"model_type": "lfm2", "block_auto_adjust_ff_dim": false, "norm_eps": 1e-05, "rms_norm_eps": 1e-06,
         "layer_types": ["conv", "full_attention", "conv", "full_attention"], "tie_word_embeddings": true,
         "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "lfm2_moe", "full_attn_idxs": [2], "num_experts": 4, "moe_intermediate_size": 8,
         "rope_theta": 1000000.0})",
     R"({"model_type": "lfm2_moe", "layer_types": ["conv", "conv", "full_attention", "conv"], "num_experts": 4,
         "moe_intermediate_size": 8, "num_dense_layers": 2, "num_experts_per_tok": 4, "norm_topk_prob": true,
         "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "qwen3_next", "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "full_attention_interval": 4,
         "partial_rotary_factor": 0.25, "rope_theta": 10000000, "rope_scaling": null, "use_sliding_window": false,
         "sliding_window": 4096})",
     R"({"model_type": "qwen3_next", "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8, "layer_types": ["linear_attention",
         "linear_attention", "linear_attention", "full_attention"], "rope_parameters": {"rope_theta": 10000000.0,
         "partial_rotary_factor": 0.25, "rope_type": "default"}})"},
    {R"({"model_type": "jamba", "mamba_dt_rank": "auto", "num_experts": 4, "attn_layer_period": 2,
         "attn_layer_offset": 1, "mamba_inner_layernorms": true, "sliding_window": null, "n_ctx": 256})",
     R"({"model_type": "jamba", "mamba_dt_rank": 2, "num_local_experts": 4, "attn_layer_period": 2,
         "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1})"},
    {R"({"model_type": "gpt_oss", "head_dim": 8, "sliding_window": 16, "experts_per_token": 2, "num_local_experts": 4,
         "initial_context_length": 4096, "swiglu_limit": 7.0, "rope_theta": 150000, "rope_scaling": {"beta_fast": 32.0,
         "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn",
         "truncate": false}})",
     R"({"model_type": "gpt_oss", "head_dim": 8, "sliding_window": 16, "num_experts_per_tok": 2, "num_experts": 4,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})"},
    {R"({"model_type": "llama4_text", "head_dim": 8, "intermediate_size_mlp": 40, "attention_chunk_size": 16,
         "no_rope_layers": [], "attn_temperature_tuning": 4, "for_llm_compressor": false, "rope_theta": 500000.0,
         "rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
         "original_max_position_embeddings": 64, "rope_type": "llama3"}})",
     R"({"model_type": "llama4_text", "head_dim": 8, "intermediate_size_mlp": 40, "attention_chunk_size": 16,
         "no_rope_layers": [1, 1, 1, 0], "moe_layers": [0, 1, 2, 3], "attn_temperature_tuning": true,
         "layer_types": ["chunked_attention", "chunked_attention", "chunked_attention", "full_attention"],
         "rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
         "original_max_position_embeddings": 64, "rope_type": "llama3", "rope_theta": 500000.0}})"},
    {R"({"model_type": "granitemoehybrid", "layer_types": ["mamba", "mamba", "attention", "mamba"],
         "mamba_n_heads": 8, "mamba_d_head": "auto", "mamba_d_state": 4, "mamba_n_groups": 1,
         "num_local_experts": 0, "shared_intermediate_size": 20, "position_embedding_type": "nope",
         "normalization_function": "rmsnorm", "init_method": "mup", "rope_theta": 10000, "rope_scaling": null})",
     R"({"model_type": "granitemoehybrid", "layer_types": ["linear_attention", "linear_attention",
         "full_attention", "linear_attention"], "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 4,
         "mamba_n_groups": 1, "num_local_experts": 0, "shared_intermediate_size": 20,
         "position_embedding_type": null, "time_step_limit": [0.0, {"__float__": "Infinity"}]})"},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*-M", "attention_head_dim": 8,
         "mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 4, "n_groups": 2, "sliding_window": null,
         "time_step_limit": [0.0, {"__float__": "Infinity"}], "expand": 2})",
     R"({"model_type": "nemotron_h", "layers_block_type": ["linear_attention", "full_attention", "mlp",
         "linear_attention"], "head_dim": 8, "mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 4,
         "n_groups": 2, "time_step_min": 0.001, "mlp_hidden_act": "relu2"})"},
    {R"({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_d_head": "auto", "mamba_d_state": 4,
         "mamba_n_groups": 1, "mamba_expand": 2, "mamba_d_ssm": null, "rope_theta": 100000000000.0})",
     R"({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 4,
         "mamba_n_groups": 1, "mamba_d_ssm": 64, "mlp_multipliers": [1.0, 1.0], "ssm_multipliers": [1, 1, 1, 1, 1],
         "rope_parameters": {"rope_theta": 100000000000.0, "rope_type": "default"}})"},
};
INSTANTIATE_TEST_SUITE_P(All, Spellings, testing::ValuesIn(kPairs));

TEST(Lfm2, WidensTheFeedForwardAsItsConfigSays) {
  const auto width = [](const char* own) {
    const auto model = parse_model(with(own), ConfigPolicy::kStrict);
    const auto graph = (*model)->build(Numerics{});
    for (const WeightDecl& weight : graph->weights) {
      if (weight.name == "model.layers.0.feed_forward.w1.weight") return weight.rows;
    }
    return int64_t{0};
  };
  EXPECT_EQ(width(R"({"model_type": "lfm2", "intermediate_size": 100, "block_auto_adjust_ff_dim": false})"),
            100);
  EXPECT_EQ(width(R"({"model_type": "lfm2", "intermediate_size": 100})"), 256);  // 66, in steps of 256
  EXPECT_EQ(width(R"({"model_type": "lfm2", "intermediate_size": 100, "block_multiple_of": 8})"), 72);
  EXPECT_EQ(width(R"({"model_type": "lfm2", "intermediate_size": 100, "block_multiple_of": 8,
      "block_ffn_dim_multiplier": 1.5})"),
            104);  // 99
  EXPECT_EQ(width(R"({"model_type": "lfm2", "intermediate_size": 100, "block_ffn_dim_multiplier": null})"),
            66);
  EXPECT_EQ(width(R"({"model_type": "lfm2", "block_ff_dim": 12, "block_multiple_of": 4})"), 8);
}

TEST(LongRope, IsChosenByTheServedContextAndNothingElse) {
  const Json config = with(R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_scaling":
      {"type": "longrope", "long_factor": [2, 2, 2, 2], "short_factor": [1, 1, 1, 1]}})");
  EXPECT_NE(text_of(config, 64), text_of(config, 65));
  EXPECT_EQ(text_of(config, 65), text_of(config, 256));
  EXPECT_EQ(text_of(config), text_of(config, 256));  // the checkpoint's own 256
  EXPECT_EQ(text_of(config, 8), text_of(config, 64));
}

/// A config and the key that its refusal must name.
constexpr std::pair<const char*, const char*> kRefusals[] = {
    {R"({"model_type": "gemma2", "use_bidirectional_attention": true})", "use_bidirectional_attention"},
    {R"({"model_type": "cohere2", "use_parallel_block": false, "sliding_window": 8})", "use_parallel_block"},
    {R"({"model_type": "starcoder2", "norm_type": "rms"})", "norm_type"},
    {R"({"model_type": "apertus", "hidden_act": "silu"})", "hidden_act"},
    {R"({"model_type": "smollm3", "no_rope_layers": [1]})", "no_rope_layers"},
    {R"({"model_type": "opt", "ffn_dim": 9, "do_layer_norm_before": false})", "do_layer_norm_before"},
    {R"({"model_type": "opt", "ffn_dim": 9, "word_embed_proj_dim": 16})", "word_embed_proj_dim"},
    {R"({"model_type": "phi3", "rope_scaling": {"type": "longrope", "long_factor": [1], "short_factor": [1]},
           "original_max_position_embeddings": 64})",
     "long_factor"},
    {R"({"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "ntk", "factor": 2.0}})", "ntk"},
    {R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope",
         "original_max_position_embeddings": 32, "long_factor": [1, 1, 1, 1], "short_factor": [1, 1, 1, 1]}})",
     "original_max_position_embeddings"},
    {R"({"model_type": "exaone4", "sliding_window": 8, "sliding_window_pattern": "LGLG"})",
     "sliding_window_pattern"},
    {R"({"model_type": "lfm2", "use_pos_enc": false})", "use_pos_enc"},
    {R"({"model_type": "lfm2", "conv_dim": 48})", "conv_dim"},
    {R"({"model_type": "lfm2", "full_attn_idxs": 1})", "full_attn_idxs"},
    {R"({"model_type": "lfm2", "layer_types": ["conv", "conv", "conv", "sliding_attention"]})",
     "sliding_attention"},
    {R"({"model_type": "lfm2_moe", "full_attn_idxs": [4], "num_experts": 4, "moe_intermediate_size": 8})",
     "full_attn_idxs"},
    {R"({"model_type": "qwen3_5_text", "attn_output_gate": false})", "attn_output_gate"},
    {R"({"model_type": "qwen3_5_text", "hidden_act": "gelu"})", "hidden_act"},
    {R"({"model_type": "qwen3_5_text", "mamba_ssm_dtype": "bfloat16"})", "mamba_ssm_dtype"},
    {R"({"model_type": "qwen3_5_text", "linear_num_value_heads": 24})", "linear_num_value_heads"},
    {R"({"model_type": "qwen3_5_text", "layer_types": ["linear_attention"]})", "layer_types"},
    {R"({"model_type": "qwen3_5_moe_text", "num_experts": 4, "norm_topk_prob": false})", "norm_topk_prob"},
    {R"({"model_type": "jamba", "mamba_inner_layernorms": false})", "mamba_inner_layernorms"},
    {R"({"model_type": "jamba", "sliding_window": 8})", "sliding_window"},
    {R"({"model_type": "jamba", "attn_layer_offset": 8})", "attn_layer_offset"},
    {R"({"model_type": "gpt_oss", "sliding_window": 8, "swiglu_limit": 6.0})", "swiglu_limit"},
    {R"({"model_type": "gpt_oss", "sliding_window": 8, "hidden_act": "gelu"})", "hidden_act"},
    {R"({"model_type": "gpt_oss", "sliding_window": 8, "experts_per_token": 2, "num_experts_per_tok": 4})",
     "experts_per_token"},
    {R"({"model_type": "gpt_oss"})", "sliding_window"},
    {R"({"model_type": "llama4_text", "no_rope_layers": [1]})", "no_rope_layers"},
    {R"({"model_type": "llama4_text", "layer_types": ["full_attention"]})", "layer_types"},
    {R"({"model_type": "llama4_text", "layer_types": ["a", "full_attention", "full_attention",
           "full_attention"]})",
     "chunked_attention"},
    {R"({"model_type": "llama4_text", "attn_temperature_tuning": "yes"})", "attn_temperature_tuning"},
    {R"({"model_type": "llama4_text", "moe_layers": [4]})", "moe_layers"},
    {R"({"model_type": "gemma4_text", "head_dim": 8, "enable_moe_block": true})", "moe_intermediate_size"},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MX*M", "mamba_num_heads": 4, "n_groups": 1,
           "ssm_state_size": 4})",
     "layers_block_type holds \"X\""},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MM", "mamba_num_heads": 4, "n_groups": 1,
           "ssm_state_size": 4})",
     "hybrid_override_pattern"},
    {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MM*M", "mamba_num_heads": 4, "n_groups": 1,
           "ssm_state_size": 4, "mamba_hidden_act": "gelu"})",
     "mamba_hidden_act"},
    {R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "shared_intermediate_size": 20, "position_embedding_type": "alibi"})",
     "position_embedding_type"},
    {R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "mamba_n_heads": 7, "mamba_d_head": 8, "mamba_n_groups": 1,
           "mamba_d_state": 4, "shared_intermediate_size": 20})",
     "7 mamba heads of 8"},
    {R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "shared_intermediate_size": 20, "layer_types": ["mamba", "mamba", "mamba", "conv"]})",
     "conv"},
    {R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "mamba_n_heads": 8, "mamba_n_groups": 3, "mamba_d_state": 4,
           "shared_intermediate_size": 20})",
     "8 heads in 3 groups"},
    {R"({"model_type": "granitemoehybrid", "num_local_experts": 0, "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "shared_intermediate_size": 20, "time_step_limit": [0.0, {"__float__": "NaN"}]})",
     "time_step_limit"},
    {R"({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "mamba_d_ssm": 64, "ssm_multipliers": [1, 1]})",
     "ssm_multipliers"},
    {R"({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "mamba_d_ssm": 64, "key_multiplier": 0.0})",
     "key_multiplier"},
    {R"({"model_type": "falcon_h1", "mamba_n_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
           "mamba_d_ssm": 64, "ssm_out_multiplier": 0.5, "skua_mlx_layout": true})",
     "MLX"},
};

TEST(Refusals, NameTheKeyThatWouldChangeTheMaths) {
  for (const auto& [config, key] : kRefusals) {
    const std::string text = text_of(with(config));
    EXPECT_TRUE(text.starts_with("error")) << config;
    EXPECT_NE(text.find(key), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace skua
