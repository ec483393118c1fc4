// Marking and unmarking. A control token that only begins in a message is marked too: what follows in the
// template must not complete it.
#include "text/control_text.h"

#include <algorithm>

#include "text/utf8.h"

namespace skua::text {
namespace {

bool occurs(const Json& value, std::string_view text) {
  if (value.is_string()) return value.as_string().find(text) != std::string::npos;
  for (const Json& item : value.items()) {
    if (occurs(item, text)) return true;
  }
  for (const auto& [key, item] : value.members()) {
    if (key.find(text) != std::string::npos || occurs(item, text)) return true;
  }
  return false;
}

}  // namespace

Result<ControlMarker> ControlMarker::make(const std::vector<std::string>& control_texts, const Json& request,
                                          std::string_view template_source) {
  ControlMarker out;
  out.control_texts_ = &control_texts;
  for (char32_t c = 0xfdd0; c <= 0xfdef; ++c) {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    out.marker_.clear();
    append_utf8(out.marker_, c);
    out.escaped_ = std::string("\\ufd") + kDigits[c >> 4 & 15] + kDigits[c & 15];
    const bool taken = occurs(request, out.marker_) || occurs(request, out.escaped_) ||
                       template_source.find(out.marker_) != std::string_view::npos ||
                       template_source.find(out.escaped_) != std::string_view::npos;
    if (!taken) return out;
  }
  return invalid_argument("[chat] the messages use all 32 noncharacters from U+FDD0 on");
}

std::string ControlMarker::mark_text(const std::string& text) const {
  std::vector<size_t> marks;
  for (const std::string& token : *control_texts_) {
    const size_t first = utf8_length(token[0]);
    if (token.size() == first) continue;  // one character has no inside
    for (size_t at = text.find(token); at != std::string::npos; at = text.find(token, at + first)) {
      marks.push_back(at + first);
    }
    for (size_t n = std::min(token.size() - 1, text.size()); n >= first; --n) {
      if (text.ends_with(std::string_view(token).substr(0, n))) marks.push_back(text.size() - n + first);
    }
  }
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  std::string out;
  size_t last = 0;
  for (const size_t mark : marks) {
    out.append(text, last, mark - last);
    out += marker_;
    last = mark;
  }
  return out.append(text, last);
}

Json ControlMarker::mark(const Json& value) const {
  if (value.is_string()) return Json(mark_text(value.as_string()));
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value.items()) out.push_back(mark(item));
    return out;
  }
  if (value.is_object()) {
    Json out = Json::object();
    for (const auto& [key, item] : value.members()) out.append_member(key, mark(item));
    return out;
  }
  return value;
}

std::string ControlMarker::unmark(std::string_view text, std::vector<uint32_t>& breaks) const {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    const std::string_view rest = text.substr(pos);
    const size_t length = rest.starts_with(marker_)    ? marker_.size()
                          : rest.starts_with(escaped_) ? escaped_.size()
                                                       : 0;
    if (length == 0) {
      out += text[pos++];
      continue;
    }
    pos += length;
    if (breaks.empty() || breaks.back() != out.size()) breaks.push_back(static_cast<uint32_t>(out.size()));
  }
  return out;
}

}  // namespace skua::text
