// The vocabulary that a GGUF file carries, as plain data: whoever reads the file fills it, text/ makes a
// tokenizer of it without knowing the file format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace skua {

/// Values of tokenizer.ggml.token_type.
enum class GgufTokenType : int32_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

/// Each field names its metadata key. Optional keys that the file lacks stay empty.
struct GgufVocab {
  std::string model;                             // tokenizer.ggml.model: "gpt2", "llama", "bert", "t5"
  std::string pre;                               // tokenizer.ggml.pre: "smollm", "llama-bpe", "qwen2", ...
  std::vector<std::string> tokens;               // tokenizer.ggml.tokens; the index is the id
  std::vector<int32_t> token_types;              // tokenizer.ggml.token_type; empty or one per token
  std::vector<float> scores;                     // tokenizer.ggml.scores; empty or one per token
  std::vector<std::string> merges;               // tokenizer.ggml.merges: "left right"
  std::optional<int64_t> bos_id;                 // tokenizer.ggml.bos_token_id
  std::optional<int64_t> eos_id;                 // tokenizer.ggml.eos_token_id
  std::optional<int64_t> eot_id;                 // tokenizer.ggml.eot_token_id
  std::optional<int64_t> eom_id;                 // tokenizer.ggml.eom_token_id
  std::optional<int64_t> unk_id;                 // tokenizer.ggml.unknown_token_id
  std::optional<int64_t> pad_id;                 // tokenizer.ggml.padding_token_id
  std::optional<int64_t> sep_id;                 // tokenizer.ggml.seperator_token_id
  std::optional<int64_t> cls_id;                 // tokenizer.ggml.cls_token_id
  std::optional<bool> add_bos;                   // tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos;                   // tokenizer.ggml.add_eos_token
  std::optional<bool> add_space_prefix;          // tokenizer.ggml.add_space_prefix
  std::optional<bool> remove_extra_whitespaces;  // tokenizer.ggml.remove_extra_whitespaces
  std::string precompiled_charsmap;              // tokenizer.ggml.precompiled_charsmap, raw bytes
};

/// Makes a tokenizer of a GGUF vocabulary. Reads, never keeps, `vocab`.
/// Errors: kInvalidArgument (lists of unequal length, an id out of range, a merge of unknown tokens);
/// kUnsupported (a model or pre-tokenizer that skua does not know; the message lists the known ones).
/// Source: github.com/ggml-org/ggml docs/gguf.md for the keys.
Result<std::unique_ptr<Tokenizer>> tokenizer_from_gguf(const GgufVocab& vocab);

}  // namespace skua
