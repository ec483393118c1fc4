// Expressions by recursive descent, one function per level. Source of the grammar: jinja2 3.1, parser.py.
#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <charconv>

namespace skua::jinja {
namespace {

constexpr int kMaxNesting = 200;
constexpr int kMaxHeight = 400;

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kText:
      return "text";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "'{%'";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kString:
      return "a string";
    default:
      return "'" + token.value + "'";
  }
}

bool all_names_known(std::string_view name) {
  return name == "true" || name == "True" || name == "false" || name == "False" || name == "none" ||
         name == "None";
}

}  // namespace

// Counts how deep the recursion is.
class ExpressionParser::Depth {
 public:
  explicit Depth(int& depth) : depth_(depth) { ++depth_; }
  ~Depth() { --depth_; }
  bool too_deep() const { return depth_ > kMaxNesting; }

 private:
  int& depth_;
};

Status ExpressionParser::error(std::string_view message) const {
  return invalid_argument("[template] line " + std::to_string(current().line) + ": " + std::string(message) +
                          ", got " + shown(current()));
}

bool ExpressionParser::skip_operator(std::string_view sign) {
  if (!is_operator(sign)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

Status ExpressionParser::expect_operator(std::string_view sign) {
  return skip_operator(sign) ? ok_status() : error("expected '" + std::string(sign) + "'");
}

Result<std::string> ExpressionParser::expect_name() {
  if (current().kind != TokenKind::kName) return error("expected a name");
  std::string name = current().value;
  next();
  return name;
}

ExprPtr ExpressionParser::make(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = current().line;
  return expr;
}

Status ExpressionParser::finish(Expr& expr) const {
  const auto raise = [&](const ExprPtr& child) {
    if (child) expr.height = std::max(expr.height, child->height + 1);
  };
  for (const ExprPtr& child : expr.args) raise(child);
  for (const ExprPtr& child : expr.call.positional) raise(child);
  for (const auto& [name, child] : expr.call.keyword) raise(child);
  raise(expr.call.star);
  raise(expr.call.double_star);
  return expr.height > kMaxHeight ? error("expression is too long a chain") : ok_status();
}

Result<ExprPtr> ExpressionParser::expression() {
  const Depth depth(depth_);
  if (depth.too_deep()) return error("expression is nested too deeply");
  return condition();
}

Result<ExprPtr> ExpressionParser::expression_without_if() { return disjunction(); }

Result<ExprPtr> ExpressionParser::condition() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, disjunction());
  while (is_name("if")) {
    ExprPtr out = make(ExprKind::kCondition);
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr test, disjunction());
    ExprPtr otherwise;
    if (skip_name("else")) {
      SKUA_ASSIGN_OR_RETURN(otherwise, expression());
    }
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(test));
    out->args.push_back(std::move(otherwise));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::disjunction() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, conjunction());
  while (is_name("or")) {
    ExprPtr out = make(ExprKind::kBinary);
    out->name = "or";
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, conjunction());
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(right));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::conjunction() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, negation());
  while (is_name("and")) {
    ExprPtr out = make(ExprKind::kBinary);
    out->name = "and";
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, negation());
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(right));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::negation() {
  if (!is_name("not")) return comparison();
  const Depth depth(depth_);
  if (depth.too_deep()) return error("expression is nested too deeply");
  ExprPtr out = make(ExprKind::kUnary);
  out->name = "not";
  next();
  SKUA_ASSIGN_OR_RETURN(ExprPtr operand, negation());
  out->args.push_back(std::move(operand));
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::comparison() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, sum());
  ExprPtr out;
  while (true) {
    std::string sign;
    for (const std::string_view known : {"==", "!=", "<", "<=", ">", ">="}) {
      if (is_operator(known)) sign = known;
    }
    if (is_name("in")) sign = "in";
    const bool not_in = is_name("not") && ahead().kind == TokenKind::kName && ahead().value == "in";
    if (not_in) {
      next();
      sign = "not in";
    }
    if (sign.empty()) break;
    if (!out) {
      out = make(ExprKind::kCompare);
      out->args.push_back(std::move(left));
    }
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, sum());
    out->names.push_back(std::move(sign));
    out->args.push_back(std::move(right));
  }
  if (!out) return left;
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::sum() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, concatenation());
  while (is_operator("+") || is_operator("-")) {
    ExprPtr out = make(ExprKind::kBinary);
    out->name = current().value;
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, concatenation());
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(right));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::concatenation() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr first, product());
  if (!is_operator("~")) return first;
  ExprPtr out = make(ExprKind::kConcat);
  out->args.push_back(std::move(first));
  while (skip_operator("~")) {
    SKUA_ASSIGN_OR_RETURN(ExprPtr part, product());
    out->args.push_back(std::move(part));
  }
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::product() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, power());
  while (is_operator("*") || is_operator("/") || is_operator("//") || is_operator("%")) {
    ExprPtr out = make(ExprKind::kBinary);
    out->name = current().value;
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, power());
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(right));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::power() {
  SKUA_ASSIGN_OR_RETURN(ExprPtr left, unary(Filters::kYes));
  while (is_operator("**")) {
    ExprPtr out = make(ExprKind::kBinary);
    out->name = "**";
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr right, unary(Filters::kYes));
    out->args.push_back(std::move(left));
    out->args.push_back(std::move(right));
    SKUA_RETURN_IF_ERROR(finish(*out));
    left = std::move(out);
  }
  return left;
}

