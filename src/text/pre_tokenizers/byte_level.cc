// ByteLevel: the GPT-2 split, and bytes spelled as printable characters.
// Source: HF tokenizers 0.23, pre_tokenizers/byte_level.rs.
#include "text/byte_chars.h"
#include "text/pattern.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/utf8.h"

namespace skua::text {
namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

enum class Spell : uint8_t { kBytes, kNothing };

// Puts a space before every piece that does not start with one.
void prepend_spaces(Segment& segment) {
  const std::string_view text = segment.text.text();
  TextRewriter out(segment.text);
  std::vector<Piece> pieces;
  for (const Piece& piece : segment.pieces) {
    const auto begin = static_cast<uint32_t>(out.size());
    if (text[piece.begin] != ' ') out.emit(" ", piece.begin);
    out.keep(piece.begin, piece.end);
    pieces.push_back({begin, static_cast<uint32_t>(out.size())});
  }
  out.commit();
  segment.pieces = std::move(pieces);
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(ByteLevelOptions options, std::shared_ptr<const Pattern> pattern, Spell spell)
      : options_(options), pattern_(std::move(pattern)), spell_(spell) {}

  Status split(Segment& segment) const override {
    if (options_.add_prefix_space) prepend_spaces(segment);
    if (pattern_) {
      SKUA_RETURN_IF_ERROR(split_pieces(
          segment, Behavior::kIsolated,
          [&](std::string_view text, auto& parts) { return pattern_->find_parts(text, parts); }));
    }
    if (spell_ == Spell::kBytes) spell_bytes(segment);
    return ok_status();
  }

  RawBytes without_byte_spelling() const override {
    if (spell_ == Spell::kNothing) return {};
    if (!pattern_ && !options_.add_prefix_space) return {true, nullptr};
    return {true, std::make_unique<ByteLevel>(options_, pattern_, Spell::kNothing)};
  }

 private:
  ByteLevelOptions options_;
  std::shared_ptr<const Pattern> pattern_;
  Spell spell_;
};

}  // namespace

void spell_bytes(Segment& segment) {
  const std::string_view text = segment.text.text();
  TextRewriter out(segment.text);
  std::vector<Piece> pieces;
  for (const Piece& piece : segment.pieces) {
    const auto begin = static_cast<uint32_t>(out.size());
    for (size_t pos = piece.begin; pos < piece.end; ++pos)
      out.emit(byte_char(static_cast<uint8_t>(text[pos])), pos);
    pieces.push_back({begin, static_cast<uint32_t>(out.size())});
  }
  out.commit();
  segment.pieces = std::move(pieces);
}

Result<std::unique_ptr<PreTokenizer>> make_byte_level(ByteLevelOptions options) {
  std::shared_ptr<const Pattern> pattern;
  if (options.use_regex) {
    SKUA_ASSIGN_OR_RETURN(Pattern compiled, Pattern::regex(kGpt2Pattern));
    pattern = std::make_shared<const Pattern>(std::move(compiled));
  }
  return std::unique_ptr<PreTokenizer>(
      std::make_unique<ByteLevel>(options, std::move(pattern), Spell::kBytes));
}

}  // namespace skua::text
