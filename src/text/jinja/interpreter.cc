// Statements: what each tag does. Expressions are in evaluate.cc, macros and loops as objects in
// callables.cc. Source of the scoping rules: jinja2 3.1, compiler.py.
#include "text/jinja/interpreter.h"

#include "text/jinja/callables.h"

namespace skua::jinja {

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    for (const auto& [known, value] : scope->names) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  for (auto& [known, old] : names) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  names.emplace_back(name, std::move(value));
}

// A scope for the length of a block.
class Interpreter::ScopeUse {
 public:
  ScopeUse(Interpreter& interpreter, Scope* parent)
      : interpreter_(interpreter), scope_(interpreter.new_scope(parent)) {}
  ~ScopeUse() { interpreter_.drop_scope(scope_); }
  ScopeUse(const ScopeUse&) = delete;
  ScopeUse& operator=(const ScopeUse&) = delete;
  Scope* get() const { return scope_; }

 private:
  Interpreter& interpreter_;
  Scope* scope_;
};

Interpreter::Interpreter(Limits limits, std::function<ClockTime()> clock)
    : Runtime(limits, std::move(clock)) {}

Interpreter::~Interpreter() {
  for (const Value& value : kept_) {
    auto* space = dynamic_cast<Namespace*>(&value.as_object());
    if (space != nullptr) space->values() = Dict();
  }
}

Scope* Interpreter::new_scope(Scope* parent) {
  Scope* scope = nullptr;
  if (free_scopes_.empty()) {
    scope = &scopes_.emplace_back();
  } else {
    scope = free_scopes_.back();
    free_scopes_.pop_back();
  }
  scope->parent = parent;
  return scope;
}

void Interpreter::drop_scope(Scope* scope) {
  if (scope->captured) return;
  scope->names.clear();
  free_scopes_.push_back(scope);
}

Status Interpreter::append(std::string& out, std::string_view text) {
  SKUA_RETURN_IF_ERROR(charge(text.size()));
  out.append(text);
  return ok_status();
}

Result<std::string> Interpreter::render(const Body& body, const Dict& variables) {
  variables_ = &variables;
  std::string out;
  const ScopeUse top(*this, nullptr);
  SKUA_RETURN_IF_ERROR(run(body, top.get(), out).status());
  return out;
}

namespace {

// Errors of statements and expressions name the innermost line they happened in.
Status located(Status status, int line) {
  if (status.ok() || status.message().starts_with("[template]")) return status;
  return Status(status.code(), "[template] line " + std::to_string(line) + ": " + status.message());
}

}  // namespace

