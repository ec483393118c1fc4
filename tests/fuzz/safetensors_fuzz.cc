// A safetensors file from outside: parsing never crashes, every tensor that is accepted lies inside the
// input, and every weight matrix that comes out of it, plain, MLX affine or MXFP4, can be decoded from end to
// end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_table.h"
#include "fuzz/decode_all.h"

namespace {

constexpr std::string_view kConfigs[] = {
    "{}",
    R"({"quantization": {"group_size": 32, "bits": 4}})",
    R"({"quantization": {"group_size": 64, "bits": 4, "mode": "affine",
        "model.layers.0.self_attn.q_proj": {"group_size": 32, "bits": 3},
        "model.layers.0.mlp.switch_mlp.up_proj": {"group_size": 32, "bits": 6},
        "model.layers.1.mlp.down_proj": {"group_size": 128, "bits": 5}, "lm_head": false}})",
    R"({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}})",
    R"({"quantization_config": {"quant_method": "mxfp4"}})",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto tensors = skua::parse_safetensors(file);
  if (!tensors.ok()) return 0;
  for (const auto& tensor : *tensors) {
    if (tensor.bytes.data() < file.data() || tensor.bytes.data() + tensor.bytes.size() > file.data() + size)
      std::abort();
  }
  for (const std::string_view config : kConfigs) {
    std::vector<std::string> notes;
    const auto table = skua::make_safetensors_table(*tensors, skua::parse_json(config).value(), notes);
    if (table.ok()) skua::decode_all(*table);
  }
  return 0;
}
