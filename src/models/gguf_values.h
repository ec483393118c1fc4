// Tensors of GGUF files whose numbers or shape converters have changed, as they were before.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "models/families.h"

namespace skua {

/// A small tensor in f32, changed back. Owns its numbers.
class ChangedTensor {
 public:
  /// Reads `entry` of `file`. Errors: those of Checkpoint::matrix; kDataLoss for numbers that no -exp(x)
  /// gives.
  static Result<ChangedTensor> make(const Checkpoint& file, const TensorEntry& entry, GgufValues values);

  /// The elements of a stored vector that `from` names, in its order.
  static Result<ChangedTensor> pick(const Checkpoint& file, const TensorEntry& entry,
                                    const std::vector<uint32_t>& from);

  /// A vector of one number.
  static ChangedTensor number(float value);

  const std::vector<int64_t>& shape() const { return shape_; }
  EncodedMatrix matrix() const;

 private:
  std::vector<int64_t> shape_;
  std::vector<float> values_;
};

/// The change of a family's tensor, `part` below its layer; nullptr = none.
const GgufChange* find_change(const Family& family, std::string_view part);

/// Which layers of a per-layer count are zero ("attention.head_count_kv" of layers that do not attend), and
/// the one count that the others share. Error: kInvalidArgument if they share none, or the key is no list of
/// `n_layers` counts.
struct LayerCounts {
  std::vector<char> zero;
  int64_t count = 0;
};
Result<LayerCounts> layer_counts(const Json& metadata, const std::string& key, int64_t n_layers);

/// Reads attention.head_count_kv as num_key_value_heads and, under `key`, the type of each layer: `recurrent`
/// where it is 0, else `attending`. Families whose files have it name the key themselves.
Status set_layer_types(const Json& metadata, std::string_view key, std::string_view recurrent,
                       std::string_view attending, Json& config);

/// GGUF files of Gemma 2 and 3 leave the queries' scale unsaid: it is that of the heads, but for the largest
/// model, told by its layers, which divides by d_model / heads. Source: llama.cpp's src/models/gemma2.cpp and
/// gemma3.cpp (facts).
Status set_gemma_query_scale(Json& config, int64_t largest_n_layers);

/// Converters make Granite 4 models without Mamba layers into files of Granite's first architectures; the
/// sizes of mixers that are not there stay. Refuses what would change the maths: layers that do not rotate,
/// experts where the family has none. Source: llama.cpp's conversion/granite.py (facts).
Status adjust_granite(const Json& metadata, Json& config);
inline constexpr GgufName kNoMixerGgufKeys[] = {
    {"expert_count", ""},       {"expert_used_count", ""},
    {"ssm.conv_kernel", ""},    {"ssm.state_size", ""},
    {"ssm.group_count", ""},    {"ssm.inner_size", ""},
    {"ssm.time_step_rank", ""}, {"expert_shared_feed_forward_length", ""}};

/// What converters change in the mixers of Mamba-2.
inline constexpr GgufChange kMamba2GgufChanges[] = {{"ssm_a", GgufValues::kLogVector},
                                                    {"ssm_d", GgufValues::kVector},
                                                    {"ssm_norm.weight", GgufValues::kVector}};

/// Tensors of families whose layers are one mixer each (Mamba-2, Nemotron-H).
inline constexpr GgufName kMixerGgufTensors[] = {{"token_embd", "backbone.embeddings"},
                                                 {"output_norm", "backbone.norm_f"},
                                                 {"attn_norm", "norm"},
                                                 {"attn_q", "mixer.q_proj"},
                                                 {"attn_k", "mixer.k_proj"},
                                                 {"attn_v", "mixer.v_proj"},
                                                 {"attn_output", "mixer.o_proj"},
                                                 {"ffn_up", "mixer.up_proj"},
                                                 {"ffn_down", "mixer.down_proj"},
                                                 {"ffn_gate_inp", "mixer.gate"},
                                                 {"exp_probs_b.bias", "mixer.gate.e_score_correction_bias"},
                                                 {"ffn_up_exps", "mixer.experts.up_proj"},
                                                 {"ffn_down_exps", "mixer.experts.down_proj"},
                                                 {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
                                                 {"ffn_down_shexp", "mixer.shared_experts.down_proj"},
                                                 {"ffn_latent_down", "mixer.fc1_latent_proj"},
                                                 {"ffn_latent_up", "mixer.fc2_latent_proj"},
                                                 {"ssm_in", "mixer.in_proj"},
                                                 {"ssm_conv1d", "mixer.conv1d"},
                                                 {"ssm_dt.bias", "mixer.dt_bias"},
                                                 {"ssm_a", "mixer.A_log"},
                                                 {"ssm_d", "mixer.D"},
                                                 {"ssm_norm", "mixer.norm"},
                                                 {"ssm_out", "mixer.out_proj"}};

/// Sets the width of a head and, if `expand` is not empty, how much wider the mixer is than the model, from
/// ssm.inner_size. More than one group is refused: files do not say whether their norm goes over all groups
/// (as in transformers) or over each (as in llama.cpp); `grouped_norm`: the family's does the latter.
Status adjust_mamba2(const Json& metadata, std::string_view head_dim, std::string_view expand, Json& config,
                     bool grouped_norm = false);

}  // namespace skua
