// Filters on lists and mappings. Source: jinja2 3.1, filters.py.
#include <algorithm>

#include "text/jinja/filters.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

using R = Result<Value>;
using Items = std::vector<Value>;

R generator(Runtime& runtime, Items items) {
  return runtime.adopt(Value::sequence(std::move(items), Flavor::kGenerator));
}
R list(Runtime& runtime, Items items) { return runtime.adopt(Value::sequence(std::move(items))); }

R default_value(Runtime&, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"default_value", "boolean"}));
  const bool replace = v.is_undefined() || (b.flag(1, false) && !truthy(v));
  return replace ? b.get(0, Value::string("")) : v;
}

R attr(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"name"}));
  SKUA_ASSIGN_OR_RETURN(const std::string name, b.string(0, ""));
  // Attributes only, never items.
  if (v.is_dict() && find_method(v, name) == nullptr) return Value::undefined("no attribute '" + name + "'");
  return runtime.attribute(v, name);
}

R length(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(const int64_t n, runtime.length(v));
  return Value::integer(n);
}

R to_list(Runtime& runtime, const Value& v, Args&) {
  SKUA_ASSIGN_OR_RETURN(Items items, runtime.iterate(v));
  return list(runtime, std::move(items));
}

R first(Runtime& runtime, const Value& v, Args&) {
  if (v.has_flavor(Flavor::kGenerator)) {
    Sequence& s = v.as_sequence();
    return s.next < s.items.size() ? s.items[s.next++]
                                   : Value::undefined("No first item, sequence was empty.");
  }
  SKUA_ASSIGN_OR_RETURN(const Items items, runtime.iterate(v));
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

R last(Runtime& runtime, const Value& v, Args&) {
  if (v.has_flavor(Flavor::kGenerator)) return type_error("'generator' object is not reversible");
  SKUA_ASSIGN_OR_RETURN(const Items items, runtime.iterate(v));
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

R random(Runtime&, const Value&, Args&) {
  return type_error("is refused: a prompt must not depend on chance");
}

R join(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"d", "attribute"}));
  SKUA_ASSIGN_OR_RETURN(const std::string separator,
                        b.has(0) ? runtime.text_of(b.at(0)) : Result<std::string>(std::string()));
  const AttributePath path = AttributePath::of(b.get(1));
  SKUA_ASSIGN_OR_RETURN(const Items items, runtime.iterate(v));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    SKUA_ASSIGN_OR_RETURN(const Value item, path.get(runtime, items[i]));
    SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(item));
    SKUA_RETURN_IF_ERROR(runtime.charge(separator.size()));
    if (i > 0) out += separator;
    out += text;
  }
  return Value::string(std::move(out));
}

R reverse(Runtime& runtime, const Value& v, Args&) {
  if (v.is_string()) {
    SKUA_RETURN_IF_ERROR(runtime.charge(v.as_string().size() * 5));
    std::u32string chars = text::to_utf32(v.as_string());
    std::reverse(chars.begin(), chars.end());
    return Value::string(text::to_utf8(chars));
  }
  SKUA_ASSIGN_OR_RETURN(Items items, runtime.iterate(v));
  std::reverse(items.begin(), items.end());
  return generator(runtime, std::move(items));
}

R items(Runtime& runtime, const Value& v, Args&) {
  if (v.is_undefined()) return generator(runtime, {});
  if (!v.is_dict()) return type_error("Can only get item pairs from a mapping.");
  Items out;
  for (const auto& [key, value] : v.as_dict().items)
    out.push_back(Value::sequence({key, value}, Flavor::kTuple));
  return generator(runtime, std::move(out));
}

// ---- order ----

enum class Case : uint8_t { kFold, kKeep };

// Texts compare without regard to case unless told otherwise.
Value sort_key(const Value& v, Case text_case) {
  return v.is_string() && text_case == Case::kFold ? Value::string(lower_text(v.as_string())) : v;
}

