// Text on its way from the input to the model, with the part of the input that each byte came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace skua::text {

enum class Track : uint8_t { kNo, kYes };  // keep origins of every byte, or only what encoding needs

/// A part of the input and its present form. As long as nothing rewrites it, it is a view of the input.
/// With Track::kYes every byte knows its origin: the range of the input that the character it belongs to came
/// from. Lifetime: the input must outlive it.
class AlignedText {
 public:
  AlignedText(std::string_view input, uint32_t input_begin, Track track)
      : view_(input), input_begin_(input_begin), track_(track) {}

  std::string_view text() const { return owned_ ? std::string_view(buffer_) : view_; }
  Track track() const { return track_; }
  /// Length of the input that the text came from.
  size_t input_size() const { return view_.size(); }

  /// The input range that [begin, end) of text() came from. Only with Track::kYes.
  TextSpan origin(size_t begin, size_t end) const;

  /// True when text()[pos] came from the very start of the input. Exact with Track::kYes; otherwise true only
  /// for pos 0 of a text whose first byte was never dropped.
  bool at_input_start(size_t pos) const;

  /// The part [begin, end) as a text of its own.
  AlignedText slice(size_t begin, size_t end) const;

 private:
  friend class TextRewriter;
  TextSpan origin_of_byte(size_t pos) const;

  std::string_view view_;      // the input, while !owned_
  std::string buffer_;         // the text, once rewritten
  std::vector<TextSpan> map_;  // per byte of buffer_, when rewritten and tracked
  uint32_t input_begin_;       // where view_ starts in the whole input
  Track track_;
  bool owned_ = false;
  bool moved_ = false;  // untracked: the first byte no longer comes from view_'s first
};

/// Writes the next form of a text front to back, then puts it in place with commit().
class TextRewriter {
 public:
  static constexpr size_t kNoOrigin = SIZE_MAX;

  explicit TextRewriter(AlignedText& text) : target_(text) { buffer_.reserve(text.text().size() + 16); }

  /// Copies [begin, end) of the present text with its origins.
  void keep(size_t begin, size_t end);
  /// Writes `bytes`; each takes the origin of the present text's byte `origin_byte` (kNoOrigin: empty, at 0).
  void emit(std::string_view bytes, size_t origin_byte);
  void emit(char32_t c, size_t origin_byte);

  size_t size() const { return buffer_.size(); }
  /// Takes back everything behind the first `size` bytes.
  void truncate(size_t size);
  void commit();

 private:
  void note_first(size_t source);

  AlignedText& target_;
  std::string buffer_;
  std::vector<TextSpan> map_;
  bool moved_ = false;
};

}  // namespace skua::text
