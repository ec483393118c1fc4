// One small function per op: checks that the types fit, fills the kernel's arguments, states work and
// scratch.
#include "backend/cpu/choose.h"

#include <algorithm>
#include <string>

#include "backend/cpu/args.h"
#include "base/math.h"

namespace skua::cpu {
namespace {

/// The node being chosen for; operand places follow backend.h's order.
struct Chooser {
  const Target& target;
  const ChooseContext& context;
  const Node& node;

  const Graph& graph() const { return *context.graph; }
  const ValueType& in(size_t i) const { return graph().value(node.inputs[i]).type; }
  const ValueType& out(size_t i) const { return graph().value(node.outputs[i]).type; }
  const PackedWeight::Layout& layout(WeightId id) const { return context.weights[id.value()].layout; }

  uint64_t rows(Lead lead) const {
    return static_cast<uint64_t>(lead == Lead::kTokens ? context.capacity.n_tokens : context.capacity.n_rows);
  }

  WeightOrder order(const PackedWeight::Layout& weight) const {
    return weight_order(target.compute, weight.format, weight.rows);
  }

  std::string kernel_name(std::string_view format, std::string_view arithmetic) const {
    std::string name = std::string(cpu_isa_name(target.isa)) + "_" + std::string(op_name(node.op));
    if (!format.empty()) name += "_" + std::string(format);
    return name + "_" + std::string(arithmetic);
  }

  /// Places of the operands in `args`, and the number of rows they run over.
  void place(OpArgs& args, Lead lead) const {
    args.lead = lead;
    args.input = static_cast<int>(step_inputs(node.op).size());
    args.weight = args.input + static_cast<int>(node.inputs.size());
    args.output = args.weight + static_cast<int>(op_weights(node.op).size());
    const int after = args.output + static_cast<int>(node.outputs.size());
    args.slab = op_slot(node.op) ? after : -1;
    args.workspace = after + (op_slot(node.op) ? 1 : 0);
  }

  template <typename Args>
  KernelChoice finish(KernelFn fn, Args args, uint64_t flops, std::string_view format = {},
                      std::string_view arithmetic = "f32") const {
    args.thread_bytes = round_up(args.thread_bytes, uint64_t{64});
    KernelChoice choice{
        .fn = fn,
        .kernel = kernel_name(format, arithmetic),
        .workspace_bytes = args.shared_bytes + args.thread_bytes * static_cast<uint64_t>(target.n_threads),
        .flops = flops};
    choice.args = std::make_shared<const Args>(std::move(args));
    return choice;
  }

  Status check_storage() const {
    for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *ids) {
        if (const DType type = graph().value(id).type.storage; type != DType::kF32) {
          return unsupported("[cpu] " + std::string(op_name(node.op)) + " with an edge of type " +
                             std::string(dtype_name(type)) + " (" + graph().value(id).name +
                             "); the nearest supported type is f32");
        }
      }
    }
    return ok_status();
  }

  /// Norm weights and biases are vectors, which pack() keeps in f32.
  Status check_vector(WeightId id) const {
    const PackedWeight::Layout& at = layout(id);
    if (at.rows == 1 && at.format.kind == FormatKind::kF32) return ok_status();
    return unsupported("[cpu] " + graph().weight(id).name + " is used as a vector but is stored as " +
                       std::to_string(at.rows) + " rows of " + format_name(at.format) +
                       "; the nearest supported form is one row");
  }

  Status check_slot(const CacheSlot& slot) const {
    if (slot.storage == DType::kF32) return ok_status();
    return unsupported("[cpu] a cache of type " + std::string(dtype_name(slot.storage)) +
                       "; the nearest supported type is f32");
  }

  /// Of slots that hold keys and values.
  Status check_kv_slot(const CacheSlot& slot) const {
    const bool half = slot.storage == DType::kF16 || slot.storage == DType::kBF16;
    if (half && slot.kind != SlotKind::kLatent) return ok_status();
    return check_slot(slot);
  }

