// Looks models up in the store and in hub caches. Reads folder listings and refs only, never weights;
// fetching is done elsewhere.
#include "checkpoint/store.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "checkpoint/near_names.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHubPrefix = "models--";

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Names in a folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a GGUF file stands for a model by itself: not a later part of a split one, not a vision projector.
bool is_gguf_model(std::string_view name) {
  if (!name.ends_with(".gguf") || name.starts_with("mmproj")) return false;
  return name.find("-of-") == name.npos || name.find("-00001-of-") != name.npos;
}

std::vector<std::string> gguf_models(const fs::path& folder) {
  std::vector<std::string> names = names_in(folder);
  std::erase_if(names, [](const std::string& name) { return !is_gguf_model(name); });
  return names;
}

bool has_safetensors(const fs::path& folder) {
  const auto names = names_in(folder);
  return std::any_of(names.begin(), names.end(),
                     [](const auto& name) { return name.ends_with(".safetensors"); });
}

/// What open_checkpoint should open for a folder.
Result<fs::path> model_in_folder(const fs::path& folder) {
  if (is_file(folder / "config.json") && has_safetensors(folder)) return folder;
  const auto files = gguf_models(folder);
  if (files.size() == 1) return folder / files[0];
  if (files.empty()) return folder;  // open_checkpoint says what it lacks
  std::string list;
  for (const auto& file : files) list += "\n  " + (folder / printable(file)).string();
  return invalid_argument("[store] " + folder.string() + " holds several models; name one of them:" + list);
}

/// The newest revision of a hub cache entry: the one refs/main names, or the only one.
Result<fs::path> hub_snapshot(const fs::path& entry) {
  const auto snapshots = names_in(entry / "snapshots");
  const auto main_ref = read_file(entry / "refs" / "main", 4096);
  if (main_ref.ok()) {
    std::string revision = *main_ref;
    while (!revision.empty() &&
           (revision.back() == '\n' || revision.back() == '\r' || revision.back() == ' ')) {
      revision.pop_back();
    }
    if (std::binary_search(snapshots.begin(), snapshots.end(), revision))
      return entry / "snapshots" / revision;
    return not_found("[store] " + (entry / "refs/main").string() + " names revision " + printable(revision) +
                     ", which is not in " + (entry / "snapshots").string() + "; fetch the model again");
  }
  if (snapshots.size() == 1) return entry / "snapshots" / snapshots[0];
  return not_found("[store] " + entry.string() + " has no refs/main and " + std::to_string(snapshots.size()) +
                   " revisions; name one of its snapshots by path");
}

Result<fs::path> hub_model(const fs::path& entry) {
  SKUA_ASSIGN_OR_RETURN(const fs::path snapshot, hub_snapshot(entry));
  return model_in_folder(snapshot);
}

/// "org/name" of "models--org--name"; nothing for other folders (datasets, locks).
std::optional<std::string> hub_name(std::string_view folder) {
  if (!folder.starts_with(kHubPrefix)) return std::nullopt;
  std::string name(folder.substr(kHubPrefix.size()));
  if (const size_t at = name.find("--"); at != name.npos) name.replace(at, 2, "/");
  return name;
}

/// "models--org--name" of "org/name"; nothing if it cannot be a repository.
std::optional<std::string> hub_folder(std::string_view model) {
  const size_t slash = model.find('/');
  if (slash == model.npos || slash == 0 || slash + 1 == model.size()) return std::nullopt;
  if (model.find('/', slash + 1) != model.npos || model.find("..") != model.npos) return std::nullopt;
  return std::string(kHubPrefix) + std::string(model.substr(0, slash)) + "--" +
         std::string(model.substr(slash + 1));
}

uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const uint64_t size = fs::file_size(file, error);
  return error ? 0 : size;
}

