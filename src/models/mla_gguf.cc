// Keys of deepseek2 files that are no plain renaming.
#include "models/mla_gguf.h"

#include <string>

namespace skua {
namespace {

std::string arch_of(const Json& metadata) {
  const Json* arch = metadata.find("general.architecture");
  return arch != nullptr && arch->is_string() ? arch->as_string() : "?";
}

/// A count that must be there, from 1 to 65536.
Result<int64_t> count(const Json& metadata, const std::string& key) {
  const Json* value = metadata.find(key);
  if (value != nullptr && value->kind() == Json::Kind::kInt && value->as_int() >= 1 &&
      value->as_int() <= 65536)
    return value->as_int();
  return invalid_argument("[gguf] " + key + " must be a count, got " +
                          (value == nullptr ? "nothing" : value->dump().substr(0, 40)));
}

}  // namespace

Status adjust_mla(const Json& metadata, Json& config) {
  const std::string arch = arch_of(metadata);
  const bool absorbed = metadata.find(arch + ".attention.key_length_mla") != nullptr;
  const std::string tail = absorbed ? "_mla" : "";
  SKUA_ASSIGN_OR_RETURN(const int64_t rope, count(metadata, arch + ".rope.dimension_count"));
  SKUA_ASSIGN_OR_RETURN(const int64_t key, count(metadata, arch + ".attention.key_length" + tail));
  SKUA_ASSIGN_OR_RETURN(const int64_t value, count(metadata, arch + ".attention.value_length" + tail));
  if (key <= rope) {
    return invalid_argument("[gguf] " + arch + ".attention.key_length" + tail + " " + std::to_string(key) +
                            " must be larger than rope.dimension_count " + std::to_string(rope));
  }
  config.set("qk_rope_head_dim", Json(rope));
  config.set("qk_nope_head_dim", Json(key - rope));
  config.set("v_head_dim", Json(value));
  config.set("head_dim", Json(rope));
  if (const Json* heads = config.find("num_attention_heads")) config.set("num_key_value_heads", *heads);
  const Json* log_multiplier = metadata.find(arch + ".rope.scaling.yarn_log_multiplier");
  const Json* given = config.find("rope_scaling");
  if (log_multiplier == nullptr) return ok_status();
  if (given == nullptr || !log_multiplier->is_number()) {
    return invalid_argument("[gguf] " + arch + ".rope.scaling.yarn_log_multiplier " +
                            log_multiplier->dump().substr(0, 40) + " needs yarn scaling, and to be a number");
  }
  Json rope_scaling = *given;  // the converter stores a tenth of mscale_all_dim; both factors are alike
  for (const char* name : {"mscale", "mscale_all_dim"})
    rope_scaling.set(name, Json(log_multiplier->as_double() * 10.0));
  config.set("rope_scaling", std::move(rope_scaling));
  return ok_status();
}

bool has_sigmoid_router(const Checkpoint& file) {
  const Json* gate = file.config().find(arch_of(file.config()) + ".expert_gating_func");
  if (gate != nullptr) return *gate != Json(1);
  for (const TensorEntry& entry : file.tensors())
    if (entry.name.find(".exp_probs_b.") != std::string::npos) return true;
  return false;
}

bool has_softmax_router(const Checkpoint& file) { return !has_sigmoid_router(file); }

}  // namespace skua
