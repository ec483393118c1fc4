// DeepSeek-V3.2: DeepSeek-V3 whose attention sees only the index_topk earlier tokens that an indexer chooses.
// With no more tokens than that it is DeepSeek-V3. The reference code turns the indexer's queries and keys by
// a Hadamard matrix before rounding them to fp8; an orthogonal turn of both changes no product, and skua does
// not round them, so it is left out. Sources: transformers modeling_deepseek_v32.py and
// configuration_deepseek_v32.py (5.17), mlx-lm models/deepseek_v32.py (0.32), arXiv:2512.02556.
#include "models/families.h"
#include "models/mla.h"
#include "models/moe.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config);
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  MlaSpec mla = read_mla(config, info.d_model, info.n_heads);
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
const Family kDeepSeekV32{"deepseek_v32", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
