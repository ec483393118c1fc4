// Making, comparing and hashing values. Printing is in print.cc.
#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace skua::jinja {

namespace {

uint64_t add_weights(uint64_t a, uint64_t b) { return std::min<uint64_t>(a + b, uint64_t{1} << 60); }

}  // namespace

Result<Value> Object::call(Runtime&, Args&) {
  return invalid_argument("'" + std::string(type_name()) + "' object is not callable");
}

Value Value::undefined(std::string hint) {
  Value v;
  v.kind_ = Kind::kUndefined;
  v.string_ = std::make_shared<const std::string>(std::move(hint));
  return v;
}

Value Value::boolean(bool b) {
  Value v;
  v.kind_ = Kind::kBool;
  v.int_ = b;
  return v;
}

Value Value::integer(int64_t i) {
  Value v;
  v.kind_ = Kind::kInt;
  v.int_ = i;
  return v;
}

Value Value::real(double d) {
  Value v;
  v.kind_ = Kind::kFloat;
  v.double_ = d;
  return v;
}

Value Value::string(std::string s) {
  Value v;
  v.kind_ = Kind::kString;
  v.string_ = std::make_shared<const std::string>(std::move(s));
  return v;
}

Value Value::marked_escaped() const {
  Value v = *this;
  v.escaped_ = v.is_string();
  return v;
}

Value Value::sequence(std::vector<Value> items, Flavor flavor) {
  Value v;
  v.kind_ = Kind::kSequence;
  v.sequence_ = std::make_shared<Sequence>();
  for (const Value& item : items) {
    v.sequence_->depth = std::max(v.sequence_->depth, item.depth() + 1);
    v.sequence_->weight = add_weights(v.sequence_->weight, item.weight());
  }
  v.sequence_->items = std::move(items);
  v.sequence_->flavor = flavor;
  return v;
}

Value Value::dict(std::shared_ptr<Dict> dict) {
  Value v;
  v.kind_ = Kind::kDict;
  v.dict_ = std::move(dict);
  return v;
}

Value Value::object(std::shared_ptr<Object> object) {
  Value v;
  v.kind_ = Kind::kObject;
  v.object_ = std::move(object);
  return v;
}

bool Value::has_flavor(Flavor flavor) const { return is_sequence() && sequence_->flavor == flavor; }

int Value::depth() const {
  if (is_sequence()) return sequence_->depth;
  return is_dict() ? dict_->depth : 0;
}

uint64_t Value::weight() const {
  if (is_string()) return 1 + string_->size() / 16;
  if (is_sequence()) return sequence_->weight;
  return is_dict() ? dict_->weight : 1;
}

const void* Value::identity() const {
  if (string_) return string_.get();
  if (sequence_) return sequence_.get();
  if (dict_) return dict_.get();
  return object_.get();
}

// ---- dictionaries ----

size_t Dict::slot_of(const Value& key) const {
  const size_t mask = index_.size() - 1;
  size_t i = hash_of(key) & mask;
  while (index_[i] != UINT32_MAX && !equals(items[index_[i]].first, key)) i = (i + 1) & mask;
  return i;
}

void Dict::rebuild_index() {
  size_t n = 32;
  while (n < items.size() * 4) n *= 2;
  index_.assign(n, UINT32_MAX);
  for (uint32_t i = 0; i < items.size(); ++i) index_[slot_of(items[i].first)] = i;
}

const Value* Dict::find(const Value& key) const {
  if (index_.empty()) {
    for (const auto& [k, v] : items) {
      if (equals(k, key)) return &v;
    }
    return nullptr;
  }
  const uint32_t at = index_[slot_of(key)];
  return at == UINT32_MAX ? nullptr : &items[at].second;
}

const Value* Dict::find(std::string_view key) const {
  if (items.size() <= 8) {
    for (const auto& [k, v] : items) {
      if (k.is_string() && k.as_string() == key) return &v;
    }
    return nullptr;
  }
  return find(Value::string(std::string(key)));
}

void Dict::set(Value key, Value value) {
  depth = std::max({depth, value.depth() + 1, key.depth() + 1});
  weight = add_weights(add_weights(weight, value.weight()), key.weight());
  if (const Value* found = find(key)) {
    const_cast<Value&>(*found) = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() <= 8) return;
  if (index_.size() < items.size() * 2) {
    rebuild_index();
  } else {
    index_[slot_of(items.back().first)] = static_cast<uint32_t>(items.size() - 1);
  }
}

