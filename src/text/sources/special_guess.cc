// Names that families give to their special tokens, from their published tokenizer files.
#include "text/sources/special_guess.h"

#include <algorithm>
#include <array>

namespace skua::text {
namespace {

constexpr std::array<std::string_view, 6> kBos = {"<|begin_of_text|>",
                                                  "<bos>",
                                                  "<s>",
                                                  "<|startoftext|>",
                                                  "<\xef\xbd\x9c"
                                                  "begin\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
                                                  "[CLS]"};
constexpr std::array<std::string_view, 6> kEos = {"</s>",
                                                  "<eos>",
                                                  "<|endoftext|>",
                                                  "<|end_of_text|>",
                                                  "<\xef\xbd\x9c"
                                                  "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
                                                  "[SEP]"};
constexpr std::array<std::string_view, 10> kEndOfTurn = {"<|im_end|>",
                                                         "<|eot_id|>",
                                                         "<|eom_id|>",
                                                         "<end_of_turn>",
                                                         "<|end|>",
                                                         "<|endofturn|>",
                                                         "<|END_OF_TURN_TOKEN|>",
                                                         "<|return|>",
                                                         "<|call|>",
                                                         "<|eot|>"};
constexpr std::array<std::string_view, 3> kUnk = {"<unk>", "[UNK]", "<|unk|>"};
constexpr std::array<std::string_view, 3> kPad = {"<pad>", "[PAD]", "<|pad|>"};

template <size_t N>
void fill(const Tokenizer& tokenizer, const std::array<std::string_view, N>& names,
          std::optional<int32_t>& id) {
  for (const std::string_view name : names) {
    if (!id) id = tokenizer.find_token(name);
  }
}

}  // namespace

void guess_special_ids(const Tokenizer& tokenizer, SpecialIds& ids) {
  fill(tokenizer, kBos, ids.bos);
  fill(tokenizer, kUnk, ids.unk);
  fill(tokenizer, kPad, ids.pad);
  if (ids.eos.empty()) {
    std::optional<int32_t> eos;
    fill(tokenizer, kEos, eos);
    if (eos) ids.eos.push_back(*eos);
  }
}

void add_end_of_turn_ids(const Tokenizer& tokenizer, SpecialIds& ids) {
  for (const std::string_view name : kEndOfTurn) {
    const auto id = tokenizer.find_token(name);
    if (!id || !tokenizer.is_special(*id)) continue;
    if (std::find(ids.eos.begin(), ids.eos.end(), *id) == ids.eos.end()) ids.eos.push_back(*id);
  }
}

}  // namespace skua::text
