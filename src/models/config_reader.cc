// Typed, range-checked access to config keys, and the list of keys that never change the maths.
#include "models/config_reader.h"

#include <cmath>

namespace skua {
namespace {

// Keys that transformers or training scripts write and that have no influence on inference results, or that
// another part of the loader reads (quantization). Source: PretrainedConfig of transformers 4 and 5.
constexpr std::string_view kHarmless[] = {"architectures",
                                          "model_type",
                                          "transformers_version",
                                          "_name_or_path",
                                          "name_or_path",
                                          "torch_dtype",
                                          "dtype",
                                          "use_cache",
                                          "initializer_range",
                                          "pad_token_id",
                                          "bos_token_id",
                                          "eos_token_id",
                                          "attention_dropout",
                                          "hidden_dropout",
                                          "resid_pdrop",
                                          "embd_pdrop",
                                          "pretraining_tp",
                                          "quantization",
                                          "quantization_config",
                                          "_attn_implementation",
                                          "attn_implementation",
                                          "_attn_implementation_autoset",
                                          "auto_map",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "return_dict",
                                          "torchscript",
                                          "tokenizer_class",
                                          "prefix",
                                          "problem_type",
                                          "finetuning_task",
                                          "id2label",
                                          "label2id",
                                          "task_specific_params",
                                          "unsloth_fixed",
                                          "unsloth_version",
                                          "transformers.js_config",
                                          "is_llama_config",
                                          "rope_interleaved",
                                          "max_length",
                                          "min_length",
                                          "do_sample",
                                          "temperature",
                                          "top_k",
                                          "top_p",
                                          "typical_p",
                                          "repetition_penalty",
                                          "cache_implementation",
                                          "router_jitter_noise",
                                          "summary_type",
                                          "classifier_dropout",
                                          "gradient_checkpointing",
                                          kServedContextKey,
                                          kMlxLayoutKey};

}  // namespace

ConfigReader::ConfigReader(const Json& config, std::string where)
    : config_(config), where_(std::move(where)) {
  for (std::string_view key : kHarmless) seen_.emplace(key);
  seen_.emplace(kGgufConfig);
  if (config.find(kGgufConfig) != nullptr) where_ = "GGUF metadata (under config.json's names)";
  // Old checkpoints carry this one; only its harmless value may pass.
  seen_.erase(seen_.find("rope_interleaved"));
  must_be("rope_interleaved", Json(false));
}

Status ConfigReader::wrong(std::string_view key, std::string_view expected) const {
  const Json* value = config_.find(key);
  return invalid_argument("[model] " + where_ + ": \"" + std::string(key) + "\" must be " +
                          std::string(expected) + ", got " +
                          (value == nullptr ? "nothing" : value->dump().substr(0, 80)));
}

const Json* ConfigReader::raw(std::string_view key) {
  seen_.emplace(key);
  const Json* value = config_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<int32_t> ConfigReader::maybe_count(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind() != Json::Kind::kInt || value->as_int() < 1 || value->as_int() > INT32_MAX) {
    fail(wrong(key, "an integer from 1 to 2147483647"));
    return std::nullopt;
  }
  return static_cast<int32_t>(value->as_int());
}

int32_t ConfigReader::count(std::string_view key, int64_t max) {
  const auto value = maybe_count(key);
  if (!value || *value > max) {
    fail(wrong(key, "an integer from 1 to " + std::to_string(max)));
    return 1;
  }
  return *value;
}

int32_t ConfigReader::count_or(std::string_view key, int32_t fallback) {
  return maybe_count(key).value_or(fallback);
}

std::optional<double> ConfigReader::maybe_number(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->as_double())) {
    fail(wrong(key, "a number"));
    return std::nullopt;
  }
  return value->as_double();
}

int32_t ConfigReader::count_or_none(std::string_view key) {
  const Json* value = raw(key);
  return value != nullptr && *value == Json(0) ? 0 : count_or(key, 0);
}

double ConfigReader::number(std::string_view key) {
  const auto value = maybe_number(key);
  if (!value) fail(wrong(key, "a number"));
  return value.value_or(0.0);
}

double ConfigReader::number_or(std::string_view key, double fallback) {
  return maybe_number(key).value_or(fallback);
}

double ConfigReader::positive_or(std::string_view key, double fallback) {
  const double value = number_or(key, fallback);
  if (value > 0) return value;
  fail(wrong(key, "a number above 0"));
  return fallback;
}

float ConfigReader::epsilon_or(std::string_view key, double fallback) {
  const double value = number_or(key, fallback);
  if (!(value >= 0 && value <= 1)) fail(wrong(key, "a number from 0 to 1"));
  return static_cast<float>(value);
}

bool ConfigReader::flag_or(std::string_view key, bool fallback) {
  const Json* value = raw(key);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) {
    fail(wrong(key, "true or false"));
    return fallback;
  }
  return value->as_bool();
}

std::string ConfigReader::text_or(std::string_view key, std::string_view fallback) {
  const Json* value = raw(key);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) {
    fail(wrong(key, "a string"));
    return std::string(fallback);
  }
  return value->as_string();
}

std::vector<int32_t> ConfigReader::ids(std::string_view key) {
  const Json* value = raw(key);
  if (value == nullptr) return {};
  std::vector<int32_t> out;
  const auto add = [&](const Json& item) {
    if (item.kind() != Json::Kind::kInt || item.as_int() < -1 || item.as_int() > INT32_MAX) {
      fail(wrong(key, "a token id or a list of them"));
    } else if (item.as_int() >= 0) {
      out.push_back(static_cast<int32_t>(item.as_int()));
    }
  };
  if (!value->is_array()) add(*value);
  for (const Json& item : value->items()) add(item);
  return out;
}

void ConfigReader::must_be(std::string_view key, const Json& expected) {
  const Json* value = raw(key);
  if (value == nullptr || *value == expected) return;
  fail(unsupported("[model] " + where_ + ": \"" + std::string(key) + "\" is " + value->dump().substr(0, 80) +
                   ", which would change the maths; only " + expected.dump() + " is handled"));
}

void ConfigReader::must_equal(std::initializer_list<std::string_view> keys, int64_t count) {
  for (const std::string_view key : keys) must_be(key, Json(count));
}

void ConfigReader::require(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) require_one({key});
}

void ConfigReader::require_one(std::initializer_list<std::string_view> keys) {
  if (says(kGgufConfig) || !missing_.ok()) return;
  std::string names;
  for (const std::string_view key : keys) {
    if (says(key)) return;
    names += (names.empty() ? "\"" : " or \"") + std::string(key) + "\"";
  }
  missing_ = invalid_argument("[model] " + where_ + " lacks " + names +
                              "; there is no default that fits every model of this type: add what the model "
                              "was trained with");
}

void ConfigReader::ignore(std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) seen_.emplace(key);
}

void ConfigReader::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Status ConfigReader::finish(ConfigPolicy policy) const {
  SKUA_RETURN_IF_ERROR(status_);
  SKUA_RETURN_IF_ERROR(missing_);
  if (policy == ConfigPolicy::kAllowUnknown) return ok_status();
  std::string unknown;
  for (const auto& [key, value] : config_.members()) {
    if (seen_.contains(key) || value.is_null()) continue;
    if (!unknown.empty()) unknown += ", ";
    unknown += "\"" + key + "\"";
  }
  if (unknown.empty()) return ok_status();
  return unsupported("[model] " + where_ +
                     " holds keys that skua does not know for this model type: " + unknown +
                     "; they may change the maths. Pass --allow-unknown-config to run without them");
}

}  // namespace skua
