// Attributes, items and slices, as Jinja2's immutable sandbox looks them up.
#include <algorithm>

#include "text/jinja/runtime.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

Value no_attribute(const Value& base, std::string_view name) {
  if (base.is_undefined()) return base;
  return Value::undefined("'" + std::string(type_name(base)) + " object' has no attribute '" +
                          std::string(name) + "'");
}

// real, imag, numerator, denominator.
bool number_attribute(const Value& base, std::string_view name, Value& out) {
  const bool whole = base.is_integral();
  if (!base.is_number()) return false;
  if (name == "real" || (whole && name == "numerator")) {
    out = whole ? Value::integer(base.as_int()) : base;
  } else if (name == "imag") {
    out = whole ? Value::integer(0) : Value::real(0);
  } else if (whole && name == "denominator") {
    out = Value::integer(1);
  } else {
    return false;
  }
  return true;
}

// Methods and attributes that Python objects have themselves, before their items are looked at.
bool own_attribute(Runtime& runtime, const Value& base, const std::string& name, Value& out) {
  if (base.is_object() && base.as_object().attribute(runtime, name, out)) return true;
  if (base.has_flavor(Flavor::kGroup) && (name == "grouper" || name == "list")) {
    out = base.as_sequence().items[name == "list" ? 1 : 0];
    return true;
  }
  if (number_attribute(base, name, out)) return true;
  if (const Builtin method = find_method(base, name)) {
    out = bound(name, method, base);
    return true;
  }
  if (is_forbidden_method(base, name) || name.starts_with("__")) {
    out = Value::undefined("access to attribute '" + name + "' of '" + std::string(type_name(base)) +
                           "' object is unsafe");
    return true;
  }
  return false;
}

// The index of item `i` of `n`, counted from the end when negative; -1 when there is none.
int64_t wrap(int64_t i, int64_t n) {
  if (i < 0) i += n;
  return i >= 0 && i < n ? i : -1;
}

bool own_item(const Value& base, const Value& key, Value& out) {
  if (base.is_dict()) {
    const Value* found = hashable(key) ? base.as_dict().find(key) : nullptr;
    if (found != nullptr) out = *found;
    return found != nullptr;
  }
  if (!key.is_integral()) return false;
  if (base.is_sequence()) {
    const Sequence& s = base.as_sequence();
    const bool indexable = s.flavor == Flavor::kList || s.flavor == Flavor::kTuple ||
                           s.flavor == Flavor::kGroup || s.flavor == Flavor::kRange;
    const int64_t i = indexable ? wrap(key.as_int(), static_cast<int64_t>(s.items.size())) : -1;
    if (i >= 0) out = s.items[static_cast<size_t>(i)];
    return i >= 0;
  }
  if (!base.is_string()) return false;
  const std::string& s = base.as_string();
  const int64_t i = wrap(key.as_int(), static_cast<int64_t>(text::count_chars(s)));
  if (i < 0) return false;
  size_t pos = 0;
  for (int64_t n = 0; n < i; ++n) pos += text::utf8_length(s[pos]);
  out = Value::string(s.substr(pos, text::utf8_length(s[pos])));
  if (base.is_escaped()) out = out.marked_escaped();
  return true;
}

struct SliceBounds {
  int64_t start, stop, step;
};

// Python's slice.indices().
Result<SliceBounds> slice_bounds(const Value& start, const Value& stop, const Value& step, int64_t n) {
  for (const Value* bound : {&start, &stop, &step}) {
    if (!bound->is_none() && !bound->is_integral())
      return type_error("slice indices must be integers or None");
  }
  SliceBounds b{0, 0, step.is_none() ? 1 : step.as_int()};
  if (b.step == 0) return type_error("slice step cannot be zero");
  const bool back = b.step < 0;
  const int64_t low = back ? -1 : 0, high = back ? n - 1 : n;
  const auto clamp = [&](const Value& v, int64_t fallback) {
    if (v.is_none()) return fallback;
    int64_t i = v.as_int();
    if (i < 0) i = i < -n ? low : i + n;
    return std::clamp(i, low, high);
  };
  b.start = clamp(start, back ? high : low);
  b.stop = clamp(stop, back ? low : high);
  return b;
}

