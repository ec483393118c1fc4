// The rules are those of jinja2 3.1 (idtracking.py, and the frames that compiler.py opens). They decide
// before anything runs what a name means, and differ from looking names up as one goes: a name that some
// later line of a frame sets is that frame's own from its beginning, and undefined in the loops and macros
// inside of it until then.
#include "text/jinja/frames.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "text/jinja/names.h"
#include "text/jinja/runtime.h"
#include "text/jinja/walk.h"

namespace skua::jinja {
namespace {

Status error_at(int line, const std::string& what) {
  return invalid_argument("[template] line " + std::to_string(line) + ": " + what);
}

// The names of one frame while it is read. A branch of an `if` adds to what its frame had before (`base`).
class Symbols {
 public:
  explicit Symbols(const Symbols* outer) : outer_(outer) {}
  static Symbols branch_of(const Symbols& base) {
    Symbols out(base.outer_);
    out.base_ = &base;
    return out;
  }

  bool knows(const std::string& name) const { return owns(name) || outer_knows(name); }

  void load(const std::string& name) {
    if (!knows(name)) define(name, Load::kResolve);
  }
  void store(const std::string& name) {
    stores_.insert(name);
    if (!owns(name)) define(name, outer_knows(name) ? Load::kAlias : Load::kUndefined);
  }
  void declare(const std::string& name) {
    stores_.insert(name);
    define(name, Load::kParameter);
  }

  // After an `if`: what only some way through it sets keeps the value from before.
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> set_inside;
    for (const Symbols& branch : branches) {
      for (const std::string& name : branch.stores_) {
        if (!stored(name)) set_inside.insert(name);
      }
    }
    for (const Symbols& branch : branches) {
      for (const Ref& ref : branch.refs_) define(ref.name, ref.load);
      stores_.insert(branch.stores_.begin(), branch.stores_.end());
    }
    for (const std::string& name : set_inside) {
      define(name, outer_knows(name) ? Load::kAlias : Load::kResolve);
    }
  }

  Frame frame() const {
    Frame out{refs_};
    for (Ref& ref : out.refs) ref.stored = stores_.contains(ref.name);
    return out;
  }

 private:
  bool owns(const std::string& name) const {
    return index_.contains(name) || (base_ != nullptr && base_->owns(name));
  }
  bool outer_knows(const std::string& name) const { return outer_ != nullptr && outer_->knows(name); }
  bool stored(const std::string& name) const {
    return stores_.contains(name) || (base_ != nullptr && base_->stored(name));
  }
  void define(const std::string& name, Load load) {
    const auto [at, is_new] = index_.try_emplace(name, refs_.size());
    if (is_new) {
      refs_.push_back({name, load, false});
    } else {
      refs_[at->second].load = load;
    }
  }

  const Symbols* outer_;
  const Symbols* base_ = nullptr;
  std::vector<Ref> refs_;
  std::unordered_map<std::string, size_t> index_;
  std::set<std::string> stores_;
};

// ---- reading one frame: its statements, but not the insides of those that open frames of their own ----

void read(const Expr& expr, Symbols& symbols) {
  if (expr.kind == ExprKind::kName) symbols.load(expr.name);
  for_each_part(expr, [&](const Expr& part) { read(part, symbols); });
}

void read(const ExprPtr& expr, Symbols& symbols) {
  if (expr) read(*expr, symbols);
}

enum class As : uint8_t { kStored, kParameter };

void read(const Target& target, Symbols& symbols, As as) {
  for (const Target& part : target.parts) read(part, symbols, as);
  if (!target.parts.empty()) return;
  if (!target.attribute.empty()) {
    symbols.load(target.name);
  } else if (as == As::kParameter) {
    symbols.declare(target.name);
  } else {
    symbols.store(target.name);
  }
}

void read(const Body& body, Symbols& symbols);

// An `elif` is an `if` of its own inside of the branch of all `elif`s.
void read_if(const Stmt& stmt, Symbols& symbols) {
  const auto branch = [](const Symbols& base, const Body& body) {
    Symbols out = Symbols::branch_of(base);
    read(body, out);
    return out;
  };
  read(stmt.branches[0].first, symbols);
  std::vector<Symbols> branches;
  branches.push_back(branch(symbols, stmt.branches[0].second));
  Symbols others = Symbols::branch_of(symbols);
  for (size_t i = 1; i < stmt.branches.size(); ++i) {
    read(stmt.branches[i].first, others);
    std::vector<Symbols> only;
    only.push_back(branch(others, stmt.branches[i].second));
    others.merge(only);
  }
  branches.push_back(std::move(others));
  branches.push_back(branch(symbols, stmt.otherwise));
  symbols.merge(branches);
}

void read(const Stmt& stmt, Symbols& symbols) {
  switch (stmt.kind) {
    case StmtKind::kIf:
      return read_if(stmt, symbols);
    case StmtKind::kSet:
      read(stmt.expr, symbols);
      return read(stmt.target, symbols, As::kStored);
    case StmtKind::kSetBlock:
      return read(stmt.target, symbols, As::kStored);
    case StmtKind::kMacro:
      return symbols.store(stmt.text);
    case StmtKind::kWith:
      for (const auto& [target, value] : stmt.assignments) read(value, symbols);
      return;
    case StmtKind::kLoader:
      read(stmt.expr, symbols);
      for (const auto& [target, value] : stmt.assignments) read(target, symbols, As::kStored);
      return;
    case StmtKind::kPrint:
    case StmtKind::kFor:
    case StmtKind::kCall:
    case StmtKind::kFilter:
      return read(stmt.expr, symbols);
    default:
      return;
  }
}

void read(const Body& body, Symbols& symbols) {
  for (const auto& stmt : body) read(*stmt, symbols);
}

// ---- the whole template ----

// What surrounds a statement.
struct Around {
  bool soft = false;  // directly inside of an `if`: unknown filters matter only when reached
  bool top = false;   // of the template's own frame
};

class Settler {
 public:
  explicit Settler(Template& whole) : whole_(whole) {}

