// SentencePiece models: the file format, and the pipeline made of it.
// Source: google/sentencepiece v0.2, src/sentencepiece_model.proto, bpe_model.cc, unigram_model.cc.
#include "text/sources/sentencepiece.h"

#include <algorithm>
#include <limits>

#include "text/decoders/decoders.h"
#include "text/models/bpe.h"
#include "text/models/models.h"
#include "text/post_processors/post_processors.h"
#include "text/sources/protobuf.h"
#include "text/vocab_files.h"

namespace skua::text {
namespace {

std::unique_ptr<Decoder> make_decoder(const SentencePieceVocab& vocab) {
  std::vector<std::unique_ptr<Decoder>> parts;
  parts.push_back(make_replace_decoder(Pattern::literal("\u2581"), " "));
  parts.push_back(make_byte_fallback_decoder());
  parts.push_back(make_fuse_decoder());
  if (vocab.rules.add_dummy_prefix) parts.push_back(make_strip_decoder({.content = U' ', .start = 1}));
  return make_decoder_sequence(std::move(parts));
}

Result<std::unique_ptr<Model>> make_model(const SentencePieceVocab& vocab) {
  StringTable table(vocab.pieces.size());
  std::vector<bool> usable(vocab.pieces.size());
  std::optional<int32_t> unk;
  for (size_t i = 0; i < vocab.pieces.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    table.insert(vocab.pieces[i], id);
    usable[i] = vocab.types[i] == PieceType::kNormal || vocab.types[i] == PieceType::kUserDefined ||
                vocab.types[i] == PieceType::kUnused;
    if (vocab.types[i] == PieceType::kUnknown && !unk) unk = id;
  }
  if (!unk) return invalid_argument("[sentencepiece] the model has no unknown piece");
  if (vocab.algorithm == SentencePieceVocab::Algorithm::kUnigram) {
    UnigramSpec spec;
    for (size_t i = 0; i < usable.size(); ++i) usable[i] = usable[i] && vocab.types[i] != PieceType::kUnused;
    spec.vocab = std::move(table);
    spec.scores.assign(vocab.scores.begin(), vocab.scores.end());
    spec.sums = ScoreSums::kFloat;
    float lowest = std::numeric_limits<float>::max();
    for (size_t i = 0; i < usable.size(); ++i) {
      if (vocab.types[i] == PieceType::kNormal) lowest = std::min(lowest, vocab.scores[i]);
      // What sentencepiece 0.2.3 does, whatever score the file gives: a tenth for every byte but the first.
      if (vocab.types[i] == PieceType::kUserDefined && !vocab.pieces[i].empty()) {
        spec.scores[i] = static_cast<float>(0.1 * static_cast<double>(vocab.pieces[i].size() - 1));
      }
    }
    spec.lowest_score = lowest;
    spec.in_lattice = std::move(usable);
    spec.unk = unk;
    spec.byte_fallback = vocab.byte_fallback;
    return make_unigram(std::move(spec));
  }
  BpeSpec spec;
  std::vector<BpeSpec::Merge> merges = merges_from_scores(table, vocab.scores);
  std::erase_if(merges, [&](const BpeSpec::Merge& m) { return !usable[static_cast<size_t>(m.merged)]; });
  spec.vocab = std::move(table);
  spec.merges = std::move(merges);
  spec.unk_token = vocab.pieces[static_cast<size_t>(*unk)];
  spec.fuse_unk = true;
  spec.byte_fallback = vocab.byte_fallback;
  return make_bpe(std::move(spec));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_sentencepiece(SentencePieceVocab vocab) {
  const size_t n = vocab.pieces.size();
  if (n == 0 || vocab.scores.size() != n || vocab.types.size() != n) {
    return invalid_argument("[sentencepiece] pieces, scores and types are not equal in number");
  }
  PipelineSpec spec;
  for (size_t i = 0; i < n; ++i) {
    const PieceType type = vocab.types[i];
    const auto id = static_cast<int32_t>(i);
    const bool control = type == PieceType::kControl || type == PieceType::kUnknown;
    if (type == PieceType::kUserDefined && !vocab.pieces[i].empty())
      vocab.rules.user_defined.push_back(vocab.pieces[i]);
    // User-defined pieces are found after normalization: by the scores in Unigram, before any merge in BPE.
    const bool split_off =
        type == PieceType::kUserDefined && vocab.algorithm == SentencePieceVocab::Algorithm::kBpe;
    if (control || split_off) {
      spec.added_tokens.push_back({.content = vocab.pieces[i],
                                   .id = id,
                                   .normalized = split_off,
                                   .spelled_normalized = split_off,
                                   .special = control});
    }
  }
  SKUA_ASSIGN_OR_RETURN(spec.model, make_model(vocab));
  spec.decoder = make_decoder(vocab);
  std::vector<TemplateItem> items;
  if (vocab.add_bos && vocab.special.bos) items.push_back({false, {*vocab.special.bos}});
  items.push_back({true, {}});
  if (vocab.add_eos && !vocab.special.eos.empty()) items.push_back({false, {vocab.special.eos[0]}});
  if (items.size() > 1) spec.post_processor = make_template_processor(std::move(items));
  spec.special = vocab.special;
  spec.spelling = TokenSpelling::kSentencePiece;
  SKUA_ASSIGN_OR_RETURN(spec.normalizer, make_sentencepiece_normalizer(std::move(vocab.rules)));
  return make_pipeline(std::move(spec), SpecialGuess::kEndOfTurn);
}

namespace {

// Field numbers of sentencepiece_model.proto.
Status read_piece(std::string_view bytes, SentencePieceVocab& vocab) {
  ProtoReader reader(bytes);
  std::string piece;
  float score = 0;
  auto type = PieceType::kNormal;
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->is_bytes) piece = field->bytes;
    if (field->number == 2) score = field->as_float();
    if (field->number == 3) type = static_cast<PieceType>(field->value);
  }
  if (reader.failed()) return invalid_argument("[sentencepiece] a piece is cut short");
  vocab.pieces.push_back(std::move(piece));
  vocab.scores.push_back(score);
  vocab.types.push_back(type);
  return ok_status();
}

struct TrainerIds {
  int64_t model_type = 1;
  int64_t bos = 1, eos = 2, pad = -1;
};

Status read_trainer(std::string_view bytes, SentencePieceVocab& vocab, TrainerIds& ids) {
  ProtoReader reader(bytes);
  while (const auto field = reader.next()) {
    const auto value = static_cast<int32_t>(field->value);
    if (field->number == 3) ids.model_type = value;
    if (field->number == 35) vocab.byte_fallback = value != 0;
    if (field->number == 41) ids.bos = value;
    if (field->number == 42) ids.eos = value;
    if (field->number == 43) ids.pad = value;
  }
  return reader.failed() ? invalid_argument("[sentencepiece] trainer_spec is cut short") : ok_status();
}

Status read_normalizer(std::string_view bytes, SentencePieceRules& rules) {
  ProtoReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->number == 2 && field->is_bytes) rules.charsmap = field->bytes;
    if (field->number == 3) rules.add_dummy_prefix = field->value != 0;
    if (field->number == 4) rules.remove_extra_whitespaces = field->value != 0;
    if (field->number == 5) rules.escape_whitespaces = field->value != 0;
  }
  return reader.failed() ? invalid_argument("[sentencepiece] normalizer_spec is cut short") : ok_status();
}