// How a slice of a range prints; the step comes from two neighbours.
std::string range_text(const Sequence& range, int64_t start, int64_t stop, int64_t step) {
  const auto& items = range.items;
  if (items.empty()) return "range(0, 0)";
  const int64_t first = items[0].as_int();
  const int64_t stride = items.size() > 1 ? items[1].as_int() - first : 1;
  std::string out =
      "range(" + std::to_string(first + start * stride) + ", " + std::to_string(first + stop * stride);
  if (stride * step != 1) out += ", " + std::to_string(stride * step);
  return out + ")";
}

}  // namespace

Result<Value> Runtime::attribute(const Value& base, const std::string& name) {
  const bool internal = name.starts_with("__") && name.ends_with("__");
  if (base.is_undefined() && !internal) return type_error(base.as_string());
  Value out;
  if (own_attribute(*this, base, name, out)) return out;
  if (base.is_dict()) {
    if (const Value* found = base.as_dict().find(name)) return *found;
  }
  return no_attribute(base, name);
}

Result<Value> Runtime::item(const Value& base, const Value& key) {
  if (base.is_undefined()) return type_error(base.as_string());
  if (base.is_string()) SKUA_RETURN_IF_ERROR(scan(base.as_string().size()));
  Value out;
  if (own_item(base, key, out)) return out;
  if (key.is_string() && own_attribute(*this, base, key.as_string(), out)) return out;
  return no_attribute(base, to_text(key.weight() < 1000 ? key : Value()));
}

Result<Value> Runtime::slice(const Value& base, const Value& start, const Value& stop,
                             const Value& step_value) {
  if (base.is_undefined()) return type_error(base.as_string());
  if (base.is_string()) {
    const std::string& s = base.as_string();
    SKUA_RETURN_IF_ERROR(charge(s.size() * 5));
    const std::u32string chars = text::to_utf32(s);
    SKUA_ASSIGN_OR_RETURN(const SliceBounds b,
                          slice_bounds(start, stop, step_value, static_cast<int64_t>(chars.size())));
    std::u32string out;
    for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop; i += b.step) {
      out.push_back(chars[static_cast<size_t>(i)]);
      if (b.step > static_cast<int64_t>(chars.size()) || -b.step > static_cast<int64_t>(chars.size())) break;
    }
    SKUA_ASSIGN_OR_RETURN(const Value made, make_string(text::to_utf8(out)));
    return base.is_escaped() ? made.marked_escaped() : made;
  }
  const bool sliceable = base.has_flavor(Flavor::kList) || base.has_flavor(Flavor::kTuple) ||
                         base.has_flavor(Flavor::kGroup) || base.has_flavor(Flavor::kRange);
  if (!sliceable) return type_error("'" + std::string(type_name(base)) + "' object cannot be sliced");
  const std::vector<Value>& items = base.as_sequence().items;
  SKUA_ASSIGN_OR_RETURN(const SliceBounds b,
                        slice_bounds(start, stop, step_value, static_cast<int64_t>(items.size())));
  std::vector<Value> out;
  for (int64_t i = b.start; b.step > 0 ? i < b.stop : i > b.stop; i += b.step) {
    out.push_back(items[static_cast<size_t>(i)]);
    if (b.step > static_cast<int64_t>(items.size()) || -b.step > static_cast<int64_t>(items.size())) break;
  }
  const Flavor flavor = base.has_flavor(Flavor::kGroup) ? Flavor::kTuple : base.as_sequence().flavor;
  Value made = Value::sequence(std::move(out), flavor);
  if (flavor == Flavor::kRange)
    made.as_sequence().shown = range_text(base.as_sequence(), b.start, b.stop, b.step);
  return adopt(std::move(made));
}

}  // namespace skua::jinja
