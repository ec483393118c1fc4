// Which tensors are quantized, and their bytes.
#include "checkpoint/mlx_quantizer.h"

#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "tensor/encode_affine.h"

namespace skua {
namespace {

std::string module_of(const std::string& name) { return name.substr(0, name.size() - 7); }

/// Matrices of linear and embedding modules; routers decide by small differences and stay as they are, as do
/// the two-part projections of latent attention, of which one is used transposed.
bool can_be_quantized(const TensorEntry& entry) {
  if (entry.shape.size() != 2 || !entry.name.ends_with(".weight")) return false;
  for (const char* kept :
       {".gate.weight", ".router.weight", ".router.proj.weight", ".kv_b_proj.weight", "norm.weight"})
    if (entry.name.ends_with(kept)) return false;
  return true;
}

DType plain_type(const Format& format) {
  return format.kind == FormatKind::kF32   ? DType::kF32
         : format.kind == FormatKind::kF16 ? DType::kF16
                                           : DType::kBF16;
}

}  // namespace

Result<std::optional<Format>> MlxQuantizer::wanted(const TensorEntry& entry) {
  std::optional<Format> format;
  if (can_be_quantized(entry)) format = standard_;
  if (entry.shape.size() != 2 || !entry.name.ends_with(".weight")) return format;
  const QuantRule* last = nullptr;
  for (QuantRule& rule : rules_) {
    if (module_of(entry.name).find(rule.part) == std::string::npos) continue;
    ++rule.n_fitting;
    format = rule.format;
    last = &rule;
  }
  if (last == nullptr || !format || entry.shape.back() % format->group == 0) return format;
  return invalid_argument("--rule: " + last->part + " asks for groups of " + std::to_string(format->group) +
                          ", but " + entry.name + " has rows of " + std::to_string(entry.shape.back()));
}

Status MlxQuantizer::plan() {
  for (const TensorEntry& entry : source_.tensors()) {
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix matrix, source_.matrix(entry.name));
    // Blocks that only GGUF has become bf16 where they are not quantized anew.
    const DType kept = matrix.format.is_plain() ? plain_type(matrix.format) : DType::kBF16;
    PlannedWeight weight{entry.name, entry.shape, plain_format(kept)};
    SKUA_ASSIGN_OR_RETURN(std::optional<Format> format, wanted(entry));
    if (format && entry.shape.back() % format->group != 0) format.reset();
    if (format) {
      weight.format = *format;
      weight.format.scale_type = kept;
      ++n_quantized_;
    }
    weights_.push_back(std::move(weight));
  }
  for (const QuantRule& rule : rules_) {
    if (rule.n_fitting > 0) continue;
    return invalid_argument("--rule: no module of " + source_.source() + " has '" + rule.part +
                            "' in its path; skua inspect --tensors shows them");
  }
  if (n_quantized_ == 0) return invalid_argument("[quantize] no tensor of " + source_.source() + " fits");
  return ok_status();
}

Status MlxQuantizer::encode(const PlannedWeight& weight, std::vector<std::byte> (&planes)[3]) const {
  SKUA_ASSIGN_OR_RETURN(const EncodedMatrix matrix, source_.matrix(weight.name));
  uint64_t stride[3];
  for (int p = 0; p < 3; ++p) {
    planes[p].resize(plane_bytes(weight, p));
    stride[p] = plane_row_bytes(weight.format, p, matrix.cols);
  }
  std::vector<float> values(static_cast<size_t>(matrix.cols));
  for (int64_t row = 0; row < matrix.rows; ++row) {
    decode_row(matrix, row, 0, matrix.cols, values.data());
    const auto at = [&](int p) { return planes[p].data() + static_cast<uint64_t>(row) * stride[p]; };
    if (!weight.format.is_plain()) {
      encode_affine_row(weight.format, values.data(), matrix.cols, at(0), at(1), at(2));
      continue;
    }
    for (int64_t i = 0; i < matrix.cols; ++i) {
      const float value = values[static_cast<size_t>(i)];
      const uint16_t half = weight.format.kind == FormatKind::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
      if (weight.format.kind == FormatKind::kF32) {
        std::memcpy(at(0) + 4 * i, &value, 4);
      } else {
        std::memcpy(at(0) + 2 * i, &half, 2);
      }
    }
  }
  return ok_status();
}

/// The source's config with what was done to each module.
Json MlxQuantizer::config() const {
  Json settings = Json::object();
  settings.set("group_size", int64_t{standard_.group});
  settings.set("bits", int64_t{standard_.bits});
  settings.set("mode", "affine");
  for (const PlannedWeight& weight : weights_) {
    if (weight.shape.size() != 2 || !weight.name.ends_with(".weight")) continue;
    const Format& format = weight.format;
    if (format.is_plain()) {
      settings.set(module_of(weight.name), false);
    } else if (format.bits != standard_.bits || format.group != standard_.group) {
      Json own = Json::object();
      own.set("group_size", int64_t{format.group});
      own.set("bits", int64_t{format.bits});
      settings.set(module_of(weight.name), std::move(own));
    }
  }
  Json out = source_.config();
  out.set("quantization", settings);
  out.set("quantization_config", std::move(settings));
  return out;
}

Status MlxQuantizer::write(const std::filesystem::path& folder, const Step& step) {
  SKUA_ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::create(folder / "model.safetensors", weights_));
  for (size_t i = 0; i < weights_.size(); ++i) {
    std::vector<std::byte> planes[3];
    SKUA_RETURN_IF_ERROR(encode(weights_[i], planes));
    SKUA_RETURN_IF_ERROR(writer.append(planes));
    source_.release(weights_[i].name);
    if (step) SKUA_RETURN_IF_ERROR(step(i + 1, weights_.size()));
  }
  SKUA_RETURN_IF_ERROR(writer.finish());
  return write_file_atomic(folder / "config.json", config().dump(2) + "\n");
}

}  // namespace skua
