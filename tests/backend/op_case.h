// One case of the op matrix: a tiny graph, its weights, and the steps to run it on. Backend-free.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/host_random.h"
#include "ir/graph.h"

namespace skua::test {

/// One sequence of a step: `q_len` new tokens that end at cache position kv_len.
struct CaseSeq {
  int32_t q_len = 0;
  int32_t kv_len = 0;
  std::vector<int32_t> pages;  // -1 = not resident
};

/// One run of the graph. Positions and token_seq follow from `seqs` unless positions are given.
struct CaseStep {
  std::vector<CaseSeq> seqs;
  std::vector<int32_t> ids;
  std::vector<int32_t> rows;
  std::vector<int32_t> positions;
  std::map<uint32_t, std::vector<double>> inputs;  // by ValueId: real rows only

  int32_t n_tokens() const;
  std::vector<int32_t> token_seq() const;
  std::vector<int32_t> token_positions() const;  // `positions`, or the cache positions
};

/// Graph values that no node makes are the case's inputs.
struct OpCase {
  std::string name;
  Graph graph;
  std::vector<HostWeight> weights;  // by WeightId
  std::vector<CaseStep> steps;      // run one after another on the same cache

  int32_t n_pages() const;  // pages that the steps name
  /// Rows of a value in a step.
  int64_t n_rows(const CaseStep& step, ValueId id) const;
};

/// Builds cases. Sizes that do not fit fail a SKUA_CHECK.
class CaseBuilder {
 public:
  explicit CaseBuilder(std::string name) { case_.name = std::move(name); }

  ValueId input(int64_t width, DType storage = DType::kF32, Lead lead = Lead::kTokens);
  WeightId weight(HostWeight weight);
  SlotId slot(const CacheSlot& slot);
  /// Adds a node; returns its first output (others follow).
  ValueId node(Op op, std::vector<ValueId> inputs, DType storage = DType::kF32,
               DType second_storage = DType::kF32);

  /// Adds a step whose inputs are random in [-scale, scale], rounded to their storage.
  CaseStep& step(std::vector<CaseSeq> seqs, uint64_t seed, double scale = 1.0);
  /// The same for ops without a cache: one sequence of n_tokens.
  CaseStep& step(int32_t n_tokens, uint64_t seed, double scale = 1.0);

  OpCase take() { return std::move(case_); }

 private:
  OpCase case_;
  std::vector<ValueId> inputs_;
};

/// The case with every step cut into steps of one token per sequence at a time: the outputs' rows, put
/// together again by join(), must be the same bytes.
OpCase one_token_at_a_time(const OpCase& whole);

}  // namespace skua::test
