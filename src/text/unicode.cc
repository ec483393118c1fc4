// ICU behind the functions of unicode.h.
#include "text/unicode.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/stringoptions.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include "base/check.h"
#include "text/hf_unicode.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

const icu::Normalizer2& normalizer(NormalForm form) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* found = nullptr;
  switch (form) {
    case NormalForm::kNfc:
      found = icu::Normalizer2::getNFCInstance(error);
      break;
    case NormalForm::kNfd:
      found = icu::Normalizer2::getNFDInstance(error);
      break;
    case NormalForm::kNfkc:
      found = icu::Normalizer2::getNFKCInstance(error);
      break;
    case NormalForm::kNfkd:
      found = icu::Normalizer2::getNFKDInstance(error);
      break;
  }
  SKUA_CHECK(found != nullptr);
  return *found;
}

bool in_category(char32_t c, uint32_t mask) { return (U_GET_GC_MASK(icu(c)) & mask) != 0; }

}  // namespace

bool is_whitespace(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_WHITE_SPACE); }

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  return u_hasBinaryProperty(icu(c), UCHAR_ALPHABETIC) ||
         in_category(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) ||
         u_hasBinaryProperty(icu(c), UCHAR_JOIN_CONTROL);
}

bool is_numeric(char32_t c) { return in_category(c, U_GC_N_MASK); }
bool is_punctuation(char32_t c) { return in_category(c, U_GC_P_MASK); }
bool is_control(char32_t c) { return in_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK); }
bool is_unassigned(char32_t c) { return in_category(c, U_GC_CN_MASK | U_GC_CS_MASK); }
bool is_nonspacing_mark(char32_t c) { return in_category(c, U_GC_MN_MASK); }
bool is_mark(char32_t c) { return in_category(c, U_GC_M_MASK); }
char32_t to_lower_simple(char32_t c) { return static_cast<char32_t>(u_tolower(icu(c))); }

void append_lower(std::u32string& out, char32_t c) {
  if (c == 0x130) {  // the only character whose full lower case differs from the simple one
    out += U"i\u0307";
  } else {
    out.push_back(to_lower_simple(c));
  }
}

std::string lower_case(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

std::string upper_case(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8(text).toUpper(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

std::string fold_case(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8(text).foldCase().toUTF8String(out);
  return out;
}

void append_title(std::string& out, char32_t c) {
  icu::UnicodeString one(icu(c));
  one.toTitle(nullptr, icu::Locale::getRoot(),
              U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT | U_TITLECASE_NO_LOWERCASE);
  one.toUTF8String(out);
}

bool is_cased(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_CASED); }
bool is_upper_case(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_UPPERCASE); }
bool is_lower_case(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_LOWERCASE); }
bool is_letter(char32_t c) { return in_category(c, U_GC_L_MASK); }
bool is_decimal_digit(char32_t c) { return in_category(c, U_GC_ND_MASK); }
bool is_case_ignorable(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_CASE_IGNORABLE); }

bool has_digit_value(char32_t c) {
  const int32_t type = u_getIntPropertyValue(icu(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool has_numeric_value(char32_t c) { return u_getIntPropertyValue(icu(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE; }

int decimal_value(char32_t c) { return u_charDigitValue(icu(c)); }

bool is_inert(NormalForm form, char32_t c) { return c < 0x80 || normalizer(form).isInert(icu(c)); }

void append_decomposition(std::u32string& out, NormalForm form, char32_t c) {
  if (c < 0x80) {
    out.push_back(c);
    return;
  }
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  icu::UnicodeString parts;
  if (!normalizer(compatible ? NormalForm::kNfkc : NormalForm::kNfc).getDecomposition(icu(c), parts)) {
    out.push_back(c);
    return;
  }
  for (int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
    out.push_back(static_cast<char32_t>(parts.char32At(i)));
  }
}

uint8_t combining_class(char32_t c) { return c < 0x300 ? 0 : u_getCombiningClass(icu(c)); }

char32_t compose_pair(char32_t a, char32_t b) {
  const UChar32 made = normalizer(NormalForm::kNfc).composePair(icu(a), icu(b));
  return made < 0 ? 0 : static_cast<char32_t>(made);
}

int32_t script_code(char32_t c) {
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(icu(c), &error);
}

namespace {

int32_t break_kind(char32_t c) {
  return u_getIntPropertyValue(icu(hf_stand_in(c)), UCHAR_GRAPHEME_CLUSTER_BREAK);
}
bool is_pictographic(char32_t c) { return u_hasBinaryProperty(icu(c), UCHAR_EXTENDED_PICTOGRAPHIC); }

struct ClusterState {
  int32_t last;
  size_t n_regional;
  bool pictographic;      // an Extended_Pictographic, then only Extend
  bool pictographic_zwj;  // ... then a ZWJ
};

// UAX 29, GB3 to GB13: whether the cluster goes on with a character of kind `next`.
bool joins(const ClusterState& s, int32_t next, char32_t c) {
  if (s.last == U_GCB_CR) return next == U_GCB_LF;
  if (s.last == U_GCB_CONTROL || s.last == U_GCB_LF) return false;
  if (next == U_GCB_CONTROL || next == U_GCB_CR || next == U_GCB_LF) return false;
  if (s.last == U_GCB_L && (next == U_GCB_L || next == U_GCB_V || next == U_GCB_LV || next == U_GCB_LVT))
    return true;
  if ((s.last == U_GCB_LV || s.last == U_GCB_V) && (next == U_GCB_V || next == U_GCB_T)) return true;
  if ((s.last == U_GCB_LVT || s.last == U_GCB_T) && next == U_GCB_T) return true;
  if (next == U_GCB_EXTEND || next == U_GCB_ZWJ || next == U_GCB_SPACING_MARK) return true;
  if (s.last == U_GCB_PREPEND) return true;
  if (s.pictographic_zwj && is_pictographic(c)) return true;
  return s.last == U_GCB_REGIONAL_INDICATOR && next == U_GCB_REGIONAL_INDICATOR && s.n_regional % 2 == 1;
}

}  // namespace

size_t grapheme_length(std::string_view text, size_t pos) {
  const size_t begin = pos;
  char32_t c = next_char(text, pos);
  ClusterState s{break_kind(c), break_kind(c) == U_GCB_REGIONAL_INDICATOR, is_pictographic(c), false};
  while (pos < text.size()) {
    size_t after = pos;
    c = next_char(text, after);
    const int32_t kind = break_kind(c);
    if (!joins(s, kind, c)) break;
    s.pictographic_zwj = s.pictographic && kind == U_GCB_ZWJ;
    s.pictographic = is_pictographic(c) || (s.pictographic && kind == U_GCB_EXTEND);
    s.n_regional += kind == U_GCB_REGIONAL_INDICATOR;
    s.last = kind;
    pos = after;
  }
  return pos - begin;
}

}  // namespace skua::text
