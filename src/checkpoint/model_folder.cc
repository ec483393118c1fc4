// The rule that keeps every file access of a model inside its folder, links included.
#include "checkpoint/model_folder.h"

#include "base/file.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTextBytes = 256'000'000;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

bool lies_inside(const fs::path& file, const fs::path& folder) {
  const fs::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != ".." && relative != ".";
}

/// The text with Infinity, -Infinity and NaN, which Python writes and JSON does not know, as transformers 5
/// spells them: {"__float__": "Infinity"}.
std::string without_bare_floats(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (size_t at = 0; at < text.size();) {
    if (quoted && text[at] == '\\') {
      out.append(text, at, 2);
      at += 2;
      continue;
    }
    quoted = quoted != (text[at] == '"');
    std::string_view name;
    for (const std::string_view bare : {"Infinity", "-Infinity", "NaN"}) {
      if (!quoted && std::string_view(text).substr(at).starts_with(bare)) name = bare;
    }
    if (name.empty()) {
      out += text[at++];
      continue;
    }
    out += "{\"__float__\": \"" + std::string(name) + "\"}";
    at += name.size();
  }
  return out;
}

}  // namespace

Result<fs::path> resolve_in_folder(const fs::path& folder, std::string_view name) {
  const fs::path path = folder / printable(name);
  if (!is_plain_name(name)) {
    return invalid_argument("[checkpoint] " + folder.string() + ": \"" + printable(name) +
                            "\" is no plain file name; files of a model lie in its own folder");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return not_found("[checkpoint] " + folder.string() + ": " + error.message());
  const fs::path file = fs::canonical(root / std::string(name), error);
  if (error) return not_found("[checkpoint] " + path.string() + ": " + error.message());
  if (!fs::is_regular_file(file, error)) {
    return invalid_argument("[checkpoint] " + path.string() + " is no regular file");
  }
  if (lies_inside(file, root)) return path;
  if (root.parent_path().filename() == "snapshots") {
    const fs::path blobs = fs::canonical(root.parent_path().parent_path() / "blobs", error);
    if (!error && lies_inside(file, blobs)) return path;
  }
  return invalid_argument("[checkpoint] " + path.string() + " is a link to " + file.string() +
                          ", outside the model's folder; put the file itself there");
}

Result<std::string> read_in_folder(const fs::path& folder, std::string_view name) {
  SKUA_ASSIGN_OR_RETURN(const fs::path path, resolve_in_folder(folder, name));
  return read_file(path, kMaxTextBytes);
}

Result<Json> read_json_in_folder(const fs::path& folder, std::string_view name) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_in_folder(folder, name));
  auto json = parse_json(text);
  // Only then, so that no valid file is read in another way.
  if (!json.ok() && (text.find("Infinity") != text.npos || text.find("NaN") != text.npos)) {
    if (auto spelled = parse_json(without_bare_floats(text)); spelled.ok()) return spelled;
  }
  if (!json.ok()) return json.status().with_context("[checkpoint] " + (folder / std::string(name)).string());
  return json;
}

}  // namespace skua
