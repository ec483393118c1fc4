// Macros and loops as values.
#pragma once

#include <memory>
#include <vector>

#include "text/jinja/interpreter.h"

namespace skua::jinja {

/// A macro (or the body of a call block) defined in `scope`. The statement and the scope outlive the value.
Value make_macro(Interpreter& interpreter, const Stmt& macro, Scope* scope);

/// `loop` inside of a for.
class Loop : public Object, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Interpreter& interpreter, const Stmt& stmt, Scope* scope, std::vector<Value> items, int depth)
      : interpreter_(interpreter), stmt_(stmt), scope_(scope), items_(std::move(items)), depth_(depth) {}

  size_t size() const { return items_.size(); }
  const Value& item(size_t i) const { return items_[i]; }
  void move_to(size_t i) { index_ = i; }

  std::string_view type_name() const override { return "LoopContext"; }
  bool attribute(Runtime& runtime, std::string_view name, Value& out) override;
  bool callable() const override { return true; }
  Result<Value> call(Runtime& runtime, Args& args) override;
  Result<Value> cycle(Args& args) const;
  bool changed(Args& args);

 private:
  Interpreter& interpreter_;
  const Stmt& stmt_;
  Scope* scope_;
  std::vector<Value> items_;
  size_t index_ = 0;
  int depth_;
  bool seen_ = false;
  std::vector<Value> last_changed_;
};

std::shared_ptr<Loop> make_loop(Interpreter& interpreter, const Stmt& stmt, Scope* scope,
                                std::vector<Value> items, int depth);

}  // namespace skua::jinja
