// Tiny models of the dense families: a common base with odd sizes, and what each family says besides.
#include "engine/family_configs.h"

#include "base/check.h"

namespace skua::test {
namespace {

constexpr const char* kBase = R"({"num_hidden_layers": 2, "hidden_size": 48, "intermediate_size": 41,
  "num_attention_heads": 3, "num_key_value_heads": 1, "vocab_size": 101, "max_position_embeddings": 4096})";

constexpr Format kBF16Format{FormatKind::kBF16};
constexpr Format kF32Format{FormatKind::kF32};
constexpr Format kF16Format{FormatKind::kF16};
constexpr Format kAffine4{FormatKind::kAffine, 4, 32, DType::kBF16};

std::vector<FamilyModel> first_half() {
  return {
      tiny("gemma_f32", "gemma", R"({"model_type": "gemma", "head_dim": 40, "hidden_act": "gelu"})",
           kF32Format),
      tiny("gemma2_bf16", "gemma2", R"({"model_type": "gemma2", "head_dim": 40, "sliding_window": 33})",
           kBF16Format),
      tiny("vaultgemma_f16", "gemma2", R"({"model_type": "vaultgemma", "head_dim": 24, "sliding_window": 70,
        "num_hidden_layers": 3})",
           kF16Format),
      tiny("phi3_affine4", "phi3", R"({"model_type": "phi3", "hidden_size": 96, "intermediate_size": 160,
        "num_key_value_heads": 3, "sliding_window": 50, "original_max_position_embeddings": 1024, "rope_scaling":
        {"type": "longrope", "long_factor": [1.5,1.6,1.7,1.8,1.9,2,2.1,2.2,2.3,2.4,2.5,2.6,2.7,2.8,2.9,3],
         "short_factor": [1,1,1,1,1,1,1,1,1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8]}})",
           kAffine4),
      tiny("arcee_bf16", "arcee", R"({"model_type": "arcee", "mlp_bias": true})", kBF16Format),
      tiny("smollm3_bf16", "smollm3", R"({"model_type": "smollm3", "no_rope_layers": [1, 0]})", kBF16Format),
      tiny("seed_oss_bf16", "seed_oss", R"({"model_type": "seed_oss", "head_dim": 20})", kBF16Format),
      tiny("ernie4_5_f16", "ernie4_5", R"({"model_type": "ernie4_5", "use_bias": true})", kF16Format),
      tiny("hunyuan_bf16", "hunyuan_v1_dense", R"({"model_type": "hunyuan_v1_dense",
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0}})",
           kBF16Format),
      tiny("apertus_bf16", "apertus",
           R"({"model_type": "apertus", "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}})",
           kBF16Format),
      tiny("nanochat_f32", "nanochat", R"({"model_type": "nanochat"})", kF32Format),
      tiny("granite_bf16", "granite", R"({"model_type": "granite", "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4, "attention_multiplier": 0.2, "logits_scaling": 2.0})",
           kBF16Format),
  };
}

