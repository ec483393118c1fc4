// The kernel table of one instruction set.
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/kernels.h"

namespace skua::cpu::SKUA_ISA {

const KernelTable& kernel_table() {
  static constexpr KernelTable kTable{
      .embed = embed,
      .rms_norm = rms_norm,
      .add_rms_norm = add_rms_norm,
      .layer_norm = layer_norm,
      .linear = linear,
      .multi_linear = multi_linear,
      .gated_linear = gated_linear,
      .rope_angles = rope_angles,
      .rope = rope,
      .kv_write = kv_write,
      .rope_kv_write = rope_kv_write,
      .attention = attention,
      .mla_attention = mla_attention,
      .mla_fast_attention = mla_fast_attention,
      .index_select = index_select,
      .causal_conv = causal_conv,
      .ssm1 = ssm1,
      .ssm2 = ssm2,
      .gated_delta = gated_delta,
      .head_linear = head_linear,
      .moe_router = moe_router,
      .moe_experts = moe_experts,
      .act_mul = act_mul,
      .activate = activate,
      .xielu = xielu,
      .add = add,
      .mul = mul,
      .scale_by = scale_by,
      .scale_columns = scale_columns,
      .slice = slice,
      .position_scale = position_scale,
      .weighted_sum = weighted_sum,
      .cutoff = cutoff,
      .match_magnitude = match_magnitude,
      .softcap = softcap,
      .scale = scale,
      .gather_rows = gather_rows,
  };
  return kTable;
}

}  // namespace skua::cpu::SKUA_ISA
