// SentencePiece vocabularies, whatever file they came in. Internal to sources/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/normalizers/normalizers.h"
#include "text/pipeline.h"

namespace skua::text {

/// Piece types have the numbers of sentencepiece_model.proto, which are GGUF's too.
enum class PieceType : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct SentencePieceVocab {
  enum class Algorithm : uint8_t { kUnigram, kBpe };
  Algorithm algorithm = Algorithm::kUnigram;
  std::vector<std::string> pieces;
  std::vector<float> scores;
  std::vector<PieceType> types;
  SentencePieceRules rules;  // user_defined is filled in here
  bool byte_fallback = false;
  SpecialIds special;
  bool add_bos = false;
  bool add_eos = false;
};

/// Errors: kInvalidArgument (no pieces, lists of unequal length, no unknown piece).
Result<std::unique_ptr<Tokenizer>> make_sentencepiece(SentencePieceVocab vocab);

}  // namespace skua::text
