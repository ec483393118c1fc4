// Which safetensors files a model consists of, and which tensor comes from which.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/safetensors.h"

namespace skua {

/// The open files of one model and the tensors that count. Tensors point into the files.
struct ShardSet {
  std::vector<SafetensorsFile> files;
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::string> notes;  // what was left out, for the user
};

/// Finds and opens the weights of a folder:
///   - with model.safetensors.index.json, the index decides tensor by tensor: tensors that it does not list
///   are left
///     out (and noted), as are files; a file that is missing, or lacks a tensor, is an error that names it;
///   - else model.safetensors, else a complete set model-00001-of-0000N.safetensors, else the only
///   .safetensors file.
/// Errors: kNotFound (no weights, a shard is missing), kInvalidArgument (index, ambiguous folder), kDataLoss.
Result<ShardSet> open_shards(const std::filesystem::path& folder);

/// The same for one file.
Result<ShardSet> open_single(const std::filesystem::path& file);

}  // namespace skua
