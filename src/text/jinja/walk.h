// Walking a tree: the parts of a node, in the order in which Jinja2 lists them (its rules about names depend
// on the order).
#pragma once

#include "text/jinja/ast.h"

namespace skua::jinja {

/// Calls visit(const Expr&) for the direct parts of an expression.
template <typename Visit>
void for_each_part(const Expr& expr, Visit visit) {
  const auto one = [&](const ExprPtr& part) {
    if (part) visit(*part);
  };
  if (expr.kind == ExprKind::kCondition) {  // test first
    one(expr.args[1]);
    one(expr.args[0]);
    one(expr.args[2]);
  } else {
    for (const ExprPtr& part : expr.args) one(part);
  }
  for (const ExprPtr& part : expr.call.positional) one(part);
  for (const auto& [name, part] : expr.call.keyword) one(part);
  one(expr.call.star);
  one(expr.call.double_star);
}

}  // namespace skua::jinja
