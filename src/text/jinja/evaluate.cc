// Expressions.
#include "text/jinja/interpreter.h"

namespace skua::jinja {

Value Interpreter::lookup(const std::string& name, const Scope* scope) const {
  const Scope::Entry* entry = scope->find(name);
  if (entry != nullptr && !entry->missing) return entry->value;
  return Value::undefined("'" + name + "' is undefined");
}

std::optional<Value> Interpreter::resolve(const std::string& name, const Context* context) const {
  for (; context != nullptr; context = context->parent) {
    for (const auto& [known, value] : context->names) {
      if (known == name) return value;
    }
  }
  const Scope::Entry* exported = root_ != nullptr ? root_->own(name) : nullptr;
  if (exported != nullptr && !exported->missing) return exported->value;
  if (const Value* found = variables_->find(name)) return *found;
  if (const Builtin global = find_global(name)) return bound(name, global, Value());
  return std::nullopt;
}

Result<Value> Interpreter::evaluate(const Expr& expr, Scope* scope) {
  const Nest nest(*this);
  SKUA_RETURN_IF_ERROR(nest.check());
  SKUA_RETURN_IF_ERROR(step());
  auto value = evaluate_inner(expr, scope);
  if (value.ok() || value.status().message().starts_with("[template]")) return value;
  return Status(value.status().code(),
                "[template] line " + std::to_string(expr.line) + ": " + value.status().message());
}

Result<Value> Interpreter::evaluate_inner(const Expr& expr, Scope* scope) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.value;
    case ExprKind::kName:
      return lookup(expr.name, scope);
    case ExprKind::kList:
    case ExprKind::kTuple: {
      SKUA_ASSIGN_OR_RETURN(std::vector<Value> items, evaluate_all(expr.args, scope));
      return adopt(
          Value::sequence(std::move(items), expr.kind == ExprKind::kList ? Flavor::kList : Flavor::kTuple));
    }
    case ExprKind::kDict:
      return evaluate_dict(expr, scope);
    case ExprKind::kUnary: {
      SKUA_ASSIGN_OR_RETURN(const Value operand, evaluate(*expr.args[0], scope));
      return unary(expr.name, operand);
    }
    case ExprKind::kBinary:
      return evaluate_binary(expr, scope);
    case ExprKind::kConcat:
      return evaluate_concat(expr, scope);
    case ExprKind::kCompare:
      return evaluate_compare(expr, scope);
    case ExprKind::kCondition:
      return evaluate_condition(expr, scope);
    case ExprKind::kAttribute: {
      SKUA_ASSIGN_OR_RETURN(const Value base, evaluate(*expr.args[0], scope));
      return attribute(base, expr.name);
    }
    case ExprKind::kItem: {
      SKUA_ASSIGN_OR_RETURN(const Value base, evaluate(*expr.args[0], scope));
      SKUA_ASSIGN_OR_RETURN(const Value key, evaluate(*expr.args[1], scope));
      return item(base, key);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr, scope);
    case ExprKind::kCall:
      return evaluate_call(expr, scope);
    case ExprKind::kFilter:
      return evaluate_filter(expr, scope, nullptr);
    case ExprKind::kTest:
      return evaluate_test(expr, scope);
  }
  return Value();
}

Result<std::vector<Value>> Interpreter::evaluate_all(const std::vector<ExprPtr>& list, Scope* scope) {
  std::vector<Value> out;
  out.reserve(list.size());
  for (const ExprPtr& expr : list) {
    SKUA_ASSIGN_OR_RETURN(Value value, evaluate(*expr, scope));
    out.push_back(std::move(value));
  }
  return out;
}

Result<Value> Interpreter::evaluate_dict(const Expr& expr, Scope* scope) {
  auto dict = std::make_shared<Dict>();
  for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    SKUA_ASSIGN_OR_RETURN(Value key, evaluate(*expr.args[i], scope));
    SKUA_ASSIGN_OR_RETURN(Value value, evaluate(*expr.args[i + 1], scope));
    if (!hashable(key)) return type_error("unhashable type: '" + std::string(type_name(key)) + "'");
    dict->set(std::move(key), std::move(value));
  }
  return adopt(Value::dict(std::move(dict)));
}

Result<Value> Interpreter::evaluate_binary(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(Value left, evaluate(*expr.args[0], scope));
  if (expr.name == "and") return truthy(left) ? evaluate(*expr.args[1], scope) : left;
  if (expr.name == "or") return truthy(left) ? left : evaluate(*expr.args[1], scope);
  SKUA_ASSIGN_OR_RETURN(const Value right, evaluate(*expr.args[1], scope));
  return binary(expr.name, left, right);
}

