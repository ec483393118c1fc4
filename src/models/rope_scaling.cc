// Rope frequency rules. All in float64; the angles are rounded once, where the graph's edge says so.
#include "models/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skua {
namespace {

/// A positive number of `parameters`, or an error that names it.
Result<double> positive(const Json& parameters, std::string_view key) {
  const Json* value = parameters.find(key);
  if (value == nullptr || !value->is_number() || !(value->as_double() > 0) ||
      !std::isfinite(value->as_double())) {
    return invalid_argument("[model] rope parameter \"" + std::string(key) +
                            "\" must be a positive number, got " +
                            (value == nullptr ? "nothing" : value->dump().substr(0, 80)));
  }
  return value->as_double();
}

Status scale_llama3(const Json& parameters, std::vector<double>& inv_freq) {
  SKUA_ASSIGN_OR_RETURN(const double factor, positive(parameters, "factor"));
  SKUA_ASSIGN_OR_RETURN(const double low, positive(parameters, "low_freq_factor"));
  SKUA_ASSIGN_OR_RETURN(const double high, positive(parameters, "high_freq_factor"));
  SKUA_ASSIGN_OR_RETURN(const double original, positive(parameters, "original_max_position_embeddings"));
  if (!(high > low)) return invalid_argument("[model] rope high_freq_factor must be above low_freq_factor");
  for (double& f : inv_freq) {
    const double turns = original * f / (2 * std::numbers::pi);  // rotations within the original context
    if (turns > high) continue;
    const double keep = turns < low ? 0.0 : (turns - low) / (high - low);
    f = (1 - keep) * f / factor + keep * f;
  }
  return ok_status();
}

Status divide_by(const Json& parameters, std::string_view key, std::vector<double>& inv_freq) {
  const Json* factors = parameters.find(key);
  if (factors == nullptr || factors->size() != inv_freq.size()) {
    return invalid_argument("[model] rope " + std::string(key) + " must be a list of " +
                            std::to_string(inv_freq.size()) + " numbers");
  }
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const Json& f = factors->items()[i];
    if (!f.is_number() || !(f.as_double() > 0))
      return invalid_argument("[model] a rope factor is not positive");
    inv_freq[i] /= f.as_double();
  }
  return ok_status();
}

/// A number that may be missing; null counts as missing.
Result<double> number_or(const Json& parameters, std::string_view key, double fallback) {
  const Json* value = parameters.find(key);
  if (value == nullptr || value->is_null()) return fallback;
  return positive(parameters, key);
}

/// `factor`, or max_position_embeddings / original if it is missing.
Result<double> length_factor(const Json& parameters, double original) {
  const Json* factor = parameters.find("factor");
  if (factor != nullptr && !factor->is_null()) return positive(parameters, "factor");
  SKUA_ASSIGN_OR_RETURN(const double longest, positive(parameters, "max_position_embeddings"));
  return longest / original;
}

