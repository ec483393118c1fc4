// DeepSeek-V3.2: DeepSeek-V3 whose attention sees only the index_topk earlier tokens that an indexer chooses.
// With no more tokens than that it is DeepSeek-V3. The reference code turns the indexer's queries and keys by
// a Hadamard matrix before rounding them to fp8; an orthogonal turn of both changes no product, and skua does
// not round them, so it is left out. Sources: transformers modeling_deepseek_v32.py and
// configuration_deepseek_v32.py (5.17), mlx-lm models/deepseek_v32.py (0.32), arXiv:2512.02556.
#include "models/families.h"
#include "models/mla.h"
#include "models/mla_gguf.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  MlaSpec mla = read_deepseek_v3(config, spec);
  mla.index = read_mla_index(config, mla);
  if (const Json* types = config.raw("layer_types"); types != nullptr && types->is_array()) {
    for (const Json& type : types->items()) {
      if (type != Json("deepseek_sparse_attention"))
        config.fail(unsupported("[model] layer_types of deepseek_v32 can only be deepseek_sparse_attention"));
    }
  }
  config.must_be("mlp_bias", Json(false));
  return finish_sigmoid_mla(config, policy, std::move(spec), mla,
                            {.default_scale = 2.5, .default_groups = 8, .default_top_groups = 4});
}

constexpr std::string_view kTypes[] = {"deepseek_v32"};

}  // namespace

extern const Family kDeepSeekV32;
const Family kDeepSeekV32{"deepseek_v32",
                          kTypes,
                          "deepseek32",
                          GgufRows::kPlain,
                          &parse,
                          &adjust_mla,
                          {.tensors = kMlaGgufTensors, .keys = kMlaGgufKeys}};

}  // namespace skua
