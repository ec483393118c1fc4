// parse_safetensors: the header, read on demand by simdjson (200,000 tensors in a tenth of a second), and
// every check that keeps a lying header from reaching outside the file.
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/counted.h"
#include "base/math.h"
#include "checkpoint/printable.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_table.h"

namespace skua {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own reader
constexpr size_t kMaxDims = 64;

struct StoredType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> type;
};

constexpr StoredType kTypes[] = {
    {"F64", 64, DType::kF64},     {"F32", 32, DType::kF32},       {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},   {"F8_E4M3", 8, DType::kF8E4M3}, {"I64", 64, DType::kI64},
    {"I32", 32, DType::kI32},     {"U32", 32, DType::kU32},       {"I16", 16, DType::kI16},
    {"U16", 16, DType::kU16},     {"I8", 8, DType::kI8},          {"U8", 8, DType::kU8},
    {"BOOL", 8, DType::kBool},    {"U64", 64, std::nullopt},      {"F8_E5M2", 8, std::nullopt},
    {"C64", 64, std::nullopt},    {"F8_E8M0", 8, std::nullopt},   {"F4", 4, std::nullopt},
    {"F6_E2M3", 6, std::nullopt}, {"F6_E3M2", 6, std::nullopt},
};

const StoredType* find_type(std::string_view name) {
  for (const StoredType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

/// "F32, F16, ...": the types that some reader of the checkpoint can take.
std::string known_types() {
  std::string out;
  for (const StoredType& type : kTypes) {
    if (type.type) out += (out.empty() ? "" : ", ") + std::string(type.name);
  }
  return out;
}

/// The fields of one header entry.
struct Fields {
  std::optional<std::string_view> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::pair<uint64_t, uint64_t>> offsets;
};

Status json_error(simdjson::error_code error) {
  return data_loss(std::string("the header is no valid JSON of the expected form: ") +
                   simdjson::error_message(error));
}

Status read_shape(ondemand::value value, std::vector<int64_t>& out) {
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return json_error(error);
  for (auto item : array) {
    uint64_t dim = 0;
    if (const auto error = item.get_uint64().get(dim)) return json_error(error);
    if (dim > static_cast<uint64_t>(INT64_MAX)) return data_loss("a dimension exceeds 2^63 - 1");
    if (out.size() == kMaxDims) return data_loss("a shape has more than 64 dimensions");
    out.push_back(static_cast<int64_t>(dim));
  }
  return ok_status();
}

Status read_offsets(ondemand::value value, std::pair<uint64_t, uint64_t>& out) {
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return json_error(error);
  size_t n = 0;
  for (auto item : array) {
    uint64_t offset = 0;
    if (const auto error = item.get_uint64().get(offset)) return json_error(error);
    if (n < 2) (n == 0 ? out.first : out.second) = offset;
    ++n;
  }
  if (n != 2) return data_loss("data_offsets must be [begin, end], got " + std::to_string(n) + " numbers");
  return ok_status();
}

Status read_fields(ondemand::object object, Fields& out) {
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (const auto error = field.unescaped_key().get(key)) return json_error(error);
    if (const auto error = field.value().get(value)) return json_error(error);
    if (key == "dtype") {
      std::string_view text;
      if (const auto error = value.get_string().get(text)) return json_error(error).with_context("dtype");
      if (out.dtype) return data_loss("\"dtype\" appears twice");
      out.dtype = text;
    } else if (key == "shape") {
      if (out.shape) return data_loss("\"shape\" appears twice");
      if (Status read = read_shape(value, out.shape.emplace()); !read.ok()) return read.with_context("shape");
    } else if (key == "data_offsets") {
      if (out.offsets) return data_loss("\"data_offsets\" appears twice");
      if (Status read = read_offsets(value, out.offsets.emplace()); !read.ok())
        return read.with_context("data_offsets");
    }
  }
  return ok_status();
}

/// Turns checked fields into a tensor; `data` is the file after its header.
Result<SafetensorsTensor> make_tensor(std::string_view name, Fields fields, std::span<const std::byte> data) {
  if (!fields.dtype || !fields.shape || !fields.offsets) {
    return data_loss("the header entry needs dtype, shape and data_offsets");
  }
  const StoredType* type = find_type(*fields.dtype);
  if (type == nullptr) {
    return data_loss("unknown dtype \"" + printable(*fields.dtype) + "\"; known are " + known_types());
  }
  const auto [begin, end] = *fields.offsets;
  if (begin > end || end > data.size()) {
    return data_loss("its bytes are said to be " + std::to_string(begin) + " to " + std::to_string(end) +
                     ", the file has " + std::to_string(data.size()) +
                     " bytes of data; it is cut short or damaged, fetch it again");
  }
  const auto n = element_count(*fields.shape);
  const auto bits = n ? checked_mul(*n, type->bits) : std::nullopt;
  if (!bits || *bits % 8 != 0 || *bits / 8 != end - begin) {
    return data_loss(std::string(type->name) + " " + shape_text(*fields.shape) + " needs " +
                     (bits ? std::to_string(ceil_div<uint64_t>(*bits, 8)) : "more than 2^60") +
                     " bytes, the header gives it " + std::to_string(end - begin));
  }
  return SafetensorsTensor{std::string(name), std::string(type->name), type->type, std::move(*fields.shape),
                           data.subspan(begin, end - begin)};
}

/// Tensors may not share bytes, and the file ends with the last one (as the format's own reader demands).
Status check_layout(const std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> data) {
  std::vector<const SafetensorsTensor*> order;
  order.reserve(tensors.size());
  for (const SafetensorsTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->bytes.data() < b->bytes.data(); });
  for (size_t i = 1; i < order.size(); ++i) {
    const SafetensorsTensor& a = *order[i - 1];
    if (a.bytes.data() + a.bytes.size() > order[i]->bytes.data()) {
      return data_loss("tensors " + printable(a.name) + " and " + printable(order[i]->name) + " overlap");
    }
  }
  const std::byte* end =
      order.empty() ? data.data() : order.back()->bytes.data() + order.back()->bytes.size();
  const auto rest = static_cast<uint64_t>(data.data() + data.size() - end);
  if (rest == 0) return ok_status();
  return data_loss(counted(rest, "byte") + (rest == 1 ? " follows" : " follow") +
                   " the last tensor; the file is damaged, fetch it again");
}

