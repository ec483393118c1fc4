// The Checkpoint of a safetensors model: its open files, its table of tensors, its folder's side files.
#include "checkpoint/safetensors_checkpoint.h"

#include "checkpoint/model_folder.h"
#include "checkpoint/safetensors_table.h"
#include "checkpoint/shard_set.h"

namespace skua {
namespace {

class SafetensorsCheckpoint : public Checkpoint {
 public:
  SafetensorsCheckpoint(std::filesystem::path path, std::filesystem::path folder, Json config,
                        ShardSet shards, TensorTable table)
      : path_(std::move(path)),
        folder_(std::move(folder)),
        config_(std::move(config)),
        shards_(std::move(shards)),
        table_(std::move(table)) {}

  CheckpointKind kind() const override { return CheckpointKind::kSafetensors; }
  std::string source() const override { return path_.string(); }
  const Json& config() const override { return config_; }
  std::span<const TensorEntry> tensors() const override { return table_.entries(); }
  std::span<const std::string> notes() const override { return shards_.notes; }
  Result<EncodedMatrix> matrix(std::string_view name) const override { return table_.matrix(name, source()); }
  Result<std::string> side_file(std::string_view name) const override {
    return read_in_folder(folder_, name);
  }

  void release(std::string_view name) const override { drop(table_.planes(name)); }
  void release_rows(std::string_view name, int64_t row, int64_t n) const override {
    drop(table_.row_planes(name, row, n));
  }

 private:
  void drop(const std::array<std::span<const std::byte>, 3>& planes) const {
    for (const auto plane : planes) {
      for (const SafetensorsFile& file : shards_.files) {
        const auto all = file.file().bytes();
        if (plane.empty() || plane.data() < all.data() || plane.data() >= all.data() + all.size()) continue;
        file.file().drop_pages(plane);
      }
    }
  }

  std::filesystem::path path_;
  std::filesystem::path folder_;
  Json config_;
  ShardSet shards_;
  TensorTable table_;
};

}  // namespace

Result<std::unique_ptr<Checkpoint>> open_safetensors(const std::filesystem::path& path) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  const auto folder = is_folder ? path : std::filesystem::absolute(path, error).parent_path();
  auto config = read_json_in_folder(folder, "config.json");
  if (!config.ok() && config.status().code() == Code::kNotFound) {
    return not_found(
        "[checkpoint] " + folder.string() +
        " has no config.json, which names the family and its sizes; fetch it from where the weights came");
  }
  if (!config.ok()) return config.status();
  SKUA_ASSIGN_OR_RETURN(ShardSet shards, is_folder ? open_shards(path) : open_single(path));
  auto table = make_safetensors_table(shards.tensors, *config, shards.notes);
  if (!table.ok()) return table.status().with_context("[checkpoint] " + path.string());
  // The table points into the mappings, which do not move; the parsed headers are needed no more.
  shards.tensors.clear();
  shards.tensors.shrink_to_fit();
  std::unique_ptr<Checkpoint> out = std::make_unique<SafetensorsCheckpoint>(
      path, folder, std::move(config).value(), std::move(shards), std::move(table).value());
  return out;
}

}  // namespace skua
