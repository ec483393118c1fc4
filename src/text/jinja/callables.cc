// Calling macros; the attributes of `loop`. Source: jinja2 3.1, runtime.py (Macro, LoopContext).
#include "text/jinja/callables.h"

#include <algorithm>

namespace skua::jinja {
namespace {

class Macro : public Object {
 public:
  Macro(Interpreter& interpreter, const Stmt& stmt, Scope* scope)
      : interpreter_(interpreter), stmt_(stmt), scope_(scope) {}

  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return "<Macro " + to_repr(Value::string(stmt_.text)) + ">"; }
  bool callable() const override { return true; }

  bool attribute(Runtime&, std::string_view name, Value& out) override {
    if (name == "name") {
      out = Value::string(stmt_.text);
    } else if (name == "arguments") {
      std::vector<Value> names;
      for (const Param& param : stmt_.params) names.push_back(Value::string(param.name));
      out = Value::sequence(std::move(names), Flavor::kTuple);
    } else if (name == "caller" || name == "catch_varargs" || name == "catch_kwargs") {
      const std::string_view wanted = name == "caller"          ? name
                                      : name == "catch_varargs" ? "varargs"
                                                                : "kwargs";
      out = Value::boolean(wanted == "caller"    ? stmt_.uses_caller
                           : wanted == "varargs" ? stmt_.uses_varargs
                                                 : stmt_.uses_kwargs);
    } else {
      return false;
    }
    return true;
  }

  Result<Value> call(Runtime& runtime, Args& args) override {
    const Runtime::Nest nest(runtime);
    SKUA_RETURN_IF_ERROR(nest.check());
    Scope* names = interpreter_.new_scope(scope_, stmt_.frame);
    SKUA_RETURN_IF_ERROR(bind(args, *names));
    SKUA_RETURN_IF_ERROR(fill_defaults(names));
    std::string out;
    SKUA_RETURN_IF_ERROR(interpreter_.run(stmt_.body, names, out).status());
    interpreter_.drop_scope(names);
    return Value::string(std::move(out));
  }

 private:
  Status bind(Args& args, Scope& names) {
    const size_t n = stmt_.params.size();
    for (size_t i = 0; i < std::min(n, args.positional.size()); ++i) {
      names.set(stmt_.params[i].name, args.positional[i]);
    }
    std::vector<Value> extra;
    if (args.positional.size() > n) {
      extra.assign(args.positional.begin() + static_cast<ptrdiff_t>(n), args.positional.end());
    }
    auto rest = std::make_shared<Dict>();
    bool has_caller = false;
    for (const auto& pair : args.keyword) {
      const std::string& name = pair.first;
      const Value& value = pair.second;
      const auto param = std::find_if(stmt_.params.begin(), stmt_.params.end(),
                                      [&](const Param& p) { return p.name == name; });
      if (param != stmt_.params.end()) {
        if (static_cast<size_t>(param - stmt_.params.begin()) < args.positional.size()) {
          return type_error("macro '" + stmt_.text + "' got two values for '" + name + "'");
        }
        names.set(name, value);
      } else if (name == "caller") {
        names.set(name, value);
        has_caller = true;
      } else {
        rest->set(Value::string(name), value);
      }
    }
    return bind_rest(names, std::move(extra), std::move(rest),
                     has_caller ? Caller::kGiven : Caller::kMissing);
  }

  enum class Caller : uint8_t { kMissing, kGiven };

  Status bind_rest(Scope& names, std::vector<Value> extra, std::shared_ptr<Dict> rest, Caller caller) {
    if (stmt_.uses_varargs) {
      names.set("varargs", Value::sequence(std::move(extra), Flavor::kTuple));
    } else if (!extra.empty()) {
      return type_error("macro '" + stmt_.text + "' takes not more than " +
                        std::to_string(stmt_.params.size()) + " argument(s)");
    }
    if (stmt_.uses_kwargs) {
      names.set("kwargs", Value::dict(std::move(rest)));
    } else if (!rest->items.empty()) {
      return type_error("macro '" + stmt_.text + "' takes no keyword argument '" +
                        to_text(rest->items[0].first) + "'");
    }
    if (std::any_of(stmt_.params.begin(), stmt_.params.end(),
                    [](const Param& p) { return p.name == "caller"; }))
      return ok_status();
    const bool wants_caller = stmt_.uses_caller;
    if (caller == Caller::kGiven && !wants_caller) {
      return type_error("macro '" + stmt_.text + "' was invoked from a call block but does not use 'caller'");
    }
    if (caller == Caller::kMissing && wants_caller)
      names.set("caller", Value::undefined("No caller defined"));
    return ok_status();
  }

  Status fill_defaults(Scope* names) {
    for (const Param& param : stmt_.params) {
      if (!names->own(param.name)->missing) continue;
      if (!param.fallback) {
        names->set(param.name, Value::undefined("parameter '" + param.name + "' was not provided"));
        continue;
      }
      SKUA_ASSIGN_OR_RETURN(Value value, interpreter_.evaluate(*param.fallback, names));
      names->set(param.name, std::move(value));
    }
    return ok_status();
  }

