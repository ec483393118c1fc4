// Global functions: those of Jinja2 that a sandbox offers, and the two that transformers adds.
#include <memory>

#include "text/jinja/runtime.h"

namespace skua::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // as in jinja2's sandbox

Result<Value> make_range(Runtime& runtime, const Value&, Args& args) {
  const auto& p = args.positional;
  if (p.empty() || p.size() > 3 || !args.keyword.empty())
    return type_error("range takes one to three integers");
  for (const Value& v : p) {
    if (v.is_undefined()) return type_error(v.as_string());
    if (!v.is_integral()) return type_error("'" + std::string(type_name(v)) + "' object is not an integer");
  }
  const int64_t start = p.size() > 1 ? p[0].as_int() : 0;
  const int64_t stop = p.size() > 1 ? p[1].as_int() : p[0].as_int();
  const int64_t step = p.size() > 2 ? p[2].as_int() : 1;
  if (step == 0) return type_error("range() step must not be zero");
  std::vector<Value> items;
  for (__int128 i = start; step > 0 ? i < stop : i > stop; i += step) {
    if (static_cast<int64_t>(items.size()) >= kMaxRange)
      return type_error("range too big, at most 100000 items");
    items.push_back(Value::integer(static_cast<int64_t>(i)));
  }
  Value out = Value::sequence(std::move(items), Flavor::kRange);
  out.as_sequence().shown = "range(" + std::to_string(start) + ", " + std::to_string(stop) +
                            (step == 1 ? "" : ", " + std::to_string(step)) + ")";
  return runtime.adopt(std::move(out));
}

// dict(mapping or pairs, name=value...): also the arguments of namespace().
Status fill_dict(Runtime& runtime, Args& args, Dict& out) {
  if (args.positional.size() > 1) return type_error("takes at most one positional argument");
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is_dict()) {
      for (const auto& [key, value] : from.as_dict().items) out.set(key, value);
    } else {
      SKUA_ASSIGN_OR_RETURN(const std::vector<Value> pairs, runtime.iterate(from));
      for (const Value& pair : pairs) {
        SKUA_ASSIGN_OR_RETURN(const std::vector<Value> parts, runtime.iterate(pair));
        if (parts.size() != 2 || !hashable(parts[0])) return type_error("expected pairs of key and value");
        out.set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : args.keyword) out.set(Value::string(name), value);
  return ok_status();
}

Result<Value> make_dict(Runtime& runtime, const Value&, Args& args) {
  auto out = std::make_shared<Dict>();
  SKUA_RETURN_IF_ERROR(fill_dict(runtime, args, *out));
  return runtime.adopt(Value::dict(std::move(out)));
}

Result<Value> make_namespace(Runtime& runtime, const Value&, Args& args) {
  auto out = std::make_shared<Namespace>();
  SKUA_RETURN_IF_ERROR(fill_dict(runtime, args, out->values()));
  return Value::object(std::move(out));
}

Result<Value> raise_exception(Runtime&, const Value&, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"message"}));
  return type_error(b.has(0) ? to_text(b.at(0)) : "raise_exception needs a message");
}

Result<Value> strftime_now(Runtime& runtime, const Value&, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"format"}));
  if (!b.has(0)) return type_error("strftime_now needs a format, such as '%d %B %Y'");
  SKUA_ASSIGN_OR_RETURN(const std::string format, b.string(0, ""));
  SKUA_RETURN_IF_ERROR(runtime.charge(format.size() * 16));
  SKUA_ASSIGN_OR_RETURN(std::string text, format_time(format, runtime.now()));
  return runtime.make_string(std::move(text));
}

class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  bool attribute(Runtime&, std::string_view name, Value& out) override;

 private:
  static Result<Value> next(Runtime&, const Value& self, Args&) {
    auto& cycler = static_cast<Cycler&>(self.as_object());
    const Value& out = cycler.items_[cycler.at_];
    cycler.at_ = (cycler.at_ + 1) % cycler.items_.size();
    return out;
  }
  static Result<Value> reset(Runtime&, const Value& self, Args&) {
    static_cast<Cycler&>(self.as_object()).at_ = 0;
    return Value();
  }

 public:
  std::weak_ptr<Object> self;

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

bool Cycler::attribute(Runtime&, std::string_view name, Value& out) {
  const Value me = Value::object(self.lock());
  if (name == "current") return out = items_[at_], true;
  if (name == "next") return out = bound("next", next, me), true;
  if (name == "reset") return out = bound("reset", reset, me), true;
  return false;
}

Result<Value> make_cycler(Runtime&, const Value&, Args& args) {
  if (args.positional.empty()) return type_error("at least one item has to be provided");
  auto made = std::make_shared<Cycler>(args.positional);
  made->self = made;
  return Value::object(made);
}

class Joiner : public Object {
 public:
  explicit Joiner(std::string separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool attribute(Runtime&, std::string_view, Value&) override { return false; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime&, Args&) override {
    Value out = Value::string(used_ ? separator_ : "");
    used_ = true;
    return out;
  }

 private:
  std::string separator_;
  bool used_ = false;
};

Result<Value> make_joiner(Runtime&, const Value&, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"sep"}));
  SKUA_ASSIGN_OR_RETURN(std::string separator, b.string(0, ", "));
  return Value::object(std::make_shared<Joiner>(std::move(separator)));
}

constexpr std::pair<std::string_view, Builtin> kGlobals[] = {
    {"range", make_range},          {"dict", make_dict},
    {"namespace", make_namespace},  {"raise_exception", raise_exception},
    {"cycler", make_cycler},        {"joiner", make_joiner},
    {"strftime_now", strftime_now},
};

}  // namespace

Builtin find_global(std::string_view name) {
  for (const auto& [known, function] : kGlobals) {
    if (known == name) return function;
  }
  return nullptr;
}

}  // namespace skua::jinja