  Status run() {
    Symbols root(nullptr);
    if (mentions(whole_.body, "self")) root.declare("self");
    read(whole_.body, root);
    whole_.frame = root.frame();
    SKUA_RETURN_IF_ERROR(settle(whole_.body, root, {.top = true}));
    for (size_t i = 0; i < found_.size(); ++i) SKUA_RETURN_IF_ERROR(settle_block(*found_[i]));
    std::sort(whole_.blocks.begin(), whole_.blocks.end());
    return ok_status();
  }

 private:
  Status settle_block(Stmt& block) {
    const bool twice = std::any_of(whole_.blocks.begin(), whole_.blocks.end(),
                                   [&](const auto& pair) { return pair.first == block.text; });
    if (twice) return error_at(block.line, "block '" + block.text + "' is defined twice");
    whole_.blocks.emplace_back(block.text, &block);
    Symbols symbols(nullptr);
    for (const char* name : {"self", "super"}) {
      if (mentions(block.body, name)) symbols.declare(name);
    }
    read(block.body, symbols);
    block.frame = symbols.frame();
    return settle(block.body, symbols, {});
  }

  Status settle(Body& body, const Symbols& symbols, Around around) {
    for (auto& stmt : body) SKUA_RETURN_IF_ERROR(settle(*stmt, symbols, around));
    return ok_status();
  }

  Status settle(Stmt& stmt, const Symbols& symbols, Around around) {
    SKUA_RETURN_IF_ERROR(check(stmt, around));
    switch (stmt.kind) {
      case StmtKind::kIf:
        for (auto& [test, body] : stmt.branches) {
          SKUA_RETURN_IF_ERROR(settle(body, symbols, {.soft = true, .top = around.top}));
        }
        return settle(stmt.otherwise, symbols, {.soft = true, .top = around.top});
      case StmtKind::kFor:
        return settle_for(stmt, symbols);
      case StmtKind::kMacro:
      case StmtKind::kCall:
      case StmtKind::kGeneration:
        return settle_macro(stmt, symbols);
      case StmtKind::kSetBlock:
      case StmtKind::kFilter:
      case StmtKind::kWith:
      case StmtKind::kScope:
        return settle_scope(stmt, symbols);
      case StmtKind::kBlock:
        found_.push_back(&stmt);
        return ok_status();
      default:
        return ok_status();
    }
  }

  Status settle_for(Stmt& stmt, const Symbols& symbols) {
    if (stores(stmt, "loop"))
      return error_at(stmt.line, "cannot assign to the special variable 'loop' in a loop");
    Symbols turn(&symbols);
    if (stmt.recursive || mentions(stmt.body, "loop") || has_scoped_block(stmt)) turn.declare("loop");
    read(stmt.target, turn, As::kParameter);
    read(stmt.body, turn);
    stmt.frame = turn.frame();
    SKUA_RETURN_IF_ERROR(settle(stmt.body, turn, {}));
    Symbols otherwise(&symbols);
    read(stmt.otherwise, otherwise);
    stmt.else_frame = otherwise.frame();
    SKUA_RETURN_IF_ERROR(settle(stmt.otherwise, otherwise, {}));
    Symbols test(&symbols);
    read(stmt.target, test, As::kParameter);
    read(stmt.condition, test);
    stmt.test_frame = test.frame();
    return ok_status();
  }

