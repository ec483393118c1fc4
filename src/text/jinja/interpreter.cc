// Statements: what each tag does. Expressions are in evaluate.cc, macros and loops as objects in
// callables.cc. Source of the scoping rules: jinja2 3.1, compiler.py.
#include "text/jinja/interpreter.h"

#include "text/jinja/callables.h"

namespace skua::jinja {

const Scope::Entry* Scope::own(std::string_view name) const {
  for (const Entry& entry : names) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const Scope::Entry* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    if (const Entry* entry = scope->own(name)) return entry;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (Entry& entry : names) {
    if (entry.name != name) continue;
    entry.value = std::move(value);
    entry.missing = false;
    return;
  }
  names.push_back({name, std::move(value), false, true});
}

// A scope for the length of a block.
class Interpreter::ScopeUse {
 public:
  ScopeUse(Interpreter& interpreter, Scope* parent, const Frame& frame)
      : interpreter_(interpreter), scope_(interpreter.new_scope(parent, frame)) {}
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

Scope* Interpreter::new_scope(Scope* parent, const Frame& frame) {
  Scope* scope = nullptr;
  if (free_scopes_.empty()) {
    scope = &scopes_.emplace_back();
  } else {
    scope = free_scopes_.back();
    free_scopes_.pop_back();
  }
  scope->parent = parent;
  scope->context = parent != nullptr ? parent->context : nullptr;
  enter(frame, scope);
  return scope;
}

void Interpreter::enter(const Frame& frame, Scope* scope) {
  spend(frame.refs.size());
  for (const Ref& ref : frame.refs) {
    Scope::Entry entry{ref.name, Value(), true, ref.stored};
    if (ref.load == Load::kResolve) {
      std::optional<Value> value = resolve(ref.name, scope->context);
      entry.missing = !value;
      if (value) entry.value = *std::move(value);
    } else if (ref.load == Load::kAlias) {
      const Scope::Entry* outer = scope->parent->find(ref.name);
      entry.missing = outer->missing;
      entry.value = outer->value;
    }
    scope->names.push_back(std::move(entry));
  }
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

Result<std::string> Interpreter::render(const Template& whole, const Dict& variables) {
  variables_ = &variables;
  template_ = &whole;
  std::string out;
  const ScopeUse top(*this, nullptr, whole.frame);
  root_ = top.get();
  if (root_->own("self") != nullptr) top.get()->set("self", make_self(*this, nullptr));
  SKUA_RETURN_IF_ERROR(run(whole.body, top.get(), out).status());
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
      return run_set_block(stmt, scope);
    case StmtKind::kMacro:
      for (Scope* s = scope; s != nullptr; s = s->parent) s->captured = true;
      scope->set(stmt.text, make_macro(*this, stmt, scope));
      return Flow::kNext;
    case StmtKind::kCall:
      SKUA_RETURN_IF_ERROR(run_call_block(stmt, scope, out));
      return Flow::kNext;
    case StmtKind::kFilter:
      return run_filter_block(stmt, scope, out);
    case StmtKind::kWith:
      return run_with(stmt, scope, out);
    case StmtKind::kScope: {
      const ScopeUse inner(*this, scope, stmt.frame);
      return run(stmt.body, inner.get(), out);
    }
    case StmtKind::kGeneration:
      SKUA_RETURN_IF_ERROR(run_generation(stmt, scope, out));
      return Flow::kNext;
    case StmtKind::kBlock:
      SKUA_RETURN_IF_ERROR(run_block_tag(stmt, scope, out));
      return Flow::kNext;
    case StmtKind::kLoader:
      SKUA_RETURN_IF_ERROR(run_loader(stmt, scope));
      return Flow::kNext;
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

Result<bool> Interpreter::loop_wants(const Stmt& loop, Scope* scope, const Value& item) {
  const ScopeUse inner(*this, scope, loop.test_frame);
  SKUA_RETURN_IF_ERROR(assign(loop.target, item, inner.get(), loop.line));
  SKUA_ASSIGN_OR_RETURN(const Value wanted, evaluate(*loop.condition, inner.get()));
  return truthy(wanted);
}

Result<Interpreter::Flow> Interpreter::run_for(const Stmt& stmt, Scope* scope, const Value& iterable,
                                               int depth, std::string& out) {
  SKUA_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(iterable));
  const auto loop = make_loop(*this, stmt, scope, std::move(items), depth);
  bool completed = false;
  for (size_t i = 0;; ++i) {
    SKUA_ASSIGN_OR_RETURN(const bool more, loop->move_to(i));
    if (!more) break;
    SKUA_RETURN_IF_ERROR(step(4));  // a turn costs that much even when its body is empty
    const ScopeUse inner(*this, scope, stmt.frame);
    if (inner.get()->own("loop") != nullptr) inner.get()->set("loop", Value::object(loop));
    SKUA_RETURN_IF_ERROR(assign(stmt.target, loop->item(i), inner.get(), stmt.line));
    SKUA_ASSIGN_OR_RETURN(const Flow flow, run(stmt.body, inner.get(), out));
    SKUA_RETURN_IF_ERROR(loop->status());
    completed = completed || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // As in Jinja2, `else` runs unless some turn of the body reached its end without break or continue.
  if (completed || stmt.otherwise.empty()) return Flow::kNext;
  const ScopeUse inner(*this, scope, stmt.else_frame);
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

Result<Interpreter::Flow> Interpreter::run_filter_block(const Stmt& stmt, Scope* scope, std::string& out) {
  const ScopeUse inner(*this, scope, stmt.frame);
  std::string text;
  SKUA_ASSIGN_OR_RETURN(const Flow flow, run(stmt.body, inner.get(), text));
  if (flow != Flow::kNext) return flow;  // what was printed so far is lost, as in Jinja2
  SKUA_ASSIGN_OR_RETURN(const Value value,
                        through_filters(*stmt.expr, Value::string(std::move(text)), inner.get()));
  SKUA_ASSIGN_OR_RETURN(const std::string printed, text_of(value));
  SKUA_RETURN_IF_ERROR(append(out, printed));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_set_block(const Stmt& stmt, Scope* scope) {
  std::string text;
  const ScopeUse inner(*this, scope, stmt.frame);
  SKUA_ASSIGN_OR_RETURN(const Flow flow, run(stmt.body, inner.get(), text));
  if (flow != Flow::kNext) return flow;
  Value value = Value::string(std::move(text));
  if (stmt.expr) {
    SKUA_ASSIGN_OR_RETURN(value, through_filters(*stmt.expr, value, inner.get()));
  }
  SKUA_RETURN_IF_ERROR(assign(stmt.target, value, scope, stmt.line));
  return Flow::kNext;
}

// To Jinja2 this is a macro that is called at once.
Status Interpreter::run_generation(const Stmt& stmt, Scope* scope, std::string& out) {
  Args none;
  SKUA_ASSIGN_OR_RETURN(const Value text, call(make_macro(*this, stmt, scope), none));
  return append(out, text.as_string());
}

const Stmt* Interpreter::find_block(std::string_view name) const {
  for (const auto& [known, block] : template_->blocks) {
    if (known == name) return block;
  }
  return nullptr;
}

Status Interpreter::run_block(const Stmt& block, const Context* context, std::string& out) {
  const Nest nest(*this);
  SKUA_RETURN_IF_ERROR(nest.check());
  Scope around;  // a block sees no frame, only a context
  around.context = context;
  const ScopeUse inner(*this, &around, block.frame);
  inner.get()->parent = nullptr;
  if (inner.get()->own("self") != nullptr) inner.get()->set("self", make_self(*this, context));
  if (inner.get()->own("super") != nullptr) {
    inner.get()->set("super", Value::undefined("there is no parent block called '" + block.text + "'"));
  }
  return run(block.body, inner.get(), out).status();
}

Status Interpreter::run_block_tag(const Stmt& stmt, Scope* scope, std::string& out) {
  if (stmt.required) return type_error("the required block '" + stmt.text + "' is not filled in");
  const Context* context = scope->context;
  if (stmt.scoped) {
    Context& derived = contexts_.emplace_back();
    derived.parent = context;
    for (const Scope* s = scope; s != nullptr; s = s->parent) {
      SKUA_RETURN_IF_ERROR(charge(s->names.size() * sizeof(Scope::Entry)));
      for (const Scope::Entry& entry : s->names) {
        // The innermost of a name counts, even when it hides another and holds nothing itself.
        if (!entry.stored || entry.missing || scope->find(entry.name) != &entry) continue;
        derived.names.emplace_back(entry.name, entry.value);
      }
    }
    context = &derived;
  }
  return run_block(stmt, context, out);
}

Status Interpreter::run_loader(const Stmt& stmt, Scope* scope) {
  SKUA_RETURN_IF_ERROR(evaluate(*stmt.expr, scope).status());
  return type_error("tag '" + stmt.text + "' loads another template, and a chat template has none to load");
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
  const ScopeUse inner(*this, scope, stmt.frame);
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
