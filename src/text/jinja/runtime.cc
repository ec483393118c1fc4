// Limits, argument binding, bound functions.
#include "text/jinja/runtime.h"

#include "text/jinja/escaped.h"

namespace skua::jinja {
namespace {

class BoundFunction : public Object {
 public:
  BoundFunction(std::string name, Builtin function, Value self)
      : name_(std::move(name)), function_(function), self_(std::move(self)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  bool attribute(Runtime&, std::string_view, Value&) override { return false; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime& runtime, Args& args) override {
    auto result = self_.is_escaped() ? call_on_escaped(runtime, name_, function_, self_, args)
                                     : function_(runtime, self_, args);
    if (result.ok()) return result;
    const std::string& message = result.status().message();
    if (message.starts_with('[')) return result;
    return Status(result.status().code(), name_ + "(): " + message);
  }

 private:
  std::string name_;
  Builtin function_;
  Value self_;
};

}  // namespace

Status type_error(std::string message) { return invalid_argument(std::move(message)); }

Status Runtime::step(uint64_t steps) {
  steps_ += steps;
  if (steps_ <= limits_.steps) return ok_status();
  return resource_exhausted("the template takes more than " + std::to_string(limits_.steps) + " steps");
}

Status Runtime::charge(uint64_t bytes) {
  bytes_ += bytes;
  if (bytes > limits_.bytes || bytes_ > limits_.bytes) {
    return resource_exhausted("the template makes more than " + std::to_string(limits_.bytes >> 20) +
                              " MiB of text");
  }
  return scan(bytes);
}

Status Runtime::Nest::check() const {
  if (runtime_.depth_ <= runtime_.limits_.depth) return ok_status();
  return resource_exhausted("the template nests calls deeper than " + std::to_string(runtime_.limits_.depth));
}

Result<Value> Runtime::adopt(Value v) {
  if (v.depth() > kMaxDepth) return resource_exhausted("a list or mapping is nested too deeply");
  if (v.weight() > kMaxWeight) return resource_exhausted("a list or mapping is too large");
  const size_t n = v.is_sequence() ? v.as_sequence().items.size()
                   : v.is_dict()   ? v.as_dict().items.size()
                                   : 0;
  SKUA_RETURN_IF_ERROR(charge(n * sizeof(Value)));
  return v;
}

Result<Value> Runtime::make_string(std::string s) {
  SKUA_RETURN_IF_ERROR(charge(s.size()));
  return Value::string(std::move(s));
}

Result<std::string> Runtime::text_of(const Value& v) {
  if (v.weight() > kMaxWeight) return resource_exhausted("a value is too large to print");
  std::string out = to_text(v);
  SKUA_RETURN_IF_ERROR(charge(out.size()));
  return out;
}

Value bound(std::string name, Builtin function, Value self) {
  return Value::object(std::make_shared<BoundFunction>(std::move(name), function, std::move(self)));
}

Result<Bound> Bound::bind(Args& args, std::initializer_list<std::string_view> names) {
  Bound out;
  out.names_.assign(names);
  out.values_.resize(names.size());
  if (args.positional.size() > names.size()) {
    return type_error("takes at most " + std::to_string(names.size()) + " arguments, got " +
                      std::to_string(args.positional.size()));
  }
  for (size_t i = 0; i < args.positional.size(); ++i) out.values_[i] = args.positional[i];
  for (auto& [name, value] : args.keyword) {
    size_t i = 0;
    while (i < out.names_.size() && out.names_[i] != name) ++i;
    if (i == out.names_.size()) return type_error("unknown argument '" + name + "'");
    if (out.values_[i]) return type_error("argument '" + name + "' is given twice");
    out.values_[i] = value;
  }
  return out;
}

bool Bound::flag(size_t i, bool fallback) const { return values_[i] ? truthy(*values_[i]) : fallback; }

Result<int64_t> Bound::integer(size_t i, int64_t fallback) const {
  if (!values_[i] || values_[i]->is_none()) return fallback;
  if (!values_[i]->is_integral())
    return type_error("argument '" + std::string(names_[i]) + "' must be an integer");
  return values_[i]->as_int();
}

Result<std::string> Bound::string(size_t i, std::string_view fallback) const {
  if (!values_[i]) return std::string(fallback);
  if (!values_[i]->is_string())
    return type_error("argument '" + std::string(names_[i]) + "' must be a string");
  return values_[i]->as_string();
}

bool Namespace::attribute(Runtime&, std::string_view name, Value& out) {
  const Value* found = values_.find(name);
  if (found == nullptr) return false;
  out = *found;
  return true;
}

}  // namespace skua::jinja
