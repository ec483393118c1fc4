// A tiny model as a GGUF file in memory, the way converters write one: tensors under transformers names are
// rewritten (rows reordered, numbers changed, tensors split), then renamed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/memory_checkpoint.h"
#include "engine/hand_runner.h"

namespace skua::test {

class FakeGguf final : public MemoryCheckpoint {
 public:
  CheckpointKind kind() const override { return CheckpointKind::kGguf; }
};

/// A tensor as rows of stored bytes.
struct Stored {
  Format format;
  std::vector<int64_t> shape;
  std::vector<std::vector<std::byte>> rows;
  std::vector<std::vector<std::byte>> scales;  // of MXFP4's rows

  int64_t n() const { return static_cast<int64_t>(rows.size()); }
};
using Tensors = std::map<std::string, Stored>;

/// Every tensor of a checkpoint.
Tensors tensors_of(const Checkpoint& from);

std::vector<float> values_of(const Stored& t);
Stored f32(std::vector<int64_t> shape, const std::vector<float>& values);

/// The rows that `index` names, in its order.
Stored rows_at(const Stored& t, const std::vector<int64_t>& index, std::vector<int64_t> shape);
Stored row_range(const Stored& t, int64_t first, int64_t n);

/// For every tensor whose name ends with `suffix`: takes it out, and adds what `change` makes of it.
void each(Tensors& all, const std::string& suffix,
          const std::function<void(const std::string& prefix, const Stored& t, Tensors& out)>& change);

/// Where row r of a projection whose heads are stored with their halves in turn comes from: (head, i, half)
/// holds (head, half, i); heads of `d` rows.
inline int64_t pair_wise_row(int64_t row, int64_t d) { return row / d * d + row % 2 * (d / 2) + row % d / 2; }

/// Rows and biases of q and k as converters for pair-wise rotation store them.
void pair_wise_qk(Tensors& all, int64_t n_heads, int64_t n_kv_heads);

/// Names below the layer or, for tensors outside of layers, in whole: transformers' first, GGUF's second.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// What most families call their tensors.
const Renames& common_names();

/// The name in the file ("?..." if none is known), and whether the tensor is one expert of several. Names of
/// `own` come first.
std::pair<std::string, bool> gguf_name(const Renames& own, const std::string& name);

/// Keys that most files have; `more` adds to them, replaces some, or (null) takes them out. All but
/// general.architecture below the architecture's name.
Json gguf_metadata(const std::string& arch, const ModelInfo& info, const Json& more);

/// The file. Vectors are stored in f32, as converters do.
std::unique_ptr<FakeGguf> gguf_file(const Tensors& all, const Renames& own, Json metadata);

/// Logits of a prompt of 70 tokens.
Rows logits_of(const Checkpoint& checkpoint);

}  // namespace skua::test