  SlotShape slot_shape(const CacheSlot& slot) const {
    return {.order = slot.kind == SlotKind::kLatent ? PageOrder::kLatent : PageOrder::kHeads,
            .element = slot.storage,
            .n_kv_heads = slot.n_kv_heads,
            .k_dim = slot.k_dim,
            .v_dim = slot.v_dim,
            .max_pages = context.capacity.max_pages};
  }

  Result<KernelChoice> operator()(const Embed& op) const {
    EmbedArgs args;
    place(args, Lead::kTokens);
    args.table = layout(op.table);
    args.order = order(args.table);
    if (args.order == WeightOrder::kPanels) args.panel = *panel_format(args.table.format);
    args.scale = op.scale;
    args.index_offset = op.index_offset;
    args.n_rows = op.index == EmbedIndex::kIdsOrZero ? args.table.rows : INT64_MAX;
    return finish(target.table->embed, args, rows(Lead::kTokens) * static_cast<uint64_t>(args.table.cols),
                  format_name(args.table.format));
  }

  Result<KernelChoice> norm(KernelFn fn, const RmsNorm& op) const {
    NormArgs args;
    place(args, in(0).lead);
    if (op.weight) {
      SKUA_RETURN_IF_ERROR(check_vector(*op.weight));
      args.weight_width = layout(*op.weight).cols;
    } else {
      args.weight = -1;
    }
    args.width = in(0).width;
    args.group_width = in(0).width / op.n_groups;
    args.eps = op.eps;
    args.weight_offset = op.weight_offset;
    return finish(fn, args, 4 * rows(in(0).lead) * static_cast<uint64_t>(args.width));
  }
  Result<KernelChoice> operator()(const RmsNorm& op) const { return norm(target.table->rms_norm, op); }
  Result<KernelChoice> operator()(const AddRmsNorm& op) const {
    return norm(target.table->add_rms_norm, op.norm);
  }

  Result<KernelChoice> operator()(const LayerNorm& op) const {
    NormArgs args;
    place(args, in(0).lead);
    int next = args.weight;
    args.weight = -1;
    if (op.weight) {
      SKUA_RETURN_IF_ERROR(check_vector(*op.weight));
      args.weight = next++;
      args.weight_width = layout(*op.weight).cols;
    }
    if (op.bias) {
      SKUA_RETURN_IF_ERROR(check_vector(*op.bias));
      args.bias = next;
      args.bias_width = layout(*op.bias).cols;
    }
    args.width = in(0).width;
    args.group_width = in(0).width / op.n_groups;
    args.eps = op.eps;
    return finish(target.table->layer_norm, args, 7 * rows(in(0).lead) * static_cast<uint64_t>(args.width));
  }

