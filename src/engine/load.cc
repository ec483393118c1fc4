// Matches a graph's weights with a checkpoint's tensors and packs them, dropping source pages as it goes.
#include "engine/load.h"

#include <cstring>
#include <map>
#include <set>

namespace skua {
namespace {

/// True if `name` fits `pattern`, where '*' stands for any run of characters.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*')
    return !name.empty() && name[0] == pattern[0] && matches(pattern.substr(1), name.substr(1));
  for (size_t skip = 0; skip <= name.size(); ++skip) {
    if (matches(pattern.substr(1), name.substr(skip))) return true;
  }
  return false;
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (size_t i = 0; i < items.size() && i < 8; ++i) out += (i > 0 ? "; " : "") + items[i];
  if (items.size() > 8) out += "; and " + std::to_string(items.size() - 8) + " more";
  return out;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

/// True if a stored shape is that of the declared matrix (or vector), or of the tensor that it is a part of.
bool same_shape(const std::vector<int64_t>& shape, const WeightDecl& decl) {
  if (shape.empty()) return decl.rows == 1 && decl.cols == 1;
  const WeightSource& source = decl.source;
  if (shape.size() == 1) {
    return decl.rows == 1 && shape[0] == (source.tensor.empty() ? decl.cols : source.rows);
  }
  const int64_t rows = source.tensor.empty() ? decl.rows : source.rows;
  if (shape.size() != 2) return false;
  if (source.transpose == Transpose::kYes) return shape[0] == decl.cols && shape[1] == rows;
  return shape[0] == rows && shape[1] == decl.cols;
}

/// Rows [first, first + block) of every `stride`; of a vector (one row of plain elements), elements.
EncodedMatrix part_of(EncodedMatrix whole, const WeightDecl& decl, std::vector<std::byte>& copy) {
  const WeightSource& source = decl.source;
  const auto stored = [&](int64_t i) {
    return i / source.block * source.stride + source.first + i % source.block;
  };
  if (decl.rows > 1) {
    std::vector<uint32_t> map;
    for (int64_t i = 0; i < decl.rows; ++i) map.push_back(static_cast<uint32_t>(stored(i)));
    if (!whole.row_map.empty()) {
      for (uint32_t& row : map) row = whole.row_map[row];
    }
    whole.row_map = std::move(map);
    whole.rows = decl.rows;
    return whole;
  }
  const uint64_t width = plane_row_bytes(whole.format, 0, 1);
  copy.resize(static_cast<size_t>(decl.cols) * width);
  for (int64_t i = 0; i < decl.cols; ++i) {
    std::memcpy(&copy[static_cast<size_t>(i) * width],
                whole.planes[0] + static_cast<uint64_t>(stored(i)) * width, width);
  }
  EncodedMatrix out{whole.format, 1, decl.cols, {copy.data()}, {copy.size()}, {}};
  return out;
}

/// The transposed matrix, in `copy`.
EncodedMatrix transposed(const EncodedMatrix& m, std::vector<std::byte>& copy) {
  const uint64_t width = plane_row_bytes(m.format, 0, 1);
  copy.resize(static_cast<size_t>(m.rows * m.cols) * width);
  for (int64_t row = 0; row < m.rows; ++row) {
    const std::byte* from = m.row_plane(0, row);
    for (int64_t col = 0; col < m.cols; ++col) {
      std::memcpy(&copy[static_cast<size_t>(col * m.rows + row) * width],
                  from + static_cast<uint64_t>(col) * width, width);
    }
  }
  return {m.format, m.cols, m.rows, {copy.data()}, {static_cast<uint64_t>(m.rows) * width}, {}};
}

/// What a declared weight is made of. `copies` own what had to be moved.
Result<EncodedMatrix> source_of(const Checkpoint& checkpoint, const WeightDecl& decl,
                                std::vector<std::byte> (&copies)[2]) {
  SKUA_ASSIGN_OR_RETURN(EncodedMatrix matrix, checkpoint.matrix(decl.tensor()));
  if (decl.source.tensor.empty()) return matrix;
  if (!matrix.format.is_plain() && (decl.source.transpose == Transpose::kYes || decl.rows == 1)) {
    return unsupported(
        "[load] " + decl.tensor() + " is stored as " + format_name(matrix.format) +
        " but has to be transposed or cut; the nearest supported formats are f32, f16 and bf16");
  }
  if (decl.source.transpose == Transpose::kYes) matrix = transposed(matrix, copies[0]);
  return part_of(std::move(matrix), decl, copies[1]);
}

Status check_manifest(const Checkpoint& checkpoint, const Graph& graph) {
  std::vector<std::string> missing, wrong;
  for (const WeightDecl& decl : graph.weights) {
    const TensorEntry* entry = checkpoint.find(decl.tensor());
    if (entry == nullptr) {
      missing.push_back(print(decl));
    } else if (!same_shape(entry->shape, decl)) {
      wrong.push_back(print(decl) + " is stored as " + shape_text(entry->shape));
    }
  }
  if (!missing.empty()) {
    return data_loss("[load] " + checkpoint.source() + " lacks " + std::to_string(missing.size()) +
                     " tensors that its config asks for: " + list_of(missing) +
                     ". Fetch the checkpoint again, or check that config.json belongs to it");
  }
  if (!wrong.empty()) {
    return data_loss("[load] " + checkpoint.source() + ": shapes differ from config.json: " + list_of(wrong));
  }
  return ok_status();
}

/// A tied model may ship its output matrix too; the tied one is used, and a difference is worth a word.
bool same_bytes(const Checkpoint& checkpoint, const std::string& a, const std::string& b) {
  const auto left = checkpoint.matrix(a);
  const auto right = checkpoint.matrix(b);
  if (!left.ok() || !right.ok() || left->format != right->format) return false;
  if (left->rows != right->rows || left->cols != right->cols) return false;
  for (int plane = 0; plane < 3; ++plane) {
    const uint64_t bytes = plane_row_bytes(left->format, plane, left->cols);
    for (int64_t row = 0; bytes > 0 && row < left->rows; ++row) {
      if (std::memcmp(left->row_plane(plane, row), right->row_plane(plane, row), bytes) != 0) return false;
    }
  }
  return true;
}

Status account(const Checkpoint& checkpoint, const Model& model, const Graph& graph, LoadReport& report) {
  std::set<std::string, std::less<>> needed;
  for (const WeightDecl& decl : graph.weights) needed.insert(decl.tensor());
  std::vector<std::string> extra;
  const std::vector<IgnorableTensor> ignorable = model.ignorable();
  for (const TensorEntry& entry : checkpoint.tensors()) {
    if (needed.contains(entry.name)) {
      report.used.push_back(entry.name);
      continue;
    }
    const IgnorableTensor* rule = nullptr;
    for (const IgnorableTensor& candidate : ignorable) {
      if (matches(candidate.pattern, entry.name)) rule = &candidate;
    }
    if (rule == nullptr) {
      extra.push_back(entry.name + " " + shape_text(entry.shape));
      continue;
    }
    report.ignored.push_back(entry.name + ": " + rule->reason);
    if (entry.name == "lm_head.weight" && !same_bytes(checkpoint, "model.embed_tokens.weight", entry.name)) {
      report.warnings.push_back(
          "lm_head.weight differs from model.embed_tokens.weight, to which config.json ties it; "
          "the embedding is used");
    }
  }
  if (extra.empty()) return ok_status();
  return data_loss("[load] " + checkpoint.source() + " holds " + std::to_string(extra.size()) +
                   " tensors that nothing reads: " + list_of(extra) +
                   ". Its config.json may be of another model, or asks for something skua does not know");
}

}  // namespace

Result<LoadedModel> load_model(const Checkpoint& checkpoint, Backend& backend, ConfigPolicy policy,
                               const Progress& progress, int32_t context) {
  SKUA_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                        parse_model(checkpoint.config(), policy, context));
  LoadedModel out;
  out.info = model->info();
  SKUA_ASSIGN_OR_RETURN(out.graph, model->build(backend.numerics()));
  SKUA_RETURN_IF_ERROR(check_manifest(checkpoint, out.graph));
  SKUA_RETURN_IF_ERROR(account(checkpoint, *model, out.graph, out.report));
  uint64_t total = 0, done = 0;
  std::map<std::string, int, std::less<>> parts_left;  // by tensor: weights that are still to be made of it
  for (const WeightDecl& decl : out.graph.weights) {
    if (parts_left[decl.tensor()]++ == 0) total += checkpoint.find(decl.tensor())->bytes;
  }
  if (progress) progress(0, total);
  for (const WeightDecl& decl : out.graph.weights) {
    std::vector<std::byte> copies[2];
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix source, source_of(checkpoint, decl, copies));
    SKUA_ASSIGN_OR_RETURN(PackedWeight packed, backend.pack(source, decl.name));
    out.weight_bytes += packed.buffer->bytes();
    out.weights.push_back(std::move(packed));
    if (--parts_left[decl.tensor()] > 0) continue;
    checkpoint.release(decl.tensor());
    done += checkpoint.find(decl.tensor())->bytes;
    if (progress) progress(done, total);
  }
  return out;
}

}  // namespace skua
