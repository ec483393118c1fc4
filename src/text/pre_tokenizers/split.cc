// Split: a pattern, what happens to its matches, and whether matches and gaps change places.
#include "text/pre_tokenizers/pre_tokenizers.h"

namespace skua::text {
namespace {

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, Behavior behavior, Invert invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  Status split(Segment& segment) const override {
    return split_pieces(segment, behavior_, [&](std::string_view text, std::vector<Part>& parts) {
      SKUA_RETURN_IF_ERROR(pattern_.find_parts(text, parts));
      if (invert_ == Invert::kYes) {
        for (Part& part : parts) part.is_match = !part.is_match;
      }
      return ok_status();
    });
  }

 private:
  Pattern pattern_;
  Behavior behavior_;
  Invert invert_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_split(Pattern pattern, Behavior behavior, Invert invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}

}  // namespace skua::text
