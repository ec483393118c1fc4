// The writing side of safetensors. Sizes and offsets follow from the plan alone.
#include "checkpoint/safetensors_writer.h"

#include <cstring>

#include "base/check.h"
#include "base/json.h"

namespace skua {
namespace {

Json entry(const char* dtype, const std::vector<int64_t>& shape, uint64_t& at, uint64_t bytes) {
  Json sizes = Json::array(), offsets = Json::array(), out = Json::object();
  for (const int64_t n : shape) sizes.push_back(n);
  offsets.push_back(at);
  at += bytes;
  offsets.push_back(at);
  out.set("dtype", dtype);
  out.set("shape", std::move(sizes));
  out.set("data_offsets", std::move(offsets));
  return out;
}

const char* type_name(DType type) {
  return type == DType::kF16 ? "F16" : type == DType::kBF16 ? "BF16" : "F32";
}

DType plain_type(const Format& format) {
  return format.kind == FormatKind::kF16    ? DType::kF16
         : format.kind == FormatKind::kBF16 ? DType::kBF16
                                            : DType::kF32;
}

}  // namespace

uint64_t plane_bytes(const PlannedWeight& weight, int plane) {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < weight.shape.size(); ++i) rows *= static_cast<uint64_t>(weight.shape[i]);
  return rows * plane_row_bytes(weight.format, plane, weight.shape.empty() ? 1 : weight.shape.back());
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    std::vector<PlannedWeight> weights) {
  Json header = Json::object(), about = Json::object();
  about.set("format", "mlx");
  header.set("__metadata__", std::move(about));
  uint64_t at = 0;
  constexpr std::string_view kWeight = ".weight";
  for (const PlannedWeight& weight : weights) {
    if (weight.format.kind != FormatKind::kAffine) {
      SKUA_CHECK(weight.format.is_plain());
      header.append_member(
          weight.name, entry(type_name(plain_type(weight.format)), weight.shape, at, plane_bytes(weight, 0)));
      continue;
    }
    if (!weight.name.ends_with(kWeight)) {
      return invalid_argument("[checkpoint] " + weight.name +
                              " cannot be stored quantized: its name does not end with .weight");
    }
    const std::string module = weight.name.substr(0, weight.name.size() - kWeight.size());
    std::vector<int64_t> shape = weight.shape;
    shape.back() = weight.shape.back() * weight.format.bits / 32;
    header.append_member(weight.name, entry("U32", shape, at, plane_bytes(weight, 0)));
    shape.back() = weight.shape.back() / weight.format.group;
    for (const char* part : {".scales", ".biases"}) {
      header.append_member(module + part,
                           entry(type_name(weight.format.scale_type), shape, at, plane_bytes(weight, 1)));
    }
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const auto size = static_cast<uint64_t>(text.size());
  SKUA_ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  SKUA_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&size, 1))));
  SKUA_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(text))));
  return SafetensorsWriter(std::move(file), std::move(weights));
}

Status SafetensorsWriter::append(const std::vector<std::byte> (&planes)[3]) {
  SKUA_CHECK_LT(next_, weights_.size());
  for (int plane = 0; plane < 3; ++plane) {
    SKUA_CHECK_EQ(planes[plane].size(), plane_bytes(weights_[next_], plane));
    SKUA_RETURN_IF_ERROR(file_.append(planes[plane]));
  }
  ++next_;
  return ok_status();
}

Status SafetensorsWriter::finish() {
  SKUA_CHECK_EQ(next_, weights_.size());
  return file_.commit();
}

}  // namespace skua
