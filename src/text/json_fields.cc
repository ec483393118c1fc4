// Field access with the name of the object and the field in every error.
#include "text/json_fields.h"

namespace skua::text {

const Json* Fields::find(std::string_view key) const {
  const Json* value = json_.find(key);
  return value != nullptr && value->is_null() ? nullptr : value;
}

Status Fields::error(std::string_view key, std::string_view expected) const {
  return invalid_argument("[" + where_ + "] field \"" + std::string(key) + "\" must be " +
                          std::string(expected));
}

Result<bool> Fields::boolean(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) return error(key, "true or false");
  return value->as_bool();
}

Result<std::optional<std::string>> Fields::optional_string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return error(key, "a string");
  return std::optional<std::string>(value->as_string());
}

Result<std::string> Fields::string(std::string_view key, std::string_view fallback) const {
  SKUA_ASSIGN_OR_RETURN(const auto value, optional_string(key));
  return value.value_or(std::string(fallback));
}

Result<std::string> Fields::required_string(std::string_view key) const {
  SKUA_ASSIGN_OR_RETURN(const auto value, optional_string(key));
  if (!value) return error(key, "a string");
  return *value;
}

Result<int64_t> Fields::integer(std::string_view key, int64_t fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (value->kind() != Json::Kind::kInt) return error(key, "an integer");
  return value->as_int();
}

Result<const Json*> Fields::array(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_array()) return error(key, "a list");
  return value;
}

Result<const Json*> Fields::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return error(key, "an object");
  return value;
}

}  // namespace skua::text