  Result<KernelChoice> linears(KernelFn fn, const std::vector<const Linear*>& parts, Act act) const {
    LinearArgs args;
    place(args, in(0).lead);
    args.k = in(0).width;
    args.act = act;
    int weight = args.weight, output = args.output;
    uint64_t products = 0;
    std::string formats;
    size_t n_panel_parts = 0;
    for (const Linear* part : parts) {
      LinearPart& p = args.parts.emplace_back();
      p.weight = layout(part->weight);
      p.order = order(p.weight);
      if (p.order == WeightOrder::kPanels) {
        p.panel = *panel_format(p.weight.format);
        ++n_panel_parts;
      }
      p.weight_operand = weight++;
      if (part->bias) {
        SKUA_RETURN_IF_ERROR(check_vector(*part->bias));
        p.bias_operand = weight++;
      }
      p.output_operand = output++;
      products += static_cast<uint64_t>(p.weight.rows * p.weight.cols);
      const std::string format = format_name(p.weight.format);
      if (formats.empty()) {
        formats = format;
      } else if (formats != format) {
        formats = "mixed";
      }
    }
    if (n_panel_parts < parts.size()) args.thread_bytes = scratch_bytes(args.k);
    if (n_panel_parts > 0) {
      const uint64_t bytes = rows(in(0).lead) * static_cast<uint64_t>(quantized_row_bytes(args.k));
      args.shared_bytes = round_up(bytes, uint64_t{64});
    }
    const char* arithmetic = n_panel_parts == 0 ? "f32" : n_panel_parts == parts.size() ? "s8r" : "s8r+f32";
    return finish(fn, std::move(args), 2 * rows(in(0).lead) * products, formats, arithmetic);
  }
  Result<KernelChoice> operator()(const Linear& op) const {
    return linears(target.table->linear, {&op}, Act::kSilu);
  }
  Result<KernelChoice> operator()(const MultiLinear& op) const {
    std::vector<const Linear*> parts;
    for (const Linear& part : op.parts) parts.push_back(&part);
    return linears(target.table->multi_linear, parts, Act::kSilu);
  }
  Result<KernelChoice> operator()(const GatedLinear& op) const {
    if (op.product_storage != DType::kF32) {
      return unsupported("[cpu] gated_linear with products of type " +
                         std::string(dtype_name(op.product_storage)) + "; the nearest supported type is f32");
    }
    return linears(target.table->gated_linear, {&op.gate, &op.up}, op.act);
  }

  Result<KernelChoice> operator()(const RopeAngles& op) const {
    for (const double f : op.inv_freq) {
      if (!(f >= -1.0 && f <= 1.0)) {
        return unsupported("[cpu] rope_angles with an inverse frequency of " + std::to_string(f) +
                           "; the supported range is -1 to 1");
      }
    }
    RopeAnglesArgs args;
    place(args, Lead::kTokens);
    args.inv_freq = op.inv_freq;
    args.attention_factor = op.attention_factor;
    return finish(target.table->rope_angles, args, 40 * rows(Lead::kTokens) * args.inv_freq.size());
  }

  RopeArgs rope_args(const Rope& op, size_t angles) const {
    RopeArgs args;
    place(args, in(0).lead);
    args.n_heads = op.n_heads;
    args.head_dim = op.head_dim;
    args.n_pairs = in(angles).width / 2;
    args.style = op.style;
    return args;
  }
  Result<KernelChoice> operator()(const Rope& op) const {
    return finish(target.table->rope, rope_args(op, 1),
                  3 * rows(in(0).lead) * static_cast<uint64_t>(in(0).width));
  }

