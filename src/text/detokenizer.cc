// Detokenizer: a TokenDecoder with a context whose text was shown already.
#include "text/detokenizer.h"

namespace skua {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, SkipSpecial skip, std::span<const int32_t> context)
    : decoder_(tokenizer.start_decode(skip)) {
  std::string shown;
  for (const int32_t id : context) {
    decoder_->push(id, shown);
    shown.clear();
  }
}

std::string Detokenizer::push(int32_t id) {
  std::string out;
  decoder_->push(id, out);
  fresh_ = true;
  return out;
}

std::string Detokenizer::finish() {
  std::string out;
  // With nothing new, what is held back belongs to the context.
  if (fresh_) decoder_->finish(out);
  return out;
}

}  // namespace skua