Status read_header(ondemand::document& document, std::span<const std::byte> data,
                   std::vector<SafetensorsTensor>& out) {
  ondemand::object header;
  if (const auto error = document.get_object().get(header)) return json_error(error);
  std::unordered_set<std::string_view> names;  // views stay valid while the parser lives
  for (auto field : header) {
    std::string_view name;
    ondemand::value value;
    ondemand::object entry;
    if (const auto error = field.unescaped_key().get(name)) return json_error(error);
    if (const auto error = field.value().get(value)) return json_error(error);
    if (!names.insert(name).second) return data_loss("tensor " + printable(name) + " appears twice");
    bool is_null = false;  // mlx writes null when it has nothing to say
    if (name == "__metadata__" && !value.is_null().get(is_null) && is_null) continue;
    if (const auto error = value.get_object().get(entry)) {
      return json_error(error).with_context("entry " + printable(name));
    }
    if (name == "__metadata__") continue;  // free text of the writer
    Fields fields;
    const auto where = [&](const Status& status) { return status.with_context("tensor " + printable(name)); };
    if (const Status status = read_fields(entry, fields); !status.ok()) return where(status);
    auto tensor = make_tensor(name, std::move(fields), data);
    if (!tensor.ok()) return where(tensor.status());
    out.push_back(std::move(tensor).value());
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return data_loss("the header goes on after its JSON object");
  }
  return ok_status();
}

/// Splits the file into header text and data.
Result<std::string_view> header_text(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("version https://git-lfs")) {
    return data_loss("this is a git-lfs pointer, not the file itself; fetch the real one (git lfs pull)");
  }
  if (file.size() < 8) {
    return data_loss("a safetensors file starts with 8 bytes of header length, this one has " +
                     std::to_string(file.size()) + " bytes in all; fetch it again");
  }
  uint64_t size = 0;
  std::memcpy(&size, file.data(), 8);
  if (size > kMaxHeaderBytes) {
    return data_loss("the header is said to have " + std::to_string(size) +
                     " bytes, more than the format's limit of " + std::to_string(kMaxHeaderBytes) +
                     "; this is no safetensors file, or it is damaged");
  }
  if (size > file.size() - 8) {
    return data_loss("the header is said to have " + std::to_string(size) + " bytes, the file has " +
                     std::to_string(file.size() - 8) + " after the length; it is cut short, fetch it again");
  }
  return text.substr(8, size);
}

}  // namespace

static_assert(std::endian::native == std::endian::little,
              "files hold little-endian numbers and are read in place");

Result<std::vector<SafetensorsTensor>> parse_safetensors(std::span<const std::byte> file) {
  SKUA_ASSIGN_OR_RETURN(const std::string_view text, header_text(file));
  const simdjson::padded_string padded(text);  // a copy: simdjson reads past the end, and the file may change
  if (padded.data() == nullptr)
    return resource_exhausted("no memory for a header of " + std::to_string(text.size()));
  ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) return json_error(error);
  std::vector<SafetensorsTensor> tensors;
  SKUA_RETURN_IF_ERROR(read_header(document, file.subspan(8 + text.size()), tensors));
  SKUA_RETURN_IF_ERROR(check_layout(tensors, file.subspan(8 + text.size())));
  return tensors;
}

}  // namespace skua
