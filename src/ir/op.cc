// Static facts of each op: its name, the step inputs, weights and slot it touches.
#include "ir/op.h"

namespace skua {
namespace {

template <typename... Fns>
struct Overloaded : Fns... {
  using Fns::operator()...;
};
template <typename... Fns>
Overloaded(Fns...) -> Overloaded<Fns...>;

void append(std::vector<WeightId>& out, const std::optional<WeightId>& weight) {
  if (weight) out.push_back(*weight);
}

void append(std::vector<WeightId>& out, const Linear& linear) {
  out.push_back(linear.weight);
  append(out, linear.bias);
}

}  // namespace

std::string_view op_name(const Op& op) {
  return std::visit(Overloaded{
                        [](const Embed&) { return "embed"; },
                        [](const RmsNorm&) { return "rms_norm"; },
                        [](const LayerNorm&) { return "layer_norm"; },
                        [](const Linear&) { return "linear"; },
                        [](const HeadLinear&) { return "head_linear"; },
                        [](const RopeAngles&) { return "rope_angles"; },
                        [](const Rope&) { return "rope"; },
                        [](const KvWrite&) { return "kv_write"; },
                        [](const Attention&) { return "attention"; },
                        [](const MlaAttention&) { return "mla_attention"; },
                        [](const MlaFastAttention&) { return "mla_fast_attention"; },
                        [](const IndexSelect&) { return "index_select"; },
                        [](const CausalConv&) { return "causal_conv"; },
                        [](const Ssm1&) { return "ssm1"; },
                        [](const Ssm2&) { return "ssm2"; },
                        [](const GatedDelta&) { return "gated_delta"; },
                        [](const MoeRouter&) { return "moe_router"; },
                        [](const MoeExperts&) { return "moe_experts"; },
                        [](const ActMul&) { return "act_mul"; },
                        [](const Activate&) { return "activate"; },
                        [](const XIelu&) { return "xielu"; },
                        [](const Add&) { return "add"; },
                        [](const Mul&) { return "mul"; },
                        [](const ScaleBy&) { return "scale_by"; },
                        [](const ScaleColumns&) { return "scale_columns"; },
                        [](const Slice&) { return "slice"; },
                        [](const WeightedSum&) { return "weighted_sum"; },
                        [](const Cutoff&) { return "cutoff"; },
                        [](const MatchMagnitude&) { return "match_magnitude"; },
                        [](const PositionScale&) { return "position_scale"; },
                        [](const Softcap&) { return "softcap"; },
                        [](const Scale&) { return "scale"; },
                        [](const GatherRows&) { return "gather_rows"; },
                        [](const AddRmsNorm&) { return "add_rms_norm"; },
                        [](const MultiLinear&) { return "multi_linear"; },
                        [](const GatedLinear&) { return "gated_linear"; },
                        [](const RopeKvWrite&) { return "rope_kv_write"; },
                    },
                    op);
}

std::string_view act_name(Act act) {
  switch (act) {
    case Act::kSilu:
      return "silu";
    case Act::kGeluTanh:
      return "gelu_tanh";
    case Act::kGeluErf:
      return "gelu_erf";
    case Act::kRelu:
      return "relu";
    case Act::kRelu2:
      return "relu2";
    case Act::kSigmoid:
      return "sigmoid";
  }
  return "unknown";
}

std::vector<StepInput> step_inputs(const Op& op) {
  using enum StepInput;
  using Inputs = std::vector<StepInput>;
  return std::visit(Overloaded{
                        [](const Embed& o) {
                          return Inputs{kHeader, o.index == EmbedIndex::kPositions ? kPositions : kIds};
                        },
                        [](const PositionScale&) {
                          return Inputs{kHeader, kPositions};
                        },
                        [](const RopeAngles&) {
                          return Inputs{kHeader, kPositions};
                        },
                        [](const GatherRows&) {
                          return Inputs{kHeader, kRows};
                        },
                        [](const KvWrite&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const RopeKvWrite&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const Attention&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const MlaAttention&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const MlaFastAttention&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const IndexSelect&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const CausalConv&) {
                          return Inputs{kHeader, kTokenSeq, kSeqs, kPageTable};
                        },
                        [](const Ssm1&) {
                          return Inputs{kHeader, kSeqs, kPageTable};
                        },
                        [](const Ssm2&) {
                          return Inputs{kHeader, kSeqs, kPageTable};
                        },
                        [](const GatedDelta&) {
                          return Inputs{kHeader, kSeqs, kPageTable};
                        },
                        [](const auto&) { return Inputs{kHeader}; },
                    },
                    op);
}

std::vector<WeightId> op_weights(const Op& op) {
  std::vector<WeightId> out;
  std::visit(Overloaded{
                 [&](const Embed& o) { out.push_back(o.table); },
                 [&](const RmsNorm& o) { append(out, o.weight); },
                 [&](const AddRmsNorm& o) { append(out, o.norm.weight); },
                 [&](const LayerNorm& o) {
                   append(out, o.weight);
                   append(out, o.bias);
                 },
                 [&](const XIelu& o) {
                   out.insert(out.end(), {o.alpha_p, o.alpha_n, o.beta, o.eps});
                 },
                 [&](const ScaleBy& o) { out.push_back(o.weight); },
                 [&](const Linear& o) { append(out, o); },
                 [&](const MultiLinear& o) {
                   for (const Linear& part : o.parts) append(out, part);
                 },
                 [&](const GatedLinear& o) {
                   append(out, o.gate);
                   append(out, o.up);
                 },
                 [&](const Attention& o) { append(out, o.sinks); },
                 [&](const HeadLinear& o) { out.push_back(o.weight); },
                 [&](const MlaFastAttention& o) {
                   out.insert(out.end(), {o.up_keys, o.up_values});
                 },
                 [&](const CausalConv& o) {
                   out.push_back(o.weight);
                   append(out, o.bias);
                 },
                 [&](const Ssm1& o) {
                   out.insert(out.end(), {o.a_log, o.dt_bias, o.d});
                 },
                 [&](const GatedDelta& o) {
                   out.insert(out.end(), {o.a_log, o.dt_bias});
                 },
                 [&](const Ssm2& o) {
                   out.insert(out.end(), {o.a_log, o.d, o.dt_bias});
                 },
                 [&](const MoeRouter& o) {
                   out.push_back(o.weight);
                   append(out, o.bias);
                   append(out, o.selection_bias);
                   append(out, o.expert_scale);
                 },
                 [&](const MoeExperts& o) {
                   out = {o.gate, o.up, o.down};
                   append(out, o.gate_bias);
                   append(out, o.up_bias);
                   append(out, o.down_bias);
                 },
                 [](const auto&) {},
             },
             op);
  return out;
}

bool reads_slot(const Op& op) {
  return std::holds_alternative<Attention>(op) || std::holds_alternative<MlaAttention>(op) ||
         std::holds_alternative<MlaFastAttention>(op) || std::holds_alternative<IndexSelect>(op);
}

bool scans_slot(const Op& op) {
  return std::holds_alternative<CausalConv>(op) || std::holds_alternative<Ssm1>(op) ||
         std::holds_alternative<Ssm2>(op) || std::holds_alternative<GatedDelta>(op);
}

std::optional<SlotId> op_slot(const Op& op) {
  if (const auto* write = std::get_if<KvWrite>(&op)) return write->slot;
  if (const auto* fused = std::get_if<RopeKvWrite>(&op)) return fused->write.slot;
  if (const auto* attention = std::get_if<Attention>(&op)) return attention->slot;
  if (const auto* latent = std::get_if<MlaAttention>(&op)) return latent->slot;
  if (const auto* latent = std::get_if<MlaFastAttention>(&op)) return latent->slot;
  if (const auto* index = std::get_if<IndexSelect>(&op)) return index->slot;
  if (const auto* conv = std::get_if<CausalConv>(&op)) return conv->slot;
  if (const auto* scan = std::get_if<Ssm1>(&op)) return scan->slot;
  if (const auto* scan = std::get_if<Ssm2>(&op)) return scan->slot;
  if (const auto* scan = std::get_if<GatedDelta>(&op)) return scan->slot;
  return std::nullopt;
}

}  // namespace skua