Value from_json(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return Value();
    case Json::Kind::kBool:
      return Value::boolean(json.as_bool());
    case Json::Kind::kInt:
      return Value::integer(json.as_int());
    case Json::Kind::kUint:
      return Value::real(json.as_double());
    case Json::Kind::kDouble:
      return Value::real(json.as_double());
    case Json::Kind::kString:
      return Value::string(json.as_string());
    case Json::Kind::kArray: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json.items()) items.push_back(from_json(item));
      return Value::sequence(std::move(items));
    }
    case Json::Kind::kObject: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, value] : json.members()) dict->set(Value::string(key), from_json(value));
      return Value::dict(std::move(dict));
    }
  }
  return Value();
}

// ---- meaning ----

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
      return v.as_int() != 0;
    case Value::Kind::kFloat:
      return v.as_double() != 0;
    case Value::Kind::kString:
      return !v.as_string().empty();
    case Value::Kind::kSequence:
      return v.has_flavor(Flavor::kGenerator) || !v.as_sequence().items.empty();
    case Value::Kind::kDict:
      return !v.as_dict().items.empty();
    case Value::Kind::kObject:
      return true;
  }
  return false;
}

namespace {

bool is_tuple(const Value& v) { return v.has_flavor(Flavor::kTuple) || v.has_flavor(Flavor::kGroup); }

bool sequences_equal(const Value& a, const Value& b) {
  const bool comparable = (is_tuple(a) && is_tuple(b)) || a.as_sequence().flavor == b.as_sequence().flavor;
  if (!comparable || a.has_flavor(Flavor::kGenerator)) return a.identity() == b.identity();
  const auto& x = a.as_sequence().items;
  const auto& y = b.as_sequence().items;
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equals);
}

bool dicts_equal(const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = b.find(item.first);
    return other != nullptr && equals(item.second, *other);
  });
}

}  // namespace

int order_exactly(int64_t i, double d) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (d >= kTwoTo63) return -1;
  if (d < -kTwoTo63) return 1;
  const auto whole = static_cast<int64_t>(d);
  if (i != whole) return i < whole ? -1 : 1;
  const double rest = d - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

bool equals(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_float() && b.is_float()) return a.as_double() == b.as_double();
    if (a.is_float()) return equals(b, a);
    if (b.is_float()) return !std::isnan(b.as_double()) && order_exactly(a.as_int(), b.as_double()) == 0;
    return a.as_int() == b.as_int();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString:
      return a.as_string() == b.as_string();
    case Value::Kind::kSequence:
      return sequences_equal(a, b);
    case Value::Kind::kDict:
      return dicts_equal(a.as_dict(), b.as_dict());
    default:
      return a.identity() == b.identity();
  }
}

Result<bool> less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_float() && b.is_float()) return a.as_double() < b.as_double();
    if (a.is_float()) return !std::isnan(a.as_double()) && order_exactly(b.as_int(), a.as_double()) > 0;
    if (b.is_float()) return !std::isnan(b.as_double()) && order_exactly(a.as_int(), b.as_double()) < 0;
    return a.as_int() < b.as_int();
  }
  if (a.is_string() && b.is_string()) return a.as_string() < b.as_string();
  const bool lists = a.has_flavor(Flavor::kList) && b.has_flavor(Flavor::kList);
  if (lists || (is_tuple(a) && is_tuple(b))) {
    const auto& x = a.as_sequence().items;
    const auto& y = b.as_sequence().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equals(x[i], y[i])) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  if (a.is_undefined()) return invalid_argument(a.as_string());
  if (b.is_undefined()) return invalid_argument(b.as_string());
  return invalid_argument("'<' not supported between instances of '" + std::string(type_name(a)) + "' and '" +
                          std::string(type_name(b)) + "'");
}

bool hashable(const Value& v) {
  if (v.is_dict() || v.has_flavor(Flavor::kList)) return false;
  if (!is_tuple(v)) return true;
  const auto& items = v.as_sequence().items;
  return std::all_of(items.begin(), items.end(), hashable);
}

uint64_t hash_of(const Value& v) {
  if (v.is_string()) return std::hash<std::string>()(v.as_string()) * 0x9e3779b97f4a7c15ULL >> 7;
  if (v.is_number()) {
    const double d = v.as_double();
    return std::hash<double>()(d == 0 ? 0.0 : d) * 0x9e3779b97f4a7c15ULL >> 7;
  }
  if (is_tuple(v)) {
    uint64_t hash = 17;
    for (const Value& item : v.as_sequence().items) hash = hash * 1000003 + hash_of(item);
    return hash;
  }
  return static_cast<uint64_t>(v.kind()) + (reinterpret_cast<uintptr_t>(v.identity()) >> 4) * 31;
}

}  // namespace skua::jinja