/// YaRN (arXiv:2309.00071): high frequencies keep, low ones are divided by the factor, a ramp lies between.
Status scale_yarn(const Json& parameters, double theta, RopeAngles& out) {
  SKUA_ASSIGN_OR_RETURN(const double original, positive(parameters, "original_max_position_embeddings"));
  SKUA_ASSIGN_OR_RETURN(const double factor, length_factor(parameters, original));
  SKUA_ASSIGN_OR_RETURN(const double fast, number_or(parameters, "beta_fast", 32.0));
  SKUA_ASSIGN_OR_RETURN(const double slow, number_or(parameters, "beta_slow", 1.0));
  const Json* truncate = parameters.find("truncate");
  const bool whole = truncate == nullptr || truncate->is_null() || *truncate == Json(true);
  const auto dim = 2.0 * static_cast<double>(out.inv_freq.size());
  const auto place = [&](double turns) {
    return dim * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  const double low = std::max(whole ? std::floor(place(fast)) : place(fast), 0.0);
  double high = std::min(whole ? std::ceil(place(slow)) : place(slow), dim - 1);
  if (high == low) high += 0.001;
  for (size_t i = 0; i < out.inv_freq.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    out.inv_freq[i] = out.inv_freq[i] / factor * ramp + out.inv_freq[i] * (1 - ramp);
  }
  const auto temperature = [&](double scale) {
    return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
  };
  SKUA_ASSIGN_OR_RETURN(const double given, number_or(parameters, "attention_factor", 0.0));
  const auto given_scale = [&](const char* key) {
    const Json* value = parameters.find(key);
    return value != nullptr && value->is_number() ? value->as_double() : 0.0;
  };
  const double mscale = given_scale("mscale"), all_dim = given_scale("mscale_all_dim");
  out.attention_factor = given > 0                     ? given
                         : mscale != 0 && all_dim != 0 ? temperature(mscale) / temperature(all_dim)
                                                       : temperature(1.0);
  return ok_status();
}

/// LongRoPE (arXiv:2402.13753): one list of divisors for contexts up to the original one, another above. The
/// context that is served decides, once; a current length never does.
Status scale_longrope(const Json& parameters, RopeAngles& out) {
  SKUA_ASSIGN_OR_RETURN(const double original, positive(parameters, "original_max_position_embeddings"));
  SKUA_ASSIGN_OR_RETURN(const double factor, length_factor(parameters, original));
  SKUA_ASSIGN_OR_RETURN(const double longest, number_or(parameters, "max_position_embeddings", original));
  SKUA_ASSIGN_OR_RETURN(const double served, number_or(parameters, kServedContextKey, longest));
  SKUA_RETURN_IF_ERROR(
      divide_by(parameters, served > original ? "long_factor" : "short_factor", out.inv_freq));
  const double grown = factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original));
  SKUA_ASSIGN_OR_RETURN(out.attention_factor, number_or(parameters, "attention_factor", grown));
  return ok_status();
}

/// Dynamic NTK: a larger base beyond max_position_embeddings. The context that is served decides, once.
Result<double> dynamic_theta(const Json& parameters, double theta, int32_t rot_dim) {
  SKUA_ASSIGN_OR_RETURN(const double factor, positive(parameters, "factor"));
  SKUA_ASSIGN_OR_RETURN(const double longest, positive(parameters, "max_position_embeddings"));
  SKUA_ASSIGN_OR_RETURN(const double served, number_or(parameters, kServedContextKey, longest));
  if (served <= longest || rot_dim <= 2) return theta;
  return theta * std::pow(factor * served / longest - (factor - 1), rot_dim / (rot_dim - 2.0));
}

Result<std::string> rope_type(const Json& parameters) {
  for (const char* key : {"rope_type", "type"}) {
    const Json* value = parameters.find(key);
    if (value == nullptr || value->is_null()) continue;
    if (!value->is_string())
      return invalid_argument("[model] rope_type must be a string, got " + value->dump());
    return value->as_string();
  }
  return std::string("default");
}

Status refuse_unknown(const Json& parameters, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : parameters.members()) {
    bool found = key == "rope_theta" || key == "rope_type" || key == "type" || value.is_null();
    for (std::string_view k : known) found |= key == k;
    found |= key == "partial_rotary_factor";  // read by rope_angles_from
    if (!found) return unsupported("[model] rope parameter \"" + key + "\" is not known for this rope_type");
  }
  return ok_status();
}