// Sorts items by keys, stably. Errors: those of comparing.
Result<Items> sorted(Runtime& runtime, const Items& items, const Items& keys, bool reverse_order) {
  SKUA_RETURN_IF_ERROR(runtime.step(items.size() * 20));
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Status failure = ok_status();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (!failure.ok()) return false;
    const auto result = reverse_order ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
    if (!result.ok()) failure = result.status();
    return result.ok() && *result;
  });
  SKUA_RETURN_IF_ERROR(failure);
  Items out;
  for (const size_t i : order) out.push_back(items[i]);
  return out;
}

// The key of `item` by one or several attributes ("a,b").
Result<Value> attribute_key(Runtime& runtime, const Value& item, const Value& attribute, Case text_case) {
  if (!attribute.is_string()) {
    SKUA_ASSIGN_OR_RETURN(const Value v, AttributePath::of(attribute).get(runtime, item));
    return sort_key(v, text_case);
  }
  const std::string comma = ",";
  Items parts;
  for (const std::string& path : split_text(attribute.as_string(), &comma, -1)) {
    SKUA_ASSIGN_OR_RETURN(const Value v, AttributePath::of(Value::string(path)).get(runtime, item));
    parts.push_back(sort_key(v, text_case));
  }
  return parts.size() == 1 ? parts[0] : Value::sequence(std::move(parts));
}

R sort(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"reverse", "case_sensitive", "attribute"}));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  Items keys;
  for (const Value& item : all) {
    SKUA_ASSIGN_OR_RETURN(
        Value key, attribute_key(runtime, item, b.get(2), b.flag(1, false) ? Case::kKeep : Case::kFold));
    keys.push_back(std::move(key));
  }
  SKUA_ASSIGN_OR_RETURN(Items out, sorted(runtime, all, keys, b.flag(0, false)));
  return list(runtime, std::move(out));
}

R dict_sort(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"case_sensitive", "by", "reverse"}));
  SKUA_ASSIGN_OR_RETURN(const std::string by, b.string(1, "key"));
  if (by != "key" && by != "value") return type_error("You can only sort by either \"key\" or \"value\"");
  if (v.is_undefined()) return type_error(v.as_string());
  if (!v.is_dict()) return type_error("needs a mapping");
  Items pairs, keys;
  for (const auto& [key, value] : v.as_dict().items) {
    pairs.push_back(Value::sequence({key, value}, Flavor::kTuple));
    keys.push_back(sort_key(by == "key" ? key : value, b.flag(0, false) ? Case::kKeep : Case::kFold));
  }
  SKUA_ASSIGN_OR_RETURN(Items out, sorted(runtime, pairs, keys, b.flag(2, false)));
  return list(runtime, std::move(out));
}

template <bool largest>
R extreme(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"case_sensitive", "attribute"}));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  if (all.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const AttributePath path = AttributePath::of(b.get(1));
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < all.size(); ++i) {
    SKUA_ASSIGN_OR_RETURN(const Value raw, path.get(runtime, all[i]));
    const Value key = sort_key(raw, b.flag(0, false) ? Case::kKeep : Case::kFold);
    bool better = i == 0;
    if (i > 0) {
      SKUA_ASSIGN_OR_RETURN(better, largest ? less(best_key, key) : less(key, best_key));
    }
    if (better) {
      best = i;
      best_key = key;
    }
  }
  return all[best];
}

R unique(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"case_sensitive", "attribute"}));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  const AttributePath path = AttributePath::of(b.get(1));
  Dict seen;
  Items out;
  for (const Value& item : all) {
    SKUA_ASSIGN_OR_RETURN(const Value raw, path.get(runtime, item));
    const Value key = sort_key(raw, b.flag(0, false) ? Case::kKeep : Case::kFold);
    if (!hashable(key)) return type_error("unhashable type: '" + std::string(type_name(key)) + "'");
    if (seen.find(key) != nullptr) continue;
    seen.set(key, Value());
    out.push_back(item);
  }
  return generator(runtime, std::move(out));
}

