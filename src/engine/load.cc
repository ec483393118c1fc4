// Matches a graph's weights with a checkpoint's tensors and packs them, dropping source pages as it goes.
#include "engine/load.h"

#include <cstring>
#include <map>
#include <set>

#include "base/counted.h"
#include "engine/weight_blocks.h"
#include "models/config_reader.h"

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

Status check_manifest(const Checkpoint& checkpoint, const Graph& graph) {
  std::vector<std::string> missing, wrong;
  for (const WeightDecl& decl : graph.weights) {
    const size_t known = missing.size();
    for (const std::string& name : tensors_of(checkpoint, decl)) {
      if (checkpoint.find(name) == nullptr) missing.push_back(decl.blocks.empty() ? print(decl) : name);
    }
    if (missing.size() > known) continue;
    if (const Status fits = check_stored_shapes(checkpoint, decl); !fits.ok())
      wrong.push_back(fits.message());
  }
  if (!missing.empty()) {
    return data_loss("[load] " + checkpoint.source() + " lacks " + counted(missing.size(), "tensor") +
                     " that its config asks for: " + list_of(missing) +
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
  for (const WeightDecl& decl : graph.weights) {
    for (std::string& name : tensors_of(checkpoint, decl)) needed.insert(std::move(name));
  }
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
  return data_loss("[load] " + checkpoint.source() + " holds " + counted(extra.size(), "tensor") +
                   " that nothing reads: " + list_of(extra) +
                   ". Its config.json may be of another model, or asks for something skua does not know");
}

/// The checkpoint's config, with what only its tensors tell.
Json config_of(const Checkpoint& checkpoint) {
  Json config = checkpoint.config();
  for (const TensorEntry& entry : checkpoint.tensors()) {
    const std::vector<int64_t>& shape = entry.shape;
    if (shape.size() == 3 && shape[1] > 1 && shape[2] == 1 && matches("*conv*.weight", entry.name))
      config.set(std::string(kMlxLayoutKey), Json(true));
  }
  return config;
}

}  // namespace

Result<LoadedModel> load_model(const Checkpoint& checkpoint, Backend& backend, ConfigPolicy policy,
                               const Progress& progress, int32_t context) {
  SKUA_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                        parse_model(config_of(checkpoint), policy, context));
  LoadedModel out;
  out.info = model->info();
  SKUA_ASSIGN_OR_RETURN(out.graph, model->build(backend.numerics()));
  SKUA_RETURN_IF_ERROR(check_manifest(checkpoint, out.graph));
  SKUA_RETURN_IF_ERROR(account(checkpoint, *model, out.graph, out.report));
  uint64_t total = 0, done = 0;
  std::map<std::string, int, std::less<>> users;  // weights that are still to be made of a tensor
  for (const WeightDecl& decl : out.graph.weights) {
    for (const std::string& name : tensors_of(checkpoint, decl)) {
      if (users[name]++ == 0) total += checkpoint.find(name)->bytes;
    }
  }
  for (const WeightDecl& decl : out.graph.weights) {
    if (!drops_values(checkpoint, decl)) continue;
    out.report.warnings.push_back("row " + std::to_string(*decl.zero_row) + " of " + decl.name +
                                  ", that of the padding token, is read as zero, as the reference reads it; "
                                  "the checkpoint holds other values there");
  }
  if (progress) progress(0, total);
  for (const WeightDecl& decl : out.graph.weights) {
    std::vector<std::byte> copy;
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix source, read_weight(checkpoint, decl, copy));
    SKUA_ASSIGN_OR_RETURN(PackedWeight packed, backend.pack(source, decl.name));
    out.weight_bytes += packed.buffer->bytes();
    out.weights.push_back(std::move(packed));
    for (const std::string& name : tensors_of(checkpoint, decl)) {
      if (--users[name] > 0) continue;
      checkpoint.release(name);
      done += checkpoint.find(name)->bytes;
    }
    if (progress) progress(done, total);
  }
  return out;
}

}  // namespace skua
