// Nemotron-H: each layer is one block: a Mamba-2 mixer, attention without rotation, an MLP, or experts
// without gates beside a shared one, which may look at a narrower projection of the stream. Sources:
// transformers modeling_nemotron_h.py and configuration_nemotron_h.py (5.17); arXiv:2504.03624.
#include <algorithm>

#include "models/families.h"
#include "models/gguf_values.h"
#include "models/mamba.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

enum class Block : uint8_t { kScan, kAttention, kMlp, kExperts };

Block block_of(ConfigReader& config, const Json& type) {
  for (const char* name : {"linear_attention", "mamba", "M"}) {
    if (type == Json(name)) return Block::kScan;
  }
  for (const char* name : {"full_attention", "attention", "*"}) {
    if (type == Json(name)) return Block::kAttention;
  }
  if (type == Json("moe") || type == Json("E")) return Block::kExperts;
  if (type != Json("mlp") && type != Json("-")) {
    config.fail(unsupported("[model] config.json: layers_block_type holds " + type.dump().substr(0, 80) +
                            "; known are linear_attention (M), full_attention (*), mlp (-) and moe (E)"));
  }
  return Block::kMlp;
}

/// layers_block_type (or layer_types) names the layers, hybrid_override_pattern has a letter for each.
std::vector<Block> read_blocks(ConfigReader& config, int32_t n_layers) {
  std::vector<Block> out;
  const Json* pattern = config.raw("hybrid_override_pattern");
  const Json* newer = config.raw("layer_types");
  const Json* types = config.raw("layers_block_type");
  if (types != nullptr && newer != nullptr && *types != *newer)
    config.fail(invalid_argument("[model] config.json: layers_block_type and layer_types name other layers"));
  if (types == nullptr) types = newer;
  if (types != nullptr && !types->is_array())
    config.fail(invalid_argument("[model] config.json: layers_block_type must be a list"));
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

/// Experts and what stands around them.
struct Mixture {
  MoeBlock block;
  int32_t d_shared = 0;
  int32_t d_latent = 0;  // 0: the experts see the stream itself
  bool bias = false;
};

Mixture read_experts(ConfigReader& config, const ModelInfo& info, Act act, bool bias) {
  Mixture out;
  MoeBlock& moe = out.block;
  out.bias = bias;
  moe.d_model = info.d_model;
  moe.act = act;
  moe.gated = false;
  moe.names.all_gate_up = "experts.up_proj";
  moe.names.selection_bias = "gate.e_score_correction_bias";
  moe.d_ff = config.count_or("moe_intermediate_size", 7688);
  moe.n_experts = config.count_or("n_routed_experts", 8);
  out.d_shared = config.count_or("moe_shared_expert_intermediate_size", 7688);
  out.d_latent = config.count_or_none("moe_latent_size");
  MoeRouter& router = moe.router;
  router.score = RouterScore::kSigmoid;
  router.group_score = GroupScore::kTopTwoSum;
  router.top_k = config.count_or("num_experts_per_tok", 2);
  router.n_groups = config.count_or("n_group", 1);
  router.top_k_groups = config.count_or("topk_group", 1);
  router.normalize = read_normalize(config, true);
  router.sum_eps = 1e-20f;
  router.scale = static_cast<float>(config.number_or("routed_scaling_factor", 1.0));
  config.must_be("n_shared_experts", Json(1));
  return out;
}

ValueId run_experts(GraphBuilder& b, const Mixture& mix, const std::string& p, ValueId x) {
  const DType f32 = DType::kF32, input = b.numerics().matmul_input;
  const int64_t d = mix.block.d_model, latent = mix.d_latent;
  const auto projection = [&](const char* name, int64_t rows, int64_t cols) {
    Linear out{b.weight(p + "." + name + ".weight", rows, cols), std::nullopt};
    if (mix.bias) out.bias = b.vector(p + "." + name + ".bias", rows);
    return out;
  };
  MoeBlock block = mix.block;
  block.prefix = p;
  MoeRouter router = block.router;
  router.weight = router_weight(b, p + ".gate.weight", block.n_experts, d);
  router.selection_bias = b.vector(p + "." + block.names.selection_bias, block.n_experts);
  const ValueId routing = b.moe_router("route", x, router);
  ValueId y = x;
  if (latent > 0) {
    y = b.linear("latent", x, projection("fc1_latent_proj", latent, d), input);
    block.d_model = mix.d_latent;
  }
  y = expert_block(b, block, y, routing);
  if (latent > 0) {
    y = stored_as(b, "latent_stored", y, f32, input);
    y = b.linear("latent_out", y, projection("fc2_latent_proj", d, latent), f32);
  }
  const ValueId shared = plain_mlp_block(b,
                                         {p + ".shared_experts.up_proj", p + ".shared_experts.down_proj",
                                          mix.block.d_model, mix.d_shared, mix.block.act, mix.bias},
                                         x);
  return b.add("shared_add", y, shared, f32);
}

/// What only models with experts say.
void ignore_experts(ConfigReader& config) {
  config.ignore({"moe_intermediate_size", "moe_latent_size", "moe_shared_expert_intermediate_size", "n_group",
                 "n_routed_experts", "n_shared_experts", "norm_topk_prob", "num_experts_per_tok",
                 "routed_scaling_factor", "topk_group"});
}

void ignore_unused(ConfigReader& config) {
  // Of training, and of guessing ahead.
  config.ignore({"moe_shared_expert_overlap", "num_local_experts", "mtp_layers_block_type",
                 "mtp_hybrid_override_pattern", "hidden_dropout", "num_logits_to_keep",
                 "rescale_prenorm_residual", "residual_in_fp32", "rms_norm_eps"});
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  const Json whole = with_layers(json);
  ConfigReader config(whole);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.head_dim = 128, .n_kv_heads = 8});
  ModelInfo& info = spec.config.info;
  if (const auto older = config.maybe_count("attention_head_dim"); older && config.raw("head_dim") == nullptr)
    info.head_dim = *older;
  spec.config.eps = config.epsilon_or("layer_norm_epsilon", 1e-5);
  if (config.flag_or(kGgufConfig, false))
    spec.config.tied = config.flag_or("tie_word_embeddings", false);  // there: the file has no head
  else
    config.must_be("tie_word_embeddings", Json(false));  // the reference ties nothing, whatever it says
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
  spec.names = {"backbone.embeddings", "backbone.layers", "backbone.norm_f", "lm_head"};
  spec.ignorable = {{"mtp.*", "multi-token prediction is not used"}};
  ignore_guessing_layers(config, spec);
  Mixture mix;
  if (std::find(blocks.begin(), blocks.end(), Block::kExperts) != blocks.end())
    mix = read_experts(config, info, mlp.act, mlp.bias);
  else
    ignore_experts(config);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  spec.norms.before_attention = "norm";
  spec.residual = Residual::kOneBlock;
  spec.adjust_attention = [](AttentionBlock& block) {
    block.prefix.replace(block.prefix.rfind('.'), std::string::npos, ".mixer");
  };
  spec.mixer = [scan, mlp, mix, blocks](GraphBuilder& b, const std::string& p, int32_t layer,
                                        ValueId x) -> std::optional<ValueId> {
    const Block block = blocks[static_cast<size_t>(layer)];
    if (block == Block::kAttention) return std::nullopt;
    if (block == Block::kExperts) return run_experts(b, mix, p + ".mixer", x);
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

/// A layer with a feed-forward is an MLP or, in files with experts, those; of the others, one with key heads
/// attends. Source: llama.cpp's conversion/nemotron.py (facts).
Status adjust(const Json& metadata, Json& config) {
  const std::string arch = metadata.find("general.architecture")->as_string();
  const Json* experts = config.find("n_routed_experts");
  const char* forward = experts != nullptr && *experts != Json(0) ? "moe" : "mlp";
  const Json* layers = config.find("num_hidden_layers");
  const int64_t n = layers != nullptr && layers->is_int() ? layers->as_int() : 0;
  SKUA_ASSIGN_OR_RETURN(const LayerCounts ff, layer_counts(metadata, arch + ".feed_forward_length", n));
  SKUA_ASSIGN_OR_RETURN(const LayerCounts heads,
                        layer_counts(metadata, arch + ".attention.head_count_kv", n));
  Json types = Json::array();
  for (size_t i = 0; i < ff.zero.size(); ++i)
    types.push_back(Json(ff.zero[i] == 0 ? forward : heads.zero[i] == 0 ? "full_attention" : "mamba"));
  config.set("layers_block_type", std::move(types));
  config.set("intermediate_size", Json(std::max<int64_t>(ff.count, 1)));
  if (heads.count > 0) config.set("num_key_value_heads", Json(heads.count));
  return adjust_mamba2(metadata, "mamba_head_dim", "", config, true);
}

constexpr GgufName kGgufKeys[] = {
    {"expert_count", "n_routed_experts"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"},
    {"moe_latent_size", "moe_latent_size"},
    {"nextn_predict_layers", "num_nextn_predict_layers"},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
    {"feed_forward_length", ""},
    {"attention.head_count_kv", ""},
    {"rope.dimension_count", ""},
    {"rope.freq_base", ""},
    {"ssm.time_step_rank", "mamba_num_heads"},
    {"ssm.group_count", "n_groups"},
    {"ssm.state_size", "ssm_state_size"},
    {"ssm.conv_kernel", "conv_kernel"},
    {"ssm.inner_size", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.ssm_conv1d.bias", "use_conv_bias"}};

}  // namespace

extern const Family kNemotronH;
const Family kNemotronH{"nemotron_h",
                        kTypes,
                        "nemotron_h",
                        GgufRows::kPlain,
                        &parse,
                        &adjust,
                        {.tensors = kMixerGgufTensors,
                         .keys = kGgufKeys,
                         .flags = kGgufFlags,
                         .changes = kMamba2GgufChanges,
                         .layers = "backbone.layers.",
                         .also = "nemotron_h_moe"}};

}  // namespace skua
