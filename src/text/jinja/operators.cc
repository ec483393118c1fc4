// Python's operators on template values.
#include <algorithm>
#include <cmath>

#include "text/jinja/escaped.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

Status bad_operands(std::string_view sign, const Value& a, const Value& b) {
  if (a.is_undefined()) return type_error(a.as_string());
  if (b.is_undefined()) return type_error(b.as_string());
  return type_error("unsupported operand types for " + std::string(sign) + ": '" + std::string(type_name(a)) +
                    "' and '" + std::string(type_name(b)) + "'");
}

Status overflow() { return type_error("integer does not fit 64 bits"); }
Status zero_division() { return type_error("division by zero"); }

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

double float_mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}

Result<Value> int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return zero_division();
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> int_arithmetic(std::string_view sign, int64_t a, int64_t b) {
  int64_t out = 0;
  if (sign == "+")
    return __builtin_add_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  if (sign == "-")
    return __builtin_sub_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  if (sign == "*")
    return __builtin_mul_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  if (sign == "**") return int_power(a, b);
  if (b == 0) return zero_division();
  if (sign == "/") return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return sign == "%" ? Result<Value>(Value::integer(0)) : int_arithmetic("-", 0, a);
  if (sign == "//") return Value::integer(floor_div(a, b));
  return Value::integer(a - floor_div(a, b) * b);
}

Result<Value> float_arithmetic(std::string_view sign, double a, double b) {
  if (sign == "+") return Value::real(a + b);
  if (sign == "-") return Value::real(a - b);
  if (sign == "*") return Value::real(a * b);
  if (sign == "**") {
    if (a == 0 && b < 0) return zero_division();
    if (a < 0 && b != std::floor(b)) return type_error("a negative number to a fractional power");
    return Value::real(std::pow(a, b));
  }
  if (b == 0) return zero_division();
  if (sign == "/") return Value::real(a / b);
  if (sign == "%") return Value::real(float_mod(a, b));
  return Value::real(std::floor(a / b));
}

bool is_plain_list(const Value& v) { return v.has_flavor(Flavor::kList) || v.has_flavor(Flavor::kTuple); }

Result<Value> repeat(Runtime& runtime, const Value& v, int64_t times) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  if (v.is_string()) {
    const std::string& s = v.as_string();
    if (n > 0 && s.size() > (uint64_t{1} << 40) / n)
      return resource_exhausted("a repeated string is too long");
    SKUA_RETURN_IF_ERROR(runtime.charge(s.size() * n));
    std::string out;
    out.reserve(s.size() * n);
    for (uint64_t i = 0; i < n && !s.empty(); ++i) out += s;
    const Value made = Value::string(std::move(out));
    return v.is_escaped() ? made.marked_escaped() : made;
  }
  const auto& items = v.as_sequence().items;
  if (n > 0 && items.size() > (uint64_t{1} << 30) / n)
    return resource_exhausted("a repeated list is too long");
  SKUA_RETURN_IF_ERROR(runtime.charge(items.size() * n * sizeof(Value)));
  std::vector<Value> out;
  for (uint64_t i = 0; i < n && !items.empty(); ++i) out.insert(out.end(), items.begin(), items.end());
  return runtime.adopt(Value::sequence(std::move(out), v.as_sequence().flavor));
}

Result<Value> add_others(Runtime& runtime, const Value& a, const Value& b) {
  if (a.is_string() && b.is_string()) {
    if (a.is_escaped() || b.is_escaped()) return add_escaped(runtime, a, b);
    SKUA_RETURN_IF_ERROR(runtime.charge(a.as_string().size() + b.as_string().size()));
    return Value::string(a.as_string() + b.as_string());
  }
  if (is_plain_list(a) && is_plain_list(b) && a.as_sequence().flavor == b.as_sequence().flavor) {
    std::vector<Value> items = a.as_sequence().items;
    items.insert(items.end(), b.as_sequence().items.begin(), b.as_sequence().items.end());
    return runtime.adopt(Value::sequence(std::move(items), a.as_sequence().flavor));
  }
  return bad_operands("+", a, b);
}

}  // namespace