Result<std::unique_ptr<Tokenizer>> load(std::string_view bytes, SentencePieceOptions options) {
  SentencePieceVocab vocab;
  TrainerIds ids;
  ProtoReader reader(bytes);
  while (const auto field = reader.next()) {
    if (!field->is_bytes) continue;
    if (field->number == 1) SKUA_RETURN_IF_ERROR(read_piece(field->bytes, vocab));
    if (field->number == 2) SKUA_RETURN_IF_ERROR(read_trainer(field->bytes, vocab, ids));
    if (field->number == 3) SKUA_RETURN_IF_ERROR(read_normalizer(field->bytes, vocab.rules));
  }
  if (reader.failed() || vocab.pieces.empty()) {
    return invalid_argument("[sentencepiece] the file is no SentencePiece model, or is cut short");
  }
  if (ids.model_type != 1 && ids.model_type != 2) {
    return unsupported("[sentencepiece] model type " + std::to_string(ids.model_type) +
                       "; known: unigram, bpe");
  }
  vocab.algorithm =
      ids.model_type == 2 ? SentencePieceVocab::Algorithm::kBpe : SentencePieceVocab::Algorithm::kUnigram;
  const auto role = [&](int64_t id) -> std::optional<int32_t> {
    if (id < 0 || static_cast<size_t>(id) >= vocab.pieces.size()) return std::nullopt;
    return static_cast<int32_t>(id);
  };
  vocab.special.bos = role(ids.bos);
  vocab.special.pad = role(ids.pad);
  if (const auto eos = role(ids.eos)) vocab.special.eos.push_back(*eos);
  for (size_t i = 0; i < vocab.types.size(); ++i) {
    if (vocab.types[i] == PieceType::kUnknown) vocab.special.unk = static_cast<int32_t>(i);
  }
  vocab.add_bos = options.add_bos;
  vocab.add_eos = options.add_eos;
  return make_sentencepiece(std::move(vocab));
}

}  // namespace
}  // namespace skua::text

namespace skua {

Result<std::unique_ptr<Tokenizer>> load_sentencepiece(std::string_view bytes, SentencePieceOptions options) {
  return text::load(bytes, options);
}

}  // namespace skua