  Result<KernelChoice> operator()(const KvWrite& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_kv_slot(slot));
    KvWriteArgs args;
    place(args, Lead::kTokens);
    args.slot = slot_shape(slot);
    return finish(target.table->kv_write, args, 0);
  }
  Result<KernelChoice> operator()(const RopeKvWrite& op) const {
    const CacheSlot& slot = graph().slot(op.write.slot);
    SKUA_RETURN_IF_ERROR(check_kv_slot(slot));
    if (op.key_storage != DType::kF32) {
      return unsupported("[cpu] rope_kv_write with keys of type " + std::string(dtype_name(op.key_storage)) +
                         "; the nearest supported type is f32");
    }
    KvWriteArgs args;
    place(args, Lead::kTokens);
    args.slot = slot_shape(slot);
    args.rope = rope_args(op.rope, 1);
    args.thread_bytes = static_cast<uint64_t>(slot.k_dim) * sizeof(float);
    return finish(target.table->rope_kv_write, args,
                  3 * rows(Lead::kTokens) * static_cast<uint64_t>(in(0).width));
  }

  Result<KernelChoice> operator()(const Attention& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_kv_slot(slot));
    AttentionArgs args;
    place(args, Lead::kTokens);
    args.slot = slot_shape(slot);
    args.n_heads = op.n_heads;
    args.window = op.window;
    args.chunk = op.chunk;
    if (op.sinks) {
      SKUA_RETURN_IF_ERROR(check_vector(*op.sinks));
      args.sinks_operand = args.weight;
    }
    args.scale = op.scale;
    args.softcap = op.softcap;
    args.thread_bytes = static_cast<uint64_t>(kAttentionQueries * args.query_floats()) * sizeof(float);
    split_attention(args, op.n_heads, slot, uint64_t{4} << 20);
    const uint64_t keys = static_cast<uint64_t>(context.capacity.max_pages) * kPageTokens;
    const auto dims = static_cast<uint64_t>(slot.k_dim + slot.v_dim);
    return finish(target.table->attention, args,
                  2 * rows(Lead::kTokens) * keys * static_cast<uint64_t>(op.n_heads) * dims,
                  slot.storage == DType::kF32 ? "" : dtype_name(slot.storage));
  }

  /// Workspace of attention, and how many tokens may have their splits spread over the threads: as many as
  /// `split_bytes` hold results of, but at least one.
  template <typename Args>
  void split_attention(Args& args, int64_t n_heads, const CacheSlot& slot, uint64_t split_bytes) const {
    args.n_splits = ceil_div<int64_t>(context.capacity.max_pages, kSplitPages);
    const uint64_t token_bytes =
        static_cast<uint64_t>(n_heads * args.n_splits * split_floats(slot.v_dim)) * sizeof(float);
    if (target.n_threads == 1) return;
    const uint64_t fitting = std::max<uint64_t>(1, split_bytes / token_bytes);
    args.split_tokens = static_cast<int64_t>(std::min(rows(Lead::kTokens), fitting));
    args.shared_bytes = static_cast<uint64_t>(args.split_tokens) * token_bytes;
  }

  /// All but the operands' places.
  MlaArgs mla_args(const CacheSlot& slot, int64_t n_heads, float scale, int64_t top_k) const {
    MlaArgs args;
    args.slot = slot_shape(slot);
    args.n_heads = n_heads;
    args.scale = scale;
    args.top_k = top_k;
    args.thread_bytes =
        round_up(static_cast<uint64_t>(args.pass_tokens() * n_heads * args.head_floats()) * sizeof(float),
                 uint64_t{64});
    // A head's result is as wide as the latent; a kernel splits fewer than 4 tokens per thread.
    const auto most = std::min<uint64_t>(4 * static_cast<uint64_t>(target.n_threads), 8) << 20;
    if (target.split_latents) split_attention(args, n_heads, slot, 4 * most);
    return args;
  }
  uint64_t mla_flops(const MlaArgs& args) const {
    const uint64_t keys = static_cast<uint64_t>(context.capacity.max_pages) * kPageTokens;
    return 2 * rows(Lead::kTokens) * keys * static_cast<uint64_t>(args.n_heads) *
           static_cast<uint64_t>(args.slot.k_dim + 2 * args.slot.v_dim);
  }

  Result<KernelChoice> operator()(const MlaAttention& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_slot(slot));
    if (op.top_k > 0 && !(op.scale > 0.0f)) return unsupported("[cpu] sparse attention with a scale below 0");
    MlaArgs args = mla_args(slot, op.n_heads, op.scale, op.top_k);
    place(args, Lead::kTokens);
    return finish(target.table->mla_attention, args, mla_flops(args));
  }

  /// Places in operands {header, input, weight, output, workspace}.
  Result<HeadLinearArgs> up_projection(WeightId id, int64_t n_heads) const {
    HeadLinearArgs args;
    args.input = 1;
    args.weight = 2;
    args.output = 3;
    args.workspace = 4;
    args.part = part(args, id, 0);
    args.n_heads = n_heads;
    SKUA_RETURN_IF_ERROR(check_rows(args.part, id));
    args.thread_bytes = scratch_bytes(args.part.weight.cols);
    return args;
  }

  Result<KernelChoice> operator()(const MlaFastAttention& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_slot(slot));
    MlaFastArgs args;
    place(args, Lead::kTokens);
    SKUA_ASSIGN_OR_RETURN(args.up_keys, up_projection(op.up_keys, op.n_heads));
    SKUA_ASSIGN_OR_RETURN(args.up_values, up_projection(op.up_values, op.n_heads));
    args.absorbed = mla_args(slot, op.n_heads, op.scale, 0);
    // {header, token_seq, seqs, table, q_latent, q_pe, output, slab, workspace}
    args.absorbed.input = 4;
    args.absorbed.output = 6;
    args.absorbed.slab = 7;
    args.absorbed.workspace = 8;
    args.min_tokens = op.min_tokens;
    args.nope = args.up_keys.part.weight.cols;
    args.v_dim = args.up_values.part.weight.rows / op.n_heads;
    args.max_tokens = static_cast<int64_t>(rows(Lead::kTokens));
    args.max_seqs = context.capacity.n_seqs;
    for (const OpArgs* p :
         {static_cast<const OpArgs*>(&args.up_keys), static_cast<const OpArgs*>(&args.up_values),
          static_cast<const OpArgs*>(&args.absorbed)}) {
      const uint64_t bytes = p->shared_bytes + p->thread_bytes * static_cast<uint64_t>(target.n_threads);
      args.parts_bytes = std::max(args.parts_bytes, bytes);
    }
    args.shared_bytes = MlaFastPlaces(args).end;
    args.thread_bytes =
        static_cast<uint64_t>(args.tile_floats() + kFastQueries * args.query_floats()) * sizeof(float);
    const auto& keys = args.up_keys.part.weight;
    const auto& values = args.up_values.part.weight;
    const auto products = static_cast<uint64_t>(keys.rows * keys.cols + values.rows * values.cols);
    return finish(target.table->mla_fast_attention, args,
                  mla_flops(args.absorbed) + 2 * rows(Lead::kTokens) * products, format_name(keys.format));
  }

  Result<KernelChoice> operator()(const CausalConv& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_slot(slot));
    ConvArgs args;
    place(args, Lead::kTokens);
    args.taps = layout(op.weight);
    if (!args.taps.format.is_plain()) {
      return unsupported("[cpu] causal_conv with taps of " + format_name(args.taps.format) +
                         "; the nearest supported formats are f32, f16 and bf16");
    }
    if (op.bias) {
      SKUA_RETURN_IF_ERROR(check_vector(*op.bias));
      args.bias = args.weight + 1;
    }
    args.tap_bytes = plane_row_bytes(args.taps.format, 0, 1);
    args.width = in(0).width;
    args.n_taps = slot.window;
    args.max_pages = context.capacity.max_pages;
    args.silu = op.then == CausalConv::Then::kSilu;
    args.thread_bytes = static_cast<uint64_t>(args.n_taps * args.width) * sizeof(float);
    return finish(target.table->causal_conv, args,
                  2 * rows(Lead::kTokens) * static_cast<uint64_t>(args.n_taps * args.width));
  }

  /// Places of a recurrent slot, and room for one block's state.
  Status place_scan(ScanArgs& args, SlotId id) const {
    const CacheSlot& slot = graph().slot(id);
    SKUA_RETURN_IF_ERROR(check_slot(slot));
    place(args, Lead::kTokens);
    const RecurrentPage page(slot);
    args.slot = {.row = slot.row,
                 .n_blocks = slot.n_blocks,
                 .state = slot.state,
                 .counts = page.counts,
                 .states = page.states,
                 .page_floats = page.end,
                 .max_pages = context.capacity.max_pages};
    args.thread_bytes = static_cast<uint64_t>(slot.state) * sizeof(float);
    return ok_status();
  }

  Result<KernelChoice> operator()(const Ssm1& op) const {
    Ssm1Args args;
    SKUA_RETURN_IF_ERROR(place_scan(args, op.slot));
    args.a_log = layout(op.a_log);
    if (!args.a_log.format.is_plain()) {
      return unsupported("[cpu] ssm1 with rates of " + format_name(args.a_log.format) +
                         "; the nearest supported formats are f32, f16 and bf16");
    }
    for (const WeightId id : {op.dt_bias, op.d}) SKUA_RETURN_IF_ERROR(check_vector(id));
    args.d_inner = in(0).width;
    args.d_state = in(2).width;
    args.rate_bytes = static_cast<int64_t>(plane_row_bytes(args.a_log.format, 0, 1));
    // Behind the state: the rates of a block.
    args.thread_bytes += static_cast<uint64_t>(kSsm1Channels * args.d_state) * sizeof(float);
    return finish(target.table->ssm1, args,
                  6 * rows(Lead::kTokens) * static_cast<uint64_t>(args.d_inner * args.d_state),
                  format_name(args.a_log.format));
  }

  Result<KernelChoice> operator()(const GatedDelta& op) const {
    DeltaArgs args;
    SKUA_RETURN_IF_ERROR(place_scan(args, op.slot));
    for (const WeightId id : {op.a_log, op.dt_bias}) SKUA_RETURN_IF_ERROR(check_vector(id));
    args.n_k_heads = op.n_k_heads;
    args.tiled = op.tiled;
    args.n_v_heads = op.n_v_heads;
    args.k_dim = op.k_dim;
    args.v_dim = op.v_dim;
    args.norm_eps = op.norm_eps;
    // Behind the state: a page's unit keys and queries, decays and strengths.
    args.thread_bytes += static_cast<uint64_t>(2 * kPageTokens * (op.k_dim + 1)) * sizeof(float);
    return finish(target.table->gated_delta, args,
                  7 * rows(Lead::kTokens) * static_cast<uint64_t>(args.slot.n_blocks * args.slot.state));
  }

  Result<KernelChoice> operator()(const Ssm2& op) const {
    Ssm2Args args;
    SKUA_RETURN_IF_ERROR(place_scan(args, op.slot));
    for (const WeightId id : {op.a_log, op.d, op.dt_bias}) SKUA_RETURN_IF_ERROR(check_vector(id));
    args.n_heads = op.n_heads;
    args.head_dim = op.head_dim;
    args.n_groups = op.n_groups;
    args.state_dim = op.state_dim;
    args.dt_min = op.dt_min;
    args.dt_max = op.dt_max;
    return finish(target.table->ssm2, args,
                  5 * rows(Lead::kTokens) * static_cast<uint64_t>(args.slot.n_blocks * args.slot.state));
  }

  Result<KernelChoice> operator()(const IndexSelect& op) const {
    const CacheSlot& slot = graph().slot(op.slot);
    SKUA_RETURN_IF_ERROR(check_slot(slot));
    IndexSelectArgs args;
    place(args, Lead::kTokens);
    args.slot = slot_shape(slot);
    args.n_heads = op.n_heads;
    args.top_k = op.top_k;
    args.thread_bytes =
        static_cast<uint64_t>(args.score_floats() + args.query_floats() + kAttentionQueries * kPageTokens) *
        sizeof(float);
    return finish(target.table->index_select, args,
                  2 * rows(Lead::kTokens) * static_cast<uint64_t>(args.score_floats() * args.query_floats()));
  }

  /// A weight as the `index`-th weight operand.
  LinearPart part(const OpArgs& args, WeightId id, int index) const {
    LinearPart out;
    out.weight = layout(id);
    out.order = order(out.weight);
    if (out.order == WeightOrder::kPanels) out.panel = *panel_format(out.weight.format);
    out.weight_operand = args.weight + index;
    return out;
  }

  Result<KernelChoice> operator()(const HeadLinear& op) const {
    HeadLinearArgs args;
    place(args, in(0).lead);
    args.part = part(args, op.weight, 0);
    args.n_heads = op.n_heads;
    SKUA_RETURN_IF_ERROR(check_rows(args.part, op.weight));
    args.thread_bytes = scratch_bytes(args.part.weight.cols);
    const auto products = static_cast<uint64_t>(args.part.weight.rows * args.part.weight.cols);
    return finish(target.table->head_linear, args, 2 * rows(in(0).lead) * products,
                  format_name(args.part.weight.format));
  }

  /// Kernels that know no panels.
  Status check_rows(const LinearPart& weight, WeightId id) const {
    if (weight.order == WeightOrder::kRows) return ok_status();
    return unsupported("[cpu] " + std::string(op_name(node.op)) + " with " + graph().weight(id).name +
                       " as " + format_name(weight.weight.format) +
                       "; the nearest supported formats are f32, f16 and bf16");
  }

  Result<KernelChoice> operator()(const MoeRouter& op) const {
    RouterArgs args;
    place(args, in(0).lead);
    args.op = op;
    args.part = part(args, op.weight, 0);
    SKUA_RETURN_IF_ERROR(check_rows(args.part, op.weight));
    int next = args.weight + 1;
    for (const auto& [id, operand] : {std::pair{&op.bias, &args.part.bias_operand},
                                      {&op.selection_bias, &args.selection_bias_operand},
                                      {&op.expert_scale, &args.expert_scale_operand}}) {
      if (!*id) continue;
      SKUA_RETURN_IF_ERROR(check_vector(**id));
      *operand = next++;
    }
    if (op.n_groups > kMaxRouterGroups) {
      return unsupported("[cpu] moe_router with " + std::to_string(op.n_groups) +
                         " groups; supported are up to " + std::to_string(kMaxRouterGroups));
    }
    const int64_t n_experts = args.part.weight.rows;
    args.thread_bytes = scratch_bytes(args.part.weight.cols) +
                        static_cast<uint64_t>(3 * (n_experts + 16) + op.n_groups) * sizeof(float);
    return finish(target.table->moe_router, args,
                  2 * rows(in(0).lead) * static_cast<uint64_t>(n_experts * args.part.weight.cols),
                  format_name(args.part.weight.format));
  }

  Result<KernelChoice> operator()(const MoeExperts& op) const {
    ExpertsArgs args;
    place(args, in(0).lead);
    args.op = op;
    args.gate = part(args, op.gate, 0);
    args.up = part(args, op.up, 1);
    args.down = part(args, op.down, 2);
    args.d_model = in(0).width;
    args.d_ff = args.down.weight.cols;
    args.max_pairs = static_cast<int64_t>(rows(in(0).lead)) * op.top_k;
    int next = args.weight + 3;
    for (const auto& [id, p] :
         {std::pair{&op.gate_bias, &args.gate}, {&op.up_bias, &args.up}, {&op.down_bias, &args.down}}) {
      if (!*id) continue;
      SKUA_RETURN_IF_ERROR(check_vector(**id));
      p->bias_operand = next++;
    }
    size_t n_panels = 0;
    for (const LinearPart* p : {&args.gate, &args.up, &args.down}) {
      n_panels += p->order == WeightOrder::kPanels ? 1 : 0;
    }
    args.shared_bytes = ExpertPlaces(args).end;
    args.thread_bytes = std::max(scratch_bytes(args.d_model), scratch_bytes(args.d_ff));
    const auto expert_flops = static_cast<uint64_t>(6 * args.d_model * args.d_ff * op.top_k);
    const std::string format = format_name(args.gate.weight.format);
    const bool mixed = format != format_name(args.down.weight.format);
    return finish(target.table->moe_experts, args, rows(in(0).lead) * expert_flops, mixed ? "mixed" : format,
                  n_panels == 0   ? "f32"
                  : n_panels == 3 ? "s8r"
                                  : "s8r+f32");
  }

  Result<KernelChoice> elements(KernelFn fn, Act act, float factor) const {
    ElementArgs args;
    place(args, out(0).lead);
    args.width = out(0).width;
    args.gate_width = in(0).width;
    args.act = act;
    args.factor = factor;
    return finish(fn, args, rows(in(0).lead) * static_cast<uint64_t>(args.width));
  }
  Result<KernelChoice> operator()(const ActMul& op) const {
    return elements(target.table->act_mul, op.act, 1.0f);
  }
  Result<KernelChoice> operator()(const Activate& op) const {
    return elements(target.table->activate, op.act, 1.0f);
  }
  Result<KernelChoice> operator()(const XIelu& op) const {
    for (const WeightId id : {op.alpha_p, op.alpha_n, op.beta, op.eps})
      SKUA_RETURN_IF_ERROR(check_vector(id));
    return elements(target.table->xielu, Act::kSilu, 1.0f);
  }
  Result<KernelChoice> operator()(const Mul&) const { return elements(target.table->mul, Act::kSilu, 1.0f); }
  Result<KernelChoice> operator()(const ScaleBy& op) const {
    SKUA_RETURN_IF_ERROR(check_vector(op.weight));
    ElementArgs args;
    place(args, in(0).lead);
    args.width = in(0).width;
    args.weight_width = layout(op.weight).cols;
    return finish(target.table->scale_by, args, rows(in(0).lead) * static_cast<uint64_t>(args.width));
  }
  Result<KernelChoice> operator()(const ScaleColumns& op) const {
    ScaleColumnsArgs args;
    place(args, in(0).lead);
    args.factors = op.factors;
    return finish(target.table->scale_columns, args, rows(in(0).lead) * op.factors.size());
  }
  Result<KernelChoice> operator()(const Slice& op) const {
    SliceArgs args;
    place(args, in(0).lead);
    args.begin = op.begin;
    args.width = op.width;
    args.input_width = in(0).width;
    return finish(target.table->slice, args, 0);
  }
  Result<KernelChoice> streams(KernelFn fn, float number, int64_t begin) const {
    StreamArgs args;
    place(args, in(0).lead);
    args.width = out(0).width;
    args.coefficient_width = in(0).width;
    args.begin = begin;
    args.n_streams = static_cast<int64_t>(node.inputs.size()) - 1;
    args.number = number;
    return finish(fn, args, 4 * rows(in(0).lead) * static_cast<uint64_t>(args.width));
  }
  Result<KernelChoice> operator()(const WeightedSum& op) const {
    return streams(target.table->weighted_sum, op.offset, op.begin);
  }
  Result<KernelChoice> operator()(const Cutoff& op) const {
    return streams(target.table->cutoff, op.multiplier, 0);
  }
  Result<KernelChoice> operator()(const MatchMagnitude& op) const {
    return streams(target.table->match_magnitude, op.min_square, 0);
  }
  Result<KernelChoice> operator()(const PositionScale& op) const {
    PositionScaleArgs args;
    place(args, Lead::kTokens);
    args.width = in(0).width;
    args.stride = op.stride;
    args.offset = op.offset;
    args.factors = op.factors;
    return finish(target.table->position_scale, args, rows(in(0).lead) * static_cast<uint64_t>(in(0).width));
  }
  Result<KernelChoice> operator()(const Add&) const { return elements(target.table->add, Act::kSilu, 1.0f); }
  Result<KernelChoice> operator()(const Softcap& op) const {
    return elements(target.table->softcap, Act::kSilu, op.cap);
  }
  Result<KernelChoice> operator()(const Scale& op) const {
    return elements(target.table->scale, Act::kSilu, op.factor);
  }
  Result<KernelChoice> operator()(const GatherRows&) const {
    GatherArgs args;
    place(args, Lead::kRows);
    args.width = in(0).width;
    return finish(target.table->gather_rows, args, 0);
  }
};

}  // namespace

Result<KernelChoice> choose_kernel(const Target& target, const ChooseContext& context, const Node& node) {
  const Chooser chooser{target, context, node};
  SKUA_RETURN_IF_ERROR(chooser.check_storage());
  return std::visit(chooser, node.op);
}

}  // namespace skua::cpu
