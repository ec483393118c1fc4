// Regular expressions of tokenizer files. HF tokenizers runs them with Oniguruma (Ruby syntax); here they are
// translated to PCRE2 and compiled to machine code.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace skua::text {

/// Rewrites an Oniguruma (Ruby syntax) pattern so that PCRE2 gives it the same meaning: \h, \s, \w, \b, (?m),
/// {,n}, X{n,m}+ and class intersections differ.
/// Errors: kUnsupported names a construct with no equivalent.
Result<std::string> translate_oniguruma(std::string_view pattern);

struct RegexScratch;

/// A compiled pattern: UTF-8, Unicode classes, ^ and $ at line borders. Immutable, shared between threads.
class Regex {
 public:
  /// Errors: kInvalidArgument with PCRE2's message and the offset; kUnsupported from translate_oniguruma().
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::string& pattern() const;

 private:
  friend class RegexMatcher;
  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

struct RegexMatch {
  size_t begin = 0;
  size_t end = 0;
};

/// Finds matches of one pattern. Borrows scratch memory from the pattern and gives it back when destroyed, so
/// it is cheap to make; one thread at a time. The Regex must outlive it.
class RegexMatcher {
 public:
  explicit RegexMatcher(const Regex& regex);
  RegexMatcher(const RegexMatcher&) = delete;
  RegexMatcher& operator=(const RegexMatcher&) = delete;
  ~RegexMatcher();

  /// First match in `text` (valid UTF-8) at or after `from`. Empty when there is none.
  /// Errors: kResourceExhausted when the match needs too many steps.
  Result<std::optional<RegexMatch>> find(std::string_view text, size_t from);

 private:
  Regex::Code& code_;
  std::unique_ptr<RegexScratch> scratch_;
};

}  // namespace skua::text
