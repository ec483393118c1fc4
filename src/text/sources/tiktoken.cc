// Byte-level BPE from tiktoken rank lists.
#include <charconv>

#include "text/base64.h"
#include "text/byte_chars.h"
#include "text/decoders/decoders.h"
#include "text/json_fields.h"
#include "text/models/bpe.h"
#include "text/normalizers/normalizers.h"
#include "text/pipeline.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/vocab_files.h"

namespace skua::text {
namespace {

constexpr int32_t kMaxId = 1 << 28;

std::string_view take_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string spelled(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += byte_char(static_cast<uint8_t>(c));
  return out;
}

// Two neighbours merge when their bytes joined are a token; its rank is the order. So every cut of every
// token is a merge, with the token's rank.
void add_all_cuts(BpeSpec& spec, const std::vector<std::pair<std::string, int32_t>>& tokens) {
  for (const auto& [bytes, id] : tokens) {
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = spec.vocab.find(spelled(std::string_view(bytes).substr(0, cut)));
      if (!left) continue;
      const auto right = spec.vocab.find(spelled(std::string_view(bytes).substr(cut)));
      if (right) spec.merges.push_back({*left, *right, static_cast<uint32_t>(id), id});
    }
  }
}

Result<std::unique_ptr<Tokenizer>> load_ranks(std::string_view list, const TiktokenOptions& options) {
  BpeSpec bpe;
  std::vector<std::pair<std::string, int32_t>> tokens;
  for (size_t n = 1; !list.empty(); ++n) {
    const std::string_view line = take_line(list);
    if (line.empty()) continue;
    const size_t space = line.find(' ');
    int32_t rank = -1;
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
    if (rank < 0 || rank >= kMaxId) {
      return invalid_argument("[tiktoken] line " + std::to_string(n) + " is not base64, a space and a rank");
    }
    SKUA_ASSIGN_OR_RETURN(std::string bytes, decode_base64(line.substr(0, space)));
    if (bytes.empty() || bytes.size() > 4096)
      return invalid_argument("[tiktoken] line " + std::to_string(n) + ": bad token");
    bpe.vocab.insert(spelled(bytes), rank);
    tokens.emplace_back(std::move(bytes), rank);
  }
  if (tokens.empty()) return invalid_argument("[tiktoken] the list is empty");
  add_all_cuts(bpe, tokens);
  bpe.ignore_merges = true;
  PipelineSpec spec;
  for (const auto& [text, id] : options.special) {
    if (id < 0 || id >= kMaxId)
      return invalid_argument("[tiktoken] special token \"" + text + "\" has no id");
    spec.added_tokens.push_back({.content = text, .id = id, .special = true});
  }
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  SKUA_ASSIGN_OR_RETURN(Pattern pattern, Pattern::regex(options.pattern));
  // What lies between the matches is dropped, as findall() does.
  steps.push_back(make_split(std::move(pattern), Behavior::kRemoved, Invert::kYes));
  SKUA_ASSIGN_OR_RETURN(auto bytes, make_byte_level({.add_prefix_space = false, .use_regex = false}));
  steps.push_back(std::move(bytes));
  spec.pre_tokenizer = make_sequence(std::move(steps));
  if (options.nfc) spec.normalizer = make_unicode_normalizer(NormalForm::kNfc);
  spec.model = make_bpe(std::move(bpe));
  spec.decoder = make_byte_level_decoder();
  spec.spelling = TokenSpelling::kByteLevel;
  return make_pipeline(std::move(spec), SpecialGuess::kAll);
}

}  // namespace
}  // namespace skua::text

namespace skua {

Result<std::unique_ptr<Tokenizer>> load_tiktoken(std::string_view list, const TiktokenOptions& options) {
  return text::load_ranks(list, options);
}

}  // namespace skua
