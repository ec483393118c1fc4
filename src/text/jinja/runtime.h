// What running a template needs besides its tree: limits, the clock, and the meaning of operators,
// attributes, filters, tests and methods. A template is untrusted: every step, every byte made and every
// level of nesting counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace skua::jinja {

/// Bounds of one rendering.
struct Limits {
  uint64_t steps = 10'000'000;           // nodes evaluated, bytes read or made (kBytesPerStep)
  uint64_t bytes = uint64_t{512} << 20;  // made by string and list operations, freed or not
  int depth = 1000;                      // nested evaluations, macro calls included
};

/// A point in time as the template sees it (strftime_now).
struct ClockTime {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
  int weekday = 4;  // 0 = Sunday
  int day_of_year = 1;
  int microsecond = 0;
};

/// Bytes of text that are read or made for one step. Upper-casing runs at about 100 MB/s, so that the steps
/// of one rendering are spent in a few seconds whatever the template does.
constexpr uint64_t kBytesPerStep = 32;
/// What one short string in a list takes, about.
constexpr uint64_t kListedStringBytes = 128;

class Runtime {
 public:
  Runtime(Limits limits, std::function<ClockTime()> clock) : limits_(limits), clock_(std::move(clock)) {}
  virtual ~Runtime() = default;

  /// Counts work. Errors: kResourceExhausted.
  Status step(uint64_t steps = 1);
  /// Counts work that the next step() judges.
  void spend(uint64_t steps) { steps_ += steps; }
  /// Counts `bytes` of text about to be read from end to end. Errors: kResourceExhausted.
  Status scan(uint64_t bytes) { return step(bytes / kBytesPerStep); }
  /// Counts `bytes` about to be made. Errors: kResourceExhausted.
  Status charge(uint64_t bytes);
  /// A container just made: refuses one that is too deep or too heavy.
  Result<Value> adopt(Value v);
  Result<Value> make_string(std::string s);

  ClockTime now() const { return clock_(); }

  /// Counts one level of nesting while it lives.
  class Nest {
   public:
    explicit Nest(Runtime& runtime) : runtime_(runtime) { ++runtime_.depth_; }
    ~Nest() { --runtime_.depth_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    Status check() const;

   private:
    Runtime& runtime_;
  };

  // ---- the language (each in the file named) ----
  Result<Value> attribute(const Value& base, const std::string& name);  // attributes.cc
  Result<Value> item(const Value& base, const Value& key);              // attributes.cc
  Result<Value> slice(const Value& base, const Value& start, const Value& stop, const Value& step);
  Result<Value> call(const Value& callee, Args& args);  // operators.cc
  Result<Value> binary(std::string_view sign, const Value& a, const Value& b);
  Result<Value> unary(std::string_view sign, const Value& v);
  Result<bool> compare(std::string_view sign, const Value& a, const Value& b);
  Result<bool> contains(const Value& container, const Value& v);
  /// The items of anything iterable; uses up generators. Errors: kInvalidArgument (not iterable).
  Result<std::vector<Value>> iterate(const Value& v);
  Result<int64_t> length(const Value& v);
  /// str() with its cost counted.
  Result<std::string> text_of(const Value& v);
  Result<Value> filter(const std::string& name, const Value& v, Args& args);  // filters.cc
  Result<bool> test(const std::string& name, const Value& v, Args& args);     // tests.cc

 private:
  Limits limits_;
  std::function<ClockTime()> clock_;
  uint64_t steps_ = 0;
  uint64_t bytes_ = 0;
  int depth_ = 0;
};

/// A function that templates can call: a filter (self is the value), a method (self is the object), a global.
using Builtin = Result<Value> (*)(Runtime& runtime, const Value& self, Args& args);
using TestFn = Result<bool> (*)(Runtime& runtime, const Value& self, Args& args);

/// Tables of built-ins; null when the name is unknown.
Builtin find_filter(std::string_view name);
TestFn find_test(std::string_view name);
Builtin find_global(std::string_view name);
Builtin find_method(const Value& self, std::string_view name);
/// True for methods that would change a list or dict: they exist, but the sandbox refuses to call them.
bool is_forbidden_method(const Value& self, std::string_view name);

/// `function` as a value, with its `self`.
Value bound(std::string name, Builtin function, Value self);

/// Parameters of a built-in by position or name.
class Bound {
 public:
  /// Errors: kInvalidArgument (too many arguments, an unknown name, one given twice).
  static Result<Bound> bind(Args& args, std::initializer_list<std::string_view> names);
  bool has(size_t i) const { return values_[i].has_value(); }
  const Value& at(size_t i) const { return *values_[i]; }
  Value get(size_t i, Value fallback = Value()) const { return values_[i].value_or(std::move(fallback)); }
  bool flag(size_t i, bool fallback) const;
  /// Errors: kInvalidArgument (no integer).
  Result<int64_t> integer(size_t i, int64_t fallback) const;
  /// Errors: kInvalidArgument (no string).
  Result<std::string> string(size_t i, std::string_view fallback) const;

 private:
  std::vector<std::optional<Value>> values_;
  std::vector<std::string_view> names_;
};

Status type_error(std::string message);

// ---- pieces with files of their own ----
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// Python's json.dumps. Errors: kInvalidArgument (a value without a JSON form); kResourceExhausted.
Result<std::string> dump_json(Runtime& runtime, const Value& v, const JsonStyle& style);

/// Python's strftime in the C locale. Unknown directives stay as they are. Errors: kInvalidArgument (a width
/// beyond measure).
Result<std::string> format_time(std::string_view format, const ClockTime& time);

/// format % args. Errors: kInvalidArgument.
Result<std::string> format_percent(Runtime& runtime, const std::string& format, const Value& args);
/// format.format(args). Errors: kInvalidArgument.
Result<std::string> format_braces(Runtime& runtime, const std::string& format, Args& args);

/// A namespace object, as the global of that name makes it.
class Namespace : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  bool attribute(Runtime& runtime, std::string_view name, Value& out) override;
  Dict& values() { return values_; }

 private:
  Dict values_;
};

}  // namespace skua::jinja
