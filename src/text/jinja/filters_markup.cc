// Filters for marked-up and wrapped text: urlize, xmlattr, wordwrap. Source: jinja2 3.1 (filters.py,
// utils.py) and Python 3.11 (textwrap.py).
#include <algorithm>
#include <set>

#include "base/check.h"
#include "text/jinja/filters.h"
#include "text/jinja/text_ops.h"
#include "text/pattern.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace skua::jinja {
namespace {

using R = Result<Value>;
using text::Pattern;

/// A pattern of this file; Python's \w, \d and letters are written out, as other engines mean more by them.
const Pattern& known(const Result<Pattern>& made) {
  SKUA_CHECK(made.ok());
  return *made;
}

Result<bool> matches(const Pattern& pattern, std::string_view text) {
  std::vector<text::Part> parts;
  SKUA_RETURN_IF_ERROR(pattern.find_parts(text, parts));
  return parts.size() == 1 && parts[0].is_match;
}

// ---- xmlattr ----

R xml_attributes(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b, Bound::bind(args, {"autospace"}));
  if (!v.is_dict()) return type_error("needs a mapping, not " + std::string(type_name(v)));
  std::string out;
  for (const auto& [key, value] : v.as_dict().items) {
    if (value.is_none() || value.is_undefined()) continue;
    if (!key.is_string()) return type_error("attribute names must be texts");
    if (key.as_string().find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      return type_error("invalid character in attribute name: " + to_repr(key));
    }
    SKUA_ASSIGN_OR_RETURN(const std::string text, runtime.text_of(value));
    if (!out.empty()) out += ' ';
    out += key.is_escaped() ? key.as_string() : escape_html(key.as_string());
    out += "=\"" + (value.is_escaped() ? text : escape_html(text)) + "\"";
    SKUA_RETURN_IF_ERROR(runtime.scan(64 + text.size()));
  }
  if (b.flag(0, true) && !out.empty()) out.insert(out.begin(), ' ');
  return runtime.make_string(std::move(out));
}

// ---- urlize ----

struct LinkStyle {
  std::optional<int64_t> limit;  // characters of an address that are shown
  std::string attributes;        // rel and target
  std::vector<std::string> schemes;
};

std::string shown(const std::string& url, const LinkStyle& style) {
  if (!style.limit) return url;
  const std::u32string chars = text::to_utf32(url);
  const auto n = static_cast<int64_t>(chars.size());
  if (n <= *style.limit) return url;
  const int64_t kept = *style.limit < 0 ? std::max<int64_t>(0, n + *style.limit) : *style.limit;
  return text::to_utf8(chars.substr(0, static_cast<size_t>(kept))) + "...";
}

/// Brackets and full stops around an address are not part of it, unless they close a bracket inside.
struct Word {
  std::string_view head;
  std::string middle;
  std::string_view tail;
};

Word take_apart(std::string_view word) {
  const auto opens = [](std::string_view t) -> size_t {
    return t.starts_with('(') || t.starts_with('<') ? 1 : t.starts_with("&lt;") ? 4 : 0;
  };
  const auto closes = [](std::string_view t) -> size_t {
    const bool one = t.ends_with(')') || t.ends_with('>') || t.ends_with('.') || t.ends_with(',');
    return one ? 1 : t.ends_with("&gt;") ? 4 : 0;
  };
  size_t begin = 0;
  while (const size_t n = opens(word.substr(begin))) begin += n;
  size_t end = word.size();
  while (const size_t n = closes(word.substr(begin, end - begin))) end -= n;
  Word out{word.substr(0, begin), std::string(word.substr(begin, end - begin)), word.substr(end)};
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>("(", ")"),
                                    std::pair<std::string_view, std::string_view>("<", ">"),
                                    std::pair<std::string_view, std::string_view>("&lt;", "&gt;")}) {
    const int64_t n_open = count_text(out.middle, open);
    if (n_open <= count_text(out.middle, close)) continue;
    for (int64_t n = std::min(n_open, count_text(out.tail, close)); n > 0; --n) {
      const size_t past = out.tail.find(close) + close.size();
      out.middle += out.tail.substr(0, past);
      out.tail.remove_prefix(past);
    }
  }
  return out;
}