R group_by(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"attribute", "default", "case_sensitive"}));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  const AttributePath path = AttributePath::of(b.get(0));
  Items keys, raw_keys;
  for (const Value& item : all) {
    SKUA_ASSIGN_OR_RETURN(Value key, path.get(runtime, item));
    if (key.is_undefined() && b.has(1)) key = b.at(1);
    raw_keys.push_back(key);
    keys.push_back(sort_key(key, b.flag(2, false) ? Case::kKeep : Case::kFold));
  }
  Items indices;
  for (size_t i = 0; i < all.size(); ++i) indices.push_back(Value::integer(static_cast<int64_t>(i)));
  SKUA_ASSIGN_OR_RETURN(const Items order, sorted(runtime, indices, keys, false));
  Items out;
  for (size_t i = 0; i < order.size();) {
    const auto head = static_cast<size_t>(order[i].as_int());
    Items members;
    for (; i < order.size() && equals(keys[static_cast<size_t>(order[i].as_int())], keys[head]); ++i) {
      members.push_back(all[static_cast<size_t>(order[i].as_int())]);
    }
    out.push_back(Value::sequence({raw_keys[head], Value::sequence(std::move(members))}, Flavor::kGroup));
  }
  return list(runtime, std::move(out));
}

// ---- cutting and adding up ----

R batch(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"linecount", "fill_with"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t size, b.integer(0, 0));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  Items out, row;
  for (const Value& item : all) {
    if (static_cast<int64_t>(row.size()) == size) {
      out.push_back(Value::sequence(std::move(row)));
      row.clear();
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (b.has(1) && !b.at(1).is_none() && size > static_cast<int64_t>(row.size())) {
      SKUA_RETURN_IF_ERROR(runtime.charge(static_cast<uint64_t>(size) * sizeof(Value)));
      row.resize(static_cast<size_t>(size), b.at(1));
    }
    out.push_back(Value::sequence(std::move(row)));
  }
  return generator(runtime, std::move(out));
}

R slice(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"slices", "fill_with"}));
  SKUA_ASSIGN_OR_RETURN(const int64_t n, b.integer(0, 0));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  if (n < 1) return type_error("slices must be 1 or more");
  SKUA_RETURN_IF_ERROR(runtime.charge(static_cast<uint64_t>(std::min<int64_t>(n, 1 << 30)) * sizeof(Value)));
  const size_t count = static_cast<size_t>(n), per = all.size() / count, longer = all.size() % count;
  Items out;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t size = per + (i < longer);
    Items part(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
    if (b.has(1) && !b.at(1).is_none() && i >= longer) part.push_back(b.at(1));
    out.push_back(Value::sequence(std::move(part)));
  }
  return generator(runtime, std::move(out));
}

R sum(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"attribute", "start"}));
  const AttributePath path = AttributePath::of(b.get(0));
  SKUA_ASSIGN_OR_RETURN(const Items all, runtime.iterate(v));
  Value total = b.get(1, Value::integer(0));
  if (total.is_string()) return type_error("sum() can't sum strings");
  for (const Value& item : all) {
    SKUA_ASSIGN_OR_RETURN(const Value part, path.get(runtime, item));
    SKUA_ASSIGN_OR_RETURN(total, runtime.binary("+", total, part));
  }
  return total;
}

constexpr FilterEntry kTable[] = {
    {"default", default_value},
    {"d", default_value},
    {"attr", attr},
    {"length", length},
    {"count", length},
    {"list", to_list},
    {"first", first},
    {"last", last},
    {"random", random},
    {"pprint", pretty_print},
    {"join", join},
    {"reverse", reverse},
    {"items", items},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"unique", unique},
    {"groupby", group_by},
    {"batch", batch},
    {"slice", slice},
    {"sum", sum},
};

}  // namespace

std::span<const FilterEntry> list_filters() { return kTable; }

}  // namespace skua::jinja