  Interpreter& interpreter_;
  const Stmt& stmt_;
  Scope* scope_;
};

// The function that a block is to `self`.
class BlockCall : public Object {
 public:
  BlockCall(Interpreter& interpreter, const Stmt& block, const Context* context)
      : interpreter_(interpreter), block_(block), context_(context) {}
  std::string_view type_name() const override { return "BlockReference"; }
  bool attribute(Runtime&, std::string_view, Value&) override { return false; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime&, Args& args) override {
    if (!args.positional.empty() || !args.keyword.empty()) return type_error("a block takes no arguments");
    std::string out;
    SKUA_RETURN_IF_ERROR(interpreter_.run_block(block_, context_, out));
    return Value::string(std::move(out));
  }

 private:
  Interpreter& interpreter_;
  const Stmt& block_;
  const Context* context_;
};

class Self : public Object {
 public:
  Self(Interpreter& interpreter, const Context* context) : interpreter_(interpreter), context_(context) {}
  std::string_view type_name() const override { return "TemplateReference"; }
  std::string repr() const override { return "<TemplateReference None>"; }  // a chat template has no name
  bool attribute(Runtime&, std::string_view name, Value& out) override {
    const Stmt* block = interpreter_.find_block(name);
    if (block == nullptr) return false;
    out = Value::object(std::make_shared<BlockCall>(interpreter_, *block, context_));
    return true;
  }

 private:
  Interpreter& interpreter_;
  const Context* context_;
};

Loop& loop_of(const Value& self) { return static_cast<Loop&>(self.as_object()); }

}  // namespace

Value make_macro(Interpreter& interpreter, const Stmt& macro, Scope* scope) {
  return Value::object(std::make_shared<Macro>(interpreter, macro, scope));
}

Value make_self(Interpreter& interpreter, const Context* context) {
  return Value::object(std::make_shared<Self>(interpreter, context));
}

std::shared_ptr<Loop> make_loop(Interpreter& interpreter, const Stmt& stmt, Scope* scope,
                                std::vector<Value> items, int depth) {
  return std::make_shared<Loop>(interpreter, stmt, scope, std::move(items), depth);
}

Result<bool> Loop::reach(size_t n) {
  while (items_.size() < n && taken_ < source_.size()) {
    const Value& next = source_[taken_++];
    bool wanted = true;
    if (stmt_.condition) {
      SKUA_RETURN_IF_ERROR(interpreter_.step());
      SKUA_ASSIGN_OR_RETURN(wanted, interpreter_.loop_wants(stmt_, scope_, next));
    }
    if (wanted) items_.push_back(next);
  }
  return items_.size() >= n;
}

bool Loop::has(size_t n) {
  auto reached = reach(n);
  if (!reached.ok() && status_.ok()) status_ = reached.status();
  return reached.ok() && *reached;
}

Result<bool> Loop::move_to(size_t i) {
  SKUA_ASSIGN_OR_RETURN(const bool more, reach(i + 1));
  if (more) index_ = i;
  return more;
}

bool Loop::attribute(Runtime&, std::string_view name, Value& out) {
  const auto index = static_cast<int64_t>(index_);
  const auto integer = [&](int64_t v) { out = Value::integer(v); };
  const auto count = [&] { return has(source_.size()), static_cast<int64_t>(items_.size()); };
  if (name == "index") return integer(index + 1), true;
  if (name == "index0") return integer(index), true;
  if (name == "revindex") return integer(count() - index), true;
  if (name == "revindex0") return integer(count() - index - 1), true;
  if (name == "length") return integer(count()), true;
  if (name == "depth") return integer(depth_), true;
  if (name == "depth0") return integer(depth_ - 1), true;
  if (name == "first") return out = Value::boolean(index == 0), true;
  if (name == "last") return out = Value::boolean(!has(index_ + 2)), true;
  if (name == "previtem") {
    out = index > 0 ? items_[index_ - 1] : Value::undefined("there is no previous item");
    return true;
  }
  if (name == "nextitem") {
    out = has(index_ + 2) ? items_[index_ + 1] : Value::undefined("there is no next item");
    return true;
  }
  const Value self = Value::object(shared_from_this());
  if (name == "cycle") {
    out = bound(
        "cycle", [](Runtime&, const Value& s, Args& a) { return loop_of(s).cycle(a); }, self);
    return true;
  }
  if (name == "changed") {
    out = bound(
        "changed",
        [](Runtime&, const Value& s, Args& a) -> Result<Value> {
          return Value::boolean(loop_of(s).changed(a));
        },
        self);
    return true;
  }
  return false;
}

Result<Value> Loop::cycle(Args& args) const {
  if (args.positional.empty()) return type_error("no items for cycling given");
  return args.positional[index_ % args.positional.size()];
}

bool Loop::changed(Args& args) {
  const bool same = seen_ && last_changed_.size() == args.positional.size() &&
                    std::equal(last_changed_.begin(), last_changed_.end(), args.positional.begin(), equals);
  seen_ = true;
  last_changed_ = args.positional;
  return !same;
}

Result<Value> Loop::call(Runtime&, Args& args) {
  if (!stmt_.recursive)
    return type_error("the loop must have the 'recursive' marker to be called recursively");
  if (args.positional.size() != 1) return type_error("loop() takes one iterable");
  SKUA_ASSIGN_OR_RETURN(std::string out,
                        interpreter_.run_loop_again(stmt_, scope_, args.positional[0], depth_ + 1));
  return Value::string(std::move(out));
}

}  // namespace skua::jinja