Result<bool> is_web_address(const std::string& text) {
  static const auto pattern = Pattern::regex(
      R"(^(?i:(?:(?:https?://|www\.)(?:(?:[\p{L}\p{N}_%-]+\.)+)?(?:[a-z]{2,63}|xn--[\p{L}\p{N}_%]{2,59})|)"
      R"((?:[\p{L}\p{N}_%-]{2,63}\.)+(?:com|net|int|edu|gov|org|info|mil)|)"
      R"(https?://(?:\p{Nd}{1,3}(?:\.\p{Nd}{1,3}){3}|\[(?:[\p{Nd}a-f]{0,4}:){2}(?:[\p{Nd}a-f]{0,4}:?){1,6}\])))"
      R"((?::\p{Nd}{1,5})?(?:[/?#].*)?)\z)");
  return matches(known(pattern), text);
}

Result<bool> is_mail_address(const std::string& text) {
  static const auto pattern = Pattern::regex(R"(^.+@[\p{L}\p{N}_][\p{L}\p{N}_.-]*\.[\p{L}\p{N}_]+\z)");
  return matches(known(pattern), text);
}

Status link_word(std::string& word, const LinkStyle& style) {
  SKUA_ASSIGN_OR_RETURN(const bool web, is_web_address(word));
  if (web) {
    const bool whole = word.starts_with("https://") || word.starts_with("http://");
    word = "<a href=\"" + std::string(whole ? "" : "https://") + word + "\"" + style.attributes + ">" +
           shown(word, style) + "</a>";
    return ok_status();
  }
  if (word.starts_with("mailto:")) {
    SKUA_ASSIGN_OR_RETURN(const bool mail, is_mail_address(word.substr(7)));
    if (mail) {
      word = "<a href=\"" + word + "\">" + word.substr(7) + "</a>";
      return ok_status();
    }
  }
  const bool may_be_mail = word.find('@') != std::string::npos && !word.starts_with("www.") &&
                           !word.starts_with('@') && word.find(':') == std::string::npos;
  if (may_be_mail) {
    SKUA_ASSIGN_OR_RETURN(const bool mail, is_mail_address(word));
    if (mail) {
      word = "<a href=\"mailto:" + word + "\">" + word + "</a>";
      return ok_status();
    }
  }
  for (const std::string& scheme : style.schemes) {
    if (word != scheme && word.starts_with(scheme))
      word = "<a href=\"" + word + "\"" + style.attributes + ">" + word + "</a>";
  }
  return ok_status();
}

Result<LinkStyle> link_style(Runtime& runtime, const Bound& b) {
  LinkStyle style;
  if (b.has(0) && !b.at(0).is_none()) {
    SKUA_ASSIGN_OR_RETURN(style.limit, b.integer(0, 0));
  }
  std::string rel;
  if (b.has(3) && truthy(b.at(3))) {
    SKUA_ASSIGN_OR_RETURN(rel, b.string(3, ""));
  }
  std::set<std::string> parts = {"noopener"};  // jinja's policy "urlize.rel"
  for (std::string& part : split_text(rel, nullptr, -1)) parts.insert(std::move(part));
  if (b.flag(1, false)) parts.insert("nofollow");
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : " ") + part;
  style.attributes = " rel=\"" + escape_html(joined) + "\"";
  if (b.has(2) && truthy(b.at(2))) {
    SKUA_ASSIGN_OR_RETURN(const std::string target, runtime.text_of(b.at(2)));
    style.attributes += " target=\"" + escape_html(target) + "\"";
  }
  if (!b.has(4) || b.at(4).is_none()) return style;
  static const auto pattern = Pattern::regex(R"(^[\p{L}\p{N}_.+-]{2,}:/{0,2}\z)");
  SKUA_ASSIGN_OR_RETURN(const std::vector<Value> schemes, runtime.iterate(b.at(4)));
  for (const Value& scheme : schemes) {
    if (!scheme.is_string()) return type_error("schemes must be texts");
    SKUA_ASSIGN_OR_RETURN(const bool fits, matches(known(pattern), scheme.as_string()));
    if (!fits) return type_error(to_repr(scheme) + " is not a valid URI scheme prefix");
    style.schemes.push_back(scheme.as_string());
  }
  return style;
}

