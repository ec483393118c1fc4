// Macros and loops as values.
#pragma once

#include <memory>
#include <vector>

#include "text/jinja/interpreter.h"

namespace skua::jinja {

/// A macro (or the body of a call block) defined in `scope`. The statement and the scope outlive the value.
Value make_macro(Interpreter& interpreter, const Stmt& macro, Scope* scope);

/// `self` in a template with blocks: each is a function of that name, rendered with `context`.
Value make_self(Interpreter& interpreter, const Context* context);

/// `loop` inside of a for. Items are looked at no sooner than Jinja2 does: the loop's `if` may read what its
/// body changes.
class Loop : public Object, public std::enable_shared_from_this<Loop> {
 public:
  Loop(Interpreter& interpreter, const Stmt& stmt, Scope* scope, std::vector<Value> items, int depth)
      : interpreter_(interpreter), stmt_(stmt), scope_(scope), source_(std::move(items)), depth_(depth) {}

  /// Goes on to turn `i`; false when there are no more.
  Result<bool> move_to(size_t i);
  const Value& item(size_t i) const { return items_[i]; }
  /// What went wrong while an attribute looked ahead.
  const Status& status() const { return status_; }

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
  /// Lets items through until there are `n`; false when there are fewer.
  Result<bool> reach(size_t n);
  bool has(size_t n);

  std::vector<Value> source_;
  size_t taken_ = 0;          // of source_
  std::vector<Value> items_;  // those that were let through
  size_t index_ = 0;
  Status status_ = ok_status();
  int depth_;
  bool seen_ = false;
  std::vector<Value> last_changed_;
};

std::shared_ptr<Loop> make_loop(Interpreter& interpreter, const Stmt& stmt, Scope* scope,
                                std::vector<Value> items, int depth);

}  // namespace skua::jinja
