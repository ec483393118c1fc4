// A folder that holds a model: which of its files may be read, and its small text files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace skua {

/// `folder/name`, checked. `name` must be a plain file name (no separators, not "." or ".."), so nothing that
/// a file of the model says can lead elsewhere. Symbolic links are followed only to files inside the folder
/// itself, or, when the folder is a snapshot of a Hugging Face cache (REPO/snapshots/REVISION), inside
/// REPO/blobs, where such caches keep the contents. Errors: kInvalidArgument (name, link), kNotFound.
Result<std::filesystem::path> resolve_in_folder(const std::filesystem::path& folder, std::string_view name);

/// Text of a side file of the model, at most 256 MB. Errors as above, kIo.
Result<std::string> read_in_folder(const std::filesystem::path& folder, std::string_view name);

/// The same, parsed; bare Infinity and NaN, as Python writes them, become {"__float__": "Infinity"}. Errors
/// also: kInvalidArgument (no JSON), with the file's name.
Result<Json> read_json_in_folder(const std::filesystem::path& folder, std::string_view name);

}  // namespace skua
