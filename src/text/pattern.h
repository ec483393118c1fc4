// A pattern of tokenizer.json: {"String": literal} or {"Regex": expression}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/pre_tokenizers/splitting.h"
#include "text/regex.h"

namespace skua::text {

class Pattern {
 public:
  /// Errors: kInvalidArgument, and those of Regex::compile().
  static Result<Pattern> parse(const Json* json);
  static Pattern literal(std::string text);
  static Result<Pattern> regex(std::string_view expression);

  /// Appends the parts of `text`: matches, leftmost first and not overlapping, and what lies between.
  /// Errors: kResourceExhausted.
  Status find_parts(std::string_view text, std::vector<Part>& parts) const;

  /// The literal, or null for an expression.
  const std::string* as_literal() const { return regex_ ? nullptr : &literal_; }

 private:
  Status find_regex_parts(std::string_view text, std::vector<Part>& parts) const;
  std::string literal_;
  std::optional<Regex> regex_;
};

}  // namespace skua::text
