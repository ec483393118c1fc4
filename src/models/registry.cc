// The list of families: one line each. Explicit, since linkers drop static registrations and hide their
// order.
#include "models/families.h"

#include "models/config_reader.h"

namespace skua {

extern const Family kGemma3;
extern const Family kLlama;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kQwen3;

namespace {

const Family* const kFamilies[] = {
    &kGemma3,   //
    &kLlama,    //
    &kMistral,  //
    &kQwen2,    //
    &kQwen3,    //
};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

Result<const Family*> find_family(std::string_view model_type) {
  std::string known;
  for (const Family* family : families()) {
    for (std::string_view type : family->model_types) {
      if (type == model_type) return family;
      known += (known.empty() ? "" : ", ") + std::string(type);
    }
  }
  return unsupported("[model] model_type \"" + std::string(model_type) + "\" is not known; known are " +
                     known);
}

Result<std::unique_ptr<Model>> parse_model(const Json& config, ConfigPolicy policy, int32_t context) {
  const Json* type = config.find("model_type");
  if (type == nullptr || !type->is_string()) {
    return invalid_argument("[model] config.json: \"model_type\" must be a string, got " +
                            (type == nullptr ? "nothing" : type->dump().substr(0, 80)));
  }
  SKUA_ASSIGN_OR_RETURN(const Family* family, find_family(type->as_string()));
  if (context == 0) return family->parse(config, policy);
  Json served = config;
  served.set(std::string(kServedContextKey), Json(context));
  return family->parse(served, policy);
}

}  // namespace skua
