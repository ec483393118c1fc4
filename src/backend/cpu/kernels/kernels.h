// Entry points of this folder's kernels, for table.cc. Operand order: backend.h.
#pragma once

#include "backend/backend.h"

namespace skua::cpu::SKUA_ISA {

void embed(const KernelCall& call);
void rms_norm(const KernelCall& call);
void add_rms_norm(const KernelCall& call);
void layer_norm(const KernelCall& call);
void linear(const KernelCall& call);
void multi_linear(const KernelCall& call);
void gated_linear(const KernelCall& call);
void rope_angles(const KernelCall& call);
void rope(const KernelCall& call);
void kv_write(const KernelCall& call);
void rope_kv_write(const KernelCall& call);
void attention(const KernelCall& call);
void mla_attention(const KernelCall& call);
void mla_fast_attention(const KernelCall& call);
void index_select(const KernelCall& call);
void causal_conv(const KernelCall& call);
void ssm1(const KernelCall& call);
void ssm2(const KernelCall& call);
void gated_delta(const KernelCall& call);
void head_linear(const KernelCall& call);
void moe_router(const KernelCall& call);
void moe_experts(const KernelCall& call);
void act_mul(const KernelCall& call);
void activate(const KernelCall& call);
void xielu(const KernelCall& call);
void mul(const KernelCall& call);
void scale_by(const KernelCall& call);
void scale_columns(const KernelCall& call);
void slice(const KernelCall& call);
void position_scale(const KernelCall& call);
void weighted_sum(const KernelCall& call);
void cutoff(const KernelCall& call);
void match_magnitude(const KernelCall& call);
void add(const KernelCall& call);
void softcap(const KernelCall& call);
void scale(const KernelCall& call);
void gather_rows(const KernelCall& call);

}  // namespace skua::cpu::SKUA_ISA