/// Bytes of the files that belong to a model: all safetensors of a folder, or a GGUF file and its other
/// parts.
uint64_t weight_bytes(const fs::path& model) {
  const bool folder = is_folder(model);
  const fs::path parent = folder ? model : model.parent_path();
  const std::string name = model.filename().string();
  const size_t part = name.find("-00001-of-");
  uint64_t bytes = 0;
  for (const std::string& other : names_in(parent)) {
    const bool split =
        part != name.npos && other.starts_with(name.substr(0, part + 1)) && other.ends_with(".gguf");
    if (folder ? other.ends_with(".safetensors") : other == name || split) bytes += size_of(parent / other);
  }
  return bytes;
}

/// Fills in format and size of a listed model; false if there is no model at all.
bool describe(const Result<fs::path>& found, const fs::path& fallback, StoredModel& out) {
  out.path = found.ok() ? *found : fallback;
  out.format = found.ok() ? (is_file(out.path) ? "gguf" : "safetensors") : "incomplete";
  if (!found.ok()) return true;
  if (out.format == "safetensors" && !has_safetensors(out.path)) return false;
  out.bytes = weight_bytes(out.path);
  return true;
}

Result<fs::path> store_model(const fs::path& at) {
  if (is_folder(at)) return model_in_folder(at);
  return at;
}

Status unknown_model(const StoreRoots& roots, std::string_view model) {
  std::vector<std::string> names;
  for (const StoredModel& known : list_models(roots)) names.push_back(known.name);
  std::string text = "[store] there is no model \"" + printable(model) + "\": no such path";
  text += ", no such name in " + (roots.home / "models").string();
  for (const fs::path& cache : roots.hub_caches) text += ", no such repository in " + cache.string();
  const auto near = near_names(model, names);
  if (!near.empty()) {
    text += "; did you mean ";
    for (size_t i = 0; i < near.size(); ++i) text += (i == 0 ? "" : " or ") + printable(near[i]);
    return not_found(text + "?");
  }
  return not_found(text + "; `skua list` shows what there is, or give the path of a folder or a .gguf file");
}

}  // namespace

std::vector<StoredModel> list_models(const StoreRoots& roots) {
  std::vector<StoredModel> models;
  for (const std::string& name : names_in(roots.home / "models")) {
    const fs::path at = roots.home / "models" / name;
    if (name.starts_with(".") || (!is_folder(at) && !is_gguf_model(name))) continue;
    StoredModel model{is_folder(at) ? name : name.substr(0, name.size() - 5), ModelPlace::kStore, {}, {}, 0};
    if (describe(store_model(at), at, model)) models.push_back(std::move(model));
  }
  for (const fs::path& cache : roots.hub_caches) {
    for (const std::string& folder : names_in(cache)) {
      const auto name = hub_name(folder);
      if (!name || !is_folder(cache / folder)) continue;
      StoredModel model{*name, ModelPlace::kHubCache, {}, {}, 0};
      if (describe(hub_model(cache / folder), cache / folder, model)) models.push_back(std::move(model));
    }
  }
  return models;
}

Result<fs::path> resolve_model(const StoreRoots& roots, std::string_view model) {
  if (model.empty() || model.find('\0') != model.npos) {
    return invalid_argument("[store] expected a model: a path, a name in the store, or ORG/NAME");
  }
  const std::string text(model);
  const bool plain = model.find('/') == model.npos && model != "." && model != "..";
  if (plain) {
    const fs::path named = roots.home / "models" / text;
    if (is_folder(named) || is_file(named)) return store_model(named);
    if (is_file(named.string() + ".gguf")) return fs::path(named.string() + ".gguf");
  }
  if (is_folder(text))
    return is_folder(fs::path(text) / "snapshots") ? hub_model(text) : model_in_folder(text);
  std::error_code error;
  if (fs::exists(text, error)) return fs::path(text);
  if (const auto folder = hub_folder(model)) {
    for (const fs::path& cache : roots.hub_caches) {
      if (is_folder(cache / *folder)) return hub_model(cache / *folder);
    }
  }
  return unknown_model(roots, model);
}

}  // namespace skua