std::vector<FamilyModel> second_half() {
  return {
      tiny("olmo2_bf16", "olmo2", R"({"model_type": "olmo2"})", kBF16Format),
      tiny("olmo3_bf16", "olmo3", R"({"model_type": "olmo3", "sliding_window": 30, "num_hidden_layers": 4,
        "rope_theta": 500000.0, "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "attention_factor": 1.2,
        "original_max_position_embeddings": 512, "beta_fast": 32, "beta_slow": 1}})",
           kBF16Format),
      tiny("exaone4_bf16", "exaone4",
           R"({"model_type": "exaone4", "sliding_window": 30, "num_hidden_layers": 4,
        "sliding_window_pattern": "LLLG"})",
           kBF16Format),
      tiny("glm4_affine4", "glm4", R"({"model_type": "glm4", "hidden_size": 96, "intermediate_size": 160,
        "attention_bias": true})",
           kAffine4),
      tiny("ministral3_f16", "ministral3",
           R"({"model_type": "ministral3", "rope_parameters": {"rope_type": "yarn",
        "rope_theta": 1000000.0, "factor": 4.0, "original_max_position_embeddings": 100, "beta_fast": 32,
        "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}})",
           kF16Format),
      tiny("cohere_bf16", "cohere", R"({"model_type": "cohere", "logit_scale": 0.5})", kBF16Format),
      tiny("cohere2_bf16", "cohere2", R"({"model_type": "cohere2", "logit_scale": 0.5, "sliding_window": 40,
        "sliding_window_pattern": 2})",
           kBF16Format),
      tiny("stablelm_f16", "stablelm", R"({"model_type": "stablelm", "use_qkv_bias": true,
        "use_parallel_residual": true})",
           kF16Format),
      tiny("cohere_qk_norm_bf16", "cohere", R"({"model_type": "cohere", "use_qk_norm": true})", kBF16Format),
      tiny("stablelm_qk_norm_f32", "stablelm", R"({"model_type": "stablelm", "qk_layernorm": true,
        "use_parallel_residual": true})",
           kF32Format),
      tiny("phi_qk_norm_f16", "phi", R"({"model_type": "phi", "qk_layernorm": true})", kF16Format),
      tiny("starcoder2_bf16", "starcoder2", R"({"model_type": "starcoder2", "sliding_window": 90})",
           kBF16Format),
      tiny("phi_f32", "phi", R"({"model_type": "phi", "num_key_value_heads": 3})", kF32Format),
      tiny("gpt_neox_bf16", "gpt_neox", R"({"model_type": "gpt_neox", "rotary_pct": 0.5})", kBF16Format),
      tiny("gemma4_bf16", "gemma4", R"({"model_type": "gemma4_text", "head_dim": 24, "sliding_window": 33,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4, "attention_k_eq_v": true,
        "hidden_size_per_layer_input": 0, "final_logit_softcapping": 15.0, "layer_types": ["sliding_attention",
        "full_attention", "sliding_attention", "full_attention"], "global_head_dim": 40,
        "num_global_key_value_heads": 1})",
           kBF16Format),
      tiny("gemma4_e_f16", "gemma4", R"({"model_type": "gemma4_text", "head_dim": 24, "sliding_window": 50,
        "num_hidden_layers": 4, "num_kv_shared_layers": 2, "use_double_wide_mlp": true, "layer_types":
        ["sliding_attention", "full_attention", "sliding_attention", "full_attention"], "global_head_dim": 40,
        "hidden_size_per_layer_input": 7, "vocab_size_per_layer_input": 90})",
           kF16Format),
      tiny("gemma3n_bf16", "gemma3n", R"({"model_type": "gemma3n_text", "head_dim": 24, "sliding_window": 33,
        "num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": ["sliding_attention", "full_attention",
        "sliding_attention", "full_attention"], "intermediate_size": [41, 41, 30, 30], "laurel_rank": 5,
        "activation_sparsity_pattern": [0.9, 0.0, 0.0, 0.0], "altup_num_inputs": 3, "altup_active_idx": 0,
        "hidden_size_per_layer_input": 7, "vocab_size_per_layer_input": 90})",
           kBF16Format),
      {"gpt2_bf16", "gpt2", R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 42, "n_head": 3, "n_inner": 57,
        "n_positions": 4096, "vocab_size": 103})",
       kBF16Format},
      {"opt_f16", "opt", R"({"model_type": "opt", "num_hidden_layers": 2, "hidden_size": 39, "ffn_dim": 50,
        "num_attention_heads": 3, "word_embed_proj_dim": 39, "max_position_embeddings": 4096, "vocab_size": 103})",
       kF16Format},
  };
}

}  // namespace

FamilyModel tiny(std::string name, std::string family, const char* own, Format format) {
  auto config = parse_json(kBase);
  const auto keys = parse_json(own);
  SKUA_CHECK(config.ok() && keys.ok());
  for (const auto& [key, value] : keys->members()) config->set(key, value);
  return {std::move(name), std::move(family), config->dump(), format};
}

std::vector<FamilyModel> mixed_attention_models() {
  constexpr const char* kGptOss = R"({"model_type": "gpt_oss", "hidden_size": 64, "head_dim": 16,
      "intermediate_size": 32, "num_attention_heads": 6, "num_key_value_heads": 2, "num_hidden_layers": 3,
      "sliding_window": 33, "num_local_experts": 5, "num_experts_per_tok": 2})";
  return {
      tiny("gpt_oss_bf16", "gpt_oss", kGptOss, kBF16Format),
      tiny("gpt_oss_affine4", "gpt_oss", kGptOss, kAffine4),
      tiny("gpt_oss_mxfp4", "gpt_oss", kGptOss, {FormatKind::kMxfp4}),
      tiny("llama4_bf16", "llama4", R"({"model_type": "llama4_text", "head_dim": 20, "num_hidden_layers": 4,
        "num_local_experts": 5, "num_experts_per_tok": 2, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 37,
        "attention_chunk_size": 50, "no_rope_layers": [1, 0, 1, 1], "floor_scale": 70, "attn_scale": 0.3})",
           kBF16Format),
      tiny("gemma4_moe_bf16", "gemma4", R"({"model_type": "gemma4_text", "head_dim": 24, "sliding_window": 33,
        "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size_per_layer_input": 0, "layer_types":
        ["sliding_attention", "full_attention"], "global_head_dim": 40, "enable_moe_block": true, "num_experts": 6,
        "top_k_experts": 3, "moe_intermediate_size": 19})",
           kBF16Format),
  };
}

std::vector<FamilyModel> dense_family_models() {
  std::vector<FamilyModel> out = first_half();
  for (FamilyModel& model : second_half()) out.push_back(std::move(model));
  return out;
}

}  // namespace skua::test
