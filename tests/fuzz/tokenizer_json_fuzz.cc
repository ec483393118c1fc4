// tokenizer.json of hostile making: it loads or is refused with a message; what loads encodes and decodes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto made = skua::load_tokenizer_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!made.ok()) {
    SKUA_CHECK(!made.status().message().empty());
    return 0;
  }
  const skua::Tokenizer& tokenizer = **made;
  for (const char* text : {"", " a  b\n12 3", "<s>h\xc3\xa9llo\xe2\x96\x81 w\xf0\x9f\x8c\xb6!",
                           "\xe1\x84\x80\xe1\x85\xa1\xcc\xa7\xcc\x81 \xef\xac\x81"}) {
    const auto plain = tokenizer.encode(text);
    const auto full = tokenizer.encode_with_offsets(text);
    SKUA_CHECK(plain.ok() == full.ok());
    if (!plain.ok()) continue;
    SKUA_CHECK(*plain == full->ids);
    SKUA_CHECK_EQ(full->ids.size(), full->offsets.size());
    skua::Detokenizer stream(tokenizer);
    std::string joined;
    for (const int32_t id : *plain) joined += stream.push(id);
    if (!plain->empty()) SKUA_CHECK(joined + stream.finish() == tokenizer.decode(*plain));
  }
  return 0;
}
