// Tiny models of families with convolutions and scans.
#include "engine/family_configs.h"

namespace skua::test {
namespace {

constexpr Format kBF16{FormatKind::kBF16}, kF16{FormatKind::kF16}, kF32{FormatKind::kF32};
constexpr Format kAffine4{FormatKind::kAffine, 4, 32, DType::kBF16};
constexpr Format kAffine8{FormatKind::kAffine, 8, 32, DType::kF16};

}  // namespace

std::vector<FamilyModel> recurrent_sample_models() {
  return {
      tiny("lfm2_bf16", "lfm2", R"({"model_type": "lfm2", "num_hidden_layers": 3, "conv_L_cache": 4,
        "conv_bias": true, "full_attn_idxs": [1], "block_auto_adjust_ff_dim": false})",
           kBF16),
      tiny("qwen3_next_bf16", "qwen3_next", R"({"model_type": "qwen3_next", "num_hidden_layers": 3,
        "full_attention_interval": 2, "head_dim": 24, "linear_num_key_heads": 2, "linear_num_value_heads": 6,
        "linear_key_head_dim": 10, "linear_value_head_dim": 20, "num_experts": 5, "num_experts_per_tok": 2,
        "moe_intermediate_size": 14, "shared_expert_intermediate_size": 19, "mlp_only_layers": [1]})",
           kBF16),
      tiny("jamba_bf16", "jamba", R"({"model_type": "jamba", "num_hidden_layers": 4, "hidden_size": 45,
        "attn_layer_period": 3, "attn_layer_offset": 1, "mamba_d_state": 6, "mamba_dt_rank": 5,
        "mamba_proj_bias": true, "num_experts": 3})",
           kBF16),
      {"mamba2_bf16", "mamba2", R"({"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 40,
        "vocab_size": 101, "num_heads": 4, "head_dim": 20, "n_groups": 2, "state_size": 9, "conv_kernel": 3,
        "use_bias": true})",
       kBF16},
      tiny("falcon_h1_f32", "falcon_h1", R"({"model_type": "falcon_h1", "head_dim": 20, "mamba_d_ssm": 66,
        "mamba_n_heads": 6, "mamba_d_head": 11, "mamba_n_groups": 3, "mamba_d_state": 7, "mamba_rms_norm": true,
        "mamba_norm_before_gate": false, "attention_in_multiplier": 0.8, "attention_out_multiplier": 0.7,
        "key_multiplier": 0.4, "lm_head_multiplier": 0.5, "embedding_multiplier": 3.0, "ssm_in_multiplier": 1.25,
        "mlp_multipliers": [0.9, 0.6], "ssm_multipliers": [0.35, 0.5, 1.5, 0.7, 1.2], "ssm_out_multiplier": 0.6})",
           kF32),
  };
}

std::vector<FamilyModel> recurrent_family_models() {
  return {
      tiny("lfm2_affine4", "lfm2", R"({"model_type": "lfm2", "num_hidden_layers": 3, "hidden_size": 96,
        "block_ff_dim": 160, "block_multiple_of": 32, "full_attn_idxs": [2], "num_key_value_heads": 3})",
           kAffine4),
      tiny("lfm2_moe_f16", "lfm2_moe", R"({"model_type": "lfm2_moe", "num_hidden_layers": 3,
        "layer_types": ["conv", "full_attention", "conv"], "num_experts": 5, "num_experts_per_tok": 2,
        "moe_intermediate_size": 14, "num_dense_layers": 1, "routed_scaling_factor": 1.5})",
           kF16),
      tiny("qwen3_5_affine4", "qwen3_5", R"({"model_type": "qwen3_5_text", "num_hidden_layers": 3,
        "hidden_size": 64, "intermediate_size": 96, "full_attention_interval": 2, "head_dim": 32,
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16,
        "linear_value_head_dim": 32})",
           kAffine4),
      tiny("qwen3_5_moe_f32", "qwen3_5", R"({"model_type": "qwen3_5_moe_text", "num_hidden_layers": 2,
        "full_attention_interval": 2, "head_dim": 16, "linear_num_key_heads": 1, "linear_num_value_heads": 3,
        "linear_key_head_dim": 9, "linear_value_head_dim": 17, "linear_conv_kernel_dim": 3, "num_experts": 5,
        "num_experts_per_tok": 2, "moe_intermediate_size": 14, "shared_expert_intermediate_size": 19})",
           kF32),
      tiny("jamba_affine8", "jamba", R"({"model_type": "jamba", "num_hidden_layers": 2, "hidden_size": 96,
        "intermediate_size": 160, "num_key_value_heads": 3, "attn_layer_period": 2, "attn_layer_offset": 0,
        "mamba_dt_rank": 32, "mamba_conv_bias": false, "num_experts": 4})",
           kAffine8),
      {"mamba2_affine4", "mamba2", R"({"model_type": "mamba2", "num_hidden_layers": 2, "hidden_size": 64,
        "vocab_size": 101, "num_heads": 8, "head_dim": 16, "n_groups": 1, "state_size": 12,
        "time_step_limit": [0.01, 0.2], "tie_word_embeddings": true})",
       kAffine4},
      tiny("falcon_h1_f16", "falcon_h1", R"({"model_type": "falcon_h1", "mamba_d_ssm": 48, "mamba_n_heads": 3,
        "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state": 10, "mamba_rms_norm": true,
        "mamba_d_conv": 2, "mamba_conv_bias": false, "mamba_proj_bias": true, "projectors_bias": true,
        "attention_bias": true, "mlp_bias": true})",
           kF16),
      tiny("granitemoehybrid_bf16", "granitemoehybrid", R"({"model_type": "granitemoehybrid",
        "num_hidden_layers": 3, "layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 4,
        "mamba_d_head": 24, "mamba_d_state": 8, "mamba_n_groups": 1, "num_local_experts": 5,
        "num_experts_per_tok": 2, "shared_intermediate_size": 19, "position_embedding_type": "nope",
        "embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2,
        "logits_scaling": 2.0})",
           kBF16),
      tiny("granitehybrid_f32", "granitemoehybrid", R"({"model_type": "granitemoehybrid",
        "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"], "mamba_n_heads": 6,
        "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 2, "num_local_experts": 0,
        "shared_intermediate_size": 29, "position_embedding_type": "rope"})",
           kF32),
      tiny("nemotron_h_bf16", "nemotron_h", R"({"model_type": "nemotron_h", "num_hidden_layers": 5,
        "hybrid_override_pattern": "M*-MM", "head_dim": 20, "mamba_num_heads": 6, "mamba_head_dim": 14,
        "n_groups": 2, "ssm_state_size": 11, "use_bias": true, "mlp_bias": true})",
           kBF16),
      tiny("nemotron_h_affine8", "nemotron_h", R"({"model_type": "nemotron_h", "num_hidden_layers": 3,
        "layers_block_type": ["mamba", "mlp", "attention"], "hidden_size": 96, "intermediate_size": 160,
        "head_dim": 32, "num_key_value_heads": 3, "mamba_num_heads": 4, "mamba_head_dim": 24, "n_groups": 1,
        "ssm_state_size": 16})",
           kAffine8),
  };
}

}  // namespace skua::test