R urlize(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b,
                        Bound::bind(args, {"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"}));
  SKUA_ASSIGN_OR_RETURN(const std::string raw, runtime.text_of(v));
  SKUA_ASSIGN_OR_RETURN(const LinkStyle style, link_style(runtime, b));
  const std::string text = escape_html(raw);
  std::string out;
  size_t word_begin = 0;
  for (size_t pos = 0; word_begin <= text.size();) {
    const size_t at = pos;
    const bool end = at == text.size();
    if (!end && !is_python_space(text::next_char(text, pos))) continue;
    if (at > word_begin) {
      Word word = take_apart(std::string_view(text).substr(word_begin, at - word_begin));
      SKUA_RETURN_IF_ERROR(link_word(word.middle, style));
      SKUA_RETURN_IF_ERROR(runtime.charge(word.middle.size()));
      out += std::string(word.head) + word.middle + std::string(word.tail);
    }
    if (end) break;
    out += text.substr(at, pos - at);
    word_begin = pos;
  }
  return runtime.make_string(std::move(out));
}

// ---- wordwrap ----

struct WrapStyle {
  size_t width = 79;
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

using Chunk = std::u32string_view;

/// Words, parts of words that end with a hyphen, dashes, and the spaces between.
Result<std::vector<size_t>> chunk_ends(const std::string& line, bool at_hyphens) {
  static const auto simple = Pattern::regex(R"([\t\n\x0b\x0c\r ]+)");
  static const auto fine = Pattern::regex(
      R"([\t\n\x0b\x0c\r ]+|(?<=[\p{L}\p{N}_!"'&.,?])-{2,}(?=[\p{L}\p{N}_])|)"
      R"([^\t\n\x0b\x0c\r ]+?(?:-(?:(?<=[\p{L}\p{Nl}\p{No}_]{2}-)|(?<=[\p{L}\p{Nl}\p{No}_]-[\p{L}\p{Nl}\p{No}_]-)))"
      R"((?=[\p{L}\p{Nl}\p{No}_]-?[\p{L}\p{Nl}\p{No}_])|(?=[\t\n\x0b\x0c\r ]|\z)|)"
      R"((?<=[\p{L}\p{N}_!"'&.,?])(?=-{2,}[\p{L}\p{N}_])))");
  std::vector<text::Part> parts;
  SKUA_RETURN_IF_ERROR(known(at_hyphens ? fine : simple).find_parts(line, parts));
  std::vector<size_t> ends;
  size_t pos = 0, n = 0;
  for (const text::Part& part : parts) {
    for (; pos < part.end; ++n) text::next_char(line, pos);
    if (ends.empty() || n > ends.back()) ends.push_back(n);
  }
  return ends;
}

bool is_blank(Chunk chunk) { return std::all_of(chunk.begin(), chunk.end(), is_python_space); }

/// Moves what fits of a chunk longer than a line to the end of `line`.
void split_long(std::vector<Chunk>& rest, std::vector<Chunk>& line, size_t used, const WrapStyle& style) {
  if (!style.break_long_words) {
    if (!line.empty()) return;
    line.push_back(rest.back());
    rest.pop_back();
    return;
  }
  const size_t room = style.width - used;
  const Chunk chunk = rest.back();
  size_t end = room;
  if (style.break_on_hyphens && chunk.size() > room) {
    const size_t hyphen = chunk.substr(0, room).rfind(U'-');
    const bool other =
        hyphen != Chunk::npos && chunk.substr(0, hyphen).find_first_not_of(U'-') != Chunk::npos;
    if (hyphen != Chunk::npos && hyphen > 0 && other) end = hyphen + 1;
  }
  line.push_back(chunk.substr(0, end));
  rest.back() = chunk.substr(std::min(end, chunk.size()));
}

/// `rest`: the chunks, last first.
std::vector<std::string> wrap_chunks(std::vector<Chunk> rest, const WrapStyle& style) {
  std::vector<std::string> lines;
  while (!rest.empty()) {
    std::vector<Chunk> line;
    size_t used = 0;
    if (!lines.empty() && is_blank(rest.back())) rest.pop_back();
    while (!rest.empty() && used + rest.back().size() <= style.width) {
      used += rest.back().size();
      line.push_back(rest.back());
      rest.pop_back();
    }
    if (!rest.empty() && rest.back().size() > style.width) split_long(rest, line, used, style);
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (line.empty()) continue;
    std::u32string joined;
    for (const Chunk chunk : line) joined += chunk;
    lines.push_back(text::to_utf8(joined));
  }
  return lines;
}

Result<std::string> wrap_line(const std::string& line, const WrapStyle& style, bool split_at_hyphens,
                              const std::string& glue) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<size_t> ends, chunk_ends(line, split_at_hyphens));
  const std::u32string chars = text::to_utf32(line);
  std::vector<Chunk> chunks;
  size_t begin = 0;
  for (const size_t end : ends) {
    chunks.push_back(Chunk(chars).substr(begin, end - begin));
    begin = end;
  }
  std::reverse(chunks.begin(), chunks.end());
  std::string out;
  bool first = true;
  for (const std::string& made : wrap_chunks(std::move(chunks), style)) {
    if (!first) out += glue;
    first = false;
    out += made;
  }
  return out;
}

