// Typed access to the arrays that stay in a GGUF file, and the vocabulary made of four of them.
#include <cstring>

#include "checkpoint/gguf_cursor.h"

namespace skua {
namespace {

Status wrong_type(std::string_view wanted, const GgufArray& array) {
  return invalid_argument("the array should hold " + std::string(wanted) + ", its element type is number " +
                          std::to_string(static_cast<uint32_t>(array.type)));
}

template <typename T>
std::vector<T> copy(const GgufArray& array) {
  std::vector<T> out(array.count);
  if (array.count > 0) std::memcpy(out.data(), array.bytes.data(), array.count * sizeof(T));
  return out;
}

/// Reads the array `key` with `read` into `out`, which stays empty if there is none.
template <typename T>
Status read_array(const GgufHeader& header, std::string_view key,
                  Result<std::vector<T>> (*read)(const GgufArray&), std::vector<T>& out) {
  const auto at = header.arrays.find(key);
  if (at == header.arrays.end()) {
    if (header.metadata.find(key) == nullptr) return ok_status();
    return invalid_argument(std::string(key) + " should be an array");
  }
  auto values = read(at->second);
  if (!values.ok()) return values.status().with_context(key);
  out = std::move(values).value();
  return ok_status();
}

}  // namespace

Result<std::vector<std::string_view>> gguf_strings(const GgufArray& array) {
  if (array.type != GgufType::kString) return wrong_type("strings", array);
  std::vector<std::string_view> out(array.count);
  GgufCursor cursor(array.bytes);
  for (std::string_view& text : out)
    SKUA_CHECK(cursor.take_string(text));  // checked when the file was parsed
  return out;
}

Result<std::vector<float>> gguf_floats(const GgufArray& array) {
  if (array.type != GgufType::kF32) return wrong_type("f32 numbers", array);
  return copy<float>(array);
}

Result<std::vector<int32_t>> gguf_ints(const GgufArray& array) {
  if (array.type != GgufType::kI32 && array.type != GgufType::kU32) return wrong_type("i32 numbers", array);
  auto out = copy<int32_t>(array);
  if (array.type == GgufType::kI32) return out;
  for (const int32_t value : out) {
    if (value < 0) return invalid_argument("an unsigned number is above 2^31 - 1");
  }
  return out;
}

Result<GgufVocabulary> gguf_vocabulary(const GgufHeader& header) {
  GgufVocabulary out;
  SKUA_RETURN_IF_ERROR(read_array(header, "tokenizer.ggml.tokens", gguf_strings, out.tokens));
  if (out.tokens.empty()) return not_found("the file has no tokenizer.ggml.tokens");
  SKUA_RETURN_IF_ERROR(read_array(header, "tokenizer.ggml.scores", gguf_floats, out.scores));
  SKUA_RETURN_IF_ERROR(read_array(header, "tokenizer.ggml.token_type", gguf_ints, out.token_types));
  SKUA_RETURN_IF_ERROR(read_array(header, "tokenizer.ggml.merges", gguf_strings, out.merges));
  for (const auto& [key, n] : {std::pair<std::string_view, size_t>{"scores", out.scores.size()},
                               {"token_type", out.token_types.size()}}) {
    if (n != 0 && n != out.tokens.size()) {
      return data_loss("tokenizer.ggml." + std::string(key) + " has " + std::to_string(n) + " elements for " +
                       std::to_string(out.tokens.size()) + " tokens");
    }
  }
  return out;
}

}  // namespace skua
