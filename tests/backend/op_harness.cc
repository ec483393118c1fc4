// Memory layout of a run: every operand lies in a buffer of its own, [guard | bytes | guard]; integers beyond
// the real counts are poison that no kernel may use.
#include "backend/op_harness.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "backend/read_floats.h"
#include "base/check.h"
#include "base/math.h"

namespace skua::test {
namespace {

constexpr uint64_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};
constexpr int32_t kPoison = 0x7FFFFF7F;

/// Backend memory between guard bands.
class GuardedBuffer {
 public:
  static Result<GuardedBuffer> make(Backend& backend, uint64_t bytes, std::byte fill,
                                    const std::string& what) {
    GuardedBuffer out;
    out.bytes_ = bytes;
    out.what_ = what;
    SKUA_ASSIGN_OR_RETURN(out.buffer_, backend.allocate(bytes + 2 * kGuardBytes, what));
    std::vector<std::byte> all(bytes + 2 * kGuardBytes, kGuard);
    std::fill_n(all.begin() + kGuardBytes, bytes, fill);
    SKUA_RETURN_IF_ERROR(backend.upload(out.buffer_->data(), all));
    return out;
  }

  std::byte* data() const { return buffer_->data() + kGuardBytes; }
  uint64_t bytes() const { return bytes_; }

  Status refill(Backend& backend, std::byte fill) const {
    return backend.upload(data(), std::vector<std::byte>(bytes_, fill));
  }

  Status check_guards(Backend& backend) const {
    std::vector<std::byte> band(kGuardBytes);
    for (const std::byte* from :
         {static_cast<const std::byte*>(buffer_->data()), static_cast<const std::byte*>(data() + bytes_)}) {
      SKUA_RETURN_IF_ERROR(backend.download(band, from));
      if (std::any_of(band.begin(), band.end(), [](std::byte b) { return b != kGuard; })) {
        return internal_error("[harness] the guard band " +
                              std::string(from == data() + bytes_ ? "after " : "before ") + what_ +
                              " was overwritten");
      }
    }
    return ok_status();
  }

 private:
  std::shared_ptr<DeviceBuffer> buffer_;
  uint64_t bytes_ = 0;
  std::string what_;
};

/// Elements as they lie in the backend's memory.
std::vector<std::byte> encode(Backend& backend, DType storage, const std::vector<double>& values) {
  const uint64_t element = backend.element_bytes(storage);
  std::vector<std::byte> bytes(values.size() * element);
  for (size_t i = 0; i < values.size(); ++i) {
    const double rounded = round_to(storage, values[i]);
    const auto single = static_cast<float>(rounded);
    const uint16_t half = storage == DType::kBF16 ? f32_to_bf16(single) : f32_to_f16(single);
    const void* from = element == 8   ? static_cast<const void*>(&rounded)
                       : element == 4 ? static_cast<const void*>(&single)
                                      : static_cast<const void*>(&half);
    std::memcpy(&bytes[i * element], from, element);
  }
  return bytes;
}

class Harness {
 public:
  Harness(Backend& backend, const OpCase& op_case, const HarnessOptions& options)
      : backend_(backend), case_(op_case), options_(options) {}

  Result<std::vector<StepValues>> run() {
    set_capacity();
    SKUA_RETURN_IF_ERROR(allocate_all());
    SKUA_RETURN_IF_ERROR(bind_nodes());
    std::vector<StepValues> results;
    for (const CaseStep& step : case_.steps) {
      SKUA_RETURN_IF_ERROR(fill_inputs(step));
      std::vector<uint32_t> order(steps_.size());
      for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
      SKUA_RETURN_IF_ERROR(backend_.run(steps_, order));
      SKUA_RETURN_IF_ERROR(check_guards());
      SKUA_ASSIGN_OR_RETURN(StepValues values, read_outputs(step));
      results.push_back(std::move(values));
    }
    return results;
  }

 private:
  void set_capacity() {
    for (const CaseStep& step : case_.steps) {
      capacity_.n_tokens = std::max(capacity_.n_tokens, step.n_tokens());
      capacity_.n_seqs = std::max(capacity_.n_seqs, static_cast<int32_t>(step.seqs.size()));
      capacity_.n_rows = std::max(capacity_.n_rows, static_cast<int32_t>(step.rows.size()));
      for (const CaseSeq& seq : step.seqs) {
        capacity_.max_pages = std::max(capacity_.max_pages, static_cast<int32_t>(seq.pages.size()));
      }
    }
    capacity_.n_tokens += options_.slack;
    capacity_.n_seqs += options_.slack;
    capacity_.n_rows += options_.slack;
    capacity_.max_pages += options_.slack;
  }