Result<Value> Runtime::binary(std::string_view sign, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return int_arithmetic(sign, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return float_arithmetic(sign, a.as_double(), b.as_double());
  if (sign == "+") return add_others(*this, a, b);
  if (sign == "*") {
    if ((a.is_string() || is_plain_list(a)) && b.is_integral()) return repeat(*this, a, b.as_int());
    if ((b.is_string() || is_plain_list(b)) && a.is_integral()) return repeat(*this, b, a.as_int());
  }
  if (sign == "%" && a.is_string()) {
    if (a.is_escaped() && a.as_string().find('%') != std::string::npos)
      return type_error("% with a format that is marked as escaped is not supported");
    SKUA_ASSIGN_OR_RETURN(std::string out, format_percent(*this, a.as_string(), b));
    SKUA_ASSIGN_OR_RETURN(const Value made, make_string(std::move(out)));
    return a.is_escaped() ? made.marked_escaped() : made;
  }
  return bad_operands(sign, a, b);
}

Result<Value> Runtime::unary(std::string_view sign, const Value& v) {
  if (sign == "not") return Value::boolean(!truthy(v));
  if (v.is_integral()) return sign == "-" ? int_arithmetic("-", 0, v.as_int()) : Value::integer(v.as_int());
  if (v.is_float()) return Value::real(sign == "-" ? -v.as_double() : v.as_double());
  if (v.is_undefined()) return type_error(v.as_string());
  return type_error("bad operand type for unary " + std::string(sign) + ": '" + std::string(type_name(v)) +
                    "'");
}

Result<bool> Runtime::compare(std::string_view sign, const Value& a, const Value& b) {
  SKUA_RETURN_IF_ERROR(step(1 + std::min(a.weight(), b.weight()) / 16));
  if (sign == "==") return equals(a, b);
  if (sign == "!=") return !equals(a, b);
  if (sign == "<") return less(a, b);
  if (sign == ">") return less(b, a);
  const bool either_nan =
      (a.is_float() && std::isnan(a.as_double())) || (b.is_float() && std::isnan(b.as_double()));
  SKUA_ASSIGN_OR_RETURN(const bool turned, sign == "<=" ? less(b, a) : less(a, b));
  return !turned && !either_nan;
}

Result<bool> Runtime::contains(const Value& container, const Value& v) {
  if (container.is_string()) {
    if (!v.is_string()) {
      if (v.is_undefined()) return type_error(v.as_string());
      return type_error("'in <string>' requires string as left operand, not " + std::string(type_name(v)));
    }
    SKUA_RETURN_IF_ERROR(scan(container.as_string().size()));
    return find_text(container.as_string(), v.as_string()) != std::string_view::npos;
  }
  if (container.is_dict()) {
    if (!hashable(v)) return type_error("unhashable type: '" + std::string(type_name(v)) + "'");
    return container.as_dict().find(v) != nullptr;
  }
  SKUA_ASSIGN_OR_RETURN(const std::vector<Value> items, iterate(container));
  SKUA_RETURN_IF_ERROR(step(items.size()));
  return std::any_of(items.begin(), items.end(), [&](const Value& item) {
    return equals(item, v) || (item.identity() != nullptr && item.identity() == v.identity());
  });
}

Result<std::vector<Value>> Runtime::iterate(const Value& v) {
  std::vector<Value> out;
  if (v.is_undefined()) return out;
  if (v.is_sequence()) {
    Sequence& sequence = v.as_sequence();
    SKUA_RETURN_IF_ERROR(step(sequence.items.size() / 16));
    if (sequence.flavor != Flavor::kGenerator) return sequence.items;
    out.assign(sequence.items.begin() + static_cast<ptrdiff_t>(sequence.next), sequence.items.end());
    sequence.next = sequence.items.size();
    return out;
  }
  if (v.is_dict()) {
    for (const auto& [key, value] : v.as_dict().items) out.push_back(key);
    return out;
  }
  if (v.is_string()) {
    const std::string& s = v.as_string();
    SKUA_RETURN_IF_ERROR(charge(text::count_chars(s) * kListedStringBytes));
    for (size_t pos = 0; pos < s.size();) {
      const size_t length = text::utf8_length(s[pos]);
      out.push_back(Value::string(s.substr(pos, length)));
      pos += length;
    }
    return out;
  }
  return type_error("'" + std::string(type_name(v)) + "' object is not iterable");
}

Result<int64_t> Runtime::length(const Value& v) {
  if (v.is_undefined()) return 0;
  if (v.is_string()) {
    SKUA_RETURN_IF_ERROR(scan(v.as_string().size()));
    return static_cast<int64_t>(text::count_chars(v.as_string()));
  }
  if (v.is_dict()) return static_cast<int64_t>(v.as_dict().items.size());
  if (v.is_sequence() && !v.has_flavor(Flavor::kGenerator))
    return static_cast<int64_t>(v.as_sequence().items.size());
  return type_error("object of type '" + std::string(type_name(v)) + "' has no len()");
}

Result<Value> Runtime::call(const Value& callee, Args& args) {
  SKUA_RETURN_IF_ERROR(step());
  if (callee.is_undefined()) return type_error(callee.as_string());
  if (callee.is_object()) return callee.as_object().call(*this, args);
  return type_error("'" + std::string(type_name(callee)) + "' object is not callable");
}

}  // namespace skua::jinja
