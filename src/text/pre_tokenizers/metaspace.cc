// Metaspace: spaces become a visible mark, one may be put in front, and words are split before each mark.
// Source: HF tokenizers 0.23, pre_tokenizers/metaspace.rs.
#include "text/pre_tokenizers/pre_tokenizers.h"

namespace skua::text {
namespace {

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceOptions options) : options_(std::move(options)) {}

  Status split(Segment& segment) const override {
    const std::string& mark = options_.replacement;
    const std::string_view text = segment.text.text();
    TextRewriter out(segment.text);
    std::vector<Piece> pieces;
    for (const Piece& piece : segment.pieces) {
      const auto begin = static_cast<uint32_t>(out.size());
      const std::string_view old = text.substr(piece.begin, piece.end - piece.begin);
      if (!old.starts_with(' ') && !old.starts_with(mark) && wants_mark(segment.text, piece.begin)) {
        out.emit(mark, piece.begin);
      }
      for (size_t pos = piece.begin; pos < piece.end;) {
        const size_t space = std::min<size_t>(text.find(' ', pos), piece.end);
        out.keep(pos, space);
        if (space < piece.end) out.emit(mark, space);
        pos = space + 1;
      }
      pieces.push_back({begin, static_cast<uint32_t>(out.size())});
    }
    out.commit();
    segment.pieces = std::move(pieces);
    if (!options_.split) return ok_status();
    const Pattern pattern = Pattern::literal(mark);
    return split_pieces(
        segment, Behavior::kMergedWithNext,
        [&](std::string_view piece, std::vector<Part>& parts) { return pattern.find_parts(piece, parts); });
  }

 private:
  bool wants_mark(const AlignedText& text, size_t pos) const {
    if (options_.prepend == PrependScheme::kFirst) return text.at_input_start(pos);
    return options_.prepend == PrependScheme::kAlways;
  }

  MetaspaceOptions options_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_metaspace(MetaspaceOptions options) {
  return std::make_unique<Metaspace>(std::move(options));
}

}  // namespace skua::text
