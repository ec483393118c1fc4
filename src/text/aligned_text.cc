// Origins of text under rewriting. The rules follow HF tokenizers' NormalizedString: a replaced character
// keeps the origin of the one it replaces, an inserted one shares its neighbour's.
#include "text/aligned_text.h"

#include <algorithm>

#include "text/utf8.h"

namespace skua::text {

TextSpan AlignedText::origin_of_byte(size_t pos) const {
  if (owned_) return map_[pos];
  while (is_utf8_continuation(view_[pos])) --pos;
  const auto begin = static_cast<uint32_t>(input_begin_ + pos);
  return {begin, begin + static_cast<uint32_t>(utf8_length(view_[pos]))};
}

TextSpan AlignedText::origin(size_t begin, size_t end) const {
  if (begin >= end) return {};
  return {origin_of_byte(begin).begin, origin_of_byte(end - 1).end};
}

bool AlignedText::at_input_start(size_t pos) const {
  if (track_ == Track::kYes && owned_) return pos < map_.size() && map_[pos].begin == 0;
  return pos == 0 && input_begin_ == 0 && !moved_;
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
  if (!owned_) {
    AlignedText out(view_.substr(begin, end - begin), input_begin_ + static_cast<uint32_t>(begin), track_);
    out.moved_ = moved_;
    return out;
  }
  AlignedText out(view_, input_begin_, track_);
  out.owned_ = true;
  out.buffer_ = buffer_.substr(begin, end - begin);
  if (track_ == Track::kYes) {
    out.map_.assign(map_.begin() + static_cast<ptrdiff_t>(begin), map_.begin() + static_cast<ptrdiff_t>(end));
  }
  out.moved_ = moved_ || begin > 0;
  return out;
}

void TextRewriter::note_first(size_t source) {
  if (buffer_.empty()) moved_ = source != 0;
}

void TextRewriter::keep(size_t begin, size_t end) {
  if (begin >= end) return;
  note_first(begin);
  buffer_.append(target_.text().substr(begin, end - begin));
  if (target_.track_ == Track::kNo) return;
  map_.reserve(map_.size() + (end - begin));
  if (target_.owned_) {
    map_.insert(map_.end(), target_.map_.begin() + static_cast<ptrdiff_t>(begin),
                target_.map_.begin() + static_cast<ptrdiff_t>(end));
    return;
  }
  for (size_t pos = begin; pos < end; ++pos) map_.push_back(target_.origin_of_byte(pos));
}

void TextRewriter::emit(std::string_view bytes, size_t origin_byte) {
  if (bytes.empty()) return;
  note_first(origin_byte == kNoOrigin ? 0 : origin_byte);
  buffer_.append(bytes);
  if (target_.track_ == Track::kNo) return;
  const TextSpan origin = origin_byte == kNoOrigin ? TextSpan{} : target_.origin_of_byte(origin_byte);
  map_.insert(map_.end(), bytes.size(), origin);
}

void TextRewriter::emit(char32_t c, size_t origin_byte) {
  std::string bytes;
  append_utf8(bytes, c);
  emit(bytes, origin_byte);
}

void TextRewriter::truncate(size_t size) {
  buffer_.resize(size);
  if (target_.track_ == Track::kYes) map_.resize(size);
}

void TextRewriter::commit() {
  target_.buffer_ = std::move(buffer_);
  target_.map_ = std::move(map_);
  target_.owned_ = true;
  target_.moved_ = target_.moved_ || moved_;
}

}  // namespace skua::text
