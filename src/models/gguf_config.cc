// Keys of GGUF files as config.json's. Sources: the GGUF specification's key list and gguf-py's constants
// (facts).
#include "models/gguf_config.h"

#include <algorithm>
#include <set>
#include <vector>

#include "models/config_reader.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

constexpr GgufName kExpertKeys[] = {
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_gating_func", "scoring_func"},
};

constexpr GgufName kConfigKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.sliding_window", "sliding_window"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"attention.scale", "attention_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"residual_scale", "residual_multiplier"},
    {"logit_scale", "logits_scaling"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
};

constexpr std::string_view kOutputBias = "blk.0.attn_output.bias";

/// Whether the family says itself what the key is.
bool names_key(const Family& family, std::string_view key) {
  return std::any_of(family.gguf_names.keys.begin(), family.gguf_names.keys.end(),
                     [&](const GgufName& own) { return own.gguf == key; });
}

/// Whether the family says itself what biases of attention's output mean: then they are no attention_bias.
bool names_output_bias(const Family& family) {
  return std::any_of(family.gguf_names.flags.begin(), family.gguf_names.flags.end(),
                     [](const GgufName& own) { return own.gguf == kOutputBias; });
}

/// The number, or 0 if there is none.
int64_t count_of(const Json* value) {
  return value != nullptr && value->kind() == Json::Kind::kInt ? value->as_int() : int64_t{0};
}

/// The heads' width; 0 if the sizes that say it are missing.
int64_t head_dim_of(const Json& config) {
  const int64_t n_heads = count_of(config.find("num_attention_heads"));
  const int64_t width = count_of(config.find("hidden_size"));
  const int64_t head_dim = count_of(config.find("head_dim"));
  return head_dim != 0 || width < 1 || n_heads < 1 ? head_dim : width / n_heads;
}

/// A vector of the file, as a list of numbers.
Result<Json> vector_as_list(const Checkpoint& file, const std::string& name) {
  SKUA_ASSIGN_OR_RETURN(const EncodedMatrix m, file.matrix(name));
  if (m.rows != 1) return data_loss("[gguf] " + name + " must be a vector");
  std::vector<float> values(static_cast<size_t>(m.cols));
  decode_row(m, 0, 0, m.cols, values.data());
  Json out = Json::array();
  for (const float value : values) out.push_back(Json(static_cast<double>(value)));
  return out;
}

/// Keys below rope.scaling and what they are called in a rope_scaling of one type.
void take_scaling(const Json& metadata, const std::string& prefix, std::span<const GgufName> keys,
                  std::set<std::string>& seen, Json& scaling) {
  for (const GgufName& key : keys) {
    const std::string full = prefix + std::string(key.gguf);
    seen.insert(full);
    if (const Json* value = metadata.find(full)) scaling.set(std::string(key.transformers), *value);
  }
}

constexpr GgufName kYarn[] = {{"original_context_length", "original_max_position_embeddings"},
                              {"yarn_beta_fast", "beta_fast"},
                              {"yarn_beta_slow", "beta_slow"},
                              {"yarn_attn_factor", "attention_factor"}};
constexpr GgufName kLongRope[] = {{"original_context_length", "original_max_position_embeddings"},
                                  {"attn_factor", "attention_factor"}};

/// rope.scaling.* keys and tensors of factors as transformers' rope_scaling. Files with both lists of
/// longrope's factors need not name the type.
Status add_rope(const Checkpoint& file, const std::string& arch, std::set<std::string>& seen, Json& config) {
  const Json& metadata = file.config();
  const std::string prefix = arch + ".rope.scaling.";
  for (const char* key : {"type", "factor", "original_context_length", "finetuned"})
    seen.insert(prefix + key);
  const Json* type = metadata.find(prefix + "type");
  const Json* factor = metadata.find(prefix + "factor");
  const bool longrope = file.find("rope_factors_long.weight") != nullptr;
  Json scaling = Json::object();
  if (longrope) {
    if (type != nullptr && *type != Json("longrope"))
      return unsupported("[gguf] rope_factors_long is there, but " + prefix + "type is " + type->dump());
    scaling.set("rope_type", Json("longrope"));
    take_scaling(metadata, prefix, kLongRope, seen, scaling);
    for (const std::string kind : {"long", "short"}) {
      SKUA_ASSIGN_OR_RETURN(Json factors, vector_as_list(file, "rope_factors_" + kind + ".weight"));
      scaling.set(kind + "_factor", std::move(factors));
    }
  } else if (type != nullptr && *type != Json("none")) {
    scaling.set("rope_type", *type);
    if (factor != nullptr) scaling.set("factor", *factor);
    if (*type == Json("yarn")) take_scaling(metadata, prefix, kYarn, seen, scaling);
  } else if (type == nullptr && factor != nullptr && factor->is_number() && factor->as_double() != 1.0) {
    scaling.set("rope_type", Json("linear"));
    scaling.set("factor", *factor);
  }
  if (file.find("rope_freqs.weight") != nullptr) {
    if (scaling.size() != 0) return unsupported("[gguf] both rope_freqs and rope scaling are given");
    SKUA_ASSIGN_OR_RETURN(Json factors, vector_as_list(file, "rope_freqs.weight"));
    scaling.set("rope_type", Json("factors"));
    scaling.set("factors", std::move(factors));
  }
  if (scaling.size() != 0) config.set("rope_scaling", std::move(scaling));
  return ok_status();
}

