// Reading fields of a JSON object with clear errors. `where` names the object in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace skua::text {

class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  /// The value, or `fallback` when the field is missing or null. Errors: kInvalidArgument (wrong kind).
  Result<bool> boolean(std::string_view key, bool fallback) const;
  Result<std::string> string(std::string_view key, std::string_view fallback) const;
  Result<int64_t> integer(std::string_view key, int64_t fallback) const;
  Result<std::optional<std::string>> optional_string(std::string_view key) const;

  /// The field, or an error when it is missing or of another kind.
  Result<const Json*> array(std::string_view key) const;
  Result<const Json*> object(std::string_view key) const;
  Result<std::string> required_string(std::string_view key) const;

  const Json* find(std::string_view key) const;  // null when missing or null
  Status error(std::string_view key, std::string_view expected) const;

 private:
  const Json& json_;
  std::string where_;
};

}  // namespace skua::text
