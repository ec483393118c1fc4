// vocab.json, merges.txt and the files beside them, of hostile making: they load or are refused with a
// message; what loads encodes and decodes. Between the files stands a record separator (1e).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/vocab_files.h"

namespace {

skua::Json json_or_null(std::string_view text) {
  auto json = skua::parse_json(text);
  return json.ok() ? std::move(json).value() : skua::Json();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 5> part;
  for (std::string_view& text : part) {
    const size_t end = std::min(rest.find('\x1e'), rest.size());
    text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto made = skua::load_vocab_and_merges({.vocab = std::string(part[0]),
                                                 .merges = std::string(part[1]),
                                                 .config = json_or_null(part[2]),
                                                 .special_tokens_map = json_or_null(part[3]),
                                                 .added_tokens = json_or_null(part[4]),
                                                 .model_type = "qwen2"});
  if (!made.ok()) {
    SKUA_CHECK(!made.status().message().empty());
    return 0;
  }
  for (const char* text : {"", " ab  ba\n12 3", "<s>h\xc3\xa9llo w\xf0\x9f\x8c\xb6!<|endoftext|>"}) {
    const auto ids = (*made)->encode(text);
    const auto full = (*made)->encode_with_offsets(text);
    SKUA_CHECK(ids.ok() == full.ok());
    if (!ids.ok()) continue;
    SKUA_CHECK(*ids == full->ids);
    (void)(*made)->decode(*ids);
  }
  return 0;
}