void add_token_ids(const Json& metadata, Json& config) {
  constexpr GgufName kIds[] = {{"bos", "bos_token_id"}, {"eos", "eos_token_id"}};
  for (const GgufName& id : kIds) {
    const Json* value = metadata.find("tokenizer.ggml." + std::string(id.gguf) + "_token_id");
    if (value != nullptr) config.set(std::string(id.transformers), *value);
  }
}

/// A value as the config spells it.
Result<Json> converted(std::string_view key, const Json& value, const Json& config) {
  if (key == "expert_gating_func") {
    if (value == Json(1)) return Json("softmax");
    if (value == Json(2)) return Json("sigmoid");
    return unsupported("[gguf] expert_gating_func is " + value.dump().substr(0, 40) +
                       "; known are 1 (softmax), 2 (sigmoid)");
  }
  if (key == "attention.sliding_window_pattern" && value.is_array()) {
    Json types = Json::array();
    for (const Json& slides : value.items()) {
      if (static_cast<int64_t>(types.size()) == gguf_layer_count(config)) break;
      if (!slides.is_bool()) {
        return invalid_argument("[gguf] attention.sliding_window_pattern holds " +
                                slides.dump().substr(0, 40) + ", expected true or false");
      }
      types.push_back(Json(slides == Json(true) ? "sliding_attention" : "full_attention"));
    }
    return types;
  }
  if (key == "rope.dimension_count") {
    const int64_t head_dim = head_dim_of(config), rotated = count_of(&value);
    if (head_dim < 1 || head_dim > 65536 || rotated < 1 || rotated > head_dim) {
      return invalid_argument("[gguf] rope.dimension_count " + value.dump().substr(0, 40) +
                              " must be from 1 to attention.key_length");
    }
    return Json(rotary_fraction(static_cast<int32_t>(rotated), static_cast<int32_t>(head_dim)));
  }
  return value;
}

/// The keys and flags that the family names; nextn_predict_layers are taken off the layers first.
Status add_family_keys(const Checkpoint& file, const Family& family, std::set<std::string>& seen,
                       Json& config) {
  const Json& metadata = file.config();
  const std::string prefix = metadata.find("general.architecture")->as_string() + ".";
  const Json* more = metadata.find(prefix + "nextn_predict_layers");
  if (more != nullptr && more->is_int() && !find_name(family.gguf_names.keys, "nextn_predict_layers").empty())
    config.set("num_hidden_layers", Json(gguf_layer_count(config) - more->as_int()));
  std::vector<GgufName> keys(family.gguf_names.keys.begin(), family.gguf_names.keys.end());
  if (!find_name(keys, "expert_count").empty()) {
    for (const GgufName& key : kExpertKeys) {
      const auto same = [&](const GgufName& own) { return own.gguf == key.gguf; };
      if (std::none_of(keys.begin(), keys.end(), same)) keys.push_back(key);
    }
  }
  for (const GgufName& key : keys) {
    const std::string full = prefix + std::string(key.gguf);
    seen.insert(full);
    const Json* value = metadata.find(full);
    if (value == nullptr || key.transformers.empty()) continue;
    SKUA_ASSIGN_OR_RETURN(Json own, converted(key.gguf, *value, config));
    config.set(std::string(key.transformers), std::move(own));
  }
  for (const GgufName& flag : family.gguf_names.flags) {
    if (!flag.transformers.empty())
      config.set(std::string(flag.transformers), Json(file.find(flag.gguf) != nullptr));
  }
  return ok_status();
}

