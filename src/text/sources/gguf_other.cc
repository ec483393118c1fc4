// GGUF vocabularies that are not byte-level BPE: "llama" (SentencePiece BPE), "t5" (SentencePiece Unigram),
// "bert" (WordPiece). Source of the conventions: ggml-org/llama.cpp, src/llama-vocab.cpp and conversion
// scripts.
#include "text/decoders/decoders.h"
#include "text/models/models.h"
#include "text/normalizers/normalizers.h"
#include "text/pipeline.h"
#include "text/post_processors/post_processors.h"
#include "text/pre_tokenizers/pre_tokenizers.h"
#include "text/sources/gguf_kinds.h"
#include "text/sources/sentencepiece.h"

namespace skua::text {

Result<std::unique_ptr<Tokenizer>> make_gguf_sentencepiece(const GgufVocab& vocab) {
  if (vocab.scores.empty()) return invalid_argument("[gguf] a " + vocab.model + " vocabulary needs scores");
  const bool unigram = vocab.model == "t5";
  SentencePieceVocab out;
  out.algorithm = unigram ? SentencePieceVocab::Algorithm::kUnigram : SentencePieceVocab::Algorithm::kBpe;
  out.pieces = vocab.tokens;
  out.scores = vocab.scores;
  bool any_unknown = false;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const GgufTokenType type = gguf_type(vocab, id);
    out.types.push_back(type == GgufTokenType::kUndefined ? PieceType::kUnused
                                                          : static_cast<PieceType>(type));
    out.byte_fallback = out.byte_fallback || type == GgufTokenType::kByte;
    any_unknown = any_unknown || type == GgufTokenType::kUnknown;
  }
  SKUA_ASSIGN_OR_RETURN(out.special, gguf_special_ids(vocab));
  if (!any_unknown) out.types[static_cast<size_t>(out.special.unk.value_or(0))] = PieceType::kUnknown;
  out.rules.charsmap = vocab.precompiled_charsmap;
  out.rules.add_dummy_prefix = vocab.add_space_prefix.value_or(true);
  out.rules.remove_extra_whitespaces = vocab.remove_extra_whitespaces.value_or(unigram);
  out.add_bos = vocab.add_bos.value_or(!unigram);
  out.add_eos = vocab.add_eos.value_or(unigram);
  return make_sentencepiece(std::move(out));
}

Result<std::unique_ptr<Tokenizer>> make_gguf_bert(const GgufVocab& vocab) {
  static constexpr std::string_view kMark = "\u2581";
  WordPieceSpec model;
  PipelineSpec spec;
  for (size_t i = 0; i < vocab.tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const std::string& token = vocab.tokens[i];
    const GgufTokenType type = gguf_type(vocab, i);
    const bool named = token.size() > 2 && token.starts_with('[') && token.ends_with(']');
    if (type == GgufTokenType::kControl || type == GgufTokenType::kUnknown ||
        (named && vocab.token_types.empty())) {
      spec.added_tokens.push_back({.content = token, .id = id, .special = true});
      model.vocab.insert(token, id);
    } else if (token.starts_with(kMark)) {
      model.vocab.insert(token.substr(kMark.size()),
                         id);  // GGUF marks the starts of words, WordPiece the rest
    } else {
      model.vocab.insert(named ? token : "##" + token, id);
    }
  }
  SKUA_ASSIGN_OR_RETURN(spec.special, gguf_special_ids(vocab));
  if (spec.special.unk) model.unk_token = vocab.tokens[static_cast<size_t>(*spec.special.unk)];
  SKUA_ASSIGN_OR_RETURN(auto cls, gguf_id(vocab, "cls_token_id", vocab.cls_id ? vocab.cls_id : vocab.bos_id));
  SKUA_ASSIGN_OR_RETURN(auto sep,
                        gguf_id(vocab, "seperator_token_id", vocab.sep_id ? vocab.sep_id : vocab.eos_id));
  if (!cls) cls = model.vocab.find("[CLS]");
  if (!sep) sep = model.vocab.find("[SEP]");
  std::vector<TemplateItem> items;
  if (cls && vocab.add_bos.value_or(true)) items.push_back({false, {*cls}});
  items.push_back({true, {}});
  if (sep && vocab.add_eos.value_or(true)) items.push_back({false, {*sep}});
  spec.post_processor = make_template_processor(std::move(items));
  spec.normalizer = make_bert_normalizer({});
  spec.pre_tokenizer = make_bert_pre_tokenizer();
  spec.model = make_word_piece(std::move(model));
  spec.decoder = make_word_piece_decoder("##", Cleanup::kYes);
  spec.spelling = TokenSpelling::kWordPiece;
  return make_pipeline(std::move(spec), SpecialGuess::kNone);
}

}  // namespace skua::text
