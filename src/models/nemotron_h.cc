// Nemotron-H: each layer is one block: a Mamba-2 mixer, attention without rotation, or an MLP.
// Sources: transformers modeling_nemotron_h.py and configuration_nemotron_h.py (5.17); arXiv:2504.03624.
#include "models/families.h"
#include "models/mamba.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

enum class Block : uint8_t { kScan, kAttention, kMlp };

Block block_of(ConfigReader& config, const Json& type) {
  for (const char* name : {"linear_attention", "mamba", "M"}) {
    if (type == Json(name)) return Block::kScan;
  }
  for (const char* name : {"full_attention", "attention", "*"}) {
    if (type == Json(name)) return Block::kAttention;
  }
  if (type != Json("mlp") && type != Json("-")) {
    config.fail(unsupported("[model] config.json: a layer of type " + type.dump().substr(0, 80) +
                            "; known are linear_attention (M), full_attention (*) and mlp (-)"));
  }
  return Block::kMlp;
}

/// layers_block_type (or layer_types) names the layers, hybrid_override_pattern has a letter for each.
std::vector<Block> read_blocks(ConfigReader& config, int32_t n_layers) {
  std::vector<Block> out;
  const Json* pattern = config.raw("hybrid_override_pattern");
  const Json* newer = config.raw("layer_types");
  const Json* types = config.raw("layers_block_type");
  if (types == nullptr) types = newer;
  if (types != nullptr) {
    for (const Json& type : types->items()) out.push_back(block_of(config, type));
  } else if (pattern != nullptr && pattern->is_string()) {
    for (const char letter : pattern->as_string())
      out.push_back(block_of(config, Json(std::string(1, letter))));
  }
  if (out.size() != static_cast<size_t>(n_layers)) {
    config.fail(
        invalid_argument("[model] config.json: layers_block_type or hybrid_override_pattern must name " +
                         std::to_string(n_layers) + " layers, got " + std::to_string(out.size())));
  }
  return out;
}

/// The number of layers is that of the list where it is not given.
Json with_layers(const Json& json) {
  Json out = json;
  if (out.find("num_hidden_layers") != nullptr) return out;
  const Json* types = json.find("layers_block_type");
  if (types == nullptr) types = json.find("layer_types");
  const Json* pattern = json.find("hybrid_override_pattern");
  if (types != nullptr) out.set("num_hidden_layers", Json(static_cast<int64_t>(types->size())));
  if (types == nullptr && pattern != nullptr && pattern->is_string())
    out.set("num_hidden_layers", Json(static_cast<int64_t>(pattern->as_string().size())));
  return out;
}

Mamba2Block read_scan(ConfigReader& config, const DecoderConfig& sizes) {
  const int64_t d_inner = int64_t{config.count("mamba_num_heads")} * config.count_or("mamba_head_dim", 64);
  const int32_t width = static_cast<int32_t>(std::min(d_inner, int64_t{INT32_MAX}));
  Mamba2Block out = read_mamba2(config, sizes.info.d_model, width,
                                {"mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size",
                                 "conv_kernel", "use_conv_bias", "chunk_size"});
  // The model takes its limits from here, whatever time_step_limit says.
  out.dt_min = static_cast<float>(config.number_or("time_step_min", 0.001));
  out.dt_max = std::numeric_limits<float>::infinity();
  out.in_bias = out.out_bias = config.flag_or("use_bias", false);
  out.norm_groups = out.n_groups;
  out.eps = sizes.eps;
  config.must_be("mamba_hidden_act", Json("silu"));
  config.ignore({"expand", "time_step_max", "time_step_floor", "mamba_proj_bias", "mamba_ssm_cache_dtype",
                 "use_mamba_kernels", "time_step_rank"});
  return out;
}

void ignore_unused(ConfigReader& config) {
  // Of experts, which no layer has (block_of refuses them), of training, and of guessing ahead.
  config.ignore({"moe_intermediate_size", "moe_latent_size", "moe_shared_expert_intermediate_size",
                 "moe_shared_expert_overlap", "n_group", "n_routed_experts", "n_shared_experts",
                 "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor", "topk_group",
                 "num_nextn_predict_layers", "mtp_layers_block_type", "mtp_hybrid_override_pattern",
                 "hidden_dropout", "num_logits_to_keep", "rescale_prenorm_residual", "residual_in_fp32",
                 "rms_norm_eps"});
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  const Json whole = with_layers(json);
  ConfigReader config(whole);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 128});
  ModelInfo& info = spec.config.info;
  if (const auto older = config.maybe_count("attention_head_dim"); older && config.raw("head_dim") == nullptr)
    info.head_dim = *older;
  spec.config.eps = config.epsilon_or("layer_norm_epsilon", 1e-5);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  config.must_be("attention_bias", Json(false));
  if (config.count_or_none("sliding_window") != 0)
    config.fail(unsupported("[model] \"sliding_window\" must be null"));
  const std::vector<Block> blocks = read_blocks(config, info.n_layers);
  const Mamba2Block scan = read_scan(config, spec.config);
  const PlainMlpBlock mlp{"",
                          "",
                          info.d_model,
                          info.d_ff,
                          read_act(config, "mlp_hidden_act", "relu2"),
                          config.flag_or("mlp_bias", false)};
  ignore_unused(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  spec.names = {"backbone.embeddings", "backbone.layers", "backbone.norm_f", "lm_head"};
  spec.norms.before_attention = "norm";
  spec.residual = Residual::kOneBlock;
  spec.ignorable = {{"mtp.*", "multi-token prediction is not used"}};
  spec.adjust_attention = [](AttentionBlock& block) {
    block.prefix.replace(block.prefix.rfind('.'), std::string::npos, ".mixer");
  };
  spec.mixer = [scan, mlp, blocks](GraphBuilder& b, const std::string& p, int32_t layer,
                                   ValueId x) -> std::optional<ValueId> {
    const Block block = blocks[static_cast<size_t>(layer)];
    if (block == Block::kAttention) return std::nullopt;
    if (block == Block::kMlp) {
      PlainMlpBlock own = mlp;
      own.up = p + ".mixer.up_proj";
      own.down = p + ".mixer.down_proj";
      return plain_mlp_block(b, own, x);
    }
    Mamba2Block own = scan;
    own.prefix = p + ".mixer";
    own.layer = layer;
    return mamba2_block(b, own, x);
  };
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"nemotron_h"};

}  // namespace

extern const Family kNemotronH;
const Family kNemotronH{"nemotron_h", kTypes, "", GgufRows::kPlain, &parse, nullptr};

}  // namespace skua
