// One way of attending that skua bench mla compares: a small graph on the CPU backend from the heads' queries
// to their values, over a cache that is filled once.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "ir/builder.h"
#include "plan/bind.h"
#include "skua/bench_mla_data.h"

namespace skua {

enum class MlaArmKind : uint8_t {
  kDecompressed,  // keys and values of every head in the cache, ordinary attention
  kAbsorbed,      // latent rows, a token's rows on one thread
  kSplit,         // latent rows, splits of them dealt to threads and merged
  kSparse,        // latent rows, 2048 of them, the rest left where it is
  kExactPrefill,  // many tokens of a sequence, absorbed
  kFastPrefill,   // the same, decompressed
};
std::string_view mla_arm_name(MlaArmKind kind);

/// Cache memory of `max_seqs` sequences of `max_context` tokens, filled.
struct MlaCache {
  std::shared_ptr<DeviceBuffer> slab;
  int64_t max_context = 0;
};

class MlaArm {
 public:
  /// Errors: those of the backend (memory, instruction set).
  static Result<std::unique_ptr<MlaArm>> create(MlaArmKind kind, const MlaBenchData& data,
                                                const CpuOptions& cpu, int64_t max_context, int64_t max_seqs);

  /// The cache, filled by another arm with the same rows, or by this one. Error: kResourceExhausted.
  Result<MlaCache> fill();
  void use(const MlaCache& cache) { cache_ = cache; }

  /// One step: each of `n_seqs` sequences brings the last `q_len` of `context` tokens. Query i of the data
  /// serves the step's token i. Returns [n_seqs * q_len, heads * v].
  struct Step {
    std::vector<float> values;
    double seconds = 0, attend_seconds = 0;  // from queries to values; of the attention op alone
    LatentCounters counted;                  // by this step
  };
  Result<Step> run(int64_t context, int64_t n_seqs, int64_t q_len);

  /// Of such a step: cache bytes that must be read, and FLOPs of all its products.
  uint64_t cache_bytes(int64_t context, int64_t n_seqs) const;
  int64_t rows_seen(int64_t context) const { return kind_ == MlaArmKind::kSparse ? kMlaChosen : context; }
  uint64_t flops(int64_t context, int64_t n_seqs, int64_t q_len) const;
  uint64_t bytes_per_token() const;  // in the cache

 private:
  enum class Role : uint8_t { kFill, kDecode };  // rows into the cache; queries over it
  struct Program {
    Plan plan;
    std::vector<PackedWeight> weights;
    std::vector<std::shared_ptr<DeviceBuffer>> owned;
    std::unique_ptr<BoundPlan> bound;
    std::vector<std::byte*> inputs;  // by StepInput
  };

  MlaArm(MlaArmKind kind, const MlaBenchData& data, int64_t max_context, int64_t max_seqs)
      : kind_(kind), data_(data), max_context_(max_context), max_seqs_(max_seqs) {}
  Result<Graph> graph(Role role) const;
  ValueId decode_nodes(GraphBuilder& b, SlotId slot) const;
  std::vector<float> weight_values(const std::string& name) const;
  Result<std::unique_ptr<Program>> program(Role role, const Capacity& capacity);
  Result<std::vector<PackedWeight>> pack(const Graph& graph);
  static LatentCounters since(const LatentCounters& now, const LatentCounters& then);
  void write_inputs(Program& program, const std::vector<int32_t>& ids,
                    const std::vector<StepSeq>& seqs) const;
  int64_t pages_per_seq() const { return (max_context_ + kPageTokens - 1) / kPageTokens; }

  MlaArmKind kind_;
  const MlaBenchData& data_;
  int64_t max_context_, max_seqs_;
  std::unique_ptr<Backend> backend_;
  MlaCache cache_;
  std::unique_ptr<Program> decode_;
  int64_t chosen_of_ = 0;  // kSparse: the context that the chosen positions are spread over
};

}  // namespace skua
