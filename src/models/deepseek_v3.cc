// DeepSeek-V3 and R1: latent attention, sigmoid-routed experts chosen in groups with a selection bias.
// Sources: transformers modeling_deepseek_v3.py and configuration_deepseek_v3.py (5.17); arXiv:2412.19437.
#include "models/families.h"
#include "models/mla.h"
#include "models/mla_gguf.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  MlaSpec mla = read_deepseek_v3(config, spec);
  return finish_sigmoid_mla(config, policy, std::move(spec), mla,
                            {.default_scale = 2.5, .default_groups = 8, .default_top_groups = 4});
}

constexpr std::string_view kTypes[] = {"deepseek_v3"};

}  // namespace

extern const Family kDeepSeekV3;
const Family kDeepSeekV3{"deepseek_v3",
                         kTypes,
                         "deepseek2",
                         GgufRows::kPlain,
                         &parse,
                         &adjust_mla,
                         {.tensors = kMlaGgufTensors, .keys = kMlaGgufKeys, .fits = &has_sigmoid_router}};

}  // namespace skua
