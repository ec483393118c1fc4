// parse_gguf: the fixed start of a GGUF file, the tensor infos, and where the tensors' bytes lie.
#include <algorithm>

#include "base/math.h"
#include "checkpoint/gguf_cursor.h"
#include "checkpoint/printable.h"
#include "checkpoint/tensor_table.h"

namespace skua {
namespace {

constexpr uint64_t kMinInfoBytes = 8 + 4 + 4 + 8;  // name length, number of dimensions, type, offset
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxAlignment = 1 << 20;

/// A tensor type of the format: its number, the columns and bytes of its block, and our format if it is read.
struct TensorType {
  uint32_t id;
  std::string_view name;
  uint32_t cols;
  uint32_t bytes;
  std::optional<FormatKind> kind;
};

constexpr TensorType kTensorTypes[] = {
    {0, "F32", 1, 4, FormatKind::kF32},
    {1, "F16", 1, 2, FormatKind::kF16},
    {2, "Q4_0", 32, 18, FormatKind::kQ4_0},
    {3, "Q4_1", 32, 20, FormatKind::kQ4_1},
    {6, "Q5_0", 32, 22, FormatKind::kQ5_0},
    {7, "Q5_1", 32, 24, FormatKind::kQ5_1},
    {8, "Q8_0", 32, 34, FormatKind::kQ8_0},
    {9, "Q8_1", 32, 40, std::nullopt},
    {10, "Q2_K", 256, 84, FormatKind::kQ2_K},
    {11, "Q3_K", 256, 110, FormatKind::kQ3_K},
    {12, "Q4_K", 256, 144, FormatKind::kQ4_K},
    {13, "Q5_K", 256, 176, FormatKind::kQ5_K},
    {14, "Q6_K", 256, 210, FormatKind::kQ6_K},
    {15, "Q8_K", 256, 292, std::nullopt},
    {16, "IQ2_XXS", 256, 66, std::nullopt},
    {17, "IQ2_XS", 256, 74, std::nullopt},
    {18, "IQ3_XXS", 256, 98, std::nullopt},
    {19, "IQ1_S", 256, 50, std::nullopt},
    {20, "IQ4_NL", 32, 18, FormatKind::kIQ4_NL},
    {21, "IQ3_S", 256, 110, std::nullopt},
    {22, "IQ2_S", 256, 82, std::nullopt},
    {23, "IQ4_XS", 256, 136, FormatKind::kIQ4_XS},
    {24, "I8", 1, 1, std::nullopt},
    {25, "I16", 1, 2, std::nullopt},
    {26, "I32", 1, 4, std::nullopt},
    {27, "I64", 1, 8, std::nullopt},
    {28, "F64", 1, 8, std::nullopt},
    {29, "IQ1_M", 256, 56, std::nullopt},
    {30, "BF16", 1, 2, FormatKind::kBF16},
    {34, "TQ1_0", 256, 54, std::nullopt},
    {35, "TQ2_0", 256, 66, std::nullopt},
    {39, "MXFP4", 32, 17, FormatKind::kMxfp4Block},
    {40, "NVFP4", 64, 36, std::nullopt},
    {41, "Q1_0", 128, 18, std::nullopt},
};

const TensorType* find_type(uint32_t id) {
  for (const TensorType& type : kTensorTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

/// A tensor info before the place of the data is known.
struct TensorInfo {
  GgufTensor tensor;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Counts, before metadata and infos.
struct Counts {
  uint64_t tensors = 0;
  uint64_t pairs = 0;
};

Result<Counts> read_start(GgufCursor& cursor, GgufHeader& header) {
  std::span<const std::byte> magic;
  const GgufCursor start = cursor;
  if (!cursor.take_bytes(4, magic) || std::memcmp(magic.data(), "GGUF", 4) != 0) {
    if (start.left() < 24)
      return data_loss("the file has " + std::to_string(start.left()) +
                       " bytes; it is cut short or no GGUF file, fetch it again");
    return data_loss(
        "the file does not start with \"GGUF\"; it is no GGUF file, or a pointer that git lfs left");
  }
  Counts counts;
  if (!cursor.take(header.version)) return data_loss("the file ends after \"GGUF\"; fetch it again");
  if (header.version != 2 && header.version != 3) {
    const bool swapped = (header.version & 0xFFFF) == 0 && header.version != 0;
    if (swapped) return unsupported("the file is big-endian; skua reads little-endian GGUF only, convert it");
    return unsupported("GGUF version " + std::to_string(header.version) + "; skua reads versions 2 and 3");
  }
  if (!cursor.take(counts.tensors) || !cursor.take(counts.pairs)) {
    return data_loss("the file ends inside its first 24 bytes; fetch it again");
  }
  return counts;
}

/// Size of the tensor's bytes, every product checked.
Result<uint64_t> tensor_bytes(const TensorType& type, std::span<const int64_t> shape) {
  const auto n = element_count(shape);
  const uint64_t cols = shape.empty() ? 1 : static_cast<uint64_t>(shape.back());
  if (!n) return data_loss("the shape " + shape_text(shape) + " is impossibly large");
  if (cols % type.cols != 0) {
    return data_loss("rows of " + std::to_string(cols) + " elements are no whole blocks of " +
                     std::to_string(type.cols) + " (" + std::string(type.name) + ")");
  }
  const auto bytes = checked_mul(*n / type.cols, type.bytes);
  if (!bytes) return data_loss("the shape " + shape_text(shape) + " is impossibly large");
  return *bytes;
}

Status read_info(GgufCursor& cursor, TensorInfo& out) {
  uint32_t n_dims = 0, type_id = 0;
  if (!cursor.take(n_dims)) return data_loss("the file ends inside the tensor infos; fetch it again");
  if (n_dims > kMaxDims)
    return data_loss("it has " + std::to_string(n_dims) + " dimensions, at most 4 are allowed");
  for (uint32_t i = 0; i < n_dims; ++i) {
    uint64_t dim = 0;
    if (!cursor.take(dim)) return data_loss("the file ends inside the tensor infos; fetch it again");
    if (dim > static_cast<uint64_t>(INT64_MAX)) return data_loss("a dimension exceeds 2^63 - 1");
    out.tensor.shape.insert(out.tensor.shape.begin(), static_cast<int64_t>(dim));
  }
  if (!cursor.take(type_id) || !cursor.take(out.offset)) {
    return data_loss("the file ends inside the tensor infos; fetch it again");
  }
  const TensorType* type = find_type(type_id);
  if (type == nullptr) {
    return unsupported("its type number " + std::to_string(type_id) +
                       " is unknown or withdrawn; skua reads " + gguf_readable_types());
  }
  out.tensor.type = type->name;
  if (type->kind) out.tensor.format = Format{*type->kind};
  SKUA_ASSIGN_OR_RETURN(out.size, tensor_bytes(*type, out.tensor.shape));
  return ok_status();
}

Result<std::vector<TensorInfo>> read_infos(GgufCursor& cursor, uint64_t count) {
  if (count > cursor.left() / kMinInfoBytes) {
    return data_loss("the header announces " + std::to_string(count) + " tensors, " +
                     std::to_string(cursor.left()) +
                     " bytes are left in the file; it is cut short or damaged, fetch it again");
  }
  std::vector<TensorInfo> infos(count);
  for (TensorInfo& info : infos) {
    std::string_view name;
    if (!cursor.take_string(name)) return data_loss("the file ends inside a tensor's name; fetch it again");
    info.tensor.name = name;
    const Status status = read_info(cursor, info);
    if (!status.ok()) return status.with_context("tensor " + printable(name));
  }
  return infos;
}

Status read_alignment(GgufHeader& header) {
  const Json* value = header.metadata.find("general.alignment");
  if (value == nullptr) {
    if (!header.arrays.contains("general.alignment")) return ok_status();
    return data_loss("general.alignment should be a number, it is an array");
  }
  if (value->kind() != Json::Kind::kInt || value->as_int() <= 0 || value->as_uint() > kMaxAlignment ||
      !std::has_single_bit(value->as_uint())) {
    return data_loss("general.alignment should be a power of two up to 2^20, it is " +
                     printable(value->dump()));
  }
  header.alignment = value->as_uint();
  return ok_status();
}

/// Gives each tensor its bytes.
Status place_tensors(std::span<const std::byte> file, uint64_t infos_end, std::vector<TensorInfo>& infos,
                     GgufHeader& header) {
  const auto start = checked_round_up(infos_end, header.alignment);
  const uint64_t data_start = std::min<uint64_t>(start.value_or(file.size()), file.size());
  const auto data = file.subspan(data_start);
  for (TensorInfo& info : infos) {
    const auto end = checked_add(info.offset, info.size);
    if (info.offset % header.alignment != 0) {
      return data_loss("tensor " + printable(info.tensor.name) + " starts at offset " +
                       std::to_string(info.offset) + ", no multiple of the alignment " +
                       std::to_string(header.alignment));
    }
    if (!end || *end > data.size()) {
      return data_loss("tensor " + printable(info.tensor.name) + " is said to have " +
                       std::to_string(info.size) + " bytes at offset " + std::to_string(info.offset) +
                       ", the file has " + std::to_string(data.size()) +
                       " bytes of data; it is cut short or damaged, fetch it again");
    }
    info.tensor.bytes = data.subspan(info.offset, info.size);
    header.tensors.push_back(std::move(info.tensor));
  }
  return ok_status();
}

Status check_overlaps(const std::vector<GgufTensor>& tensors) {
  std::vector<const GgufTensor*> order;
  for (const GgufTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->bytes.data() < b->bytes.data(); });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& a = *order[i - 1];
    if (a.bytes.data() + a.bytes.size() > order[i]->bytes.data()) {
      return data_loss("tensors " + printable(a.name) + " and " + printable(order[i]->name) + " overlap");
    }
  }
  return ok_status();
}

}  // namespace

std::string gguf_readable_types() {
  std::string text;
  for (const TensorType& type : kTensorTypes) {
    if (type.kind) text += (text.empty() ? "" : ", ") + std::string(type.name);
  }
  return text;
}

Result<GgufHeader> parse_gguf(std::span<const std::byte> file) {
  GgufCursor cursor(file);
  GgufHeader header;
  SKUA_ASSIGN_OR_RETURN(const Counts counts, read_start(cursor, header));
  SKUA_RETURN_IF_ERROR(read_gguf_metadata(cursor, counts.pairs, header));
  SKUA_RETURN_IF_ERROR(read_alignment(header));
  SKUA_ASSIGN_OR_RETURN(std::vector<TensorInfo> infos, read_infos(cursor, counts.tensors));
  SKUA_RETURN_IF_ERROR(place_tensors(file, cursor.position(), infos, header));
  SKUA_RETURN_IF_ERROR(check_overlaps(header.tensors));
  return header;
}

}  // namespace skua
