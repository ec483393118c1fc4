// Regenerates the weights of a golden folder. manifest.json is {"seed": S, "tensors": [{"name", "shape",
// "mean", "std"}]}; element i (row-major) of tensor NAME is bf16(f32(mean + std * sqrt(3) * u)), u = (h >>
// 40) / 2^23 - 1, h = splitmix64(fnv1a64(NAME) + seed * 0x9E3779B97F4A7C15 + i), all in float64 and wrapping
// 64-bit integers.
#include "checkpoint/golden_weights.h"

#include <cstring>

#include "base/file.h"

namespace skua {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
constexpr uint64_t kMaxElements = uint64_t{1} << 31;  // per tensor; golden cases have a few hundred thousand

uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return hash;
}

uint64_t splitmix64(uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// One line of the manifest.
struct GoldenTensor {
  std::string name;
  std::vector<int64_t> shape;
  double mean = 0;
  double deviation = 0;
};

Result<GoldenTensor> parse_tensor(const Json& json) {
  const Json* name = json.find("name");
  const Json* shape = json.find("shape");
  const Json* mean = json.find("mean");
  const Json* deviation = json.find("std");
  if (name == nullptr || !name->is_string() || shape == nullptr || !shape->is_array() || mean == nullptr ||
      !mean->is_number() || deviation == nullptr || !deviation->is_number()) {
    return invalid_argument("a tensor needs name, shape, mean and std, got " + json.dump());
  }
  GoldenTensor out{name->as_string(), {}, mean->as_double(), deviation->as_double()};
  for (const Json& dim : shape->items()) {
    if (dim.kind() != Json::Kind::kInt)
      return invalid_argument("shape of " + out.name + " is " + shape->dump());
    out.shape.push_back(dim.as_int());
  }
  const auto n = element_count(out.shape);
  if (!n || *n > kMaxElements) return invalid_argument("shape of " + out.name + " is " + shape->dump());
  return out;
}

std::vector<std::byte> golden_values(const GoldenTensor& tensor, uint64_t seed) {
  const uint64_t n = *element_count(tensor.shape);
  const uint64_t start = fnv1a64(tensor.name) + seed * kGolden;
  const double spread = tensor.deviation * 1.7320508075688772;
  std::vector<std::byte> bytes(n * 2);
  for (uint64_t i = 0; i < n; ++i) {
    const double u = static_cast<double>(splitmix64(start + i) >> 40) / 8388608.0 - 1.0;
    const uint16_t bits = f32_to_bf16(static_cast<float>(tensor.mean + spread * u));
    std::memcpy(&bytes[2 * i], &bits, 2);
  }
  return bytes;
}

Result<Json> read_json(const std::filesystem::path& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json.ok()) return json.status().with_context(path.string());
  return json;
}

Status add_tensors(const Json& manifest, MemoryCheckpoint& out) {
  const Json* seed = manifest.find("seed");
  const Json* tensors = manifest.find("tensors");
  if (seed == nullptr || !seed->is_int() || tensors == nullptr || !tensors->is_array()) {
    return invalid_argument("needs an integer \"seed\" and an array \"tensors\"");
  }
  const uint64_t seed_bits =
      seed->kind() == Json::Kind::kInt ? static_cast<uint64_t>(seed->as_int()) : seed->as_uint();
  for (const Json& item : tensors->items()) {
    SKUA_ASSIGN_OR_RETURN(const GoldenTensor tensor, parse_tensor(item));
    SKUA_RETURN_IF_ERROR(
        out.add_tensor(tensor.name, tensor.shape, DType::kBF16, golden_values(tensor, seed_bits)));
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<MemoryCheckpoint>> open_golden(const std::filesystem::path& folder) {
  const auto manifest_path = folder / "manifest.json";
  SKUA_ASSIGN_OR_RETURN(const Json manifest, read_json(manifest_path));
  SKUA_ASSIGN_OR_RETURN(Json config, read_json(folder / "config.json"));
  auto out = std::make_unique<MemoryCheckpoint>(folder.string());
  out->set_config(std::move(config));
  SKUA_RETURN_IF_ERROR(add_tensors(manifest, *out).with_context("[golden] " + manifest_path.string()));
  return out;
}

}  // namespace skua
