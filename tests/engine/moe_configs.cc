// Tiny models of the families with experts.
#include "engine/family_configs.h"

namespace skua::test {
namespace {

constexpr Format kBF16Format{FormatKind::kBF16};
constexpr Format kF32Format{FormatKind::kF32};
constexpr Format kF16Format{FormatKind::kF16};
constexpr Format kAffine4{FormatKind::kAffine, 4, 32, DType::kBF16};
constexpr Format kQ8{FormatKind::kQ8_0};

/// Families whose router is DeepSeek-V3's.
std::vector<FamilyModel> sigmoid_routed() {
  return {
      tiny("dots1_f16", "dots1",
           R"({"model_type": "dots1", "head_dim": 20, "sliding_window": 33, "max_window_layers": 1,
        "n_routed_experts": 7, "n_shared_experts": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 11,
        "first_k_dense_replace": 1, "norm_topk_prob": true, "routed_scaling_factor": 2.5})",
           kF16Format),
      tiny("glm4_moe_bf16", "glm4_moe", R"({"model_type": "glm4_moe", "head_dim": 24, "attention_bias": true,
        "use_qk_norm": true, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 3, "n_group": 4,
        "topk_group": 2, "moe_intermediate_size": 11, "first_k_dense_replace": 1, "partial_rotary_factor": 0.5})",
           kBF16Format),
      tiny("solar_open_affine4", "solar_open",
           R"({"model_type": "solar_open", "hidden_size": 64, "head_dim": 32,
        "n_routed_experts": 6, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "partial_rotary_factor": 1.0})",
           kAffine4),
      tiny("nemotron_h_moe_f32", "nemotron_h", R"({"model_type": "nemotron_h", "num_hidden_layers": 4,
        "hybrid_override_pattern": "ME*E", "head_dim": 20, "mamba_num_heads": 6, "mamba_head_dim": 14,
        "n_groups": 2, "ssm_state_size": 11, "n_routed_experts": 6, "num_experts_per_tok": 3, "n_group": 3,
        "topk_group": 2, "moe_intermediate_size": 13, "moe_shared_expert_intermediate_size": 19,
        "moe_latent_size": 17, "routed_scaling_factor": 2.5})",
           kF32Format),
      tiny("exaone_moe_bf16", "exaone_moe",
           R"({"model_type": "exaone_moe", "head_dim": 16, "sliding_window": 33,
        "sliding_window_pattern": 2, "num_experts": 6, "num_shared_experts": 1, "num_experts_per_tok": 3,
        "moe_intermediate_size": 11, "first_k_dense_replace": 1})",
           kBF16Format),
      tiny("afmoe_f32", "afmoe",
           R"({"model_type": "afmoe", "head_dim": 20, "sliding_window": 50, "num_experts": 5,
        "global_attn_every_n_layers": 2, "num_shared_experts": 1, "num_experts_per_tok": 2, "num_dense_layers": 1,
        "moe_intermediate_size": 13, "mup_enabled": true, "route_scale": 2.8})",
           kF32Format),
  };
}

std::vector<FamilyModel> others() {
  return {
      tiny("olmoe_q8_0", "olmoe", R"({"model_type": "olmoe", "hidden_size": 96, "intermediate_size": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 7, "num_experts_per_tok": 3})",
           kQ8),
      tiny("ernie4_5_moe_f16", "ernie4_5_moe",
           R"({"model_type": "ernie4_5_moe", "use_bias": true, "moe_num_experts": 6,
        "moe_k": 2, "moe_num_shared_experts": 2, "moe_intermediate_size": 9, "num_hidden_layers": 3,
        "moe_layer_start_index": 1})",
           kF16Format),
      tiny("hunyuan_moe_bf16", "hunyuan_v1_moe",
           R"({"model_type": "hunyuan_v1_moe", "num_experts": 5, "moe_topk": [2, 2],
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}})",
           kBF16Format),
      tiny("granitemoe_bf16", "granitemoe", R"({"model_type": "granitemoe", "embedding_multiplier": 3.0,
        "residual_multiplier": 0.5, "logits_scaling": 2.0, "attention_multiplier": 0.2, "num_local_experts": 6})",
           kBF16Format),
      tiny("minimax_m2_f32", "minimax_m2", R"({"model_type": "minimax_m2", "head_dim": 24, "rotary_dim": 10,
        "num_local_experts": 9, "num_experts_per_tok": 4})",
           kF32Format),
  };
}

}  // namespace

std::vector<FamilyModel> moe_family_models() {
  std::vector<FamilyModel> out = sigmoid_routed();
  for (FamilyModel& model : others()) out.push_back(std::move(model));
  return out;
}

}  // namespace skua::test
