// Building and cutting of cases.
#include "backend/op_case.h"

#include <algorithm>

#include "base/check.h"

namespace skua::test {

int32_t CaseStep::n_tokens() const {
  int32_t n = 0;
  for (const CaseSeq& seq : seqs) n += seq.q_len;
  return n;
}

std::vector<int32_t> CaseStep::token_seq() const {
  std::vector<int32_t> out;
  for (size_t i = 0; i < seqs.size(); ++i)
    out.insert(out.end(), static_cast<size_t>(seqs[i].q_len), static_cast<int32_t>(i));
  return out;
}

std::vector<int32_t> CaseStep::token_positions() const {
  if (!positions.empty()) return positions;
  std::vector<int32_t> out;
  for (const CaseSeq& seq : seqs) {
    for (int32_t i = 0; i < seq.q_len; ++i) out.push_back(seq.kv_len - seq.q_len + i);
  }
  return out;
}

int32_t OpCase::n_pages() const {
  int32_t last = 0;
  for (const CaseStep& step : steps) {
    for (const CaseSeq& seq : step.seqs) {
      for (int32_t page : seq.pages) last = std::max(last, page);
    }
  }
  return last + 1;
}

int64_t OpCase::n_rows(const CaseStep& step, ValueId id) const {
  return graph.value(id).type.lead == Lead::kTokens ? step.n_tokens()
                                                    : static_cast<int64_t>(step.rows.size());
}

ValueId CaseBuilder::input(int64_t width, DType storage, Lead lead) {
  const ValueId id(static_cast<uint32_t>(case_.graph.values.size()));
  case_.graph.values.push_back({"input" + std::to_string(id.value()), {lead, width, storage}});
  inputs_.push_back(id);
  return id;
}

WeightId CaseBuilder::weight(HostWeight weight) {
  const WeightId id(static_cast<uint32_t>(case_.weights.size()));
  case_.graph.weights.push_back({"weight" + std::to_string(id.value()), weight.rows, weight.cols});
  case_.weights.push_back(std::move(weight));
  return id;
}

SlotId CaseBuilder::slot(const CacheSlot& slot) {
  case_.graph.slots.push_back(slot);
  return SlotId(static_cast<uint32_t>(case_.graph.slots.size() - 1));
}

ValueId CaseBuilder::node(Op op, std::vector<ValueId> inputs, DType storage, DType second_storage) {
  const auto types = infer_types(case_.graph, op, inputs, storage, second_storage);
  SKUA_CHECK(types.ok());
  Node node{std::move(op), std::move(inputs), {}, case_.name};
  for (const ValueType& type : *types) {
    node.outputs.emplace_back(static_cast<uint32_t>(case_.graph.values.size()));
    case_.graph.values.push_back({"value" + std::to_string(node.outputs.back().value()), type});
  }
  const ValueId first = node.outputs.empty() ? ValueId(0) : node.outputs[0];
  case_.graph.output = first;
  case_.graph.nodes.push_back(std::move(node));
  return first;
}

CaseStep& CaseBuilder::step(std::vector<CaseSeq> seqs, uint64_t seed, double scale) {
  CaseStep& step = case_.steps.emplace_back();
  step.seqs = std::move(seqs);
  Random random(seed);
  for (ValueId id : inputs_) {
    const ValueType& type = case_.graph.value(id).type;
    std::vector<double> values(static_cast<size_t>(step.n_tokens() * type.width));
    for (double& value : values) value = round_to(type.storage, scale * random.uniform());
    step.inputs[id.value()] = std::move(values);
  }
  return step;
}

CaseStep& CaseBuilder::step(int32_t n_tokens, uint64_t seed, double scale) {
  return step(std::vector<CaseSeq>{{n_tokens, n_tokens, {}}}, seed, scale);
}

OpCase one_token_at_a_time(const OpCase& whole) {
  OpCase cut = whole;
  cut.steps.clear();
  for (const CaseStep& step : whole.steps) {
    const std::vector<int32_t> positions = step.token_positions();
    const std::vector<int32_t> token_seq = step.token_seq();
    for (size_t t = 0; t < positions.size(); ++t) {
      CaseStep one;
      CaseSeq seq = step.seqs[static_cast<size_t>(token_seq[t])];
      const auto first = static_cast<int32_t>(std::find(token_seq.begin(), token_seq.end(), token_seq[t]) -
                                              token_seq.begin());
      seq.kv_len = seq.kv_len - seq.q_len + (static_cast<int32_t>(t) - first) + 1;
      seq.q_len = 1;
      one.seqs = {seq};
      one.positions = {positions[t]};
      if (!step.ids.empty()) one.ids = {step.ids[t]};
      for (const auto& [id, values] : step.inputs) {
        const auto width = static_cast<std::ptrdiff_t>(whole.graph.values[id].type.width);
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(t) * width;
        one.inputs[id].assign(begin, begin + width);
      }
      cut.steps.push_back(std::move(one));
    }
  }
  return cut;
}

}  // namespace skua::test
