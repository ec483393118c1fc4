// Mixture-of-experts layers: a router, stacked experts, and experts that every token shares.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "models/config_reader.h"

namespace skua {

/// How a family names the tensors of its experts; all below the block's prefix.
struct ExpertNames {
  std::string router = "gate";      // "gate" + ".weight"
  std::string selection_bias;       // "gate.e_score_correction_bias"; empty = none
  std::string other_bias;           // another name of it
  std::string experts = "experts";  // "experts.3.gate_proj.weight"
  std::string stacked =
      "switch_mlp";  // "switch_mlp.gate_proj.weight": all experts in one tensor, as MLX does
  std::string gate = "gate_proj";
  std::string up = "up_proj";
  std::string down = "down_proj";
  std::string all_gate_up = "experts.gate_up_proj";  // of all experts in one tensor: gate, then up
  std::string all_down = "experts.down_proj";
};

/// How the blocks of experts.gate_up_proj and experts.down_proj lie, in which transformers 5 holds all
/// experts.
enum class FusedExperts : uint8_t {
  kRows,                // [2 d_ff, d_model] with the rows of gate first; down [d_model, d_ff]
  kColumns,             // transposed, the columns of gate first
  kInterleavedColumns,  // transposed, columns of gate and up in turn
};

constexpr int64_t kMaxExperts = 4096;  // of one layer: a config that asks for more is damaged

struct MoeBlock {
  std::string prefix;  // "model.layers.3.mlp"
  int32_t d_model = 0;
  int32_t d_ff = 0;  // of one expert
  int32_t n_experts = 0;
  int32_t n_identity = 0;  // further experts that return their input
  Act act = Act::kSilu;
  MoeRouter router;  // its weights are filled in here
  ExpertNames names = {};
  FusedExperts fused = FusedExperts::kRows;
  bool router_bias = false;
  bool biases = false;  // of the experts' matrices
  float swiglu_limit = 0.0f;
  bool gated =
      true;  // false: down(act(up(x))), of which only kRelu2 is known: relu(u) u with u for gate and up
  MoeExperts::Weigh weigh = MoeExperts::Weigh::kOutput;
};

/// The routed experts of x [T, d_model]. Reads them one tensor per expert, stacked as MLX does (switch_mlp,
/// or the experts' own name), or stacked in two tensors (all_gate_up, all_down).
ValueId moe_block(GraphBuilder& b, const MoeBlock& block, ValueId x);

/// Its second half: the experts of x, mixed by `routing` [T, n_experts + n_identity].
ValueId expert_block(GraphBuilder& b, const MoeBlock& block, ValueId x, ValueId routing);

/// The router's [n_experts, d_model] weight, decoded at load if it is stored quantized, so that its logits
/// keep their own f32 chain.
WeightId router_weight(GraphBuilder& b, const std::string& name, int64_t n_experts, int64_t d_model);

/// sigmoid(x w) * y: what gates a shared expert; w [1, d_model].
ValueId sigmoid_gate(GraphBuilder& b, const std::string& name, int32_t d_model, ValueId x, ValueId y);

/// DeepSeek's kind of mixture: dense layers first, then routed experts beside shared ones. With neither it is
/// any family's layer of experts.
struct DeepSeekMoe {
  MoeBlock block;
  int32_t d_dense = 0;       // of the dense layers
  int32_t d_shared = 0;      // of the shared expert; 0 = none
  std::vector<char> sparse;  // per layer; empty = all
  std::string shared_name = "shared_experts";
  bool bias = false;             // of the dense layers and the shared expert
  std::string shared_gate = {};  // weight [1, d_model] whose sigmoid gates the shared expert; empty = none
};

/// How a family names its counts of experts, and what it takes for keys that a config leaves out (GGUF files
/// leave out what has no effect: there they count as 1).
struct MixtureKeys {
  std::string_view n_experts = "n_routed_experts";
  std::string_view n_shared = "n_shared_experts";
  std::string_view n_dense = "first_k_dense_replace";
  std::string_view scale = "routed_scaling_factor";
  double default_scale = 1.0;
  int32_t default_groups = 1;
  int32_t default_top_groups = 1;
};

/// Reads the counts, moe_intermediate_size, mlp_layer_types, the groups and the scaling; the router's score
/// and biases are the family's.
DeepSeekMoe read_deepseek_moe(ConfigReader& config, const ModelInfo& info, Act act,
                              const MixtureKeys& keys = {});

/// The feed-forward part of a layer; prefix "model.layers.3.mlp".
ValueId deepseek_moe(GraphBuilder& b, const DeepSeekMoe& moe, const std::string& prefix, int32_t layer,
                     ValueId x);

/// The same as PreNormSpec::feed_forward wants it; `name` is the block's below the layer.
std::function<ValueId(GraphBuilder& b, const std::string& prefix, int32_t layer, ValueId x)> mixture(
    DeepSeekMoe moe, std::string name = "mlp");

/// Sigmoid scores, a selection bias, the weights normalised if the config says so: DeepSeek-V3's router.
void use_sigmoid_router(ConfigReader& config, DeepSeekMoe& moe,
                        MoeRouter::Normalize fallback = MoeRouter::Normalize::kYes);

/// Which layers have experts, by Qwen's rule: those at every decoder_sparse_step-th place that
/// mlp_only_layers does not name.
std::vector<char> read_sparse_layers(ConfigReader& config, int32_t n_layers);

/// Qwen's layers of experts beside a shared one that is gated: widths and counts, which must be there, and
/// decoder_sparse_step's layers.
DeepSeekMoe read_qwen_mixture(ConfigReader& config, const ModelInfo& info, Act act, int32_t top_k,
                              bool normalize);

/// A mixture in every layer, as Mixtral has it: experts as wide as the config's MLP, the weights of the
/// chosen made to sum to one (softmax over the chosen is the chosen part of softmax).
DeepSeekMoe read_plain_mixture(ConfigReader& config, const ModelInfo& info, Act act);

/// Normalize from a config's norm_topk_prob.
MoeRouter::Normalize read_normalize(ConfigReader& config, bool fallback);

}  // namespace skua