  Status settle_macro(Stmt& stmt, const Symbols& symbols) {
    Symbols inner(&symbols);
    const auto has_param = [&](std::string_view name) {
      return std::any_of(stmt.params.begin(), stmt.params.end(),
                         [&](const Param& p) { return p.name == name; });
    };
    for (const Param& param : stmt.params) inner.declare(param.name);
    for (const Param& param : stmt.params) read(param.fallback, inner);
    read(stmt.body, inner);
    const std::set<std::string> special = mentioned(stmt.body, {"caller", "kwargs", "varargs"});
    stmt.uses_caller = special.contains("caller");
    stmt.uses_kwargs = special.contains("kwargs") && !has_param("kwargs");
    stmt.uses_varargs = special.contains("varargs") && !has_param("varargs");
    for (const Param& param : stmt.params) {
      if (stmt.uses_caller && param.name == "caller" && !param.fallback) {
        return error_at(stmt.line, "the special argument 'caller' must be left out or be given a default");
      }
    }
    if (stmt.uses_caller && !has_param("caller")) inner.declare("caller");
    if (stmt.uses_kwargs) inner.declare("kwargs");
    if (stmt.uses_varargs) inner.declare("varargs");
    stmt.frame = inner.frame();
    return settle(stmt.body, inner, {});
  }

  Status settle_scope(Stmt& stmt, const Symbols& symbols) {
    Symbols inner(&symbols);
    for (const auto& [target, value] : stmt.assignments) read(target, inner, As::kParameter);
    read(stmt.body, inner);
    if (stmt.kind == StmtKind::kFilter) read(stmt.expr, inner);
    stmt.frame = inner.frame();
    // Jinja2 forgets to look for names in the filters of a set block.
    if (stmt.kind == StmtKind::kSetBlock && stmt.expr) SKUA_RETURN_IF_ERROR(check_known(*stmt.expr, inner));
    return settle(stmt.body, inner, {});
  }

  static Status check_known(const Expr& expr, const Symbols& symbols) {
    if (expr.kind == ExprKind::kName && !symbols.knows(expr.name)) {
      return error_at(expr.line,
                      "the filter of a set block names '" + expr.name +
                          "', which nothing before it in the block or around it uses (Jinja2 refuses this)");
    }
    Status status = ok_status();
    for_each_part(expr, [&](const Expr& part) {
      if (status.ok()) status = check_known(part, symbols);
    });
    return status;
  }

  // Filters and tests by name, and where extends may stand.
  static Status check(const Stmt& stmt, Around around) {
    if (stmt.kind == StmtKind::kLoader && stmt.text == "extends" && !around.top)
      return error_at(stmt.line, "tag 'extends' is allowed only outside of other tags");
    const bool in_body = stmt.kind == StmtKind::kFilter || stmt.kind == StmtKind::kSetBlock;
    if (stmt.expr) SKUA_RETURN_IF_ERROR(check(*stmt.expr, !in_body && around.soft));
    if (stmt.condition) SKUA_RETURN_IF_ERROR(check(*stmt.condition, false));
    for (const auto& [test, body] : stmt.branches) SKUA_RETURN_IF_ERROR(check(*test, true));
    for (const Param& param : stmt.params) {
      if (param.fallback) SKUA_RETURN_IF_ERROR(check(*param.fallback, false));
    }
    for (const auto& [target, value] : stmt.assignments) {
      if (value) SKUA_RETURN_IF_ERROR(check(*value, around.soft));
    }
    return ok_status();
  }

  static Status check(const Expr& expr, bool soft) {
    if (!soft && expr.kind == ExprKind::kFilter && find_filter(expr.name) == nullptr)
      return error_at(expr.line, "no filter named '" + expr.name + "'");
    if (!soft && expr.kind == ExprKind::kTest && find_test(expr.name) == nullptr)
      return error_at(expr.line, "no test named '" + expr.name + "'");
    const bool inner = soft || expr.kind == ExprKind::kCondition;
    Status status = ok_status();
    for_each_part(expr, [&](const Expr& part) {
      if (status.ok()) status = check(part, inner);
    });
    return status;
  }

  Template& whole_;
  std::vector<Stmt*> found_;  // blocks whose frames are still to be settled
};

}  // namespace

Status settle_frames(Template& whole) { return Settler(whole).run(); }

}  // namespace skua::jinja
