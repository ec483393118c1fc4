// What GGUF files of families with latent attention (architectures deepseek2 and, with an indexer,
// deepseek32) call their tensors and keys.
// Source: llama.cpp's conversion/deepseek.py, src/models/deepseek2.cpp and deepseek32.cpp (facts).
#pragma once

#include "models/families.h"

namespace skua {

/// Newer files hold kv_b_proj in two parts, the keys' turned: MLX's tensors under other names.
inline constexpr GgufName kMlaGgufTensors[] = {
    {"attn_q_a", "self_attn.q_a_proj"},
    {"attn_q_b", "self_attn.q_b_proj"},
    {"attn_q_a_norm", "self_attn.q_a_layernorm"},
    {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
    {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
    {"attn_kv_b", "self_attn.kv_b_proj"},
    {"attn_k_b", "self_attn.embed_q"},
    {"attn_v_b", "self_attn.unembed_out"},
    {"indexer.proj", "self_attn.indexer.weights_proj"},
    {"indexer.attn_k", "self_attn.indexer.wk"},
    {"indexer.attn_q_b", "self_attn.indexer.wq_b"},
    {"indexer.k_norm", "self_attn.indexer.k_norm"},
};

/// Those with "" are read by adjust_mla.
inline constexpr GgufName kMlaGgufKeys[] = {
    {"expert_count", "n_routed_experts"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"attention.indexer.head_count", "index_n_heads"},
    {"attention.indexer.key_length", "index_head_dim"},
    {"attention.indexer.top_k", "index_topk"},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"rope.dimension_count", ""},
    {"attention.head_count_kv", ""},
    {"attention.key_length", ""},
    {"attention.value_length", ""},
    {"attention.key_length_mla", ""},
    {"attention.value_length_mla", ""},
    {"rope.scaling.yarn_log_multiplier", ""},
    {"nextn_predict_layers", "num_nextn_predict_layers"},
};

/// The same for a family without experts: no expert_count.
inline constexpr std::span<const GgufName> kDenseMlaGgufKeys = std::span(kMlaGgufKeys).subspan(1);

/// Sets the head sizes, which the file states as sums, and the two factors of yarn. The first files of
/// deepseek2 have no key_length_mla: their key_length says what it says in the others.
Status adjust_mla(const Json& metadata, Json& config);

/// Whether the experts are chosen by sigmoid scores, as in DeepSeek-V3. Files that do not say have a bias of
/// the choice then.
bool has_sigmoid_router(const Checkpoint& file);
bool has_softmax_router(const Checkpoint& file);

}  // namespace skua
