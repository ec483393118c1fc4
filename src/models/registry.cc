// The list of families: one line each. Explicit, since linkers drop static registrations and hide their
// order.
#include "models/families.h"

#include "models/config_reader.h"

namespace skua {

extern const Family kAfmoe;
extern const Family kApertus;
extern const Family kArcee;
extern const Family kCohere;
extern const Family kCohere2;
extern const Family kDeepSeekV2;
extern const Family kDeepSeekV3;
extern const Family kDeepSeekV32;
extern const Family kDots1;
extern const Family kErnie45;
extern const Family kErnie45Moe;
extern const Family kExaone4;
extern const Family kExaoneMoe;
extern const Family kFalconH1;
extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGemma3n;
extern const Family kGemma4;
extern const Family kGlm4;
extern const Family kGlm4Moe;
extern const Family kGlm4MoeLite;
extern const Family kGpt2;
extern const Family kGptNeoX;
extern const Family kGptOss;
extern const Family kGranite;
extern const Family kGraniteMoe;
extern const Family kGraniteMoeHybrid;
extern const Family kHunyuanV1Dense;
extern const Family kHunyuanV1Moe;
extern const Family kJamba;
extern const Family kLfm2;
extern const Family kLfm2Moe;
extern const Family kLlama;
extern const Family kLlama4;
extern const Family kLongcatFlash;
extern const Family kMamba2;
extern const Family kMiniCpm3;
extern const Family kMiniMaxM2;
extern const Family kMinistral3;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kNanochat;
extern const Family kNemotronH;
extern const Family kOlmo2;
extern const Family kOlmo3;
extern const Family kOlmoe;
extern const Family kOpt;
extern const Family kPhi;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen2Moe;
extern const Family kQwen3;
extern const Family kQwen35;
extern const Family kQwen3Moe;
extern const Family kQwen3Next;
extern const Family kSeedOss;
extern const Family kSmolLm3;
extern const Family kSolarOpen;
extern const Family kStableLm;
extern const Family kStarCoder2;
extern const Family kYoutu;

namespace {

const Family* const kFamilies[] = {
    &kAfmoe,             //
    &kApertus,           //
    &kArcee,             //
    &kCohere,            //
    &kCohere2,           //
    &kDeepSeekV2,        //
    &kDeepSeekV3,        //
    &kDeepSeekV32,       //
    &kDots1,             //
    &kErnie45,           //
    &kErnie45Moe,        //
    &kExaone4,           //
    &kExaoneMoe,         //
    &kFalconH1,          //
    &kGemma,             //
    &kGemma2,            //
    &kGemma4,            //
    &kGemma3n,           //
    &kGemma3,            //
    &kGlm4,              //
    &kGlm4Moe,           //
    &kGlm4MoeLite,       //
    &kGpt2,              //
    &kGptNeoX,           //
    &kGptOss,            //
    &kGranite,           //
    &kGraniteMoe,        //
    &kGraniteMoeHybrid,  //
    &kHunyuanV1Dense,    //
    &kHunyuanV1Moe,      //
    &kJamba,             //
    &kLfm2,              //
    &kLfm2Moe,           //
    &kLlama,             //
    &kLlama4,            //
    &kLongcatFlash,      //
    &kMamba2,            //
    &kMiniCpm3,          //
    &kMiniMaxM2,         //
    &kMinistral3,        //
    &kMistral,           //
    &kMixtral,           //
    &kNanochat,          //
    &kNemotronH,         //
    &kOlmo2,             //
    &kOlmo3,             //
    &kOlmoe,             //
    &kOpt,               //
    &kPhi,               //
    &kPhi3,              //
    &kQwen2,             //
    &kQwen2Moe,          //
    &kQwen3,             //
    &kQwen35,            //
    &kQwen3Moe,          //
    &kQwen3Next,         //
    &kSeedOss,           //
    &kSmolLm3,           //
    &kSolarOpen,         //
    &kStableLm,          //
    &kStarCoder2,        //
    &kYoutu,             //
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
