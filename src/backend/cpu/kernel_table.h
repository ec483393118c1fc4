// One set of kernels per instruction set, compiled from the same sources in kernels/.
#pragma once

#include "backend/backend.h"

namespace skua::cpu {

struct KernelTable {
  KernelFn embed, rms_norm, add_rms_norm, layer_norm;
  KernelFn linear, multi_linear, gated_linear;
  KernelFn rope_angles, rope, kv_write, rope_kv_write, attention, mla_attention, mla_fast_attention,
      index_select;
  KernelFn causal_conv, ssm1, ssm2, gated_delta;
  KernelFn head_linear, moe_router, moe_experts;
  KernelFn act_mul, activate, xielu, add, mul, scale_by, scale_columns, slice, position_scale;
  KernelFn weighted_sum, cutoff, match_magnitude, softcap, scale, gather_rows;
};

namespace avx2 {
const KernelTable& kernel_table();
}
namespace avx512 {
const KernelTable& kernel_table();
}

}  // namespace skua::cpu
