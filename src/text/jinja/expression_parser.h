// The expression half of the parser; statements are in parser.cc.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace skua::jinja {

/// Reads expressions from a list of tokens. Recursion is bounded.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<ExprPtr> expression();             // with `if` and `else`
  Result<ExprPtr> expression_without_if();  // as after `in` of a for

  enum class Conditions : uint8_t { kNo, kYes };
  /// One expression, or several with commas as a tuple.
  Result<ExprPtr> tuple(Conditions conditions);

  Result<CallArgs> call_args();  // from '(' on
  Result<ExprPtr> filter_chain(ExprPtr base, bool needs_pipe);
  Result<Target> target();  // of for, set and with
  Result<Target> single_target();

  const Token& current() const { return tokens_[pos_]; }
  const Token& ahead() const { return tokens_[pos_ + 1 < tokens_.size() ? pos_ + 1 : pos_]; }
  void next() {
    if (pos_ + 1 < tokens_.size()) ++pos_;
  }
  bool is_operator(std::string_view sign) const {
    return current().kind == TokenKind::kOperator && current().value == sign;
  }
  bool is_name(std::string_view name) const {
    return current().kind == TokenKind::kName && current().value == name;
  }
  bool skip_operator(std::string_view sign);
  bool skip_name(std::string_view name);
  Status expect_operator(std::string_view sign);
  Result<std::string> expect_name();
  Status error(std::string_view message) const;

 private:
  class Depth;
  Result<ExprPtr> condition();
  Result<ExprPtr> disjunction();
  Result<ExprPtr> conjunction();
  Result<ExprPtr> negation();
  Result<ExprPtr> comparison();
  Result<ExprPtr> sum();
  Result<ExprPtr> concatenation();
  Result<ExprPtr> product();
  Result<ExprPtr> power();
  enum class Filters : uint8_t { kNo, kYes };
  Result<ExprPtr> unary(Filters filters);
  Result<ExprPtr> primary();
  Result<ExprPtr> parenthesized();
  Result<ExprPtr> list();
  Result<ExprPtr> dict();
  Result<ExprPtr> postfix(ExprPtr base);
  Result<ExprPtr> subscript(ExprPtr base);
  Result<ExprPtr> bracket_item(ExprPtr base);
  Result<ExprPtr> test(ExprPtr base);
  ExprPtr make(ExprKind kind) const;
  /// Sets the height of a finished node. Errors: kInvalidArgument when the tree grows too high.
  Status finish(Expr& expr) const;
  bool at_tuple_end() const;

  std::vector<Token> tokens_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace skua::jinja
