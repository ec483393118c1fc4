// Template source to tokens, as Jinja2 3.1 cuts it with the settings transformers uses: trim_blocks and
// lstrip_blocks on, the last newline of the source dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace skua::jinja {

enum class TokenKind : uint8_t {
  kText,           // outside of tags; the text to print
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,   // value: the string's meaning
  kInteger,  // value: digits, ready for strtoll with `base`
  kFloat,
  kOperator,  // value: the operator's characters
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string value;
  int line = 1;
  int base = 10;
};

/// Errors: kInvalidArgument with the line (an unknown character, an unclosed tag, string or comment; brackets
/// that do not match); the source is longer than 1 MiB.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace skua::jinja
