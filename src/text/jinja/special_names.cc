// A walk over a macro's body, once, when it is parsed.
#include "text/jinja/special_names.h"

#include <algorithm>

namespace skua::jinja {
namespace {

bool mentions(const Body& body, std::string_view name);

bool mentions(const Expr* expr, std::string_view name) {
  if (expr == nullptr) return false;
  if (expr->kind == ExprKind::kName && expr->name == name) return true;
  const auto any = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const ExprPtr& e) { return mentions(e.get(), name); });
  };
  if (any(expr->args) || any(expr->call.positional)) return true;
  if (mentions(expr->call.star.get(), name) || mentions(expr->call.double_star.get(), name)) return true;
  return std::any_of(expr->call.keyword.begin(), expr->call.keyword.end(),
                     [&](const auto& pair) { return mentions(pair.second.get(), name); });
}

bool mentions(const Stmt& stmt, std::string_view name) {
  if (mentions(stmt.expr.get(), name) || mentions(stmt.condition.get(), name)) return true;
  if (mentions(stmt.body, name) || mentions(stmt.otherwise, name)) return true;
  for (const auto& [test, body] : stmt.branches) {
    if (mentions(test.get(), name) || mentions(body, name)) return true;
  }
  return std::any_of(stmt.assignments.begin(), stmt.assignments.end(),
                     [&](const auto& pair) { return mentions(pair.second.get(), name); });
}

bool mentions(const Body& body, std::string_view name) {
  return std::any_of(body.begin(), body.end(), [&](const auto& stmt) { return mentions(*stmt, name); });
}

}  // namespace

void note_special_names(Stmt& macro) {
  macro.uses_caller = mentions(macro.body, "caller");
  macro.uses_varargs = mentions(macro.body, "varargs");
  macro.uses_kwargs = mentions(macro.body, "kwargs");
}

}  // namespace skua::jinja