Result<ExprPtr> ExpressionParser::unary(Filters filters) {
  const Depth depth(depth_);
  if (depth.too_deep()) return error("expression is nested too deeply");
  ExprPtr node;
  if (is_operator("-") || is_operator("+")) {
    node = make(ExprKind::kUnary);
    node->name = current().value;
    next();
    SKUA_ASSIGN_OR_RETURN(ExprPtr operand, unary(Filters::kNo));
    node->args.push_back(std::move(operand));
  } else {
    SKUA_ASSIGN_OR_RETURN(node, primary());
  }
  SKUA_ASSIGN_OR_RETURN(node, postfix(std::move(node)));
  if (filters == Filters::kNo) return node;
  return filter_chain(std::move(node), true);
}

Result<ExprPtr> ExpressionParser::primary() {
  const Token& token = current();
  ExprPtr out = make(ExprKind::kConst);
  switch (token.kind) {
    case TokenKind::kName:
      if (!all_names_known(token.value)) {
        out->kind = ExprKind::kName;
        out->name = token.value;
      } else if (token.value[0] == 'n' || token.value[0] == 'N') {
        out->value = Value();
      } else {
        out->value = Value::boolean(token.value[0] == 't' || token.value[0] == 'T');
      }
      next();
      return out;
    case TokenKind::kString: {
      std::string text;
      for (; current().kind == TokenKind::kString; next()) text += current().value;
      out->value = Value::string(std::move(text));
      return out;
    }
    case TokenKind::kInteger: {
      int64_t value = 0;
      const char* end = token.value.data() + token.value.size();
      const auto made = std::from_chars(token.value.data(), end, value, token.base);
      if (made.ec != std::errc() || made.ptr != end || value < 0) {
        return error("integer does not fit 64 bits");
      }
      out->value = Value::integer(value);
      next();
      return out;
    }
    case TokenKind::kFloat: {
      out->value = Value::real(parse_real(token.value));
      next();
      return out;
    }
    default:
      break;
  }
  if (is_operator("(")) return parenthesized();
  if (is_operator("[")) return list();
  if (is_operator("{")) return dict();
  return error("expected an expression");
}

bool ExpressionParser::at_tuple_end() const {
  const TokenKind kind = current().kind;
  return kind == TokenKind::kVariableEnd || kind == TokenKind::kBlockEnd || kind == TokenKind::kEnd ||
         is_operator(")") || is_name("recursive");
}

