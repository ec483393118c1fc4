// The pprint filter: Python's pprint.pformat (3.11) with its defaults: 80 columns, keys in order, one item a
// line where a container does not fit, long strings cut between words.
#include <algorithm>

#include "text/jinja/filters.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

constexpr int64_t kWidth = 80;

using Pairs = std::vector<std::pair<Value, Value>>;

// Keys that have an order by it, others by the names of their types.
Pairs sorted_items(const Dict& dict) {
  Pairs out = dict.items;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    const auto order = less(a.first, b.first);
    return order.ok() ? *order : type_name(a.first) < type_name(b.first);
  });
  return out;
}

bool is_list(const Value& v) { return v.has_flavor(Flavor::kList); }
bool is_tuple(const Value& v) { return v.has_flavor(Flavor::kTuple); }  // a group prints by a rule of its own

class Pretty {
 public:
  explicit Pretty(Runtime& runtime) : runtime_(runtime) {}

  // `allowance`: columns to keep free behind the value. `level` counts the containers around it.
  Status format(const Value& v, int64_t indent, int64_t allowance, int level) {
    SKUA_ASSIGN_OR_RETURN(const std::string flat, repr(v));
    if (static_cast<int64_t>(text::count_chars(flat)) <= kWidth - indent - allowance) return put(flat);
    if (v.is_escaped()) return put(flat);  // prints by a rule of its own
    if (v.is_string()) return format_string(v.as_string(), indent, allowance, level + 1);
    if (v.is_dict()) return format_dict(v.as_dict(), indent, allowance + 1, level + 1);
    if (is_list(v)) return format_items(v, "[", "]", indent, allowance, level + 1);
    if (is_tuple(v)) {
      const bool single = v.as_sequence().items.size() == 1;
      return format_items(v, "(", single ? ",)" : ")", indent, allowance, level + 1);
    }
    return put(flat);
  }

  std::string take() { return std::move(out_); }

 private:
  Status put(std::string_view text) {
    SKUA_RETURN_IF_ERROR(runtime_.charge(text.size()));
    out_ += text;
    return ok_status();
  }

  Status new_line(int64_t indent) {
    SKUA_RETURN_IF_ERROR(runtime_.charge(static_cast<uint64_t>(indent) + 1));
    out_ += '\n';
    out_.append(static_cast<size_t>(indent), ' ');
    return ok_status();
  }

  Result<std::string> repr(const Value& v) {
    if (v.weight() > kMaxWeight) return resource_exhausted("a value is too large to print");
    std::string out;
    append_repr(out, v);
    SKUA_RETURN_IF_ERROR(runtime_.charge(out.size()));
    return out;
  }