  uint64_t input_elements(StepInput input) const {
    switch (input) {
      case StepInput::kHeader:
      case StepInput::kSeqs:
        return 4 * static_cast<uint64_t>(input == StepInput::kHeader ? 1 : capacity_.n_seqs);
      case StepInput::kRows:
        return static_cast<uint64_t>(capacity_.n_rows);
      case StepInput::kPageTable:
        return static_cast<uint64_t>(capacity_.n_seqs) * static_cast<uint64_t>(capacity_.max_pages);
      default:
        return static_cast<uint64_t>(capacity_.n_tokens);
    }
  }

  Status allocate_all() {
    constexpr std::byte kNan{0xFF};
    for (size_t i = 0; i <= static_cast<size_t>(StepInput::kPageTable); ++i) {
      const uint64_t bytes = input_elements(static_cast<StepInput>(i)) * sizeof(int32_t);
      SKUA_ASSIGN_OR_RETURN(GuardedBuffer buffer, GuardedBuffer::make(backend_, bytes, kNan, "step input"));
      step_inputs_.push_back(std::move(buffer));
    }
    for (const Value& value : case_.graph.values) {
      const int32_t lead = value.type.lead == Lead::kTokens ? capacity_.n_tokens : capacity_.n_rows;
      const uint64_t bytes = static_cast<uint64_t>(lead) * static_cast<uint64_t>(value.type.width) *
                             backend_.element_bytes(value.type.storage);
      SKUA_ASSIGN_OR_RETURN(GuardedBuffer buffer, GuardedBuffer::make(backend_, bytes, kNan, value.name));
      values_.push_back(std::move(buffer));
    }
    for (const CacheSlot& slot : case_.graph.slots) {
      const uint64_t bytes = static_cast<uint64_t>(case_.n_pages()) * backend_.cache_page_bytes(slot);
      SKUA_ASSIGN_OR_RETURN(GuardedBuffer buffer,
                            GuardedBuffer::make(backend_, bytes, options_.cache_fill, "cache slab"));
      slabs_.push_back(std::move(buffer));
    }
    for (size_t i = 0; i < case_.weights.size(); ++i) {
      SKUA_ASSIGN_OR_RETURN(PackedWeight weight,
                            backend_.pack(case_.weights[i].view(), case_.graph.weights[i].name));
      if (!options_.decoys.empty()) SKUA_RETURN_IF_ERROR(poison(weight, options_.decoys[i]));
      weights_.push_back(std::move(weight));
    }
    return ok_status();
  }

