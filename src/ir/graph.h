// A model as a list of ops over symbolic sizes. Made by a family's build(), read by plan/. It is also the
// weight manifest: every weight the model needs is declared here with its checkpoint name and shape.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/op.h"

namespace skua {

enum class Lead : uint8_t { kTokens, kRows };  // the symbolic leading size

/// [lead, width] of elements that are rounded to `storage` when written (DESIGN: rounding contract).
struct ValueType {
  Lead lead = Lead::kTokens;
  int64_t width = 0;
  DType storage = DType::kF32;
  bool operator==(const ValueType&) const = default;
};

struct Value {
  std::string name;
  ValueType type;
};

enum class Take : uint8_t {
  kRows,     // block rows become rows of the weight
  kColumns,  // block columns do: the block is used transposed
};

/// A place for a weight that is made of equal stored blocks [block_rows, block_cols], one per expert or head:
/// each block gives the rows first, first + step, ... (kColumns: its columns; then row `skip` of the block is
/// the weight's first column). The tensors hold the blocks one after another: one tensor with all of them
/// ([n_blocks, block_rows, block_cols] or with the first two dimensions folded), or one tensor per block.
struct BlockSource {
  std::vector<std::string> tensors;
  int64_t n_blocks = 1;
  int64_t block_rows = 0;
  int64_t block_cols = 0;
  int64_t first = 0;
  int64_t step = 1;
  Take take = Take::kRows;
  int64_t skip = 0;
};

/// One weight: name and logical shape [rows, cols]; a vector has rows = 1. Without `blocks` the name is that
/// of the checkpoint's tensor. Else the first of `blocks` whose tensors are all there is read; a vector is
/// made of one number per row taken: its blocks have one row and are cut along their columns (kColumns).
struct WeightDecl {
  std::string name;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<BlockSource> blocks = {};
  std::optional<DType> plain = {};       // what a quantized tensor is decoded to at load; empty: nothing
  std::optional<int64_t> zero_row = {};  // a row that is zero whatever is stored (without `blocks`)
};

constexpr int32_t kPageTokens = 64;  // tokens of one cache page

enum class SlotKind : uint8_t {
  kFull,
  kWindow,
  kLatent,  // MLA: k is the rotated shared key, v the latent, one row for all heads
  kConv,    // inputs of a causal convolution: one row per token, the last `window` of them
  kRecurrent,
};

/// Cache of one layer. Attention: k and v rows per token and kv head, stored as `storage`.
///
/// kRecurrent: what a scan (state-space or delta-rule layer) needs to go on. Its state falls into n_blocks
/// blocks (heads) of `state` numbers, none of which sees another's. A page holds the raw input rows of its 64
/// tokens (`row` numbers each: all that advances the state), and for each block the state after the last row
/// that was written here, with the number of rows it includes. Tokens are always added one by one in the
/// same order, so the state after row r is the same bytes whoever computes it. A step that starts at row r of
/// page p takes, block by block,
///   r = 0:            page p-1's state, which includes all its 64 rows (p = 0: zero);
///   r = page's count: page p's own state;
///   else:             page p-1's state, and adds rows 0 .. r-1 of page p again (after rejected drafts, or in
///                     a copy of a page whose owner had gone on).
/// So forgetting rows needs no work, and a copied page is a copied state. Kept are the page of the next token
/// and the one before it. Kernels: backend/cpu/kernels/scan.h, backend/ref/scan.h.
struct CacheSlot {
  SlotKind kind = SlotKind::kFull;
  int32_t layer = 0;
  int32_t n_kv_heads = 0;
  int32_t k_dim = 0;
  int32_t v_dim = 0;
  int32_t window = 0;  // kWindow: keys kept, the query's own included
  DType storage = DType::kF32;
  int64_t row = 0;       // kConv, kRecurrent: numbers kept of each token
  int32_t n_blocks = 0;  // kRecurrent
  int64_t state = 0;     // kRecurrent: numbers of one block's state
};

/// Where the parts of a kRecurrent page begin, in elements: rows [64, row], counts [n_blocks], states
/// [n_blocks, state].
struct RecurrentPage {
  int64_t counts = 0;
  int64_t states = 0;
  int64_t end = 0;

  explicit RecurrentPage(const CacheSlot& slot);
};

/// The slot of a scan, as its op wants it; f32.
CacheSlot delta_slot(const GatedDelta& op, int32_t layer);
CacheSlot ssm1_slot(int64_t d_inner, int64_t d_state, int32_t layer);

/// True of slots with keys and values of heads, whose type may be chosen (Numerics::kv_cache).
bool keeps_heads(const CacheSlot& slot);

/// Elements of one page of a slot.
int64_t page_elements(const CacheSlot& slot);

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::string label;  // "layers.3.attn.q"
};

/// How latent attention runs over prompts: absorbed like everything else, or decompressed (MlaFastAttention).
enum class MlaPrefill : uint8_t { kExact, kFast };

/// Storage types of a graph's edges, chosen by the backend and the compute mode; and the one choice of
/// arithmetic that a family's build() makes.
struct Numerics {
  DType residual = DType::kF32;
  DType matmul_input = DType::kF32;
  DType kv = DType::kF32;              // q, k, v and cache
  std::optional<DType> kv_cache = {};  // of keys and values of heads in the cache, where it is not `kv`
  DType logits = DType::kF32;
  MlaPrefill mla_prefill = MlaPrefill::kExact;
};

struct Graph {
  std::vector<Node> nodes;  // in execution order of one thread: producers first
  std::vector<Value> values;
  std::vector<WeightDecl> weights;
  std::vector<CacheSlot> slots;
  ValueId output;  // logits [R, n_vocab]

  const Value& value(ValueId id) const { return values[id.value()]; }
  const WeightDecl& weight(WeightId id) const { return weights[id.value()]; }
  const CacheSlot& slot(SlotId id) const { return slots[id.value()]; }
};

/// True if some slot keeps keys and values of heads.
bool keeps_heads(const Graph& graph);

/// Output types of `op` for these inputs. Errors: kInvalidArgument naming the sizes that do not fit.
Result<std::vector<ValueType>> infer_types(const Graph& graph, const Op& op, std::span<const ValueId> inputs,
                                           DType storage, DType second_storage = DType::kF32);

/// Checks a whole graph: ids in range, producers before users, types as inferred, slots written before read.
Status validate(const Graph& graph);

/// One line per op: outputs, op, inputs, weights.
std::string print(const Graph& graph);

/// Reads a weight declaration back as "model.norm.weight [1, 576]".
std::string print(const WeightDecl& weight);

}  // namespace skua
