// GGUF files, versions 2 and 3, little-endian: key-value metadata, tensor infos, aligned tensor data.
// Source: the GGUF specification of ggml (facts).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "tensor/format.h"

namespace skua {

enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// An array of the metadata, left in the file. Its bytes were checked: `count` elements fill them exactly.
struct GgufArray {
  GgufType type = GgufType::kU8;  // of the elements; never kArray
  uint64_t count = 0;
  std::span<const std::byte> bytes;  // strings: each with its length before it
};

/// One tensor. `bytes` points into the parsed file and has exactly the size that type and shape ask for.
struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;    // outermost first, the reverse of the file
  std::string type;              // "Q4_1"
  std::optional<Format> format;  // nothing for types that skua does not read
  std::span<const std::byte> bytes;
};

/// Everything of one file. Points into it.
struct GgufHeader {
  uint32_t version = 0;
  uint64_t alignment = 32;
  Json metadata = Json::object();  // scalars, strings, and arrays but for the ones in large_arrays
  std::map<std::string, GgufArray, std::less<>> arrays;  // every array
  std::vector<std::string> large_arrays;                 // too long to be copied into `metadata`
  std::vector<GgufTensor> tensors;                       // in file order
};

/// Parses a whole file held in memory. Every count is compared with the bytes left before anything is
/// allocated for it. The vocabulary's arrays (tokenizer.ggml.tokens, .scores, .token_type, .merges) and
/// arrays that would make `metadata` large stay in the file. Errors: kDataLoss; kUnsupported (version 1,
/// big-endian, nested arrays).
Result<GgufHeader> parse_gguf(std::span<const std::byte> file);

/// Types that skua reads, for messages: "F32, F16, ...".
std::string gguf_readable_types();

/// Elements of an array as views into the file or as numbers. Errors: kInvalidArgument (another element
/// type).
Result<std::vector<std::string_view>> gguf_strings(const GgufArray& array);
Result<std::vector<float>> gguf_floats(const GgufArray& array);  // f32
Result<std::vector<int32_t>> gguf_ints(const GgufArray& array);  // i32, or u32 below 2^31

/// The vocabulary of a file. Strings are views into the file; arrays that it lacks are empty.
struct GgufVocabulary {
  std::vector<std::string_view> tokens;
  std::vector<float> scores;         // one per token, or empty
  std::vector<int32_t> token_types;  // one per token, or empty
  std::vector<std::string_view> merges;
};

/// Errors: kNotFound (no tokens), kDataLoss (counts differ), kInvalidArgument (element types).
Result<GgufVocabulary> gguf_vocabulary(const GgufHeader& header);

}  // namespace skua