Result<Value> Interpreter::evaluate_concat(const Expr& expr, Scope* scope) {
  std::string out;
  for (const ExprPtr& part : expr.args) {
    SKUA_ASSIGN_OR_RETURN(const Value value, evaluate(*part, scope));
    SKUA_ASSIGN_OR_RETURN(const std::string text, text_of(value));
    out += text;
  }
  return make_string(std::move(out));
}

Result<Value> Interpreter::evaluate_compare(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(Value left, evaluate(*expr.args[0], scope));
  for (size_t i = 0; i < expr.names.size(); ++i) {
    SKUA_ASSIGN_OR_RETURN(Value right, evaluate(*expr.args[i + 1], scope));
    const std::string& sign = expr.names[i];
    const bool membership = sign == "in" || sign == "not in";
    auto result = membership ? contains(right, left) : compare(sign, left, right);
    if (!result.ok()) return result.status();
    if (*result == (sign == "not in")) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate_condition(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(const Value test, evaluate(*expr.args[1], scope));
  if (truthy(test)) return evaluate(*expr.args[0], scope);
  if (expr.args[2]) return evaluate(*expr.args[2], scope);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined");
}

Result<Value> Interpreter::evaluate_slice(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(const Value base, evaluate(*expr.args[0], scope));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!expr.args[i + 1]) continue;
    SKUA_ASSIGN_OR_RETURN(bounds[i], evaluate(*expr.args[i + 1], scope));
  }
  return slice(base, bounds[0], bounds[1], bounds[2]);
}

Result<Args> Interpreter::arguments(const CallArgs& call, Scope* scope) {
  Args out;
  SKUA_ASSIGN_OR_RETURN(out.positional, evaluate_all(call.positional, scope));
  if (call.star) {
    SKUA_ASSIGN_OR_RETURN(const Value star, evaluate(*call.star, scope));
    SKUA_ASSIGN_OR_RETURN(const std::vector<Value> more, iterate(star));
    out.positional.insert(out.positional.end(), more.begin(), more.end());
  }
  for (const auto& [name, expr] : call.keyword) {
    SKUA_ASSIGN_OR_RETURN(Value value, evaluate(*expr, scope));
    out.keyword.emplace_back(name, std::move(value));
  }
  if (call.double_star) {
    SKUA_ASSIGN_OR_RETURN(const Value more, evaluate(*call.double_star, scope));
    if (!more.is_dict()) return type_error("argument after ** must be a mapping");
    for (const auto& [key, value] : more.as_dict().items) {
      if (!key.is_string()) return type_error("keywords must be strings");
      out.keyword.emplace_back(key.as_string(), value);
    }
  }
  return out;
}

Result<Value> Interpreter::evaluate_call(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(const Value callee, evaluate(*expr.args[0], scope));
  SKUA_ASSIGN_OR_RETURN(Args args, arguments(expr.call, scope));
  SKUA_ASSIGN_OR_RETURN(Value result, call(callee, args));
  if (result.is_object() && result.as_object().type_name() == "Namespace") SKUA_RETURN_IF_ERROR(keep(result));
  return result;
}

Result<Value> Interpreter::evaluate_filter(const Expr& expr, Scope* scope, const Value* body) {
  Value value;
  if (!expr.args[0]) {
    value = *body;
  } else if (body != nullptr) {
    SKUA_ASSIGN_OR_RETURN(value, through_filters(*expr.args[0], *body, scope));
  } else {
    SKUA_ASSIGN_OR_RETURN(value, evaluate(*expr.args[0], scope));
  }
  SKUA_ASSIGN_OR_RETURN(Args args, arguments(expr.call, scope));
  auto result = filter(expr.name, value, args);
  if (result.ok() || result.status().message().starts_with('[')) return result;
  return Status(result.status().code(), "filter '" + expr.name + "': " + result.status().message());
}

Result<Value> Interpreter::through_filters(const Expr& chain, const Value& text, Scope* scope) {
  if (chain.kind != ExprKind::kFilter) return type_error("expected a chain of filters");
  return evaluate_filter(chain, scope, &text);
}

Result<Value> Interpreter::evaluate_test(const Expr& expr, Scope* scope) {
  SKUA_ASSIGN_OR_RETURN(const Value value, evaluate(*expr.args[0], scope));
  SKUA_ASSIGN_OR_RETURN(Args args, arguments(expr.call, scope));
  auto result = test(expr.name, value, args);
  if (result.ok()) return Value::boolean(*result);
  return Status(result.status().code(), "test '" + expr.name + "': " + result.status().message());
}

}  // namespace skua::jinja
