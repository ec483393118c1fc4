// The Checkpoint of GGUF files: the parts of a split model, checked against what the first one says.
#include "checkpoint/gguf_checkpoint.h"

#include <cstdio>

#include "base/file.h"
#include "checkpoint/model_folder.h"
#include "checkpoint/printable.h"
#include "checkpoint/tensor_table.h"

namespace skua {
namespace {

namespace fs = std::filesystem;

struct GgufPart {
  MappedFile file;
  GgufHeader header;
};

class GgufCheckpoint : public Checkpoint {
 public:
  GgufCheckpoint(fs::path path, std::vector<GgufPart> parts, TensorTable table)
      : path_(std::move(path)), parts_(std::move(parts)), table_(std::move(table)) {
    for (const std::string& key : parts_[0].header.large_arrays) {
      notes_.push_back("metadata array " + printable(key) + " is long and was left in the file");
    }
  }

  CheckpointKind kind() const override { return CheckpointKind::kGguf; }
  std::string source() const override { return path_.string(); }
  const Json& config() const override { return header().metadata; }
  std::span<const TensorEntry> tensors() const override { return table_.entries(); }
  std::span<const std::string> notes() const override { return notes_; }
  Result<EncodedMatrix> matrix(std::string_view name) const override { return table_.matrix(name, source()); }
  void release(std::string_view name) const override { drop(table_.planes(name)[0]); }
  void release_rows(std::string_view name, int64_t row, int64_t n) const override {
    drop(table_.row_planes(name, row, n)[0]);
  }
  Result<std::string> side_file(std::string_view name) const override {
    return not_found("[checkpoint] " + source() + " is a GGUF file and has no " + printable(name) +
                     " beside it");
  }

  const GgufHeader& header() const { return parts_[0].header; }

 private:
  void drop(std::span<const std::byte> bytes) const {
    for (const GgufPart& part : parts_) {
      const auto all = part.file.bytes();
      if (bytes.empty() || bytes.data() < all.data() || bytes.data() >= all.data() + all.size()) continue;
      part.file.drop_pages(bytes);
    }
  }

  fs::path path_;
  std::vector<GgufPart> parts_;
  TensorTable table_;
  std::vector<std::string> notes_;
};

Result<GgufPart> open_part(const fs::path& path) {
  GgufPart out;
  SKUA_ASSIGN_OR_RETURN(out.file, MappedFile::open(path));
  auto header = parse_gguf(out.file.bytes());
  if (!header.ok()) return header.status().with_context("[gguf] " + path.string());
  out.header = std::move(header).value();
  return out;
}

/// A non-negative integer of the metadata, or `fallback` when it is absent or something else.
int64_t metadata_int(const GgufHeader& header, std::string_view key, int64_t fallback) {
  const Json* value = header.metadata.find(key);
  return value != nullptr && value->kind() == Json::Kind::kInt && value->as_int() >= 0 ? value->as_int()
                                                                                       : fallback;
}

/// "-00002-of-00007.gguf".
std::string part_suffix(int64_t part, int64_t count) {
  char text[64];
  std::snprintf(text, sizeof(text), "-%05lld-of-%05lld.gguf", static_cast<long long>(part + 1),
                static_cast<long long>(count));
  return text;
}

Status open_other_parts(const fs::path& path, int64_t count, std::vector<GgufPart>& parts) {
  const std::string name = path.filename().string();
  const std::string suffix = part_suffix(0, count);
  const int64_t own = metadata_int(parts[0].header, "split.no", -1);
  if (own != 0 || !name.ends_with(suffix)) {
    return invalid_argument("[gguf] " + path.string() + " is part " + std::to_string(own + 1) + " of " +
                            std::to_string(count) + "; open the first part, whose name ends in " + suffix);
  }
  const std::string stem = name.substr(0, name.size() - suffix.size());
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (int64_t i = 1; i < count; ++i) {
    const std::string part_name = stem + part_suffix(i, count);
    const auto part_path = resolve_in_folder(folder, part_name);
    if (!part_path.ok() && part_path.status().code() == Code::kNotFound) {
      return not_found("[gguf] " + (folder / part_name).string() + " is missing, part " +
                       std::to_string(i + 1) + " of " + std::to_string(count) + " of the model; fetch it");
    }
    if (!part_path.ok()) return part_path.status();
    SKUA_ASSIGN_OR_RETURN(GgufPart part, open_part(*part_path));
    if (metadata_int(part.header, "split.no", -1) != i ||
        metadata_int(part.header, "split.count", -1) != count) {
      return data_loss("[gguf] " + part_path->string() + " says it is part " +
                       std::to_string(metadata_int(part.header, "split.no", -1) + 1) + " of " +
                       std::to_string(metadata_int(part.header, "split.count", -1)) + ", expected part " +
                       std::to_string(i + 1) + " of " + std::to_string(count));
    }
    parts.push_back(std::move(part));
  }
  return ok_status();
}

/// All tensors of all parts.
Result<TensorTable> make_table(std::vector<GgufPart>& parts) {
  TensorTable table;
  for (GgufPart& part : parts) {
    for (GgufTensor& tensor : part.header.tensors) {
      StoredTensor stored;
      stored.entry.members = {tensor.name};
      stored.entry.name = std::move(tensor.name);
      stored.entry.shape = std::move(tensor.shape);
      stored.format = tensor.format;
      stored.planes[0] = tensor.bytes;
      if (!tensor.format) {
        stored.refusal = "is stored as " + tensor.type + ", which skua does not read yet; it reads " +
                         gguf_readable_types();
      }
      stored.entry.stored_type = std::move(tensor.type);
      SKUA_RETURN_IF_ERROR(table.add(std::move(stored)));
    }
    part.header.tensors = {};
  }
  SKUA_RETURN_IF_ERROR(table.finish());
  const int64_t expected = metadata_int(parts[0].header, "split.tensors.count", -1);
  if (parts.size() > 1 && expected >= 0 && static_cast<size_t>(expected) != table.entries().size()) {
    return data_loss("the parts hold " + std::to_string(table.entries().size()) +
                     " tensors, the first one announces " + std::to_string(expected));
  }
  return table;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_gguf(const fs::path& path) {
  std::vector<GgufPart> parts;
  SKUA_ASSIGN_OR_RETURN(GgufPart first, open_part(path));
  const int64_t count = metadata_int(first.header, "split.count", 1);
  parts.push_back(std::move(first));
  if (count > 1) SKUA_RETURN_IF_ERROR(open_other_parts(path, count, parts));
  auto table = make_table(parts);
  if (!table.ok()) return table.status().with_context("[gguf] " + path.string());
  std::unique_ptr<Checkpoint> out =
      std::make_unique<GgufCheckpoint>(path, std::move(parts), std::move(table).value());
  return out;
}

const GgufHeader* gguf_header(const Checkpoint& checkpoint) {
  const auto* gguf = dynamic_cast<const GgufCheckpoint*>(&checkpoint);
  return gguf == nullptr ? nullptr : &gguf->header();
}

}  // namespace skua
