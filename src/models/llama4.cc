// Llama 4 text: layers that rotate attend within chunks of the context, the others over all of it, with
// queries that grow with the position; experts, fed with weighed inputs, beside a shared one in some layers.
// Sources: transformers modeling_llama4.py and configuration_llama4.py (5.17); mlx-lm llama4.py (names).
#include <cmath>

#include "models/families.h"
#include "models/gguf_values.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

/// How one layer attends and what feeds it forward.
struct Layer {
  bool rotates = true;
  int32_t chunk = 0;  // 0 = the whole context
  bool sparse = false;
};
using Layers = std::vector<Layer>;

/// no_rope_layers holds 1 for a layer that rotates; missing or empty: all but every interval-th.
void read_rotation(ConfigReader& config, Layers& layers) {
  const int32_t interval = config.count_or("no_rope_layer_interval", 4);
  const Json* given = config.raw("no_rope_layers");
  const bool listed = given != nullptr && (!given->is_array() || given->size() > 0);
  if (listed && (!given->is_array() || given->size() < layers.size())) {
    config.fail(invalid_argument("[model] config.json: no_rope_layers must name every layer"));
    return;
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if (listed && given->items()[i] != Json(0) && given->items()[i] != Json(1)) {
      config.fail(invalid_argument("[model] config.json: no_rope_layers holds " +
                                   given->items()[i].dump().substr(0, 80) + "; known are 0 and 1"));
      return;
    }
    layers[i].rotates = listed ? given->items()[i] != Json(0) : (i + 1) % static_cast<size_t>(interval) != 0;
  }
}

/// layer_types says which layers attend in chunks; without it those that rotate do.
void read_chunks(ConfigReader& config, Layers& layers) {
  const int32_t chunk = config.count_or("attention_chunk_size", 8192);
  const Json* types = config.raw("layer_types");
  if (types != nullptr && (!types->is_array() || types->size() != layers.size())) {
    config.fail(invalid_argument("[model] config.json: layer_types must name every layer"));
    return;
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    bool chunked = layers[i].rotates;
    if (types != nullptr) {
      const Json& type = types->items()[i];
      chunked = type == Json("chunked_attention");
      if (!chunked && type != Json("full_attention")) {
        config.fail(unsupported("[model] config.json: layer_types holds layer type " + type.dump() +
                                " is not known; known are chunked_attention, full_attention"));
      }
    }
    layers[i].chunk = chunked ? chunk : 0;
  }
}

void read_sparse(ConfigReader& config, Layers& layers) {
  const auto step = static_cast<size_t>(config.count_or("interleave_moe_layer_step", 1));
  const bool listed = config.raw("moe_layers") != nullptr;
  const std::vector<int32_t> named = config.ids("moe_layers");
  for (size_t i = 0; i < layers.size(); ++i) layers[i].sparse = !listed && (i + 1) % step == 0;
  for (const int32_t layer : named) {
    if (layer < 0 || static_cast<size_t>(layer) >= layers.size()) {
      config.fail(invalid_argument("[model] config.json: moe_layers names layer " + std::to_string(layer)));
      return;
    }
    layers[static_cast<size_t>(layer)].sparse = true;
  }
}

/// 1 + attn_scale log(1 + floor((position + 1) / floor_scale)); nothing if the config turns it off.
std::optional<PositionScale> read_query_scale(ConfigReader& config, int32_t max_context) {
  const double strength = config.number_or("attn_scale", 0.1);
  PositionScale out{config.count_or("floor_scale", 8192), {}, 1};
  const Json* on = config.raw("attn_temperature_tuning");  // a flag, or a number in early configs
  if (on != nullptr && (*on == Json(false) || *on == Json(0))) return std::nullopt;
  if (on != nullptr && *on != Json(true) && !on->is_number()) {
    config.fail(unsupported("[model] config.json: attn_temperature_tuning is " + on->dump()));
  }
  for (int64_t step = 0; step <= (int64_t{max_context} + 1) / out.stride; ++step) {
    out.factors.push_back(static_cast<float>(1.0 + strength * std::log1p(static_cast<double>(step))));
  }
  return out;
}

