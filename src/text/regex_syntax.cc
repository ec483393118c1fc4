// Oniguruma patterns (Ruby syntax, UTF-8) rewritten for PCRE2. One pass; the output keeps the order of the
// input. Sources: oniguruma doc/RE and doc/SYNTAX.md; pcre2pattern(3).
#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "text/regex.h"

namespace skua::text {
namespace {

constexpr std::string_view kSpace = "\\p{White_Space}";
constexpr std::string_view kNotSpace = "\\P{White_Space}";
constexpr std::string_view kWordItems = "\\p{Alphabetic}\\p{M}\\p{N}\\p{Pc}";
constexpr int kMaxDepth = 100;

// Names that Oniguruma knows and PCRE2 spells otherwise. Keys are lower case without spaces, '-' and '_'.
const std::map<std::string, std::string, std::less<>>& property_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"letter", "\\p{L}"},
      {"uppercaseletter", "\\p{Lu}"},
      {"lowercaseletter", "\\p{Ll}"},
      {"titlecaseletter", "\\p{Lt}"},
      {"modifierletter", "\\p{Lm}"},
      {"otherletter", "\\p{Lo}"},
      {"mark", "\\p{M}"},
      {"nonspacingmark", "\\p{Mn}"},
      {"spacingmark", "\\p{Mc}"},
      {"enclosingmark", "\\p{Me}"},
      {"number", "\\p{N}"},
      {"decimalnumber", "\\p{Nd}"},
      {"letternumber", "\\p{Nl}"},
      {"othernumber", "\\p{No}"},
      {"punctuation", "\\p{P}"},
      {"connectorpunctuation", "\\p{Pc}"},
      {"dashpunctuation", "\\p{Pd}"},
      {"openpunctuation", "\\p{Ps}"},
      {"closepunctuation", "\\p{Pe}"},
      {"initialpunctuation", "\\p{Pi}"},
      {"finalpunctuation", "\\p{Pf}"},
      {"otherpunctuation", "\\p{Po}"},
      {"symbol", "\\p{S}"},
      {"mathsymbol", "\\p{Sm}"},
      {"currencysymbol", "\\p{Sc}"},
      {"modifiersymbol", "\\p{Sk}"},
      {"othersymbol", "\\p{So}"},
      {"separator", "\\p{Z}"},
      {"spaceseparator", "\\p{Zs}"},
      {"lineseparator", "\\p{Zl}"},
      {"paragraphseparator", "\\p{Zp}"},
      {"other", "\\p{C}"},
      {"control", "\\p{Cc}"},
      {"format", "\\p{Cf}"},
      {"alnum", "\\p{Alphabetic}\\p{Nd}"},
      {"alpha", "\\p{Alphabetic}"},
      {"blank", "\\p{Zs}\\t"},
      {"cntrl", "\\p{Cc}"},
      {"digit", "\\p{Nd}"},
      {"lower", "\\p{Lowercase}"},
      {"punct", "\\p{P}\\p{S}"},
      {"space", "\\p{White_Space}"},
      {"upper", "\\p{Uppercase}"},
      {"xdigit", "0-9A-Fa-f"},
      {"word", "\\p{Alphabetic}\\p{M}\\p{N}\\p{Pc}"},
  };
  return names;
}

// PCRE2 takes a bare script name for the script's extensions, Oniguruma for the script itself.
std::string script_or(const std::string& name) {
  static constexpr std::string_view kProperties[] = {
      "Any",   "Alphabetic", "Lowercase", "Uppercase", "White_Space", "Emoji", "Extended_Pictographic",
      "ASCII", "L&"};
  const bool property = name.size() < 3 || std::find(std::begin(kProperties), std::end(kProperties), name) !=
                                               std::end(kProperties);
  return property ? name : "sc:" + name;
}

std::string fold_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
  }
  return out;
}

// A set of characters: the items of a PCRE2 class plus sets that a class cannot hold.
struct CharSet {
  std::string items;
  std::vector<std::string> others;  // patterns that match one character each
  bool negated = false;

  std::string pattern() const {
    if (others.empty()) {
      if (items.empty()) return negated ? "(?s:.)" : "(?!)";
      return (negated ? "[^" : "[") + items + "]";
    }
    std::string any = items.empty() ? "" : "[" + items + "]";
    for (const std::string& other : others) any += (any.empty() ? "" : "|") + other;
    return negated ? "(?:(?!" + any + ")(?s:.))" : "(?:" + any + ")";
  }
};