/// Sizes that the config does not carry over must agree with those it does.
Status check_sizes(const Json& metadata, const Family& family, const Json& config) {
  const std::string arch = metadata.find("general.architecture")->as_string();
  // Without heads nothing is said of them here: the family's reading of the config names what lacks.
  const int64_t head_dim = head_dim_of(config);
  const bool knows_heads = head_dim != 0;
  struct Check {
    const char* key;
    int64_t expected;
    bool known;
  };
  for (const Check& check : {Check{".rope.dimension_count", head_dim, knows_heads},
                             Check{".attention.value_length", head_dim, knows_heads},
                             Check{".vocab_size", count_of(config.find("vocab_size")), true}}) {
    const Json* value = metadata.find(arch + check.key);
    if (value == nullptr || !check.known || *value == Json(check.expected)) continue;
    if (names_key(family, check.key + 1)) continue;  // the family reads it
    return unsupported(
        "[gguf] " + arch + check.key + " is " + value->dump().substr(0, 40) + ", expected " +
        std::to_string(check.expected) +
        " as the other sizes of the file say; partial rotation and value heads of another size are not "
        "handled for this architecture");
  }
  return ok_status();
}

/// A count that a file states for each layer, if all are alike: that one; else the value itself.
const Json& uniform(const Json& value) {
  if (!value.is_array() || value.size() == 0) return value;
  const Json& first = value.items()[0];
  const bool alike =
      std::all_of(value.items().begin(), value.items().end(), [&](const Json& v) { return v == first; });
  return alike ? first : value;
}

}  // namespace

std::string_view find_name(std::span<const GgufName> table, std::string_view name) {
  for (const GgufName& row : table) {
    if (row.gguf == name) return row.transformers;
  }
  return {};
}

int64_t gguf_layer_count(const Json& config) { return count_of(config.find("num_hidden_layers")); }

Result<Json> gguf_config(const Checkpoint& file, const Family& family, ConfigPolicy policy) {
  const Json& metadata = file.config();
  const std::string arch = metadata.find("general.architecture")->as_string();
  Json config = Json::object();
  config.set("model_type", Json(family.model_types[0]));
  config.set(std::string(kGgufConfig), Json(true));
  // Read elsewhere (vocabulary, rope) or only of interest to trainers.
  std::set<std::string> seen = {arch + ".vocab_size", arch + ".rope.dimension_count",
                                arch + ".attention.value_length"};
  for (const GgufName& key : kConfigKeys) {
    const std::string full = arch + "." + std::string(key.gguf);
    if (names_key(family, key.gguf)) continue;
    seen.insert(full);
    if (const Json* value = metadata.find(full)) config.set(std::string(key.transformers), uniform(*value));
  }
  SKUA_RETURN_IF_ERROR(add_rope(file, arch, seen, config));
  add_token_ids(metadata, config);
  const TensorEntry* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return data_loss("[gguf] token_embd.weight is missing");
  config.set("vocab_size", Json(embedding->shape[0]));
  config.set("tie_word_embeddings", Json(file.find("output.weight") == nullptr));
  if (file.find(kOutputBias) != nullptr && !names_output_bias(family))
    config.set("attention_bias", Json(true));
  SKUA_RETURN_IF_ERROR(add_family_keys(file, family, seen, config));
  for (const GgufName& list : family.gguf_names.lists) seen.insert(arch + "." + std::string(list.gguf));
  SKUA_RETURN_IF_ERROR(check_sizes(metadata, family, config));
  for (const auto& [key, value] : metadata.members()) {
    if (policy == ConfigPolicy::kAllowUnknown || !key.starts_with(arch + ".") || seen.contains(key)) continue;
    return unsupported("[gguf] metadata key " + key + " is not understood and may change the maths; pass " +
                       "--allow-unknown-config to run without it");
  }
  if (family.gguf_names.adjust != nullptr) SKUA_RETURN_IF_ERROR(family.gguf_names.adjust(file, config));
  if (family.adjust_gguf != nullptr) SKUA_RETURN_IF_ERROR(family.adjust_gguf(metadata, config));
  return config;
}

}  // namespace skua
