// Walks a template's tree and prints.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace skua::jinja {

/// What a block that is `scoped` sees besides the names of the whole template. Owned by the interpreter.
struct Context {
  const Context* parent = nullptr;
  std::vector<std::pair<std::string_view, Value>> names;
};

/// The names of one entered frame (frames.h). Owned by the interpreter; a macro keeps the one it was defined
/// in. Names are views into the template, which outlives them.
struct Scope {
  struct Entry {
    std::string_view name;
    Value value;
    bool missing = true;  // nothing was given or set
    bool stored = false;  // something in the frame sets it
  };
  Scope* parent = nullptr;
  const Context* context = nullptr;
  std::vector<Entry> names;
  bool captured = false;  // a macro refers to it: it lives as long as the interpreter

  const Entry* own(std::string_view name) const;
  const Entry* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

class Interpreter : public Runtime {
 public:
  Interpreter(Limits limits, std::function<ClockTime()> clock);
  ~Interpreter() override;

  /// Renders `whole` with `variables` (names to values). Errors: kInvalidArgument (what the template does
  /// wrong, or raise_exception: the message names the line); kResourceExhausted (a limit).
  Result<std::string> render(const Template& whole, const Dict& variables);

  // For macros, loops and call blocks.
  enum class Flow : uint8_t { kNext, kBreak, kContinue };
  Result<Flow> run(const Body& body, Scope* scope, std::string& out);
  Result<Value> evaluate(const Expr& expr, Scope* scope);
  /// Whether the `if` of a loop lets `item` through.
  Result<bool> loop_wants(const Stmt& loop, Scope* scope, const Value& item);
  /// The block of that name, rendered with what `context` holds; null when there is none.
  const Stmt* find_block(std::string_view name) const;
  Status run_block(const Stmt& block, const Context* context, std::string& out);
  Result<std::string> run_loop_again(const Stmt& loop, Scope* scope, const Value& items, int depth);
  Status keep(const Value& object) {
    SKUA_RETURN_IF_ERROR(charge(256));
    kept_.push_back(object);
    return ok_status();
  }
  /// Enters `frame` inside of `parent`.
  Scope* new_scope(Scope* parent, const Frame& frame);
  /// Gives the scope back, unless a macro refers to it.
  void drop_scope(Scope* scope);

 private:
  class ScopeUse;
  void enter(const Frame& frame, Scope* scope);
  Result<Flow> run_one(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_if(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_for(const Stmt& stmt, Scope* scope, const Value& iterable, int depth, std::string& out);
  Result<Flow> run_filter_block(const Stmt& stmt, Scope* scope, std::string& out);
  Result<Flow> run_set_block(const Stmt& stmt, Scope* scope);
  Status run_generation(const Stmt& stmt, Scope* scope, std::string& out);
  Status run_block_tag(const Stmt& stmt, Scope* scope, std::string& out);
  Status run_loader(const Stmt& stmt, Scope* scope);
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
  Value lookup(const std::string& name, const Scope* scope) const;
  /// What a name means that no frame around sets: the caller's variable, or Jinja's own.
  std::optional<Value> resolve(const std::string& name, const Context* context) const;
  /// A filter chain whose innermost value is `text`.
  Result<Value> through_filters(const Expr& chain, const Value& text, Scope* scope);

  const Dict* variables_ = nullptr;
  const Template* template_ = nullptr;
  const Scope* root_ = nullptr;  // of the template's own frame: blocks see what it sets
  std::deque<Context> contexts_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  std::vector<Value> kept_;  // namespaces: emptied at the end, so that none keeps itself alive
};

}  // namespace skua::jinja
