// Finding all matches of a pattern. An empty match right behind the last match is passed over, as Oniguruma's
// find_iter does.
#include "text/pattern.h"

#include "text/hf_unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

void find_literal_parts(std::string_view text, std::string_view literal, std::vector<Part>& parts) {
  size_t last = 0;
  if (!literal.empty()) {
    for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, last)) {
      if (last < at) parts.push_back({last, at, false});
      last = at + literal.size();
      parts.push_back({at, last, true});
    }
  }
  if (last < text.size() || text.empty()) parts.push_back({last, text.size(), false});
}

}  // namespace

Pattern Pattern::literal(std::string text) {
  Pattern out;
  out.literal_ = std::move(text);
  return out;
}

Result<Pattern> Pattern::regex(std::string_view expression) {
  Pattern out;
  SKUA_ASSIGN_OR_RETURN(out.regex_, Regex::compile(expression));
  return out;
}

Result<Pattern> Pattern::parse(const Json* json) {
  if (json != nullptr && json->is_string()) return literal(json->as_string());
  if (json != nullptr && json->is_object() && json->size() == 1 && json->members()[0].second.is_string()) {
    const auto& [kind, text] = json->members()[0];
    // An empty text matches between all characters, as the expression that HF makes of it does.
    if (kind == "String") return text.as_string().empty() ? regex("") : literal(text.as_string());
    if (kind == "Regex") return regex(text.as_string());
  }
  return invalid_argument("[tokenizer] a pattern must be {\"String\": text} or {\"Regex\": expression}");
}

Status Pattern::find_parts(std::string_view text, std::vector<Part>& parts) const {
  if (regex_) return find_regex_parts(text, parts);
  find_literal_parts(text, literal_, parts);
  return ok_status();
}

Status Pattern::find_regex_parts(std::string_view text, std::vector<Part>& parts) const {
  RegexMatcher matcher(*regex_);
  std::string replaced;
  if (replace_newer_characters(text, replaced)) text = replaced;
  size_t last = 0;  // end of the last part
  size_t from = 0;  // where to look next
  size_t last_match = SIZE_MAX;
  while (from <= text.size()) {
    SKUA_ASSIGN_OR_RETURN(const auto match, matcher.find(text, from));
    if (!match) break;
    if (match->begin == match->end && match->end == last_match) {
      from = match->end < text.size() ? match->end + utf8_length(text[match->end]) : text.size() + 1;
      continue;
    }
    if (last < match->begin) parts.push_back({last, match->begin, false});
    parts.push_back({match->begin, match->end, true});
    last = last_match = from = match->end;
  }
  if (last < text.size() || text.empty()) parts.push_back({last, text.size(), false});
  return ok_status();
}

}  // namespace skua::text
