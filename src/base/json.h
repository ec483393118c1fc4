// A small JSON value with key order kept. Parsing (simdjson) and printing (nlohmann) stay in json.cc, so that
// including this header costs nothing. Depth is limited before any recursion.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace skua {

class Json {
 public:
  enum class Kind : uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool v) : kind_(Kind::kBool), int_(v) {}
  Json(int v) : kind_(Kind::kInt), int_(v) {}
  Json(int64_t v) : kind_(Kind::kInt), int_(v) {}
  Json(uint64_t v)
      : kind_(v > uint64_t{INT64_MAX} ? Kind::kUint : Kind::kInt), int_(static_cast<int64_t>(v)) {}
  Json(double v) : kind_(Kind::kDouble), double_(v) {}
  Json(const char* v) : kind_(Kind::kString), string_(v) {}
  Json(std::string v) : kind_(Kind::kString), string_(std::move(v)) {}
  Json(std::string_view v) : kind_(Kind::kString), string_(v) {}
  static Json array() {
    Json j;
    j.kind_ = Kind::kArray;
    return j;
  }
  static Json object() {
    Json j;
    j.kind_ = Kind::kObject;
    return j;
  }

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt || kind_ == Kind::kUint; }
  bool is_number() const { return is_int() || kind_ == Kind::kDouble; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  // Accessors: the kind must fit (SKUA_CHECK); test it first for anything that came from outside.
  bool as_bool() const;
  int64_t as_int() const;    // kInt only
  uint64_t as_uint() const;  // kInt >= 0 or kUint
  double as_double() const;  // any number
  const std::string& as_string() const;

  const std::vector<Json>& items() const { return items_; }        // arrays; empty for other kinds
  const std::vector<Member>& members() const { return members_; }  // objects; empty for other kinds
  size_t size() const { return is_object() ? members_.size() : items_.size(); }

  /// First member named `key`, or nullptr (also when this is no object). Linear in the number of members.
  const Json* find(std::string_view key) const;

  Json& push_back(Json value);             // makes a null value an array first
  Json& set(std::string key, Json value);  // replaces or appends; makes a null value an object first
  Json& append_member(std::string key, Json value);  // appends without looking for a duplicate

  /// Compact text (`indent` < 0) or pretty text. Bad UTF-8 becomes U+FFFD; NaN and infinities become null.
  std::string dump(int indent = -1) const;

  bool operator==(const Json&) const = default;

 private:
  Kind kind_ = Kind::kNull;
  int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  std::vector<Json> items_;
  std::vector<Member> members_;
};

/// Parses one JSON document. Errors: kInvalidArgument for syntax, bad UTF-8, numbers out of range, duplicate
/// keys, or nesting deeper than `max_depth`.
Result<Json> parse_json(std::string_view text, int max_depth = 64);

}  // namespace skua