  // repr(), with the keys of mappings in order.
  static void append_repr(std::string& out, const Value& v) {
    if (v.is_dict()) {
      out += '{';
      const char* separator = "";
      for (const auto& [key, value] : sorted_items(v.as_dict())) {
        out += std::exchange(separator, ", ");
        append_repr(out, key);
        out += ": ";
        append_repr(out, value);
      }
      out += '}';
    } else if (is_list(v) || is_tuple(v)) {
      const auto& items = v.as_sequence().items;
      out += is_list(v) ? '[' : '(';
      for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        append_repr(out, items[i]);
      }
      if (is_tuple(v) && items.size() == 1) out += ',';
      out += is_list(v) ? ']' : ')';
    } else {
      out += to_repr(v);
    }
  }

  Status format_dict(const Dict& dict, int64_t indent, int64_t allowance, int level) {
    SKUA_RETURN_IF_ERROR(put("{"));
    const Pairs items = sorted_items(dict);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) SKUA_RETURN_IF_ERROR(put(","));
      if (i > 0) SKUA_RETURN_IF_ERROR(new_line(indent + 1));
      SKUA_ASSIGN_OR_RETURN(const std::string key, repr(items[i].first));
      SKUA_RETURN_IF_ERROR(put(key));
      SKUA_RETURN_IF_ERROR(put(": "));
      const auto column = indent + 1 + static_cast<int64_t>(text::count_chars(key)) + 2;
      SKUA_RETURN_IF_ERROR(format(items[i].second, column, i + 1 == items.size() ? allowance : 1, level));
    }
    return put("}");
  }

  Status format_items(const Value& v, std::string_view open, std::string_view close, int64_t indent,
                      int64_t allowance, int level) {
    SKUA_RETURN_IF_ERROR(put(open));
    const auto& items = v.as_sequence().items;
    const auto last_allowance = allowance + static_cast<int64_t>(close.size());
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) SKUA_RETURN_IF_ERROR(put(","));
      if (i > 0) SKUA_RETURN_IF_ERROR(new_line(indent + 1));
      SKUA_RETURN_IF_ERROR(format(items[i], indent + 1, i + 1 == items.size() ? last_allowance : 1, level));
    }
    return put(close);
  }

  static std::string quoted(const std::string& text) { return to_repr(Value::string(text)); }
  static int64_t columns(const std::string& text) { return static_cast<int64_t>(text::count_chars(text)); }

  // One literal for each line or for as many words as fit, one below the other; in parentheses at the top.
  Status format_string(const std::string& text, int64_t indent, int64_t allowance, int level) {
    if (level == 1) {
      ++indent;
      ++allowance;
    }
    std::vector<std::string> chunks;
    std::string last_line;
    const std::vector<std::string> lines = split_lines(text, KeepEnds::kYes);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool last = i + 1 == lines.size();
      last_line = quoted(lines[i]);
      SKUA_RETURN_IF_ERROR(runtime_.charge(last_line.size()));
      if (columns(last_line) <= kWidth - indent - (last ? allowance : 0)) {
        chunks.push_back(last_line);
      } else {
        SKUA_RETURN_IF_ERROR(cut_line(lines[i], kWidth - indent, last ? allowance : 0, chunks));
      }
    }
    if (chunks.size() == 1) return put(last_line);
    if (level == 1) SKUA_RETURN_IF_ERROR(put("("));
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i > 0) SKUA_RETURN_IF_ERROR(new_line(indent));
      SKUA_RETURN_IF_ERROR(put(chunks[i]));
    }
    return level == 1 ? put(")") : ok_status();
  }

  // `last_allowance` is kept free behind the last part.
  Status cut_line(const std::string& line, int64_t width, int64_t last_allowance,
                  std::vector<std::string>& chunks) {
    std::string current;
    for (size_t pos = 0; pos < line.size();) {
      const size_t end = part_end(line, pos);
      const std::string part = line.substr(pos, end - pos);
      pos = end;
      if (pos == line.size()) width -= last_allowance;
      const std::string longer = current + part;
      SKUA_RETURN_IF_ERROR(runtime_.charge(longer.size()));
      if (columns(quoted(longer)) <= width) {
        current = longer;
        continue;
      }
      if (!current.empty()) chunks.push_back(quoted(current));
      current = part;
    }
    if (!current.empty()) chunks.push_back(quoted(current));
    return ok_status();
  }

  // Behind a word and the whitespace that follows it.
  static size_t part_end(const std::string& line, size_t pos) {
    bool in_space = false;
    while (pos < line.size()) {
      size_t next = pos;
      const bool space = is_python_space(text::next_char(line, next));
      if (in_space && !space) break;
      in_space = space;
      pos = next;
    }
    return pos;
  }

  Runtime& runtime_;
  std::string out_;
};

}  // namespace

Result<Value> pretty_print(Runtime& runtime, const Value& v, Args&) {
  Pretty pretty(runtime);
  SKUA_RETURN_IF_ERROR(pretty.format(v, 0, 0, 0));
  return Value::string(pretty.take());
}

}  // namespace skua::jinja
