// Reads and matches MLX quantization settings. Form: {"group_size": 64, "bits": 4, "mode": "affine",
// "<module path>": {"group_size", "bits", "mode"} | true | false}. Source: what mlx-lm writes into
// config.json (facts).
#include "checkpoint/mlx_quantization.h"

#include <algorithm>

#include "checkpoint/printable.h"

namespace skua {
namespace {

/// The setting in `json`, whose other members are no matter of ours.
Result<QuantSetting> parse_setting(const Json& json, const std::string& origin) {
  QuantSetting out;
  out.origin = origin;
  if (const Json* mode = json.find("mode")) {
    if (!mode->is_string()) return invalid_argument("config.json: " + origin + ".mode is " + mode->dump());
    out.mode = mode->as_string();
  }
  const Json* bits = json.find("bits");
  const Json* group = json.find("group_size");
  if (bits == nullptr || group == nullptr || bits->kind() != Json::Kind::kInt ||
      group->kind() != Json::Kind::kInt) {
    return invalid_argument("config.json: " + origin + " needs the integers \"bits\" and \"group_size\"");
  }
  out.bits = bits->as_int();
  out.group = group->as_int();
  if (out.mode == "mxfp4" && (out.bits != 4 || out.group != 32)) {
    return invalid_argument("config.json: " + origin + " asks for mode mxfp4 with " +
                            std::to_string(out.bits) + " bits in groups of " + std::to_string(out.group) +
                            "; it has 4 in groups of 32");
  }
  const bool affine = out.mode.empty() || out.mode == "affine";
  const bool known_bits = out.bits >= 2 && out.bits <= 8 && out.bits != 7;
  if (affine && (!known_bits || (out.group != 32 && out.group != 64 && out.group != 128))) {
    return invalid_argument("config.json: " + origin + " asks for " + std::to_string(out.bits) +
                            " bits in groups of " + std::to_string(out.group) +
                            "; affine weights have 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128");
  }
  return out;
}

/// The object that holds MLX settings, or nullptr. Refuses the configurations of other quantizers.
Result<const Json*> find_settings(const Json& config, std::string& key, std::vector<std::string>& notes) {
  const auto object_at = [&](const char* name) {
    const Json* json = config.find(name);
    return json != nullptr && !json->is_null() ? json : nullptr;
  };
  const Json* own = object_at("quantization");
  const Json* other = object_at("quantization_config");
  for (const Json* json : {own, other}) {
    if (json != nullptr && !json->is_object()) {
      return invalid_argument("config.json: the quantization settings should be an object, got " +
                              json->dump());
    }
  }
  const Json* method = other != nullptr ? other->find("quant_method") : nullptr;
  if (own == nullptr && method != nullptr && *method == Json("mxfp4")) return nullptr;  // says_mxfp4()
  if (own == nullptr && method != nullptr) {
    return unsupported(
        "config.json: quantization_config.quant_method is " + printable(method->dump()) +
        ", which skua does not read yet; it reads MLX affine, MXFP4 and unquantized safetensors, and GGUF");
  }
  if (own != nullptr && other != nullptr && method == nullptr && *own != *other) {
    return invalid_argument(
        "config.json: \"quantization\" and \"quantization_config\" disagree: " + printable(own->dump()) +
        " and " + printable(other->dump()) + "; remove the wrong one");
  }
  if (own != nullptr && method != nullptr) {
    notes.push_back("config.json: \"quantization\" is used, quantization_config (quant_method " +
                    printable(method->dump()) + ") is left out");
  }
  key = own != nullptr ? "quantization" : "quantization_config";
  return own != nullptr ? own : other;
}

}  // namespace

bool says_mxfp4(const Json& config) {
  const Json* other = config.find("quantization_config");
  const Json* method = other != nullptr ? other->find("quant_method") : nullptr;
  return method != nullptr && *method == Json("mxfp4");
}

Result<MlxQuantization> MlxQuantization::parse(const Json& config) {
  MlxQuantization out;
  std::string key;
  SKUA_ASSIGN_OR_RETURN(const Json* settings, find_settings(config, key, out.notes_));
  if (settings == nullptr) return out;
  SKUA_ASSIGN_OR_RETURN(out.default_, parse_setting(*settings, key));
  for (const auto& [name, value] : settings->members()) {
    if (name == "bits" || name == "group_size" || name == "mode" || name == "quant_method") continue;
    const std::string origin = key + "[\"" + printable(name) + "\"]";
    if (value.is_object()) {
      SKUA_ASSIGN_OR_RETURN(QuantSetting setting, parse_setting(value, origin));
      out.overrides_.push_back({name, std::move(setting)});
    } else if (value.is_bool()) {
      std::optional<QuantSetting> setting;
      if (value.as_bool()) setting = out.default_;
      out.overrides_.push_back({name, std::move(setting)});
    } else {
      return invalid_argument("config.json: " + origin + " is " + printable(value.dump()) +
                              ", which is no setting that skua knows");
    }
  }
  return out;
}

Status MlxQuantization::match(std::span<const std::string_view> modules) {
  std::unordered_map<std::string_view, size_t> open;  // overrides that fit no module exactly
  for (size_t i = 0; i < overrides_.size(); ++i) open.emplace(overrides_[i].module, i);
  const std::unordered_map<std::string_view, size_t> all = open;
  for (const std::string_view module : modules) {
    if (const auto at = all.find(module); at != all.end()) {
      by_module_.emplace(module, at->second);
      open.erase(module);
    }
  }
  if (open.empty()) return ok_status();

  std::unordered_map<size_t, std::vector<std::string_view>> found;
  std::unordered_map<std::string_view, std::vector<size_t>> shortened;  // tails of the open overrides
  const auto for_tails = [](std::string_view path, auto&& fn) {
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
      path.remove_prefix(dot + 1);
      fn(path);
    }
  };
  for (const auto& [path, i] : open) {
    for_tails(path, [&, index = i](std::string_view tail) { shortened[tail].push_back(index); });
  }
  for (const std::string_view module : modules) {
    if (by_module_.contains(std::string(module))) continue;
    for_tails(module, [&](std::string_view tail) {
      if (const auto at = open.find(tail); at != open.end()) found[at->second].push_back(module);
    });
    if (const auto at = shortened.find(module); at != shortened.end()) {
      for (const size_t i : at->second) found[i].push_back(module);
    }
  }
  for (const auto& [path, i] : open) {
    const auto& fits = found[i];
    if (fits.size() == 1 && by_module_.emplace(fits[0], i).second) continue;
    if (fits.empty() && !overrides_[i].setting) continue;  // "not quantized" about a module that is not here
    return invalid_argument(
        "config.json: the quantization override for \"" + printable(path) + "\" fits " +
        (fits.empty() ? "no tensor of the checkpoint"
                      : std::to_string(fits.size()) + " modules, " + printable(fits[0]) + " among them") +
        "; it would silently not apply, correct its path");
  }
  return ok_status();
}

MlxQuantization::Choice MlxQuantization::choose(std::string_view module) const {
  const auto at = by_module_.find(std::string(module));
  if (at == by_module_.end()) return {default_ ? &*default_ : nullptr, nullptr};
  const QuantOverride& used = overrides_[at->second];
  return {used.setting ? &*used.setting : nullptr, &used};
}

}  // namespace skua
