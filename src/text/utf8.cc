// UTF-8 checking, conversion and repair. Character properties and normal forms are in unicode.cc.
#include "text/utf8.h"

#include <cstring>

namespace skua::text {
namespace {

struct Step {
  size_t length = 0;  // bytes of the character, or of the maximal ill-formed subpart
  enum : uint8_t { kGood, kBad, kUnfinished } kind = kGood;
};

// Looks at the character that starts at bytes[pos] (Unicode 15, table 3-7).
Step step_at(std::string_view bytes, size_t pos) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(pos);
  if (lead < 0x80) return {1, Step::kGood};
  if (lead < 0xc2 || lead > 0xf4) return {1, Step::kBad};
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint8_t low = 0x80, high = 0xbf;
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (size_t i = 1; i < length; ++i) {
    if (pos + i >= bytes.size()) return {i, Step::kUnfinished};
    if (at(pos + i) < low || at(pos + i) > high) return {i, Step::kBad};
    low = 0x80;
    high = 0xbf;
  }
  return {length, Step::kGood};
}

size_t ascii_prefix(std::string_view bytes, size_t pos) {
  constexpr uint64_t kHighBits = 0x8080808080808080ULL;
  while (pos + 8 <= bytes.size()) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + pos, 8);
    if (word & kHighBits) break;
    pos += 8;
  }
  while (pos < bytes.size() && static_cast<uint8_t>(bytes[pos]) < 0x80) ++pos;
  return pos;
}

}  // namespace

bool is_valid_utf8(std::string_view bytes) {
  for (size_t pos = ascii_prefix(bytes, 0); pos < bytes.size();) {
    const Step step = step_at(bytes, pos);
    if (step.kind != Step::kGood) return false;
    pos += step.length;
    if (pos < bytes.size() && static_cast<uint8_t>(bytes[pos]) < 0x80) pos = ascii_prefix(bytes, pos);
  }
  return true;
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

std::u32string to_utf32(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) out.push_back(next_char(text, pos));
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

size_t count_chars(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += !is_utf8_continuation(c);
  return count;
}

size_t complete_utf8_prefix(std::string_view bytes) {
  const size_t window = bytes.size() < 3 ? bytes.size() : 3;
  for (size_t back = 1; back <= window; ++back) {
    const size_t pos = bytes.size() - back;
    if (is_utf8_continuation(bytes[pos])) continue;
    return step_at(bytes, pos).kind == Step::kUnfinished ? pos : bytes.size();
  }
  return bytes.size();
}

void append_lossy(std::string& out, std::string_view bytes) {
  size_t good = 0;
  for (size_t pos = 0; pos < bytes.size();) {
    const Step step = step_at(bytes, pos);
    if (step.kind != Step::kGood) {
      out.append(bytes.substr(good, pos - good));
      out.append("\xef\xbf\xbd");
      good = pos + step.length;
    }
    pos += step.length;
  }
  out.append(bytes.substr(good));
}

}  // namespace skua::text
