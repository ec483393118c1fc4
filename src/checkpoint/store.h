// Where models lie on this machine: skua's own store, and Hugging Face caches that are used in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua {

/// The folders to look in. The caller finds them (options); folders that do not exist are taken as empty.
struct StoreRoots {
  std::filesystem::path home;                     // models are home/models/NAME/ or home/models/NAME.gguf
  std::vector<std::filesystem::path> hub_caches;  // each holds models--ORG--NAME/{refs,snapshots,blobs}
};

enum class ModelPlace : uint8_t { kStore, kHubCache };

/// A model as `skua list` shows it.
struct StoredModel {
  std::string name;  // what a user types: "smollm2-135m-instruct", "org/name"
  ModelPlace place = ModelPlace::kStore;
  std::filesystem::path path;  // for open_checkpoint
  std::string format;          // "safetensors", "gguf", "incomplete"
  uint64_t bytes = 0;          // size of the weight files
};

/// All models of the roots, store first, each part sorted by name. Folders without weights are left out; a
/// folder whose weights cannot be told (several GGUF files, a missing revision) is listed as "incomplete".
std::vector<StoredModel> list_models(const StoreRoots& roots);

/// Turns what a user types into a path for open_checkpoint. In this order: without a '/', a name in the
/// store, then a path; with one, a path, then a repository ORG/NAME in the caches (revision refs/main, else
/// the only one there is). Of a folder with GGUF files and no config.json the only model in it is taken.
/// Errors: kNotFound (lists near names and what to do), kInvalidArgument (several models in one folder).
Result<std::filesystem::path> resolve_model(const StoreRoots& roots, std::string_view model);

}  // namespace skua
