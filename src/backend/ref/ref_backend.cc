// The float64 backend: memory, packing (planes copied as they are), the table of kernels, and running steps.
// What the ops mean is in the files named after them.
#include "backend/ref/ref_backend.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backend/ref/call.h"
#include "base/math.h"

namespace skua {
namespace {

class HostBuffer : public DeviceBuffer {
 public:
  HostBuffer(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  ~HostBuffer() override { std::free(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  std::byte* data() const override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  std::byte* data_;
  uint64_t bytes_;
};

template <void (*kKernel)(const ref::Call&)>
void entry(const KernelCall& call) {
  kKernel(ref::Call(call));
}

KernelFn kernel_of(const Op& op) {
  struct Table {
    KernelFn operator()(const Embed&) const { return entry<ref::embed>; }
    KernelFn operator()(const RmsNorm&) const { return entry<ref::rms_norm>; }
    KernelFn operator()(const LayerNorm&) const { return entry<ref::layer_norm>; }
    KernelFn operator()(const Linear&) const { return entry<ref::linear>; }
    KernelFn operator()(const RopeAngles&) const { return entry<ref::rope_angles>; }
    KernelFn operator()(const Rope&) const { return entry<ref::rope>; }
    KernelFn operator()(const KvWrite&) const { return entry<ref::kv_write>; }
    KernelFn operator()(const Attention&) const { return entry<ref::attention>; }
    KernelFn operator()(const HeadLinear&) const { return entry<ref::head_linear>; }
    KernelFn operator()(const MlaAttention&) const { return entry<ref::mla_attention>; }
    KernelFn operator()(const MlaFastAttention&) const { return entry<ref::mla_fast_attention>; }
    KernelFn operator()(const IndexSelect&) const { return entry<ref::index_select>; }
    KernelFn operator()(const CausalConv&) const { return entry<ref::causal_conv>; }
    KernelFn operator()(const Ssm1&) const { return entry<ref::ssm1>; }
    KernelFn operator()(const GatedDelta&) const { return entry<ref::gated_delta>; }
    KernelFn operator()(const Ssm2&) const { return entry<ref::ssm2>; }
    KernelFn operator()(const MoeRouter&) const { return entry<ref::moe_router>; }
    KernelFn operator()(const MoeExperts&) const { return entry<ref::moe_experts>; }
    KernelFn operator()(const ActMul&) const { return entry<ref::act_mul>; }
    KernelFn operator()(const Activate&) const { return entry<ref::activate>; }
    KernelFn operator()(const XIelu&) const { return entry<ref::xielu>; }
    KernelFn operator()(const Add&) const { return entry<ref::add>; }
    KernelFn operator()(const Mul&) const { return entry<ref::mul>; }
    KernelFn operator()(const ScaleBy&) const { return entry<ref::scale_by>; }
    KernelFn operator()(const ScaleColumns&) const { return entry<ref::scale_columns>; }
    KernelFn operator()(const Slice&) const { return entry<ref::slice>; }
    KernelFn operator()(const WeightedSum&) const { return entry<ref::weighted_sum>; }
    KernelFn operator()(const Cutoff&) const { return entry<ref::cutoff>; }
    KernelFn operator()(const MatchMagnitude&) const { return entry<ref::match_magnitude>; }
    KernelFn operator()(const PositionScale&) const { return entry<ref::position_scale>; }
    KernelFn operator()(const Softcap&) const { return entry<ref::softcap>; }
    KernelFn operator()(const Scale&) const { return entry<ref::scale>; }
    KernelFn operator()(const GatherRows&) const { return entry<ref::gather_rows>; }
    KernelFn operator()(const AddRmsNorm&) const { return entry<ref::add_rms_norm>; }
    KernelFn operator()(const MultiLinear&) const { return entry<ref::multi_linear>; }
    KernelFn operator()(const GatedLinear&) const { return entry<ref::gated_linear>; }
    KernelFn operator()(const RopeKvWrite&) const { return entry<ref::rope_kv_write>; }
  };
  return std::visit(Table{}, op);
}

/// Two FLOPs per multiply-add of the matrix products; other ops count one per output element.
uint64_t flops_at_capacity(const ref::Args& args) {
  const auto lead = [&](const ValueType& type) {
    return static_cast<uint64_t>(type.lead == Lead::kTokens ? args.capacity.n_tokens : args.capacity.n_rows);
  };
  if (const auto* attention = std::get_if<Attention>(&args.op)) {
    const auto keys = static_cast<uint64_t>(args.capacity.max_pages) * kPageTokens;
    return 2 * lead(args.inputs[0]) * keys * static_cast<uint64_t>(attention->n_heads) *
           static_cast<uint64_t>(args.slot.k_dim + args.slot.v_dim);
  }
  if (const auto* attention = std::get_if<MlaAttention>(&args.op)) {
    const auto keys = static_cast<uint64_t>(args.capacity.max_pages) * kPageTokens;
    return 2 * lead(args.inputs[0]) * keys * static_cast<uint64_t>(attention->n_heads) *
           static_cast<uint64_t>(args.slot.k_dim + 2 * args.slot.v_dim);
  }
  if (const auto* attention =
          std::get_if<MlaFastAttention>(&args.op)) {  // as the absorbed form would have it
    const auto keys = static_cast<uint64_t>(args.capacity.max_pages) * kPageTokens;
    const auto n_heads = static_cast<uint64_t>(attention->n_heads);
    const auto products = static_cast<uint64_t>(args.weights[0].rows * args.weights[0].cols +
                                                args.weights[1].rows * args.weights[1].cols);
    return 2 * lead(args.inputs[0]) *
           (products + keys * n_heads * static_cast<uint64_t>(args.slot.k_dim + 2 * args.slot.v_dim));
  }
  if (const auto* index = std::get_if<IndexSelect>(&args.op)) {
    const auto keys = static_cast<uint64_t>(args.capacity.max_pages) * kPageTokens;
    return 2 * lead(args.inputs[0]) * keys * static_cast<uint64_t>(index->n_heads) *
           static_cast<uint64_t>(args.slot.k_dim + args.slot.v_dim);
  }
  if (const auto* conv = std::get_if<CausalConv>(&args.op)) {
    (void)conv;
    return 2 * lead(args.inputs[0]) * static_cast<uint64_t>(args.weights[0].rows * args.weights[0].cols);
  }
  if (args.slot.kind == SlotKind::kRecurrent) {  // one multiply-add to advance the state, one to read it
    return 4 * lead(args.inputs[0]) * static_cast<uint64_t>(args.slot.n_blocks * args.slot.state);
  }
  if (const auto* experts = std::get_if<MoeExperts>(&args.op)) {
    return 6 * lead(args.inputs[0]) * static_cast<uint64_t>(experts->top_k) *
           static_cast<uint64_t>(args.inputs[0].width * args.weights[2].cols);
  }
  uint64_t flops = 0;
  for (const ValueType& out : args.outputs) flops += lead(out) * static_cast<uint64_t>(out.width);
  if (args.inputs.empty()) return flops;
  for (const PackedWeight::Layout& w : args.weights) {
    if (w.rows > 1) flops += 2 * lead(args.inputs[0]) * static_cast<uint64_t>(w.rows * w.cols);
  }
  return flops;
}

class RefBackend : public Backend {
 public:
  explicit RefBackend(const RefOptions& options)
      : options_(options), pool_(options.n_threads > 0 ? options.n_threads : available_cpus()) {}

  std::string_view name() const override { return "ref"; }
  std::string description() const override {
    const bool pure = options_.rounding == RefRounding::kPure;
    return std::string("ref float64, ") + (pure ? "unrounded" : "rounded to the edges' types") + ", " +
           std::to_string(pool_.n_threads()) + " threads";
  }
  std::string arithmetic() const override {
    return options_.rounding == RefRounding::kPure ? "ref f64" : "ref rounded";
  }
  Numerics numerics() const override { return options_.numerics; }
  FusionSet fusions() const override {
    return {.add_rms_norm = true, .multi_linear = true, .gated_linear = true, .rope_kv_write = true};
  }
  uint64_t element_bytes(DType storage) const override {
    return is_float(storage) ? sizeof(double) : dtype_bytes(storage);
  }
  uint64_t cache_page_bytes(const CacheSlot& slot) const override {
    return static_cast<uint64_t>(page_elements(slot)) * sizeof(double);
  }

  Result<std::shared_ptr<DeviceBuffer>> allocate(uint64_t bytes, std::string_view what) override {
    constexpr uint64_t kAlign = 64;
    const auto rounded = checked_round_up(bytes == 0 ? 1 : bytes, kAlign);
    void* memory = rounded ? std::aligned_alloc(kAlign, *rounded) : nullptr;
    if (memory == nullptr) {
      return resource_exhausted("[ref] cannot allocate " + std::to_string(bytes) + " bytes for " +
                                std::string(what));
    }
    return std::shared_ptr<DeviceBuffer>(
        std::make_shared<HostBuffer>(static_cast<std::byte*>(memory), bytes));
  }

  Result<PackedWeight> pack(const EncodedMatrix& source, std::string_view name) override {
    PackedWeight packed;
    PackedWeight::Layout& layout = packed.layout;
    layout.format = source.format;
    layout.rows = source.rows;
    layout.cols = source.cols;
    uint64_t bytes = 0;
    for (int plane = 0; plane < 3; ++plane) {
      layout.plane_offset[plane] = bytes;
      layout.plane_row_bytes[plane] = plane_row_bytes(source.format, plane, source.cols);
      bytes += layout.plane_row_bytes[plane] * static_cast<uint64_t>(source.rows);
    }
    SKUA_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceBuffer> buffer, allocate(bytes, name));
    for (int plane = 0; plane < 3; ++plane) {
      const uint64_t row_bytes = layout.plane_row_bytes[plane];
      if (row_bytes == 0) continue;
      std::byte* to = buffer->data() + layout.plane_offset[plane];
      for (int64_t row = 0; row < source.rows; ++row, to += row_bytes) {
        std::memcpy(to, source.row_plane(plane, row), row_bytes);
      }
    }
    packed.buffer = buffer;
    SKUA_RETURN_IF_ERROR(check_finite(source, name));
    return packed;
  }

  Result<KernelChoice> choose(const ChooseContext& context, const Node& node) const override {
    auto args = std::make_shared<ref::Args>();
    args->op = node.op;
    args->step_inputs = step_inputs(node.op);
    args->capacity = context.capacity;
    for (ValueId id : node.inputs) args->inputs.push_back(edge(context.graph->value(id).type));
    for (ValueId id : node.outputs) args->outputs.push_back(edge(context.graph->value(id).type));
    for (WeightId id : op_weights(node.op)) args->weights.push_back(context.weights[id.value()].layout);
    if (const auto slot = op_slot(node.op)) {
      args->slot = context.graph->slot(*slot);
      args->slot.storage = rounded_to(args->slot.storage);
    }
    if (const auto* gated = std::get_if<GatedLinear>(&node.op)) {
      args->inner_storage = rounded_to(gated->product_storage);
    }
    if (const auto* fused = std::get_if<RopeKvWrite>(&node.op))
      args->inner_storage = rounded_to(fused->key_storage);
    const uint64_t flops = flops_at_capacity(*args);
    return KernelChoice{kernel_of(node.op), std::move(args), "ref_" + std::string(op_name(node.op)), 0,
                        flops};
  }

  Status upload(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return ok_status();
  }
  Status copy(std::byte* to, const std::byte* from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return ok_status();
  }

  Status download(std::span<std::byte> to, const std::byte* from) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
    return ok_status();
  }

  Status run(std::span<const BoundStep> steps, std::span<const uint32_t> order) override {
    for (uint32_t i : order) steps[i].fn({steps[i].args, steps[i].operands, &pool_});
    return ok_status();
  }

 private:
  DType rounded_to(DType storage) const {
    return options_.rounding == RefRounding::kPure ? DType::kF64 : storage;
  }
  ValueType edge(ValueType type) const {
    type.storage = rounded_to(type.storage);
    return type;
  }

  static Status check_finite(const EncodedMatrix& matrix, std::string_view name) {
    std::vector<float> values(static_cast<size_t>(matrix.cols));
    for (int64_t row = 0; row < matrix.rows; ++row) {
      decode_row(matrix, row, 0, matrix.cols, values.data());
      for (int64_t col = 0; col < matrix.cols; ++col) {
        const float value = values[static_cast<size_t>(col)];
        if (std::isfinite(value)) continue;
        return data_loss("[weights] " + std::string(name) + "[" + std::to_string(row) + ", " +
                         std::to_string(col) + "] is " + (std::isnan(value) ? "NaN" : "infinite") +
                         ": the checkpoint is damaged");
      }
    }
    return ok_status();
  }

  RefOptions options_;
  ThreadPool pool_;
};

}  // namespace

std::unique_ptr<Backend> make_ref_backend(const RefOptions& options) {
  return std::make_unique<RefBackend>(options);
}

}  // namespace skua