/// Scales the plain frequencies in `out` as the type wants; `n_turning` of them turn (proportional).
Status scale_angles(const std::string& type, const Json& parameters, double theta, size_t n_turning,
                    RopeAngles& out) {
  if (type == "default") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(parameters, {}));
  } else if (type == "linear") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(parameters, {"factor"}));
    SKUA_ASSIGN_OR_RETURN(const double factor, positive(parameters, "factor"));
    for (double& f : out.inv_freq) f /= factor;
  } else if (type == "llama3") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(
        parameters, {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}));
    SKUA_RETURN_IF_ERROR(scale_llama3(parameters, out.inv_freq));
  } else if (type == "factors") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(parameters, {"factors"}));
    SKUA_RETURN_IF_ERROR(divide_by(parameters, "factors", out.inv_freq));
  } else if (type == "proportional") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(parameters, {"factor"}));
    SKUA_ASSIGN_OR_RETURN(const double factor, number_or(parameters, "factor", 1.0));
    for (size_t i = 0; i < out.inv_freq.size(); ++i)
      out.inv_freq[i] = i < n_turning ? out.inv_freq[i] / factor : 0.0;
  } else if (type == "yarn") {
    SKUA_RETURN_IF_ERROR(refuse_unknown(
        parameters,
        {"factor", "original_max_position_embeddings", "max_position_embeddings", kServedContextKey,
         "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "attention_factor", "truncate"}));
    SKUA_RETURN_IF_ERROR(scale_yarn(parameters, theta, out));
  } else if (type == "longrope" || type == "su") {
    SKUA_RETURN_IF_ERROR(
        refuse_unknown(parameters, {"factor", "original_max_position_embeddings", "max_position_embeddings",
                                    kServedContextKey, "long_factor", "short_factor", "attention_factor"}));
    SKUA_RETURN_IF_ERROR(scale_longrope(parameters, out));
  } else if (type != "dynamic") {
    return unsupported(
        "[model] rope_type \"" + type +
        "\" is not known; known are default, dynamic, linear, llama3, longrope, proportional, yarn");
  }
  return ok_status();
}

}  // namespace

Result<RopeAngles> rope_angles_from(const Json& parameters, int32_t head_dim, double default_theta,
                                    PartialRotation partial) {
  SKUA_ASSIGN_OR_RETURN(const double part, number_or(parameters, "partial_rotary_factor", 1.0));
  if (part > 1) return invalid_argument("[model] partial_rotary_factor must be at most 1");
  SKUA_ASSIGN_OR_RETURN(const std::string type, rope_type(parameters));
  if (part != 1 && partial == PartialRotation::kRefused && type != "proportional") {
    return unsupported("[model] partial_rotary_factor is " + std::to_string(part) +
                       "; models of this type rotate whole heads");
  }
  // "proportional" spreads its frequencies over the whole head; the slowest stand still.
  const auto n_turning = static_cast<size_t>(head_dim * part / 2);
  const auto rot_dim = type == "proportional" ? head_dim : static_cast<int32_t>(head_dim * part);
  if (rot_dim < 2 || rot_dim % 2 != 0 || rot_dim > 65536) {
    return invalid_argument(
        "[model] rotated dimensions (head_dim, or its partial_rotary_factor) must be an even number up to "
        "65536, got " +
        std::to_string(rot_dim));
  }
  double theta = default_theta;
  if (const Json* value = parameters.find("rope_theta"); value != nullptr && !value->is_null()) {
    SKUA_ASSIGN_OR_RETURN(theta, positive(parameters, "rope_theta"));
  }
  if (type == "dynamic") {
    SKUA_RETURN_IF_ERROR(
        refuse_unknown(parameters, {"factor", "max_position_embeddings", kServedContextKey}));
    SKUA_ASSIGN_OR_RETURN(theta, dynamic_theta(parameters, theta, rot_dim));
  }
  RopeAngles out;
  for (int32_t i = 0; i < rot_dim / 2; ++i) out.inv_freq.push_back(std::pow(theta, -2.0 * i / rot_dim));
  SKUA_RETURN_IF_ERROR(scale_angles(type, parameters, theta, n_turning, out));
  return out;
}

double rotary_fraction(int32_t rotated, int32_t head_dim) {
  const double fraction = static_cast<double>(rotated) / head_dim;
  return static_cast<int32_t>(head_dim * fraction) == rotated ? fraction : std::nextafter(fraction, 2.0);
}

/// What a config says of rope in two places must be the same.
static void refuse_contradictions(ConfigReader& config, const Json* parameters, const Json* scaling) {
  const bool newer = parameters != nullptr;
  if (!newer && scaling == nullptr) return;
  const auto contradiction = [&](std::string_view key, const Json& value, const Json& other) {
    config.fail(invalid_argument("[model] config.json: \"" + std::string(key) + "\" is " +
                                 value.dump().substr(0, 60) +
                                 (newer ? ", rope_parameters say " : ", rope_scaling says ") +
                                 other.dump().substr(0, 60) + "; remove the wrong one"));
  };
  if (!newer) parameters = scaling;
  for (size_t i = 0; newer && scaling != nullptr && i < scaling->members().size(); ++i) {
    const auto& [key, value] = scaling->members()[i];
    const Json* same = parameters->find(key == "type" ? "rope_type" : key);
    if (same == nullptr || *same != value) return contradiction("rope_scaling", *scaling, *parameters);
  }
  const bool by_kind = parameters->find("full_attention") != nullptr;
  for (const char* key : {"partial_rotary_factor", "original_max_position_embeddings"}) {
    const Json* value = config.raw(key);
    const Json* other = parameters->find(key);
    if (value == nullptr) continue;
    if (by_kind ? *value != Json(1.0) : other != nullptr && *value != *other)
      contradiction(key, *value, by_kind ? *parameters : *other);
  }
}

Json rope_parameters(ConfigReader& config) {
  const Json* theta = config.raw("rope_theta");
  const Json* scaling = config.raw("rope_scaling");
  const Json* part = config.raw("partial_rotary_factor");
  config.maybe_count("original_max_position_embeddings");
  const Json* original = config.raw("original_max_position_embeddings");
  const Json* longest = config.raw("max_position_embeddings");
  const Json* served = config.raw(kServedContextKey);
  const Json* parameters = config.raw("rope_parameters");
  for (const auto& [key, value] : {std::pair{"rope_parameters", parameters}, {"rope_scaling", scaling}}) {
    if (value == nullptr || value->is_object()) continue;
    config.fail(invalid_argument("[model] " + std::string(key) + " must be an object, got " +
                                 value->dump().substr(0, 80)));
    return Json::object();
  }
  refuse_contradictions(config, parameters, scaling);
  if (parameters == nullptr) parameters = scaling;
  Json out = parameters != nullptr ? *parameters : Json::object();
  const auto add = [&](std::string_view key, const Json* value) {
    if (value != nullptr && out.find(key) == nullptr) out.set(std::string(key), *value);
  };
  add("rope_theta", theta);
  add("partial_rotary_factor", part);
  const auto type = rope_type(out);
  const bool long_type = type.ok() && (*type == "yarn" || *type == "longrope" || *type == "su");
  if (long_type || (type.ok() && *type == "dynamic")) {  // their maths needs the lengths
    if (long_type) add("original_max_position_embeddings", original);
    add("max_position_embeddings", longest);
    add(kServedContextKey, served);
  }
  // Where the original context is not said, it is the only one that is.
  if (long_type || (type.ok() && *type == "llama3")) add("original_max_position_embeddings", longest);
  return out;
}

LayerRope read_layer_rope(ConfigReader& config, double sliding_theta) {
  LayerRope out;
  const Json parameters = rope_parameters(config);
  const Json* full = parameters.find("full_attention");
  const Json* sliding = parameters.find("sliding_attention");
  for (const auto& [name, value] : {std::pair{"full_attention", full}, {"sliding_attention", sliding}}) {
    if (value == nullptr || value->is_object() || value->is_null()) continue;
    config.fail(invalid_argument("[model] rope_parameters: " + std::string(name) +
                                 " must be an object, got " + value->dump().substr(0, 80)));
    return out;
  }
  if (full != nullptr && sliding != nullptr) {
    out.full = *full;
    out.sliding = *sliding;
  } else {
    out.full = parameters;
    out.sliding.set("rope_theta", Json(sliding_theta));
  }
  return out;
}

}  // namespace skua
