// Values of the template language, with Python's meaning. Reference-counted and immutable, but for namespaces
// and what counts while it runs (generators, cyclers).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace skua::jinja {

class Runtime;
class Value;
struct Dict;
struct Sequence;

/// Arguments of a call.
struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

/// A thing with attributes or a call of its own: macro, bound method, namespace, loop.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  /// How it prints.
  virtual std::string repr() const { return "<" + std::string(type_name()) + ">"; }
  /// Nothing when there is no such attribute.
  virtual bool attribute(Runtime& runtime, std::string_view name, Value& out) = 0;
  virtual bool callable() const { return false; }
  virtual Result<Value> call(Runtime& runtime, Args& args);
};

/// What a sequence is in Python; decides how it prints, compares and what it can do.
enum class Flavor : uint8_t { kList, kTuple, kGenerator, kRange, kDictKeys, kDictValues, kDictItems, kGroup };

class Value {
 public:
  enum class Kind : uint8_t { kUndefined, kNone, kBool, kInt, kFloat, kString, kSequence, kDict, kObject };

  Value() = default;  // None
  static Value undefined(std::string hint);
  static Value boolean(bool v);
  static Value integer(int64_t v);
  static Value real(double v);
  static Value string(std::string v);
  static Value sequence(std::vector<Value> items, Flavor flavor = Flavor::kList);
  static Value dict(std::shared_ptr<Dict> dict);
  static Value object(std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }  // not a bool
  bool is_integral() const { return is_int() || is_bool(); }
  bool is_float() const { return kind_ == Kind::kFloat; }
  bool is_number() const { return is_integral() || is_float(); }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool has_flavor(Flavor flavor) const;
  /// A string that `safe` or `escape` made: what meets it gets escaped (escaped.h).
  bool is_escaped() const { return escaped_; }
  /// This string, so marked.
  Value marked_escaped() const;

  // Each accessor asks for the kind it names.
  int64_t as_int() const { return int_; }                                                // integral
  double as_double() const { return is_float() ? double_ : static_cast<double>(int_); }  // number
  const std::string& as_string() const { return *string_; }  // string; the hint of an undefined
  const std::shared_ptr<const std::string>& shared_string() const { return string_; }
  Sequence& as_sequence() const { return *sequence_; }
  Dict& as_dict() const { return *dict_; }
  const std::shared_ptr<Dict>& shared_dict() const { return dict_; }
  Object& as_object() const { return *object_; }
  const std::shared_ptr<Object>& shared_object() const { return object_; }
  const void* identity() const;

  /// How deep containers nest; 0 for anything else.
  int depth() const;
  /// Rough size when printed, in units of 16 bytes; counts shared parts as often as they are reached.
  uint64_t weight() const;

 private:
  Kind kind_ = Kind::kNone;
  bool escaped_ = false;
  union {
    int64_t int_ = 0;
    double double_;
  };
  std::shared_ptr<const std::string> string_;
  std::shared_ptr<Sequence> sequence_;
  std::shared_ptr<Dict> dict_;
  std::shared_ptr<Object> object_;
};

struct Sequence {
  std::vector<Value> items;
  Flavor flavor = Flavor::kList;
  size_t next = 0;    // generators: items before this one are used up
  std::string shown;  // ranges: how it prints
  int depth = 1;
  uint64_t weight = 1;
};

/// Key order kept. Keys are None, bools, numbers, strings and tuples of such.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;
  uint64_t weight = 1;

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);

 private:
  std::vector<uint32_t> index_;  // open-addressed, once there are many keys
  size_t slot_of(const Value& key) const;
  void rebuild_index();
};

/// Limits of one container, so that printing and comparing it stay bounded: how deep it nests, what it
/// weighs.
constexpr int kMaxDepth = 100;
constexpr uint64_t kMaxWeight = 4 << 20;

Value from_json(const Json& json);

bool truthy(const Value& v);
/// Python's ==.
bool equals(const Value& a, const Value& b);
/// Python's <. Errors: kInvalidArgument when the types have no order.
Result<bool> less(const Value& a, const Value& b);
/// The sign of i - d, exactly; 0 when they are equal. `d` is a number.
int order_exactly(int64_t i, double d);
uint64_t hash_of(const Value& v);
/// Whether a value may be a key.
bool hashable(const Value& v);

std::string_view type_name(const Value& v);  // Python's
std::string to_text(const Value& v);         // str()
std::string to_repr(const Value& v);         // repr()
std::string float_text(double v);            // repr() of a float
/// The double nearest to `text`, a whole literal of a float: infinite or zero where it lies out of range.
double parse_real(const std::string& text);

}  // namespace skua::jinja
