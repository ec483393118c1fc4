// Python's json.dumps, as transformers' tojson calls it.
#include <algorithm>
#include <cmath>

#include "text/jinja/runtime.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

class Dumper {
 public:
  explicit Dumper(const JsonStyle& style) : style_(style) {}

  Status value(const Value& v, int depth) {
    switch (v.kind()) {
      case Value::Kind::kNone:
        out += "null";
        return ok_status();
      case Value::Kind::kBool:
        out += v.as_int() != 0 ? "true" : "false";
        return ok_status();
      case Value::Kind::kInt:
        out += std::to_string(v.as_int());
        return ok_status();
      case Value::Kind::kFloat:
        out += float_json(v.as_double());
        return ok_status();
      case Value::Kind::kString:
        string(v.as_string());
        return ok_status();
      case Value::Kind::kDict:
        return mapping(v.as_dict(), depth);
      case Value::Kind::kSequence:
        if (v.has_flavor(Flavor::kList) || v.has_flavor(Flavor::kTuple) || v.has_flavor(Flavor::kGroup)) {
          return list(v.as_sequence().items, depth);
        }
        break;
      default:
        break;
    }
    return type_error("Object of type " + std::string(type_name(v)) + " is not JSON serializable");
  }

  std::string out;

 private:
  static std::string float_json(double v) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
    return float_text(v);
  }

  void new_line(int depth) {
    if (!style_.indent) return;
    out += '\n';
    for (int i = 0; i < depth; ++i) out += *style_.indent;
  }

  Status list(const std::vector<Value>& items, int depth) {
    out += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      new_line(depth + 1);
      SKUA_RETURN_IF_ERROR(value(items[i], depth + 1));
    }
    if (!items.empty()) new_line(depth);
    out += ']';
    return ok_status();
  }

  Status mapping(const Dict& dict, int depth) {
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sort_keys) {
      bool ordered = true;
      std::stable_sort(items.begin(), items.end(), [&](const auto* a, const auto* b) {
        const auto result = less(a->first, b->first);
        ordered = ordered && result.ok();
        return result.ok() && *result;
      });
      if (!ordered) return type_error("keys of different types cannot be sorted");
    }
    out += '{';
    bool first = true;
    for (const auto* item : items) {
      if (!first) out += style_.item_separator;
      first = false;
      new_line(depth + 1);
      SKUA_RETURN_IF_ERROR(key(item->first));
      out += style_.key_separator;
      SKUA_RETURN_IF_ERROR(value(item->second, depth + 1));
    }
    if (!items.empty()) new_line(depth);
    out += '}';
    return ok_status();
  }

  Status key(const Value& v) {
    if (v.is_string()) {
      string(v.as_string());
      return ok_status();
    }
    if (!v.is_none() && !v.is_number()) {
      return type_error("keys must be str, int, float, bool or None, not " + std::string(type_name(v)));
    }
    out += '"';
    SKUA_RETURN_IF_ERROR(value(v, 0));
    out += '"';
    return ok_status();
  }

  void unicode_escape(uint32_t unit) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[unit >> shift & 15];
  }

  void string(const std::string& s) {
    out += '"';
    for (size_t pos = 0; pos < s.size();) {
      const size_t begin = pos;
      const char32_t c = text::next_char(s, pos);
      static constexpr std::string_view kFrom = "\"\\\n\r\t\b\f", kTo = "\"\\nrtbf";
      const size_t plain = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
      if (plain != std::string_view::npos) {
        out += '\\';
        out += kTo[plain];
      } else if (c < 0x20) {
        unicode_escape(c);
      } else if (c < 0x7f || !style_.ensure_ascii) {
        out.append(s, begin, pos - begin);
      } else if (c == 0x7f) {
        out += '\x7f';
      } else if (c < 0x10000) {
        unicode_escape(c);
      } else {
        unicode_escape(0xd800 + ((c - 0x10000) >> 10));
        unicode_escape(0xdc00 + ((c - 0x10000) & 0x3ff));
      }
    }
    out += '"';
  }

  const JsonStyle& style_;
};

}  // namespace

Result<std::string> dump_json(Runtime& runtime, const Value& v, const JsonStyle& style) {
  if (v.weight() > kMaxWeight) return resource_exhausted("a value is too large to print");
  // Indents and separators may be long: what they add is bounded by nodes times their size.
  const uint64_t per_node = style.item_separator.size() + style.key_separator.size() +
                            (style.indent ? style.indent->size() * static_cast<uint64_t>(v.depth() + 1) : 0);
  SKUA_RETURN_IF_ERROR(runtime.charge(v.weight() * (8 + per_node)));
  Dumper dumper(style);
  SKUA_RETURN_IF_ERROR(dumper.value(v, 0));
  return std::move(dumper.out);
}

}  // namespace skua::jinja
