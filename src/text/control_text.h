// Control text that must stay ordinary text on its way through a template. Each occurrence in a message gets
// a marker (a noncharacter) behind its first character; after rendering, the markers are taken out and their
// positions kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace skua::text {

class ControlMarker {
 public:
  /// `control_texts`: texts of the control tokens. `request`: everything that will be rendered; the marker is
  /// a noncharacter that occurs nowhere in it. Errors: kInvalidArgument when all 32 are taken.
  static Result<ControlMarker> make(const std::vector<std::string>& control_texts, const Json& request,
                                    std::string_view template_source);

  /// `value` with every text in it marked (keys of objects stay).
  Json mark(const Json& value) const;

  /// Takes the markers out of `text`; `breaks` gets where they were.
  std::string unmark(std::string_view text, std::vector<uint32_t>& breaks) const;

 private:
  std::string mark_text(const std::string& text) const;

  const std::vector<std::string>* control_texts_ = nullptr;
  std::string marker_;   // UTF-8
  std::string escaped_;  // as JSON and Python escape it
};

}  // namespace skua::text
