// Source of the rules: jinja2 3.1, compiler.py (UndeclaredNameVisitor, visit_For).
#include "text/jinja/names.h"

#include <algorithm>

#include "text/jinja/walk.h"

namespace skua::jinja {
namespace {

class Finder {
 public:
  explicit Finder(std::set<std::string> names) : names_(std::move(names)) {}

  std::set<std::string> take() { return std::move(found_); }

  void visit(const Body& body) {
    for (const auto& stmt : body) visit(*stmt);
  }

 private:
  void visit(const Expr& expr) {
    if (expr.kind == ExprKind::kName && names_.contains(expr.name)) found_.insert(expr.name);
    for_each_part(expr, [&](const Expr& part) { visit(part); });
  }
  void visit(const ExprPtr& expr) {
    if (expr) visit(*expr);
  }

  void visit(const Target& target) {
    for (const Target& part : target.parts) visit(part);
    if (target.parts.empty() && target.attribute.empty()) names_.erase(target.name);
  }

  void visit(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kBlock:
        return;
      case StmtKind::kIf:
        for (const auto& [test, body] : stmt.branches) {
          visit(test);
          visit(body);
        }
        return visit(stmt.otherwise);
      case StmtKind::kFilter:
        visit(stmt.body);
        return visit(stmt.expr);
      case StmtKind::kWith:
        for (const auto& [target, value] : stmt.assignments) visit(target);
        for (const auto& [target, value] : stmt.assignments) visit(value);
        return visit(stmt.body);
      case StmtKind::kLoader:
        return visit(stmt.expr);
      default:
        if (!stmt.target.name.empty() || !stmt.target.parts.empty()) visit(stmt.target);
        visit(stmt.expr);
        for (const Param& param : stmt.params) names_.erase(param.name);
        for (const Param& param : stmt.params) visit(param.fallback);
        visit(stmt.body);
        visit(stmt.otherwise);
        return visit(stmt.condition);
    }
  }

  std::set<std::string> names_;
  std::set<std::string> found_;
};

bool stores(const Target& target, std::string_view name) {
  if (target.parts.empty()) return target.attribute.empty() && target.name == name;
  return std::any_of(target.parts.begin(), target.parts.end(),
                     [&](const Target& part) { return stores(part, name); });
}

// Whether `wanted` holds for `stmt` or for a statement inside of it.
template <typename Wanted>
bool any_inside(const Stmt& stmt, const Wanted& wanted) {
  if (wanted(stmt)) return true;
  const auto in = [&](const Body& body) {
    return std::any_of(body.begin(), body.end(),
                       [&](const auto& inner) { return any_inside(*inner, wanted); });
  };
  return in(stmt.body) || in(stmt.otherwise) ||
         std::any_of(stmt.branches.begin(), stmt.branches.end(),
                     [&](const auto& pair) { return in(pair.second); });
}

}  // namespace

std::set<std::string> mentioned(const Body& body, std::set<std::string> names) {
  Finder finder(std::move(names));
  finder.visit(body);
  return finder.take();
}

bool mentions(const Body& body, const std::string& name) { return !mentioned(body, {name}).empty(); }

bool stores(const Stmt& stmt, std::string_view name) {
  return any_inside(stmt, [&](const Stmt& inner) {
    const bool sets =
        inner.kind == StmtKind::kFor || inner.kind == StmtKind::kSet || inner.kind == StmtKind::kSetBlock;
    return sets && stores(inner.target, name);
  });
}

bool has_scoped_block(const Stmt& stmt) {
  return any_inside(stmt, [](const Stmt& inner) { return inner.kind == StmtKind::kBlock && inner.scoped; });
}

}  // namespace skua::jinja
