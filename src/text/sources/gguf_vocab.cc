// GGUF vocabularies to pipelines: byte-level BPE ("gpt2"). The other kinds are in gguf_spm.cc and
// gguf_bert.cc.
#include "text/gguf_vocab.h"

#include <algorithm>

#include "text/decoders/decoders.h"
#include "text/models/bpe.h"
#include "text/normalizers/normalizers.h"
#include "text/pipeline.h"
#include "text/post_processors/post_processors.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/sources/gguf_kinds.h"
#include "text/sources/gguf_pre.h"

namespace skua::text {

Result<std::optional<int32_t>> gguf_id(const GgufVocab& vocab, std::string_view key,
                                       std::optional<int64_t> id) {
  if (!id) return std::optional<int32_t>();
  // Some files write -1 for "none".
  if (*id == -1 || *id == 0xffffffff) return std::optional<int32_t>();
  if (*id < 0 || static_cast<size_t>(*id) >= vocab.tokens.size()) {
    return invalid_argument("[gguf] " + std::string(key) + " is " + std::to_string(*id) +
                            " but the vocabulary has " + std::to_string(vocab.tokens.size()) + " tokens");
  }
  return std::optional<int32_t>(static_cast<int32_t>(*id));
}

Result<SpecialIds> gguf_special_ids(const GgufVocab& vocab) {
  SpecialIds ids;
  SKUA_ASSIGN_OR_RETURN(ids.bos, gguf_id(vocab, "bos_token_id", vocab.bos_id));
  SKUA_ASSIGN_OR_RETURN(ids.unk, gguf_id(vocab, "unknown_token_id", vocab.unk_id));
  SKUA_ASSIGN_OR_RETURN(ids.pad, gguf_id(vocab, "padding_token_id", vocab.pad_id));
  for (const auto& [key, value] :
       {std::pair("eos_token_id", vocab.eos_id), std::pair("eot_token_id", vocab.eot_id),
        std::pair("eom_token_id", vocab.eom_id)}) {
    SKUA_ASSIGN_OR_RETURN(const auto id, gguf_id(vocab, key, value));
    if (id) ids.eos.push_back(*id);
  }
  return ids;
}

GgufTokenType gguf_type(const GgufVocab& vocab, size_t id) {
  return vocab.token_types.empty() ? GgufTokenType::kNormal
                                   : static_cast<GgufTokenType>(vocab.token_types[id]);
}

std::unique_ptr<PostProcessor> gguf_post_processor(const SpecialIds& ids, bool add_bos, bool add_eos) {
  std::vector<TemplateItem> items;
  if (add_bos && ids.bos) items.push_back({false, {*ids.bos}});
  items.push_back({true, {}});
  if (add_eos && !ids.eos.empty()) items.push_back({false, {ids.eos[0]}});
  return items.size() == 1 ? nullptr : make_template_processor(std::move(items));
}

std::vector<AddedToken> gguf_added_tokens(const GgufVocab& vocab) {
  std::vector<AddedToken> added;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const GgufTokenType type = gguf_type(vocab, id);
    const bool control = type == GgufTokenType::kControl || type == GgufTokenType::kUnknown;
    if (!control && type != GgufTokenType::kUserDefined) continue;
    added.push_back({.content = vocab.tokens[id], .id = static_cast<int32_t>(id), .special = control});
  }
  return added;
}

namespace {

/// Text is joined by merges only: a token of several characters that none can make says that the list is
/// lost.
Status check_merges(const GgufVocab& vocab) {
  if (!vocab.merges.empty()) return ok_status();
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const bool normal = gguf_type(vocab, id) == GgufTokenType::kNormal;
    const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    if (!normal || std::count_if(vocab.tokens[id].begin(), vocab.tokens[id].end(), starts_character) < 2)
      continue;
    return invalid_argument("[gguf] tokenizer.ggml.merges is missing or empty, yet token " +
                            std::to_string(id) +
                            " has several characters; fetch the file again, or convert it again");
  }
  return ok_status();
}

Result<std::unique_ptr<Tokenizer>> make_gguf_bpe(const GgufVocab& vocab) {
  SKUA_ASSIGN_OR_RETURN(const GgufPre* pre, find_gguf_pre(vocab.pre.empty() ? "default" : vocab.pre));
  SKUA_RETURN_IF_ERROR(check_merges(vocab));
  BpeSpec bpe;
  for (size_t id = 0; id < vocab.tokens.size(); ++id)
    bpe.vocab.insert(vocab.tokens[id], static_cast<int32_t>(id));
  for (const std::string& merge : vocab.merges) {
    // The space that divides is never the first character: a part may start with one only as a byte-level
    // mark.
    const size_t space = merge.find(' ', 1);
    if (space == std::string::npos) return invalid_argument("[gguf] merge \"" + merge + "\" has no space");
    SKUA_RETURN_IF_ERROR(
        add_merge(bpe, std::string_view(merge).substr(0, space), std::string_view(merge).substr(space + 1)));
  }
  bpe.ignore_merges = pre->ignore_merges;
  PipelineSpec spec;
  SKUA_ASSIGN_OR_RETURN(spec.special, gguf_special_ids(vocab));
  SKUA_ASSIGN_OR_RETURN(spec.pre_tokenizer, make_gguf_pre_tokenizer(*pre));
  spec.model = make_bpe(std::move(bpe));
  spec.decoder = make_byte_level_decoder();
  if (pre->nfc) spec.normalizer = make_unicode_normalizer(NormalForm::kNfc);
  spec.spelling = TokenSpelling::kByteLevel;
  spec.added_tokens = gguf_added_tokens(vocab);
  spec.post_processor =
      gguf_post_processor(spec.special, vocab.add_bos.value_or(pre->add_bos), vocab.add_eos.value_or(false));
  return make_pipeline(std::move(spec), SpecialGuess::kEndOfTurn);
}

Status check_lists(const GgufVocab& vocab) {
  const size_t n = vocab.tokens.size();
  if (n == 0) return invalid_argument("[gguf] the vocabulary has no tokens");
  if (n > (size_t{1} << 28)) return invalid_argument("[gguf] the vocabulary has more than 2^28 tokens");
  for (const auto& [key, size] :
       {std::pair("token_type", vocab.token_types.size()), std::pair("scores", vocab.scores.size())}) {
    if (size == 0 || size == n) continue;
    return invalid_argument("[gguf] " + std::to_string(n) + " tokens but " + std::to_string(size) +
                            " entries in " + key);
  }
  return ok_status();
}

}  // namespace
}  // namespace skua::text

namespace skua {

Result<std::unique_ptr<Tokenizer>> tokenizer_from_gguf(const GgufVocab& vocab) {
  SKUA_RETURN_IF_ERROR(text::check_lists(vocab));
  if (vocab.model == "gpt2") return text::make_gguf_bpe(vocab);
  if (vocab.model == "llama" || vocab.model == "t5") return text::make_gguf_sentencepiece(vocab);
  if (vocab.model == "bert") return text::make_gguf_bert(vocab);
  return unsupported("[gguf] unknown tokenizer model \"" + vocab.model + "\"; known: gpt2, llama, t5, bert");
}

}  // namespace skua
