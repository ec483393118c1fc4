// JSON text to values (simdjson) and back (nlohmann). The only file that includes either library.
#include "base/json.h"

#include <simdjson.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace skua {
namespace {

Result<Json> convert(simdjson::dom::element element);

Result<Json> convert_array(simdjson::dom::array array) {
  Json out = Json::array();
  for (simdjson::dom::element item : array) {
    SKUA_ASSIGN_OR_RETURN(Json value, convert(item));
    out.push_back(std::move(value));
  }
  return out;
}

Result<Json> convert_object(simdjson::dom::object object) {
  Json out = Json::object();
  std::unordered_set<std::string_view> seen;
  for (auto [key, item] : object) {
    if (!seen.insert(key).second) {
      return invalid_argument("[json] key \"" + std::string(key) + "\" appears twice in one object");
    }
    SKUA_ASSIGN_OR_RETURN(Json value, convert(item));
    out.append_member(std::string(key), std::move(value));
  }
  return out;
}

Result<Json> convert(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::ARRAY:
      return convert_array(element.get_array().value_unsafe());
    case element_type::OBJECT:
      return convert_object(element.get_object().value_unsafe());
    case element_type::INT64:
      return Json(element.get_int64().value_unsafe());
    case element_type::UINT64:
      return Json(element.get_uint64().value_unsafe());
    case element_type::DOUBLE:
      return Json(element.get_double().value_unsafe());
    case element_type::STRING:
      return Json(std::string_view(element.get_string().value_unsafe()));
    case element_type::BOOL:
      return Json(element.get_bool().value_unsafe());
    case element_type::NULL_VALUE:
      return Json();
  }
  return Json();
}

nlohmann::ordered_json to_nlohmann(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return nullptr;
    case Json::Kind::kBool:
      return json.as_bool();
    case Json::Kind::kInt:
      return json.as_int();
    case Json::Kind::kUint:
      return json.as_uint();
    case Json::Kind::kDouble:
      return json.as_double();
    case Json::Kind::kString:
      return json.as_string();
    case Json::Kind::kArray: {
      nlohmann::ordered_json out = nlohmann::ordered_json::array();
      for (const Json& item : json.items()) out.push_back(to_nlohmann(item));
      return out;
    }
    case Json::Kind::kObject: {
      nlohmann::ordered_json::object_t out;
      for (const auto& [key, value] : json.members()) out.push_back({key, to_nlohmann(value)});
      return out;
    }
  }
  return nullptr;
}

}  // namespace

bool Json::as_bool() const {
  SKUA_CHECK(is_bool());
  return int_ != 0;
}

int64_t Json::as_int() const {
  SKUA_CHECK(kind_ == Kind::kInt);
  return int_;
}

uint64_t Json::as_uint() const {
  SKUA_CHECK(kind_ == Kind::kUint || (kind_ == Kind::kInt && int_ >= 0));
  return static_cast<uint64_t>(int_);
}

double Json::as_double() const {
  SKUA_CHECK(is_number());
  if (kind_ == Kind::kDouble) return double_;
  return kind_ == Kind::kUint ? static_cast<double>(static_cast<uint64_t>(int_)) : static_cast<double>(int_);
}

const std::string& Json::as_string() const {
  SKUA_CHECK(is_string());
  return string_;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json& Json::push_back(Json value) {
  if (is_null()) kind_ = Kind::kArray;
  SKUA_CHECK(is_array());
  items_.push_back(std::move(value));
  return *this;
}

Json& Json::append_member(std::string key, Json value) {
  if (is_null()) kind_ = Kind::kObject;
  SKUA_CHECK(is_object());
  members_.emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::set(std::string key, Json value) {
  for (Member& member : members_) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  return append_member(std::move(key), std::move(value));
}

std::string Json::dump(int indent) const {
  return to_nlohmann(*this).dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Result<Json> parse_json(std::string_view text, int max_depth) {
  simdjson::dom::parser parser;
  auto error = parser.allocate(text.size() + 1, static_cast<size_t>(max_depth));
  if (error) return resource_exhausted("[json] no memory to parse " + std::to_string(text.size()) + " bytes");
  const simdjson::padded_string padded(text);
  simdjson::dom::element root;
  error = parser.parse(padded).get(root);
  if (error == simdjson::DEPTH_ERROR) {
    return invalid_argument("[json] nested deeper than " + std::to_string(max_depth) + " levels");
  }
  if (error) return invalid_argument(std::string("[json] ") + simdjson::error_message(error));
  return convert(root);
}

}  // namespace skua