Result<ExprPtr> ExpressionParser::tuple(Conditions conditions) {
  const Depth depth(depth_);
  if (depth.too_deep()) return error("expression is nested too deeply");
  ExprPtr out = make(ExprKind::kTuple);
  bool comma = false;
  while (!at_tuple_end()) {
    SKUA_ASSIGN_OR_RETURN(ExprPtr item,
                          conditions == Conditions::kYes ? expression() : expression_without_if());
    out->args.push_back(std::move(item));
    if (!skip_operator(",")) break;
    comma = true;
  }
  if (out->args.empty()) return error("expected an expression");
  if (!comma) return std::move(out->args[0]);
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::parenthesized() {
  ExprPtr empty = make(ExprKind::kTuple);
  next();
  if (skip_operator(")")) return empty;
  SKUA_ASSIGN_OR_RETURN(ExprPtr inner, tuple(Conditions::kYes));
  SKUA_RETURN_IF_ERROR(expect_operator(")"));
  return inner;
}

Result<ExprPtr> ExpressionParser::list() {
  ExprPtr out = make(ExprKind::kList);
  next();
  while (!is_operator("]")) {
    SKUA_ASSIGN_OR_RETURN(ExprPtr item, expression());
    out->args.push_back(std::move(item));
    if (!skip_operator(",")) break;
  }
  SKUA_RETURN_IF_ERROR(expect_operator("]"));
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::dict() {
  ExprPtr out = make(ExprKind::kDict);
  next();
  while (!is_operator("}")) {
    SKUA_ASSIGN_OR_RETURN(ExprPtr key, expression());
    SKUA_RETURN_IF_ERROR(expect_operator(":"));
    SKUA_ASSIGN_OR_RETURN(ExprPtr value, expression());
    out->args.push_back(std::move(key));
    out->args.push_back(std::move(value));
    if (!skip_operator(",")) break;
  }
  SKUA_RETURN_IF_ERROR(expect_operator("}"));
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::postfix(ExprPtr base) {
  while (true) {
    if (is_operator(".") || is_operator("[")) {
      SKUA_ASSIGN_OR_RETURN(base, subscript(std::move(base)));
    } else if (is_operator("(")) {
      ExprPtr call = make(ExprKind::kCall);
      SKUA_ASSIGN_OR_RETURN(call->call, call_args());
      call->args.push_back(std::move(base));
      SKUA_RETURN_IF_ERROR(finish(*call));
      base = std::move(call);
    } else {
      return base;
    }
  }
}

Result<ExprPtr> ExpressionParser::subscript(ExprPtr base) {
  if (is_operator("[")) return bracket_item(std::move(base));
  ExprPtr out = make(ExprKind::kAttribute);
  next();
  if (current().kind == TokenKind::kName) {
    out->name = current().value;
    next();
    out->args.push_back(std::move(base));
    SKUA_RETURN_IF_ERROR(finish(*out));
    return out;
  }
  if (current().kind != TokenKind::kInteger) return error("expected a name or a number after '.'");
  SKUA_ASSIGN_OR_RETURN(ExprPtr index, primary());
  out->kind = ExprKind::kItem;
  out->args.push_back(std::move(base));
  out->args.push_back(std::move(index));
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<ExprPtr> ExpressionParser::bracket_item(ExprPtr base) {
  ExprPtr out = make(ExprKind::kItem);
  next();
  out->args.push_back(std::move(base));
  ExprPtr first;
  if (!is_operator(":")) {
    SKUA_ASSIGN_OR_RETURN(first, expression());
  }
  if (is_operator(":")) {
    out->kind = ExprKind::kSlice;
    out->args.push_back(std::move(first));
    while (out->args.size() < 4 && skip_operator(":")) {
      ExprPtr bound;
      if (!is_operator(":") && !is_operator("]")) {
        SKUA_ASSIGN_OR_RETURN(bound, expression());
      }
      out->args.push_back(std::move(bound));
    }
    out->args.resize(4);
  } else if (is_operator(",")) {
    ExprPtr several = make(ExprKind::kTuple);
    several->args.push_back(std::move(first));
    while (skip_operator(",") && !is_operator("]")) {
      SKUA_ASSIGN_OR_RETURN(ExprPtr item, expression());
      several->args.push_back(std::move(item));
    }
    out->args.push_back(std::move(several));
  } else {
    out->args.push_back(std::move(first));
  }
  SKUA_RETURN_IF_ERROR(expect_operator("]"));
  SKUA_RETURN_IF_ERROR(finish(*out));
  return out;
}

Result<CallArgs> ExpressionParser::call_args() {
  CallArgs out;
  SKUA_RETURN_IF_ERROR(expect_operator("("));
  while (!is_operator(")")) {
    if (skip_operator("**")) {
      if (out.double_star) return error("a second ** argument");
      SKUA_ASSIGN_OR_RETURN(out.double_star, expression());
    } else if (skip_operator("*")) {
      if (out.star || out.double_star) return error("* argument out of place");
      SKUA_ASSIGN_OR_RETURN(out.star, expression());
    } else if (current().kind == TokenKind::kName && ahead().kind == TokenKind::kOperator &&
               ahead().value == "=") {
      if (out.double_star) return error("named argument after **");
      std::string name = current().value;
      next();
      next();
      SKUA_ASSIGN_OR_RETURN(ExprPtr value, expression());
      out.keyword.emplace_back(std::move(name), std::move(value));
    } else {
      if (!out.keyword.empty() || out.star || out.double_star)
        return error("positional argument out of place");
      SKUA_ASSIGN_OR_RETURN(ExprPtr value, expression());
      out.positional.push_back(std::move(value));
    }
    if (!skip_operator(",")) break;
  }
  SKUA_RETURN_IF_ERROR(expect_operator(")"));
  return out;
}

Result<ExprPtr> ExpressionParser::filter_chain(ExprPtr base, bool needs_pipe) {
  while (true) {
    if (!needs_pipe || is_operator("|")) {
      if (needs_pipe) next();
      needs_pipe = true;
      ExprPtr out = make(ExprKind::kFilter);
      SKUA_ASSIGN_OR_RETURN(out->name, expect_name());
      while (skip_operator(".")) {
        SKUA_ASSIGN_OR_RETURN(const std::string part, expect_name());
        out->name += "." + part;
      }
      if (is_operator("(")) {
        SKUA_ASSIGN_OR_RETURN(out->call, call_args());
      }
      out->args.push_back(std::move(base));
      SKUA_RETURN_IF_ERROR(finish(*out));
      base = std::move(out);
    } else if (is_name("is")) {
      SKUA_ASSIGN_OR_RETURN(base, test(std::move(base)));
    } else if (is_operator("(")) {
      ExprPtr call = make(ExprKind::kCall);
      SKUA_ASSIGN_OR_RETURN(call->call, call_args());
      call->args.push_back(std::move(base));
      SKUA_RETURN_IF_ERROR(finish(*call));
      base = std::move(call);
    } else {
      return base;
    }
  }
}

Result<ExprPtr> ExpressionParser::test(ExprPtr base) {
  ExprPtr out = make(ExprKind::kTest);
  next();
  const bool negated = skip_name("not");
  SKUA_ASSIGN_OR_RETURN(out->name, expect_name());
  while (skip_operator(".")) {
    SKUA_ASSIGN_OR_RETURN(const std::string part, expect_name());
    out->name += "." + part;
  }
  out->args.push_back(std::move(base));
  const TokenKind kind = current().kind;
  const bool starts_argument = kind == TokenKind::kName || kind == TokenKind::kString ||
                               kind == TokenKind::kInteger || kind == TokenKind::kFloat || is_operator("[") ||
                               is_operator("{");
  if (is_operator("(")) {
    SKUA_ASSIGN_OR_RETURN(out->call, call_args());
  } else if (is_name("is")) {
    return error("tests cannot be chained with 'is'");
  } else if (starts_argument && !is_name("else") && !is_name("or") && !is_name("and")) {
    SKUA_ASSIGN_OR_RETURN(ExprPtr argument, primary());
    SKUA_ASSIGN_OR_RETURN(argument, postfix(std::move(argument)));
    out->call.positional.push_back(std::move(argument));
  }
  SKUA_RETURN_IF_ERROR(finish(*out));
  if (!negated) return out;
  ExprPtr inverse = make(ExprKind::kUnary);
  inverse->name = "not";
  inverse->args.push_back(std::move(out));
  SKUA_RETURN_IF_ERROR(finish(*inverse));
  return inverse;
}

Result<Target> ExpressionParser::single_target() {
  const Depth depth(depth_);
  if (depth.too_deep()) return error("assignment target is nested too deeply");
  Target out;
  if (skip_operator("(")) {
    SKUA_ASSIGN_OR_RETURN(out, target());
    SKUA_RETURN_IF_ERROR(expect_operator(")"));
    return out;
  }
  SKUA_ASSIGN_OR_RETURN(out.name, expect_name());
  if (all_names_known(out.name)) return error("cannot assign to '" + out.name + "'");
  if (skip_operator(".")) {
    SKUA_ASSIGN_OR_RETURN(out.attribute, expect_name());
  }
  return out;
}

Result<Target> ExpressionParser::target() {
  SKUA_ASSIGN_OR_RETURN(Target first, single_target());
  if (!is_operator(",")) return first;
  Target out;
  out.parts.push_back(std::move(first));
  while (skip_operator(",")) {
    if (current().kind != TokenKind::kName && !is_operator("(")) break;
    if (is_name("in")) break;
    SKUA_ASSIGN_OR_RETURN(Target part, single_target());
    out.parts.push_back(std::move(part));
  }
  return out;
}

}  // namespace skua::jinja