MoeBlock read_experts(ConfigReader& config, const ModelInfo& info, Act act) {
  MoeBlock moe;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  moe.n_experts = config.count_or("num_local_experts", 16);
  moe.act = act;
  moe.router.score = RouterScore::kSigmoid;
  moe.router.top_k = config.count_or("num_experts_per_tok", 1);
  moe.names.router = "router";
  moe.fused = FusedExperts::kColumns;
  moe.weigh = MoeExperts::Weigh::kInput;
  return moe;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.eps = 1e-5, .head_dim = 128, .n_kv_heads = 8});
  const ModelInfo& info = spec.config.info;
  spec.config.eps = config.epsilon_or("rms_norm_eps", 1e-5);
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  spec.qkv_bias = spec.o_bias = config.flag_or("attention_bias", false);
  Layers layers(static_cast<size_t>(info.n_layers));
  read_rotation(config, layers);
  read_chunks(config, layers);
  read_sparse(config, layers);
  const bool qk_norm = config.flag_or("use_qk_norm", true);
  const std::optional<PositionScale> scale = read_query_scale(config, info.max_context);
  const MoeBlock moe = read_experts(config, info, spec.act);
  const int32_t d_dense = config.count_or("intermediate_size_mlp", 16384);
  config.ignore(
      {"output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "for_llm_compressor"});
  const Json rope = rope_parameters(config);
  const float eps = spec.config.eps;
  spec.adjust_attention = [layers, qk_norm, scale, eps](AttentionBlock& block) {
    const Layer& layer = layers[static_cast<size_t>(block.layer)];
    block.rope_style = RopeStyle::kInterleaved;
    block.chunk = layer.chunk;
    if (!layer.rotates) {
      block.rotation = Rotation::kNone;
      block.query_scale = scale;
    } else if (qk_norm) {
      block.qk_norm = RmsNorm{std::nullopt, eps, 0.0f, 1};
      block.qk_norm_at = QkNormAt::kAfterRope;
      block.q_norm_name = block.k_norm_name = "";
    }
  };
  spec.feed_forward = [moe, layers, d_dense](GraphBuilder& b, const std::string& p, int32_t layer,
                                             ValueId x) {
    MoeBlock block = moe;
    block.prefix = p + ".feed_forward";
    if (!layers[static_cast<size_t>(layer)].sparse)
      return mlp_block(b, {block.prefix, moe.d_model, d_dense, moe.act, false}, x);
    const ValueId routed = moe_block(b, block, x);
    const ValueId shared =
        mlp_block(b, {block.prefix + ".shared_expert", moe.d_model, moe.d_ff, moe.act, false}, x);
    return b.add("shared_add", shared, routed, DType::kF32);
  };
  return finish_pre_norm(config, policy, std::move(spec), rope, 500000.0);
}

constexpr std::string_view kTypes[] = {"llama4_text"};

/// What files leave unsaid: chunks and scales are those of the published models, of which the one with 128
/// experts has no norms of q and k. A window of 0 means that all layers see and rotate everything.
Status adjust(const Json& metadata, Json& config) {
  const Json* experts = config.find("num_local_experts");
  config.set("use_qk_norm", Json(experts == nullptr || *experts != Json(128)));
  const Json* window = metadata.find("llama4.attention.sliding_window");
  if (window == nullptr) return ok_status();
  return unsupported("[gguf] llama4.attention.sliding_window " + window->dump().substr(0, 40) +
                     ": models without chunks are not handled from GGUF");
}

constexpr GgufName kGgufTensors[] = {{"ffn_gate", "feed_forward.gate_proj"},
                                     {"ffn_up", "feed_forward.up_proj"},
                                     {"ffn_down", "feed_forward.down_proj"},
                                     {"ffn_gate_inp", "feed_forward.router"},
                                     {"ffn_gate_exps", "feed_forward.experts.gate_proj"},
                                     {"ffn_up_exps", "feed_forward.experts.up_proj"},
                                     {"ffn_down_exps", "feed_forward.experts.down_proj"},
                                     {"ffn_gate_shexp", "feed_forward.shared_expert.gate_proj"},
                                     {"ffn_up_shexp", "feed_forward.shared_expert.up_proj"},
                                     {"ffn_down_shexp", "feed_forward.shared_expert.down_proj"}};
constexpr GgufName kGgufKeys[] = {{"expert_count", "num_local_experts"},
                                  {"feed_forward_length", "intermediate_size_mlp"},
                                  {"expert_feed_forward_length", "intermediate_size"},
                                  {"attention.sliding_window", ""},
                                  {"interleave_moe_layer_step", "interleave_moe_layer_step"}};

}  // namespace

extern const Family kLlama4;
const Family kLlama4{
    "llama4", kTypes, "llama4", GgufRows::kPlain, &parse, &adjust, {kGgufTensors, kGgufKeys}};

}  // namespace skua