R wordwrap(Runtime& runtime, const Value& v, Args& args) {
  SKUA_ASSIGN_OR_RETURN(const Bound b,
                        Bound::bind(args, {"width", "break_long_words", "wrapstring", "break_on_hyphens"}));
  if (!v.is_string()) return type_error("needs a text, not " + std::string(type_name(v)));
  SKUA_ASSIGN_OR_RETURN(const int64_t width, b.integer(0, 79));
  const std::string& text = v.as_string();
  if (width <= 0 && !text.empty())
    return type_error("invalid width " + std::to_string(width) + " (must be > 0)");
  WrapStyle style{.width = static_cast<size_t>(std::max<int64_t>(width, 1)),
                  .break_long_words = b.flag(1, true),
                  .break_on_hyphens = b.flag(3, true)};
  std::string glue = "\n";
  if (b.has(2) && !b.at(2).is_none()) {
    SKUA_ASSIGN_OR_RETURN(glue, b.string(2, ""));
  }
  const bool at_hyphens = !b.has(3) || (b.at(3).is_bool() && style.break_on_hyphens);
  // No line is shorter than one character, which bounds what the glue may add.
  SKUA_RETURN_IF_ERROR(runtime.charge(text.size() * 32));
  SKUA_RETURN_IF_ERROR(runtime.charge((text.size() + 1) * glue.size()));
  std::string out;
  bool first = true;
  for (const std::string& line : split_lines(text, KeepEnds::kNo)) {
    if (!first) out += glue;
    first = false;
    SKUA_ASSIGN_OR_RETURN(const std::string wrapped, wrap_line(line, style, at_hyphens, glue));
    out += wrapped;
  }
  return runtime.make_string(std::move(out));
}

constexpr FilterEntry kTable[] = {
    {"urlize", urlize},
    {"xmlattr", xml_attributes},
    {"wordwrap", wordwrap},
};

}  // namespace

std::span<const FilterEntry> markup_filters() { return kTable; }

}  // namespace skua::jinja
