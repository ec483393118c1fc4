// Rope frequency rules. All in float64; the angles are rounded once, where the graph's edge says so.
#include "models/rope_scaling.h"

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

Status scale_factors(const Json& parameters, std::vector<double>& inv_freq) {
  const Json* factors = parameters.find("factors");
  if (factors == nullptr || factors->size() != inv_freq.size()) {
    return invalid_argument("[model] rope factors must be a list of " + std::to_string(inv_freq.size()) +
                            " numbers");
  }
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const Json& f = factors->items()[i];
    if (!f.is_number() || !(f.as_double() > 0))
      return invalid_argument("[model] a rope factor is not positive");
    inv_freq[i] /= f.as_double();
  }
  return ok_status();
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
    if (key == "partial_rotary_factor" && value.is_number() && value.as_double() == 1.0) found = true;
    if (!found) return unsupported("[model] rope parameter \"" + key + "\" is not known for this rope_type");
  }
  return ok_status();
}

}  // namespace

Result<RopeAngles> rope_angles_from(const Json& parameters, int32_t rot_dim, double default_theta) {
  if (rot_dim < 2 || rot_dim % 2 != 0) {
    return invalid_argument("[model] rotated dimensions must be an even number, got " +
                            std::to_string(rot_dim));
  }
  double theta = default_theta;
  if (const Json* value = parameters.find("rope_theta"); value != nullptr && !value->is_null()) {
    SKUA_ASSIGN_OR_RETURN(theta, positive(parameters, "rope_theta"));
  }
  RopeAngles out;
  for (int32_t i = 0; i < rot_dim / 2; ++i) out.inv_freq.push_back(std::pow(theta, -2.0 * i / rot_dim));
  SKUA_ASSIGN_OR_RETURN(const std::string type, rope_type(parameters));
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
    SKUA_RETURN_IF_ERROR(scale_factors(parameters, out.inv_freq));
  } else {
    return unsupported("[model] rope_type \"" + type + "\" is not known; known are default, linear, llama3");
  }
  return out;
}

Json rope_parameters(ConfigReader& config) {
  const Json* theta = config.raw("rope_theta");
  const Json* scaling = config.raw("rope_scaling");
  if (const Json* parameters = config.raw("rope_parameters")) return *parameters;
  Json out = scaling != nullptr ? *scaling : Json::object();
  if (!out.is_object()) {
    config.fail(invalid_argument("[model] rope_scaling must be an object, got " + out.dump().substr(0, 80)));
    return Json::object();
  }
  if (theta != nullptr) out.set("rope_theta", *theta);
  return out;
}

}  // namespace skua