class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  Result<std::string> run() {
    SKUA_RETURN_IF_ERROR(group_body(0));
    if (pos_ < in_.size()) return invalid_argument("[regex] unmatched ) in \"" + std::string(in_) + "\"");
    return std::move(out_);
  }

 private:
  bool at_end() const { return pos_ >= in_.size(); }
  char peek(size_t ahead = 0) const { return pos_ + ahead < in_.size() ? in_[pos_ + ahead] : '\0'; }
  bool starts(std::string_view prefix) const { return in_.substr(pos_).starts_with(prefix); }
  Status bad(std::string_view what) const {
    return unsupported("[regex] " + std::string(what) + " in \"" + std::string(in_) + "\"");
  }

  // Everything up to the ')' that closes the group, or the end of the pattern.
  Status group_body(int depth) {
    if (depth > kMaxDepth) return bad("groups nested too deeply");
    int open_options = 0;  // (?i) holds to the end of the group, alternatives included
    while (!at_end() && peek() != ')') {
      const size_t atom = out_.size();
      SKUA_RETURN_IF_ERROR(term(depth, open_options));
      SKUA_RETURN_IF_ERROR(quantifiers(atom));
    }
    out_.append(static_cast<size_t>(open_options), ')');
    return ok_status();
  }

  Status term(int depth, int& open_options) {
    switch (peek()) {
      case '\\':
        return escape();
      case '[': {
        SKUA_ASSIGN_OR_RETURN(const CharSet set, char_class(depth));
        out_ += set.pattern();
        return ok_status();
      }
      case '(':
        return group(depth, open_options);
      default:
        out_ += in_[pos_++];
        return ok_status();
    }
  }

  Status group(int depth, int& open_options) {
    if (starts("(?#")) {
      while (!at_end() && peek() != ')') ++pos_;
      if (at_end()) return bad("comment without an end");
      ++pos_;
      return ok_status();
    }
    ++pos_;
    if (peek() == '*') return bad("callout");  // (*NAME) would be a verb to PCRE2
    if (peek() != '?') {
      out_ += '(';
    } else {
      size_t end = pos_ + 1;
      while (end < in_.size() && std::string_view("imx-").find(in_[end]) != std::string_view::npos) ++end;
      const char next = end < in_.size() ? in_[end] : '\0';
      if (end > pos_ + 1 && (next == ')' || next == ':')) {
        std::string options;
        for (const char c : in_.substr(pos_ + 1, end - pos_ - 1)) options += c == 'm' ? 's' : c;
        if (options.find('x') != std::string::npos) return bad("extended option (?x)");
        out_ += "(?" + options + ":";
        pos_ = end + 1;
        if (next == ')') {
          ++open_options;
          return ok_status();
        }
      } else {
        static constexpr std::string_view kHeads[] = {"?:", "?=", "?!", "?<=", "?<!", "?>"};
        bool known = false;
        for (const std::string_view head : kHeads) {
          if (!known && starts(head)) {
            out_ += "(" + std::string(head);
            pos_ += head.size();
            known = true;
          }
        }
        if (!known) return bad("unknown kind of group");
      }
    }
    SKUA_RETURN_IF_ERROR(group_body(depth + 1));
    if (peek() != ')') return invalid_argument("[regex] missing ) in \"" + std::string(in_) + "\"");
    ++pos_;
    out_ += ')';
    return ok_status();
  }

  // Reads {n}, {n,}, {n,m} or {,m}; leaves the position alone when it is none of them.
  bool interval(std::string& text, bool& exact) {
    size_t p = pos_ + 1;
    std::string low, high;
    bool comma = false;
    while (p < in_.size() && in_[p] >= '0' && in_[p] <= '9') low += in_[p++];
    if (p < in_.size() && in_[p] == ',') {
      comma = true;
      ++p;
      while (p < in_.size() && in_[p] >= '0' && in_[p] <= '9') high += in_[p++];
    }
    if (p >= in_.size() || in_[p] != '}' || (low.empty() && high.empty())) return false;
    text = "{" + (low.empty() ? "0" : low) + (comma ? "," + high : "") + "}";
    exact = !comma;
    pos_ = p + 1;
    return true;
  }

  Status quantifiers(size_t atom) {
    while (!at_end()) {
      const char c = peek();
      if (c == '*' || c == '+' || c == '?') {
        ++pos_;
        out_ += c;
        if (peek() == '?' || peek() == '+') out_ += in_[pos_++];
      } else if (std::string text; c == '{') {
        bool exact = false;
        if (!interval(text, exact)) {
          out_ += "\\{";
          ++pos_;
          return ok_status();
        }
        out_ += text;
        // A '+' after an interval repeats it, as does '?' after {n}; only {n,m}? is lazy.
        if (peek() == '?' && !exact) {
          out_ += '?';
          ++pos_;
        }
      } else {
        return ok_status();
      }
      const char next = peek();
      if (next == '*' || next == '+' || next == '?' || next == '{') {
        if (out_.size() - atom > 4096) return bad("quantifiers piled too high");
        out_.insert(atom, "(?:");
        out_ += ')';
      }
    }
    return ok_status();
  }

  // \p{...}, \P{...}, \p{^...}: as items of a class.
  Status property(CharSet& set) {
    bool negated = in_[pos_ + 1] == 'P';
    pos_ += 2;
    std::string name;
    if (peek() != '{') return bad("\\p without {name}");
    const size_t close = in_.find('}', pos_);
    if (close == std::string_view::npos) return bad("\\p{ without }");
    name = std::string(in_.substr(pos_ + 1, close - pos_ - 1));
    pos_ = close + 1;
    if (name.starts_with('^')) {
      negated = !negated;
      name.erase(0, 1);
    }
    const auto known = property_names().find(fold_name(name));
    const bool mapped = known != property_names().end();
    if (!negated) {
      set.items += mapped ? known->second : "\\p{" + script_or(name) + "}";
    } else if (!mapped) {
      set.items += "\\P{" + script_or(name) + "}";
    } else {
      set.others.push_back("[^" + known->second + "]");
    }
    return ok_status();
  }

  // Escapes that name a set; false when the escape is something else.
  Result<bool> set_escape(CharSet& set) {
    switch (peek(1)) {
      case 'h':
        set.items += "0-9A-Fa-f";
        break;
      case 'H':
        set.others.push_back("[^0-9A-Fa-f]");
        break;
      case 's':
        set.items += kSpace;
        break;
      case 'S':
        set.items += kNotSpace;
        break;
      case 'd':
        set.items += "\\p{Nd}";
        break;
      case 'D':
        set.items += "\\P{Nd}";
        break;
      case 'w':
        set.items += kWordItems;
        break;
      case 'W':
        set.others.push_back("[^" + std::string(kWordItems) + "]");
        break;
      case 'p':
      case 'P':
        SKUA_RETURN_IF_ERROR(property(set));
        return true;
      default:
        return false;
    }
    pos_ += 2;
    return true;
  }

  // Escapes that name one character, in and outside of classes.
  Status char_escape(std::string& out) {
    const char c = peek(1);
    if (c == '\0') return bad("\\ at the end");
    if (c == 'v') {
      out += "\\x{0B}";
      pos_ += 2;
    } else if (c == 'u') {
      if (pos_ + 6 > in_.size()) return bad("\\u without four digits");
      out += "\\x{" + std::string(in_.substr(pos_ + 2, 4)) + "}";
      pos_ += 6;
    } else {
      out += in_.substr(pos_, 2);
      pos_ += 2;
    }
    return ok_status();
  }

  Status escape() {
    CharSet set;
    SKUA_ASSIGN_OR_RETURN(const bool is_set, set_escape(set));
    if (is_set) {
      out_ += set.pattern();
      return ok_status();
    }
    const std::string word = "[" + std::string(kWordItems) + "]";
    switch (peek(1)) {
      case 'b':
        out_ += "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
        break;
      case 'B':
        out_ += "(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + "))";
        break;
      case 'A':
      case 'z':
      case 'Z':
        out_ += in_.substr(pos_, 2);
        break;
      case 'G':
      case 'K':
      case 'R':
      case 'X':
      case 'k':
      case 'g':
      case 'y':
      case 'Y':
      case 'N':
      case 'O':
      case 'C':
      case 'M':
      case 'c':
      case 'E':
      case 'Q':
        return bad("escape \\" + std::string(1, peek(1)));
      default:
        return char_escape(out_);
    }
    pos_ += 2;
    return ok_status();
  }

  Status posix_bracket(CharSet& set) {
    const size_t close = in_.find(":]", pos_ + 2);
    if (close == std::string_view::npos) return bad("[: without :]");
    std::string_view name = in_.substr(pos_ + 2, close - pos_ - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const auto known = property_names().find(name);
    if (known == property_names().end()) return bad("class [:" + std::string(name) + ":]");
    if (negated) {
      set.others.push_back("[^" + known->second + "]");
    } else {
      set.items += known->second;
    }
    pos_ = close + 2;
    return ok_status();
  }

  Result<CharSet> char_class(int depth) {
    if (depth > kMaxDepth) return bad("classes nested too deeply");
    CharSet set;
    std::string intersection;  // patterns of the parts before &&, as lookaheads
    ++pos_;
    if (peek() == '^') {
      set.negated = true;
      ++pos_;
    }
    if (peek() == ']') {
      set.items += "\\]";
      ++pos_;
    }
    while (!at_end() && peek() != ']') {
      if (starts("[:")) {
        SKUA_RETURN_IF_ERROR(posix_bracket(set));
      } else if (peek() == '[') {
        SKUA_ASSIGN_OR_RETURN(const CharSet inner, char_class(depth + 1));
        if (!inner.negated && inner.others.empty()) {
          set.items += inner.items;
        } else {
          set.others.push_back(inner.pattern());
        }
      } else if (starts("&&")) {
        pos_ += 2;
        const CharSet part{set.items, set.others, false};
        intersection += "(?=" + part.pattern() + ")";
        set.items.clear();
        set.others.clear();
      } else if (peek() == '\\') {
        SKUA_ASSIGN_OR_RETURN(const bool is_set, set_escape(set));
        if (!is_set) SKUA_RETURN_IF_ERROR(char_escape(set.items));
      } else {
        set.items += in_[pos_++];
      }
    }
    if (at_end()) return invalid_argument("[regex] missing ] in \"" + std::string(in_) + "\"");
    ++pos_;
    if (intersection.empty()) return set;
    const CharSet last{set.items, set.others, false};
    return CharSet{"", {"(?:" + intersection + last.pattern() + ")"}, set.negated};
  }

  std::string_view in_;
  size_t pos_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> translate_oniguruma(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace skua::text
