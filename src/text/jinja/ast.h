// Syntax trees of templates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace skua::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : uint8_t {
  kConst,      // value
  kName,       // name
  kList,       // args
  kTuple,      // args
  kDict,       // args: key, value, key, value
  kUnary,      // name: - + not; args[0]
  kBinary,     // name: the operator; args[0], args[1]
  kConcat,     // args
  kCompare,    // args[0] names[0] args[1] names[1] ...
  kCondition,  // args[0] if args[1] else args[2] (may be null)
  kAttribute,  // args[0].name
  kItem,       // args[0][args[1]]
  kSlice,      // args[0][args[1]:args[2]:args[3]] (each bound may be null)
  kCall,       // args[0](...); see CallArgs
  kFilter,     // args[0] | name(...); args[0] is null for the body of a filter block
  kTest,       // args[0] is name(...)
};

/// Arguments written at a call, filter or test.
struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keyword;
  ExprPtr star;         // *args
  ExprPtr double_star;  // **kwargs
};

struct Expr {
  ExprKind kind = ExprKind::kConst;
  int line = 0;
  std::string name;
  Value value;
  std::vector<ExprPtr> args;
  std::vector<std::string> names;
  CallArgs call;
  int height = 1;  // of the tree below; bounded, so that walking it by recursion is safe
};

/// What a `for` or `set` assigns to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  std::string name;
  std::string attribute;
  std::vector<Target> parts;  // when not empty, a tuple
};

struct Param {
  std::string name;
  ExprPtr fallback;  // null when the parameter must be given
};

/// A name of a frame, and what it holds when the frame is entered. Jinja2 settles this before it runs
/// anything: a name that a frame sets anywhere is that frame's own from its beginning.
enum class Load : uint8_t {
  kParameter,  // given: a parameter, a loop's target
  kResolve,    // what the caller, or Jinja, calls by that name
  kAlias,      // a copy of what the frame around has by that name
  kUndefined,
};
struct Ref {
  std::string name;
  Load load = Load::kUndefined;
  bool stored = false;  // something sets it: a scoped block gets to see it
};
struct Frame {
  std::vector<Ref> refs;
};

enum class StmtKind : uint8_t {
  kText,        // text
  kPrint,       // expr
  kIf,          // branches; otherwise
  kFor,         // target in expr if condition; body; otherwise
  kSet,         // target = expr
  kSetBlock,    // target = body, through expr (a filter chain, may be null)
  kMacro,       // text: name; params; body
  kCall,        // expr: the call; params; body
  kFilter,      // expr: filter chain on body
  kWith,        // assignments; body
  kScope,       // body in a scope of its own (autoescape that is off)
  kGeneration,  // body, as if it were a call block's
  kBlock,       // text: name; body, in a frame without one around it
  kLoader,  // text: tag that would load another template (expr: its name); assignments: names it would set
  kBreak,
  kContinue,
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  int line = 0;
  std::string text;
  ExprPtr expr;
  ExprPtr condition;
  Target target;
  bool recursive = false;
  bool scoped = false, required = false;                                // block
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;  // macro, call and generation
  std::vector<std::pair<ExprPtr, Body>> branches;
  std::vector<std::pair<Target, ExprPtr>> assignments;
  std::vector<Param> params;
  Body body;
  Body otherwise;
  Frame frame, test_frame, else_frame;  // of body; of condition; of otherwise (loops)
};

struct Template {
  Body body;
  Frame frame;
  std::vector<std::pair<std::string, const Stmt*>> blocks;  // sorted by name
};

}  // namespace skua::jinja
