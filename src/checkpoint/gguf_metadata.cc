// The key-value pairs of a GGUF file: scalars, strings and short arrays become JSON, long arrays stay where
// they are.
#include <algorithm>

#include "base/math.h"
#include "checkpoint/gguf_cursor.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

constexpr uint64_t kMaxCopiedElements = 65'536;  // over all arrays: a JSON value takes some hundred bytes
constexpr uint64_t kMaxPairs = 100'000;          // real files have some dozens
constexpr uint64_t kMinPairBytes = 8 + 4 + 1;    // length of the key, type, smallest value

constexpr std::string_view kVocabulary[] = {"tokenizer.ggml.tokens", "tokenizer.ggml.scores",
                                            "tokenizer.ggml.token_type", "tokenizer.ggml.merges"};

Status cut_short(std::string_view what) {
  return data_loss("the file ends inside " + std::string(what) +
                   "; it is cut short or damaged, fetch it again");
}

template <typename T>
Result<Json> take_number(GgufCursor& cursor) {
  T value{};
  if (!cursor.take(value)) return cut_short("a number");
  if constexpr (std::is_floating_point_v<T>) return Json(static_cast<double>(value));
  if constexpr (std::is_unsigned_v<T>) return Json(static_cast<uint64_t>(value));
  return Json(static_cast<int64_t>(value));
}

Result<Json> take_scalar(GgufCursor& cursor, GgufType type) {
  switch (type) {
    case GgufType::kU8:
      return take_number<uint8_t>(cursor);
    case GgufType::kI8:
      return take_number<int8_t>(cursor);
    case GgufType::kU16:
      return take_number<uint16_t>(cursor);
    case GgufType::kI16:
      return take_number<int16_t>(cursor);
    case GgufType::kU32:
      return take_number<uint32_t>(cursor);
    case GgufType::kI32:
      return take_number<int32_t>(cursor);
    case GgufType::kU64:
      return take_number<uint64_t>(cursor);
    case GgufType::kI64:
      return take_number<int64_t>(cursor);
    case GgufType::kF32:
      return take_number<float>(cursor);
    case GgufType::kF64:
      return take_number<double>(cursor);
    case GgufType::kBool: {
      uint8_t value = 0;
      if (!cursor.take(value)) return cut_short("a boolean");
      if (value > 1) return data_loss("a boolean is " + std::to_string(value));
      return Json(value == 1);
    }
    case GgufType::kString: {
      std::string_view text;
      if (!cursor.take_string(text)) return cut_short("a string, or the string's length is wrong");
      return Json(text);
    }
    case GgufType::kArray:
      break;
  }
  return data_loss("unknown value type " + std::to_string(static_cast<uint32_t>(type)));
}

/// Reads the head of an array and steps over its elements.
Result<GgufArray> take_array(GgufCursor& cursor) {
  uint32_t type = 0;
  uint64_t count = 0;
  if (!cursor.take(type) || !cursor.take(count)) return cut_short("an array");
  GgufArray out{static_cast<GgufType>(type), count, {}};
  if (out.type == GgufType::kArray) return unsupported("arrays of arrays are not read");
  const bool strings = out.type == GgufType::kString;
  const uint64_t element = strings ? 8 : gguf_scalar_bytes(out.type);
  if (element == 0) return data_loss("unknown array element type " + std::to_string(type));
  const auto least = checked_mul(count, element);
  if (!least || *least > cursor.left()) {
    return data_loss("an array is said to have " + std::to_string(count) + " elements, " +
                     std::to_string(cursor.left()) +
                     " bytes are left in the file; it is cut short or damaged, fetch it again");
  }
  GgufCursor end = cursor;
  if (strings) {
    std::string_view text;
    for (uint64_t i = 0; i < count; ++i) {
      if (!end.take_string(text)) return cut_short("string " + std::to_string(i) + " of an array");
    }
  }
  const uint64_t size = strings ? end.position() - cursor.position() : *least;
  if (!cursor.take_bytes(size, out.bytes)) return cut_short("an array");
  return out;
}

Result<Json> copy_array(const GgufArray& array) {
  GgufCursor cursor(array.bytes);
  Json out = Json::array();
  for (uint64_t i = 0; i < array.count; ++i) {
    SKUA_ASSIGN_OR_RETURN(Json item, take_scalar(cursor, array.type));
    out.push_back(std::move(item));
  }
  return out;
}

/// Reads the value of `key`. `budget` is the number of array elements that may still be copied.
Status read_value(GgufCursor& cursor, const std::string& key, uint64_t& budget, GgufHeader& header) {
  uint32_t type = 0;
  if (!cursor.take(type)) return cut_short("a value");
  if (static_cast<GgufType>(type) != GgufType::kArray) {
    SKUA_ASSIGN_OR_RETURN(Json value, take_scalar(cursor, static_cast<GgufType>(type)));
    header.metadata.append_member(key, std::move(value));
    return ok_status();
  }
  SKUA_ASSIGN_OR_RETURN(const GgufArray array, take_array(cursor));
  header.arrays.emplace(key, array);
  if (std::find(std::begin(kVocabulary), std::end(kVocabulary), key) != std::end(kVocabulary))
    return ok_status();
  if (array.count > budget) {
    header.large_arrays.push_back(key);
    return ok_status();
  }
  budget -= array.count;
  SKUA_ASSIGN_OR_RETURN(Json copy, copy_array(array));
  header.metadata.append_member(key, std::move(copy));
  return ok_status();
}

}  // namespace

uint64_t gguf_scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return 0;
}

Status read_gguf_metadata(GgufCursor& cursor, uint64_t count, GgufHeader& header) {
  if (count > kMaxPairs || count > cursor.left() / kMinPairBytes) {
    return data_loss("the header announces " + std::to_string(count) + " metadata entries, " +
                     std::to_string(cursor.left()) +
                     " bytes are left in the file; it is cut short or damaged, fetch it again");
  }
  uint64_t budget = kMaxCopiedElements;
  std::map<std::string_view, uint64_t> seen;
  for (uint64_t i = 0; i < count; ++i) {
    std::string_view key;
    if (!cursor.take_string(key)) return cut_short("the name of metadata entry " + std::to_string(i));
    if (!seen.emplace(key, i).second) return data_loss("metadata key " + printable(key) + " appears twice");
    const Status status = read_value(cursor, std::string(key), budget, header);
    if (!status.ok()) return status.with_context("metadata " + printable(key));
  }
  return ok_status();
}

}  // namespace skua
