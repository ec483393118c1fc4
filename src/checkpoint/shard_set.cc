// Chooses the files of a model folder. The index is trusted only for what it says; what it says is checked.
#include "checkpoint/shard_set.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/counted.h"
#include "base/json.h"
#include "checkpoint/model_folder.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

using TensorNames = std::unordered_set<std::string_view>;

/// File name -> the tensors that the index takes from it. Views point into the index.
Result<std::map<std::string, TensorNames>> read_weight_map(const Json& index) {
  const Json* weight_map = index.find("weight_map");
  if (weight_map == nullptr || !weight_map->is_object() || weight_map->size() == 0) {
    return invalid_argument("needs an object \"weight_map\" {tensor: file}");
  }
  std::map<std::string, TensorNames> files;
  for (const auto& [tensor, file] : weight_map->members()) {
    if (!file.is_string()) return invalid_argument("weight_map gives no file name for " + printable(tensor));
    files[file.as_string()].insert(tensor);
  }
  return files;
}

/// Examples of names for a message: "a, b, c and 7 more".
std::string some_names(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + printable(names[i]);
  return names.size() > 3 ? text + " and " + std::to_string(names.size() - 3) + " more" : text;
}

/// Takes the listed tensors of one open shard.
Status take_listed(const std::string& name, SafetensorsFile& file, TensorNames wanted, ShardSet& out) {
  std::vector<std::string> left_out;
  for (SafetensorsTensor& tensor : file.take_tensors()) {
    if (wanted.erase(tensor.name) == 1) {
      out.tensors.push_back(std::move(tensor));
    } else {
      left_out.push_back(std::move(tensor.name));
    }
  }
  if (!wanted.empty()) {
    std::vector<std::string> missing(wanted.begin(), wanted.end());
    std::sort(missing.begin(), missing.end());
    return data_loss("[checkpoint] " + file.file().path().string() + " lacks " + some_names(missing) +
                     ", which " + std::string(kIndexName) +
                     " says it holds; index and files are not of one download, fetch them again");
  }
  if (!left_out.empty()) {
    out.notes.push_back(name + ": " + counted(left_out.size(), "tensor") + " not listed in " +
                        std::string(kIndexName) + " for this file left out (" + some_names(left_out) + ")");
  }
  return ok_status();
}

std::vector<std::string> safetensors_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".safetensors")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<ShardSet> open_indexed(const fs::path& folder) {
  SKUA_ASSIGN_OR_RETURN(const Json index, read_json_in_folder(folder, kIndexName));
  auto files = read_weight_map(index);
  if (!files.ok()) {
    return files.status().with_context("[checkpoint] " + (folder / std::string(kIndexName)).string());
  }
  ShardSet out;
  out.files.reserve(files->size());
  for (auto& [name, wanted] : *files) {
    const auto path = resolve_in_folder(folder, name);
    if (!path.ok() && path.status().code() == Code::kNotFound) {
      return not_found("[checkpoint] " + (folder / name).string() + " is missing; " +
                       std::string(kIndexName) + " takes " + counted(wanted.size(), "tensor") +
                       " from it, fetch the file again");
    }
    if (!path.ok()) return path.status();
    SKUA_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(*path));
    out.files.push_back(std::move(file));
    SKUA_RETURN_IF_ERROR(take_listed(name, out.files.back(), std::move(wanted), out));
  }
  std::vector<std::string> unlisted;
  for (const std::string& name : safetensors_names(folder)) {
    if (!files->contains(name)) unlisted.push_back(name);
  }
  if (!unlisted.empty()) {
    out.notes.push_back("files not listed in " + std::string(kIndexName) +
                        " were left out: " + some_names(unlisted));
  }
  return out;
}

/// N of "model-0000K-of-0000N.safetensors".
std::optional<size_t> shard_count(std::string_view name) {
  if (!name.starts_with("model-") || !name.ends_with(".safetensors")) return std::nullopt;
  const size_t of = name.find("-of-");
  if (of == name.npos) return std::nullopt;
  size_t count = 0;
  const char* end = name.data() + name.size() - std::string_view(".safetensors").size();
  const auto result = std::from_chars(name.data() + of + 4, end, count);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return count;
}

/// The files of a folder without an index.
Result<std::vector<std::string>> choose_files(const fs::path& folder) {
  const std::vector<std::string> names = safetensors_names(folder);
  if (std::find(names.begin(), names.end(), kSingleName) != names.end()) {
    return std::vector<std::string>{std::string(kSingleName)};
  }
  std::vector<std::string> shards;
  for (const std::string& name : names) {
    if (shard_count(name)) shards.push_back(name);
  }
  if (!shards.empty()) {
    const size_t count = *shard_count(shards.front());
    const bool same =
        std::all_of(shards.begin(), shards.end(), [&](const auto& n) { return shard_count(n) == count; });
    if (same && shards.size() == count) return shards;
    return not_found("[checkpoint] " + folder.string() + " has " + std::to_string(shards.size()) +
                     " of the shards " + some_names(shards) + " and no " + std::string(kIndexName) +
                     "; fetch the missing files");
  }
  if (names.size() == 1) return names;
  if (names.empty()) {
    return not_found("[checkpoint] " + folder.string() +
                     " holds no .safetensors file; expected model.safetensors, or shards and their index");
  }
  return invalid_argument("[checkpoint] " + folder.string() + " holds " + some_names(names) +
                          " and neither " + std::string(kSingleName) + " nor " + std::string(kIndexName) +
                          "; name the one file to load");
}

}  // namespace

Result<ShardSet> open_single(const fs::path& path) {
  ShardSet out;
  SKUA_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  out.tensors = file.take_tensors();
  out.files.push_back(std::move(file));
  return out;
}

Result<ShardSet> open_shards(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder / std::string(kIndexName), error))) return open_indexed(folder);
  SKUA_ASSIGN_OR_RETURN(const std::vector<std::string> names, choose_files(folder));
  ShardSet out;
  for (const std::string& name : names) {
    SKUA_ASSIGN_OR_RETURN(const fs::path path, resolve_in_folder(folder, name));
    SKUA_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    for (SafetensorsTensor& tensor : file.take_tensors()) out.tensors.push_back(std::move(tensor));
    out.files.push_back(std::move(file));
  }
  for (const std::string& name : safetensors_names(folder)) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      out.notes.push_back(name + " was left out");
  }
  return out;
}

}  // namespace skua
