// What GGUF files of Gemma 4 call their tensors and keys. Source: llama.cpp's conversion/gemma.py and
// src/models/gemma4.cpp (facts).
#pragma once

#include "models/families.h"

namespace skua {

inline constexpr GgufName kGemma4GgufTensors[] = {
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"layer_output_scale.weight", "layer_scalar"},
    {"ffn_gate_inp", "router.proj"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
    {"ffn_down_exps.weight", "experts.down_proj"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
};

/// Those with "" are read by adjust_gemma4.
inline constexpr GgufName kGemma4GgufKeys[] = {
    {"feed_forward_length", ""},
    {"attention.head_count_kv", ""},
    {"attention.key_length", ""},
    {"attention.key_length_swa", "head_dim"},
    {"attention.value_length", ""},
    {"attention.value_length_swa", ""},
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"attention.sliding_window_pattern", "layer_types"},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"rope.freq_base", ""},
    {"rope.freq_base_swa", ""},
    {"rope.dimension_count", ""},
    {"rope.dimension_count_swa", ""},
    {"expert_count", "num_experts"},
    {"expert_used_count", "top_k_experts"},
};

/// Sizes of the two kinds of layers, their rotations, and whether values are keys, from keys and tensors.
Status adjust_gemma4(const Checkpoint& file, Json& config);

}  // namespace skua