Result<Interpreter::Flow> Interpreter::run(const Body& body, Scope* scope, std::string& out) {
  const Nest nest(*this);
  SKUA_RETURN_IF_ERROR(nest.check());
  for (const auto& stmt : body) {
    auto flow = run_one(*stmt, scope, out);
    if (!flow.ok()) return located(flow.status(), stmt->line);
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_one(const Stmt& stmt, Scope* scope, std::string& out) {
  SKUA_RETURN_IF_ERROR(step());
  switch (stmt.kind) {
    case StmtKind::kText:
      SKUA_RETURN_IF_ERROR(append(out, stmt.text));
      return Flow::kNext;
    case StmtKind::kPrint: {
      SKUA_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr, scope));
      if (value.is_string()) {
        SKUA_RETURN_IF_ERROR(append(out, value.as_string()));
      } else {
        SKUA_ASSIGN_OR_RETURN(const std::string text, text_of(value));
        SKUA_RETURN_IF_ERROR(append(out, text));
      }
      return Flow::kNext;
    }
    case StmtKind::kIf:
      return run_if(stmt, scope, out);
    case StmtKind::kFor: {
      SKUA_ASSIGN_OR_RETURN(const Value iterable, evaluate(*stmt.expr, scope));
      return run_for(stmt, scope, iterable, 1, out);
    }
    case StmtKind::kSet: {
      SKUA_ASSIGN_OR_RETURN(const Value value, evaluate(*stmt.expr, scope));
      SKUA_RETURN_IF_ERROR(assign(stmt.target, value, scope, stmt.line));
      return Flow::kNext;
    }
    case StmtKind::kSetBlock:
      SKUA_RETURN_IF_ERROR(run_set_block(stmt, scope));
      return Flow::kNext;
    case StmtKind::kMacro:
      for (Scope* s = scope; s != nullptr; s = s->parent) s->captured = true;
      scope->set(stmt.text, make_macro(*this, stmt, scope));
      return Flow::kNext;
    case StmtKind::kCall:
      SKUA_RETURN_IF_ERROR(run_call_block(stmt, scope, out));
      return Flow::kNext;
    case StmtKind::kFilter: {
      const ScopeUse inner(*this, scope);
      std::string text;
      SKUA_RETURN_IF_ERROR(run(stmt.body, inner.get(), text).status());
      SKUA_ASSIGN_OR_RETURN(const Value value,
                            through_filters(*stmt.expr, Value::string(std::move(text)), scope));
      SKUA_ASSIGN_OR_RETURN(const std::string printed, text_of(value));
      SKUA_RETURN_IF_ERROR(append(out, printed));
      return Flow::kNext;
    }
    case StmtKind::kWith:
      return run_with(stmt, scope, out);
    case StmtKind::kScope: {
      const ScopeUse inner(*this, scope);
      return run(stmt.body, inner.get(), out);
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_if(const Stmt& stmt, Scope* scope, std::string& out) {
  for (const auto& [test, body] : stmt.branches) {
    SKUA_ASSIGN_OR_RETURN(const Value value, evaluate(*test, scope));
    if (truthy(value)) return run(body, scope, out);
  }
  return run(stmt.otherwise, scope, out);
}

// The items a loop goes over: those that its `if` lets through.
Result<std::vector<Value>> Interpreter::loop_items(const Stmt& stmt, Scope* scope, const Value& iterable) {
  SKUA_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(iterable));
  if (!stmt.condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const ScopeUse inner(*this, scope);
    SKUA_RETURN_IF_ERROR(assign(stmt.target, item, inner.get(), stmt.line));
    SKUA_ASSIGN_OR_RETURN(const Value wanted, evaluate(*stmt.condition, inner.get()));
    if (truthy(wanted)) kept.push_back(std::move(item));
  }
  return kept;
}

Result<Interpreter::Flow> Interpreter::run_for(const Stmt& stmt, Scope* scope, const Value& iterable,
                                               int depth, std::string& out) {
  SKUA_ASSIGN_OR_RETURN(std::vector<Value> items, loop_items(stmt, scope, iterable));
  const auto loop = make_loop(*this, stmt, scope, std::move(items), depth);
  const Value loop_value = Value::object(loop);
  bool completed = false;
  for (size_t i = 0; i < loop->size(); ++i) {
    SKUA_RETURN_IF_ERROR(step(4));  // a turn costs that much even when its body is empty
    loop->move_to(i);
    const ScopeUse inner(*this, scope);
    inner.get()->set("loop", loop_value);
    SKUA_RETURN_IF_ERROR(assign(stmt.target, loop->item(i), inner.get(), stmt.line));
    SKUA_ASSIGN_OR_RETURN(const Flow flow, run(stmt.body, inner.get(), out));
    completed = completed || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // As in Jinja2, `else` runs unless some turn of the body reached its end without break or continue.
  if (completed || stmt.otherwise.empty()) return Flow::kNext;
  const ScopeUse inner(*this, scope);
  return run(stmt.otherwise, inner.get(), out);
}

Result<std::string> Interpreter::run_loop_again(const Stmt& loop, Scope* scope, const Value& items,
                                                int depth) {
  const Nest nest(*this);
  SKUA_RETURN_IF_ERROR(nest.check());
  std::string out;
  SKUA_RETURN_IF_ERROR(run_for(loop, scope, items, depth, out).status());
  return out;
}

Status Interpreter::run_set_block(const Stmt& stmt, Scope* scope) {
  std::string text;
  {
    const ScopeUse inner(*this, scope);
    SKUA_RETURN_IF_ERROR(run(stmt.body, inner.get(), text).status());
  }
  Value value = Value::string(std::move(text));
  if (stmt.expr) {
    SKUA_ASSIGN_OR_RETURN(value, through_filters(*stmt.expr, value, scope));
  }
  return assign(stmt.target, value, scope, stmt.line);
}

Status Interpreter::run_call_block(const Stmt& stmt, Scope* scope, std::string& out) {
  for (Scope* s = scope; s != nullptr; s = s->parent) s->captured = true;
  SKUA_ASSIGN_OR_RETURN(const Value callee, evaluate(*stmt.expr->args[0], scope));
  SKUA_ASSIGN_OR_RETURN(Args args, arguments(stmt.expr->call, scope));
  args.keyword.emplace_back("caller", make_macro(*this, stmt, scope));
  SKUA_ASSIGN_OR_RETURN(const Value value, call(callee, args));
  SKUA_ASSIGN_OR_RETURN(const std::string text, text_of(value));
  return append(out, text);
}

Result<Interpreter::Flow> Interpreter::run_with(const Stmt& stmt, Scope* scope, std::string& out) {
  // The values see the names around the block, not each other.
  std::vector<Value> values;
  for (const auto& [target, expr] : stmt.assignments) {
    SKUA_ASSIGN_OR_RETURN(Value value, evaluate(*expr, scope));
    values.push_back(std::move(value));
  }
  const ScopeUse inner(*this, scope);
  for (size_t i = 0; i < values.size(); ++i) {
    SKUA_RETURN_IF_ERROR(assign(stmt.assignments[i].first, values[i], inner.get(), stmt.line));
  }
  return run(stmt.body, inner.get(), out);
}

Status Interpreter::assign(const Target& target, const Value& value, Scope* scope, int line) {
  if (!target.parts.empty()) {
    SKUA_ASSIGN_OR_RETURN(const std::vector<Value> items, iterate(value));
    if (items.size() != target.parts.size()) {
      return type_error("cannot unpack " + std::to_string(items.size()) + " values into " +
                        std::to_string(target.parts.size()) + " names");
    }
    for (size_t i = 0; i < items.size(); ++i) {
      SKUA_RETURN_IF_ERROR(assign(target.parts[i], items[i], scope, line));
    }
    return ok_status();
  }
  if (target.attribute.empty()) {
    scope->set(target.name, value);
    return ok_status();
  }
  const Value base = lookup(target.name, scope);
  auto* space = base.is_object() ? dynamic_cast<Namespace*>(&base.as_object()) : nullptr;
  if (space == nullptr)
    return type_error("cannot assign attribute on non-namespace object '" + target.name + "'");
  space->values().set(Value::string(target.attribute), value);
  return ok_status();
}

}  // namespace skua::jinja
