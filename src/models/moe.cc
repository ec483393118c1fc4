// Router and experts as ops; where checkpoints keep their weights.
#include "models/moe.h"

#include "models/blocks.h"

namespace skua {
namespace {

/// One of the three matrices of every expert: [rows, cols] each, stacked. `fused` is the tensor in which
/// transformers 5 holds it, `n_parts` of them side by side, ours the `part`-th.
struct ExpertMatrix {
  std::string name;      // of the checkpoint: "gate_proj", "w1"
  std::string mlx_name;  // "gate_proj"
  std::string fused;     // "experts.gate_up_proj"
  int64_t rows, cols;    // of one expert
  int64_t n_parts, part;
};

/// The blocks of the fused tensor; `cols` = 1: those of its biases.
BlockSource fused_source(const MoeBlock& block, const ExpertMatrix& m, const std::string& tensor,
                         int64_t cols) {
  const int64_t n = block.n_experts, all = m.n_parts * m.rows, first = m.part * m.rows;
  const bool in_turn = block.fused == FusedExperts::kInterleavedColumns;
  if (cols > 1 && block.fused == FusedExperts::kRows) return {{tensor}, n, all, cols, first};
  return {{tensor}, n, cols, all, in_turn ? m.part : first, in_turn ? m.n_parts : 1, Take::kColumns};
}

WeightId stacked(GraphBuilder& b, const MoeBlock& block, const ExpertMatrix& m) {
  const int64_t n = block.n_experts;
  const std::string experts = block.prefix + "." + block.names.experts + ".", name = experts + m.mlx_name;
  const BlockSource mlx{
      {block.prefix + "." + block.names.stacked + "." + m.mlx_name + ".weight"}, n, m.rows, m.cols};
  const BlockSource mlx_own{{name + ".weight"}, n, m.rows, m.cols};
  const BlockSource fused = fused_source(block, m, block.prefix + "." + m.fused, m.cols);
  // MXFP4 lies as rows, whatever the plain tensor of the family does.
  BlockSource mxfp4 = fused;
  mxfp4.tensors[0] += "_blocks";
  mxfp4.take = Take::kRows;
  mxfp4.block_rows = m.n_parts * m.rows;
  mxfp4.block_cols = m.cols;
  if (block.fused != FusedExperts::kRows)
    return b.weight({name, n * m.rows, m.cols, {mlx_own, mxfp4, fused}, std::nullopt});
  BlockSource single{{}, n, m.rows, m.cols};
  for (int64_t e = 0; e < n; ++e)
    single.tensors.push_back(experts + std::to_string(e) + "." + m.name + ".weight");
  return b.weight({name, n * m.rows, m.cols, {single, mlx, mlx_own, fused}, std::nullopt});
}

/// The biases of the same rows, one vector for all experts.
WeightId stacked_bias(GraphBuilder& b, const MoeBlock& block, const ExpertMatrix& m) {
  const int64_t n = block.n_experts;
  const std::string name = block.prefix + "." + block.names.experts + "." + m.mlx_name;
  const BlockSource mlx_own{{name + ".bias"}, n, 1, m.rows, 0, 1, Take::kColumns};
  const BlockSource fused = fused_source(block, m, block.prefix + "." + m.fused + "_bias", 1);
  return b.weight({name + "_bias", 1, n * m.rows, {mlx_own, fused}, std::nullopt});
}

WeightId selection_bias(GraphBuilder& b, const MoeBlock& block, int64_t n) {
  const std::string name = block.prefix + "." + block.names.selection_bias;
  if (block.names.other_bias.empty()) return b.vector(name, n);
  BlockSource own{{name}, 1, 1, n};
  own.take = Take::kColumns;  // as a vector is read
  BlockSource other = own;
  other.tensors = {block.prefix + "." + block.names.other_bias};
  return b.weight({name, 1, n, {own, other}, std::nullopt});
}

}  // namespace

WeightId router_weight(GraphBuilder& b, const std::string& name, int64_t n_experts, int64_t d_model) {
  return b.weight({name, n_experts, d_model, {}, DType::kF32});
}

ValueId moe_block(GraphBuilder& b, const MoeBlock& block, ValueId x) {
  MoeRouter router = block.router;
  const int64_t n_routed = int64_t{block.n_experts} + block.n_identity;
  const std::string name = block.prefix + "." + block.names.router;
  router.weight = router_weight(b, name + ".weight", n_routed, block.d_model);
  if (block.router_bias) router.bias = b.vector(name + ".bias", n_routed);
  if (!block.names.selection_bias.empty()) {
    router.selection_bias = selection_bias(b, block, n_routed);
  }
  return expert_block(b, block, x, b.moe_router("route", x, router));
}

ValueId expert_block(GraphBuilder& b, const MoeBlock& block, ValueId x, ValueId routing) {
  if (int64_t{block.n_experts} + block.n_identity > kMaxExperts) {
    b.fail(invalid_argument("[model] " + block.prefix + " has " +
                            std::to_string(int64_t{block.n_experts} + block.n_identity) +
                            " experts; supported are up to " + std::to_string(kMaxExperts)));
    return x;
  }
  const int64_t d = block.d_model, ff = block.d_ff;
  const int64_t parts = block.gated ? 2 : 1;
  const ExpertMatrix gate{block.names.gate, "gate_proj", block.names.all_gate_up, ff, d, parts, 0};
  const ExpertMatrix up{block.names.up, "up_proj", block.names.all_gate_up, ff, d, parts, parts - 1};
  const ExpertMatrix down{block.names.down, "down_proj", block.names.all_down, d, ff, 1, 0};
  MoeExperts experts;
  experts.up = stacked(b, block, up);
  experts.gate = block.gated ? stacked(b, block, gate) : experts.up;
  experts.down = stacked(b, block, down);
  if (!block.gated && (block.act != Act::kRelu2 || block.biases))
    b.fail(unsupported("[model] " + block.prefix + ": experts without a gate must have relu2 and no biases"));
  if (block.biases) {
    experts.gate_bias = stacked_bias(b, block, gate);
    experts.up_bias = stacked_bias(b, block, up);
    experts.down_bias = stacked_bias(b, block, down);
  }
  experts.n_experts = block.n_experts;
  experts.n_identity = block.n_identity;
  experts.top_k = block.router.top_k;
  experts.act = block.gated ? block.act : Act::kRelu;
  experts.swiglu_limit = block.swiglu_limit;
  experts.weigh = block.weigh;
  return b.moe_experts("experts", x, routing, experts, DType::kF32);
}

ValueId sigmoid_gate(GraphBuilder& b, const std::string& name, int32_t d_model, ValueId x, ValueId y) {
  const WeightId w = b.weight({name, 1, d_model, {}, DType::kF32});
  const ValueId gate = b.linear("shared_gate", x, {w, std::nullopt}, DType::kF32);
  return b.act_mul("shared_gated", gate, y, Act::kSigmoid, DType::kF32);
}

DeepSeekMoe read_deepseek_moe(ConfigReader& config, const ModelInfo& info, Act act, const MixtureKeys& keys) {
  DeepSeekMoe out;
  out.d_dense = info.d_ff;
  MoeBlock& block = out.block;
  block.d_model = info.d_model;
  block.d_ff = config.count("moe_intermediate_size");
  block.n_experts = config.count(keys.n_experts);
  block.act = act;
  const int32_t n_shared = config.count_or_none(keys.n_shared);
  out.d_shared = n_shared * block.d_ff;
  block.router.top_k = config.count("num_experts_per_tok");
  const bool from_gguf = config.flag_or(kGgufConfig, false);
  block.router.n_groups = config.count_or("n_group", from_gguf ? 1 : keys.default_groups);
  block.router.top_k_groups = config.count_or("topk_group", from_gguf ? 1 : keys.default_top_groups);
  const double scale = from_gguf ? 1.0 : keys.default_scale;
  block.router.scale = static_cast<float>(config.number_or(keys.scale, scale));
  config.must_be("moe_layer_freq", Json(1));
  config.must_be("ep_size", Json(1));
  config.ignore({"num_nextn_predict_layers", "aux_loss_alpha", "seq_aux", "router_aux_loss_coef",
                 "output_router_logits"});
  config.must_equal({"num_local_experts", "num_experts"}, block.n_experts);
  const int32_t n_dense = config.count_or_none(keys.n_dense);
  for (int32_t layer = 0; layer < info.n_layers; ++layer) out.sparse.push_back(layer >= n_dense ? 1 : 0);
  if (const Json* types = config.raw("mlp_layer_types")) {
    if (!types->is_array() || types->size() != out.sparse.size()) {
      config.fail(invalid_argument("[model] config.json: mlp_layer_types must name every layer"));
      return out;
    }
    for (size_t layer = 0; layer < out.sparse.size(); ++layer) {
      const Json& type = types->items()[layer];
      if (type != Json("dense") && type != Json("sparse")) {
        config.fail(unsupported("[model] config.json: mlp_layer_types holds " + type.dump() +
                                "; known are dense, sparse"));
      }
      out.sparse[layer] = type == Json("sparse") ? 1 : 0;
    }
  }
  return out;
}

ValueId deepseek_moe(GraphBuilder& b, const DeepSeekMoe& moe, const std::string& prefix, int32_t layer,
                     ValueId x) {
  const MoeBlock& m = moe.block;
  if (!moe.sparse.empty() && moe.sparse[static_cast<size_t>(layer)] == 0) {
    return mlp_block(b, {prefix, m.d_model, moe.d_dense, m.act, moe.bias}, x);
  }
  MoeBlock block = m;
  block.prefix = prefix;
  const ValueId routed = moe_block(b, block, x);
  if (moe.d_shared == 0) return routed;
  ValueId shared =
      mlp_block(b, {prefix + "." + moe.shared_name, m.d_model, moe.d_shared, m.act, moe.bias}, x);
  if (!moe.shared_gate.empty())
    shared = sigmoid_gate(b, prefix + "." + moe.shared_gate + ".weight", m.d_model, x, shared);
  return b.add("shared_add", routed, shared, DType::kF32);
}

std::function<ValueId(GraphBuilder& b, const std::string& prefix, int32_t layer, ValueId x)> mixture(
    DeepSeekMoe moe, std::string name) {
  return [moe = std::move(moe), name = std::move(name)](GraphBuilder& b, const std::string& prefix,
                                                        int32_t layer, ValueId x) {
    return deepseek_moe(b, moe, prefix + "." + name, layer, x);
  };
}

void use_sigmoid_router(ConfigReader& config, DeepSeekMoe& moe, MoeRouter::Normalize fallback) {
  MoeRouter& router = moe.block.router;
  router.score = RouterScore::kSigmoid;
  router.group_score = GroupScore::kTopTwoSum;
  router.normalize = read_normalize(config, fallback == MoeRouter::Normalize::kYes);
  router.sum_eps = 1e-20f;
  moe.block.names.selection_bias = "gate.e_score_correction_bias";
}

std::vector<char> read_sparse_layers(ConfigReader& config, int32_t n_layers) {
  const int32_t step = config.count_or("decoder_sparse_step", 1);
  std::vector<char> out;
  for (int32_t layer = 0; layer < n_layers; ++layer) out.push_back((layer + 1) % step == 0 ? 1 : 0);
  for (const int32_t layer : config.ids("mlp_only_layers")) {
    if (layer < n_layers) out[static_cast<size_t>(layer)] = 0;
  }
  return out;
}

DeepSeekMoe read_qwen_mixture(ConfigReader& config, const ModelInfo& info, Act act, int32_t top_k,
                              bool normalize) {
  DeepSeekMoe mix;
  mix.d_dense = info.d_ff;
  mix.d_shared = config.count("shared_expert_intermediate_size");
  mix.shared_name = "shared_expert";
  mix.shared_gate = "shared_expert_gate";
  mix.sparse = read_sparse_layers(config, info.n_layers);
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = config.count("moe_intermediate_size");
  moe.n_experts = config.count("num_experts");
  moe.act = act;
  moe.router.top_k = config.count_or("num_experts_per_tok", top_k);
  moe.router.normalize = read_normalize(config, normalize);
  config.ignore({"output_router_logits", "router_aux_loss_coef"});
  config.must_equal({"num_local_experts"}, moe.n_experts);
  return mix;
}

DeepSeekMoe read_plain_mixture(ConfigReader& config, const ModelInfo& info, Act act) {
  DeepSeekMoe mix;
  MoeBlock& moe = mix.block;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = config.count_or("num_local_experts", 8);
  moe.act = act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 2);
  moe.router.normalize = MoeRouter::Normalize::kYes;
  config.ignore({"output_router_logits", "router_aux_loss_coef", "moe_intermediate_size"});
  return mix;
}

MoeRouter::Normalize read_normalize(ConfigReader& config, bool fallback) {
  return config.flag_or("norm_topk_prob", fallback) ? MoeRouter::Normalize::kYes : MoeRouter::Normalize::kNo;
}

}  // namespace skua