  Status poison(const PackedWeight& weight, const HostWeight& decoy) {
    SKUA_ASSIGN_OR_RETURN(const PackedWeight other, backend_.pack(decoy.view(), "decoy"));
    std::vector<std::byte> bytes(weight.buffer->bytes()), other_bytes(other.buffer->bytes());
    if (bytes.size() != other_bytes.size()) return internal_error("[harness] a decoy of another size");
    SKUA_RETURN_IF_ERROR(backend_.download(bytes, weight.buffer->data()));
    SKUA_RETURN_IF_ERROR(backend_.download(other_bytes, other.buffer->data()));
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != other_bytes[i]) bytes[i] = std::byte{0xFF};
    }
    return backend_.upload(weight.buffer->data(), bytes);
  }

  Status bind_nodes() {
    const ChooseContext context{&case_.graph, weights_, capacity_};
    for (const Node& node : case_.graph.nodes) {
      SKUA_ASSIGN_OR_RETURN(KernelChoice choice, backend_.choose(context, node));
      std::vector<std::byte*>& operands = operands_.emplace_back();
      for (StepInput input : step_inputs(node.op))
        operands.push_back(step_inputs_[static_cast<size_t>(input)].data());
      for (ValueId id : node.inputs) operands.push_back(values_[id.value()].data());
      for (WeightId id : op_weights(node.op)) operands.push_back(weights_[id.value()].buffer->data());
      for (ValueId id : node.outputs) operands.push_back(values_[id.value()].data());
      if (const auto slot = op_slot(node.op)) operands.push_back(slabs_[slot->value()].data());
      if (choice.workspace_bytes > 0) {
        SKUA_ASSIGN_OR_RETURN(GuardedBuffer buffer,
                              GuardedBuffer::make(backend_, choice.workspace_bytes, std::byte{0xFF},
                                                  "workspace of " + choice.kernel));
        operands.push_back(buffer.data());
        workspaces_.push_back(std::move(buffer));
      }
      choices_.push_back(std::move(choice));
    }
    for (size_t i = 0; i < choices_.size(); ++i) {
      steps_.push_back({choices_[i].fn, choices_[i].args.get(), operands_[i].data()});
    }
    return ok_status();
  }

  Status put(StepInput input, std::vector<int32_t> values, int32_t filler) {
    values.resize(input_elements(input), filler);
    return backend_.upload(step_inputs_[static_cast<size_t>(input)].data(), std::as_bytes(std::span(values)));
  }

  int32_t page_number(int32_t page) const {
    return page < 0 || !options_.reverse_pages ? page : case_.n_pages() - 1 - page;
  }

  Status fill_inputs(const CaseStep& step) {
    const auto n_seqs = static_cast<int32_t>(step.seqs.size());
    SKUA_RETURN_IF_ERROR(
        put(StepInput::kHeader, {step.n_tokens(), n_seqs, static_cast<int32_t>(step.rows.size()), 0}, 0));
    SKUA_RETURN_IF_ERROR(put(StepInput::kIds, step.ids, kPoison));
    SKUA_RETURN_IF_ERROR(put(StepInput::kPositions, step.token_positions(), kPoison));
    SKUA_RETURN_IF_ERROR(put(StepInput::kTokenSeq, step.token_seq(), kPoison));
    SKUA_RETURN_IF_ERROR(put(StepInput::kRows, step.rows, kPoison));
    std::vector<int32_t> seqs;
    std::vector<int32_t> table;
    int32_t q_begin = 0;
    for (const CaseSeq& seq : step.seqs) {
      seqs.insert(seqs.end(), {q_begin, seq.q_len, seq.kv_len, 0});
      q_begin += seq.q_len;
      for (int32_t i = 0; i < capacity_.max_pages; ++i) {
        table.push_back(
            static_cast<size_t>(i) < seq.pages.size() ? page_number(seq.pages[static_cast<size_t>(i)]) : -1);
      }
    }
    SKUA_RETURN_IF_ERROR(put(StepInput::kSeqs, std::move(seqs), 0));
    SKUA_RETURN_IF_ERROR(put(StepInput::kPageTable, std::move(table), -1));
    for (size_t i = 0; i < values_.size(); ++i) {
      SKUA_RETURN_IF_ERROR(values_[i].refill(backend_, std::byte{0xFF}));
      const auto given = step.inputs.find(static_cast<uint32_t>(i));
      if (given == step.inputs.end()) continue;
      const std::vector<std::byte> bytes =
          encode(backend_, case_.graph.values[i].type.storage, given->second);
      SKUA_RETURN_IF_ERROR(backend_.upload(values_[i].data(), bytes));
    }
    for (const GuardedBuffer& workspace : workspaces_)
      SKUA_RETURN_IF_ERROR(workspace.refill(backend_, std::byte{0xFF}));
    return ok_status();
  }

  Status check_guards() const {
    for (const auto* group : {&step_inputs_, &values_, &slabs_, &workspaces_}) {
      for (const GuardedBuffer& buffer : *group) SKUA_RETURN_IF_ERROR(buffer.check_guards(backend_));
    }
    return ok_status();
  }

  Result<StepValues> read_outputs(const CaseStep& step) const {
    StepValues out;
    for (const Node& node : case_.graph.nodes) {
      for (ValueId id : node.outputs) {
        const ValueType& type = case_.graph.value(id).type;
        const auto n = static_cast<size_t>(case_.n_rows(step, id) * type.width);
        SKUA_ASSIGN_OR_RETURN(out[id.value()],
                              read_floats(backend_, values_[id.value()].data(), type.storage, n));
      }
    }
    return out;
  }

  Backend& backend_;
  const OpCase& case_;
  const HarnessOptions& options_;
  Capacity capacity_;
  std::vector<GuardedBuffer> step_inputs_, values_, slabs_, workspaces_;
  std::vector<PackedWeight> weights_;
  std::vector<KernelChoice> choices_;
  std::vector<std::vector<std::byte*>> operands_;
  std::vector<BoundStep> steps_;
};

}  // namespace

Result<std::vector<StepValues>> run_case(Backend& backend, const OpCase& op_case,
                                         const HarnessOptions& options) {
  return Harness(backend, op_case, options).run();
}

std::vector<double> join(const std::vector<StepValues>& steps, ValueId id) {
  std::vector<double> all;
  for (const StepValues& step : steps) {
    const std::vector<double>& values = step.at(id.value());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

int64_t first_difference(const std::vector<double>& a, const std::vector<double>& b) {
  const size_t n = std::min(a.size(), b.size());
  for (size_t i = 0; i < n; ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(double)) != 0) return static_cast<int64_t>(i);
  }
  return a.size() == b.size() ? -1 : static_cast<int64_t>(n);
}

}  // namespace skua::test
