// Walks a template's tree and prints.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace skua::jinja {

/// Names set in one block of a template. Owned by the interpreter; a macro keeps the one it was defined in.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> names;
  bool captured = false;  // a macro refers to it: it lives as long as the interpreter

  const Value* find(const std::string& name) const;
  void set(const std::string& name, Value value);
};

class Interpreter : public Runtime {
 public:
  Interpreter(Limits limits, std::function<ClockTime()> clock);
  ~Interpreter() override;

  /// Renders `body` with `variables` (names to values). Errors: kInvalidArgument (what the template does
  /// wrong, or raise_exception: the message names the line); kResourceExhausted (a limit).
  Result<std::string> render(const Body& body, const Dict& variables);

  // For macros, loops and call blocks.
  enum class Flow : uint8_t { kNext, kBreak, kContinue };
  Result<Flow> run(const Body& body, Scope* scope, std::string& out);
  Result<Value> evaluate(const Expr& expr, Scope* scope);
  Result<std::string> run_loop_again(const Stmt& loop, Scope* scope, const Value& items, int depth);
  Status keep(const Value& object) {
    SKUA_RETURN_IF_ERROR(charge(256));
    kept_.push_back(object);
    return ok_status();
  }
  Scope* new_scope(Scope* parent);
  /// Gives the scope back, unless a macro refers to it.
  void drop_scope(Scope* scope);

 private:
  class ScopeUse;
  Result<Flow> run_one(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_if(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_for(const Stmt& stmt, Scope* scope, const Value& iterable, int depth, std::string& out);
  Result<std::vector<Value>> loop_items(const Stmt& stmt, Scope* scope, const Value& iterable);
  Status run_set_block(const Stmt& stmt, Scope* scope);
  Status run_call_block(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_with(const Stmt& stmt, Scope* scope, std::string& out);
  Status assign(const Target& target, const Value& value, Scope* scope, int line);
  Status append(std::string& out, std::string_view text);

  Result<Value> evaluate_inner(const Expr& expr, Scope* scope);
  Result<Value> evaluate_binary(const Expr& expr, Scope* scope);
  Result<Value> evaluate_compare(const Expr& expr, Scope* scope);
  Result<Value> evaluate_concat(const Expr& expr, Scope* scope);
  Result<Value> evaluate_condition(const Expr& expr, Scope* scope);
  Result<Value> evaluate_slice(const Expr& expr, Scope* scope);
  Result<Value> evaluate_call(const Expr& expr, Scope* scope);
  Result<Value> evaluate_filter(const Expr& expr, Scope* scope, const Value* body);
  Result<Value> evaluate_test(const Expr& expr, Scope* scope);
  Result<Value> evaluate_dict(const Expr& expr, Scope* scope);
  Result<std::vector<Value>> evaluate_all(const std::vector<ExprPtr>& list, Scope* scope);
  Result<Args> arguments(const CallArgs& call, Scope* scope);
  Value lookup(const std::string& name, Scope* scope);
  /// A filter chain whose innermost value is `text`.
  Result<Value> through_filters(const Expr& chain, const Value& text, Scope* scope);

  const Dict* variables_ = nullptr;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  std::vector<Value> kept_;  // namespaces: emptied at the end, so that none keeps itself alive
};

}  // namespace skua::jinja
