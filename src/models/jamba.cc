// Jamba: Mamba-1 layers whose dt, B and C are normed, attention without positions every few layers, experts
// in every other layer.
// Sources: transformers modeling_jamba.py and configuration_jamba.py (5.17); arXiv:2403.19887, 2312.00752.
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/moe.h"
#include "models/pre_norm_decoder.h"

namespace skua {
namespace {

struct MambaBlock {
  std::string prefix;  // "model.layers.3.mamba"
  int32_t layer = 0;
  int32_t d_model = 0;
  int32_t d_inner = 0;
  int32_t d_state = 0;
  int32_t dt_rank = 0;
  int32_t taps = 0;
  bool conv_bias = true;
  bool proj_bias = false;
  float eps = 1e-6f;
};

/// Rows [first, first + n) of a projection [rows, in], and of its bias.
Linear rows_of(GraphBuilder& b, const std::string& name, int64_t rows, int64_t first, int64_t n, int64_t in,
               bool bias) {
  Linear linear{b.part({name + ".weight", rows, first, n, rows}, in), std::nullopt};
  if (bias) linear.bias = b.part({name + ".bias", rows, first, n, rows}, 1);
  return linear;
}

/// x [T, d_model] -> [T, d_model]; one slot for the convolution and one for the scan.
ValueId mamba_block(GraphBuilder& b, const MambaBlock& block, ValueId x) {
  const std::string& p = block.prefix;
  const DType kept = b.numerics().kv, product = b.numerics().matmul_input;
  const int64_t d = block.d_inner, n = block.d_state, rank = block.dt_rank;
  const auto half = [&](int64_t first) {
    return rows_of(b, p + ".in_proj", 2 * d, first, d, block.d_model, block.proj_bias);
  };
  const ValueId raw = b.linear("x", x, half(0), kept);
  const ValueId gate = b.linear("z", x, half(d), DType::kF32);
  CausalConv conv;
  conv.slot = b.slot(
      {.kind = SlotKind::kConv, .layer = block.layer, .window = block.taps, .storage = kept, .row = d});
  conv.weight = b.conv_weight(p + ".conv1d.weight", d, block.taps);
  if (block.conv_bias) conv.bias = b.vector(p + ".conv1d.bias", d);
  conv.then = CausalConv::Then::kSilu;
  const ValueId mixed = b.causal_conv("conv", raw, conv, DType::kF32);
  const ValueId narrow = stored_as(b, "conv_stored", mixed, DType::kF32, product);
  const auto selected = [&](const char* label, const char* norm, int64_t first, int64_t size, DType storage) {
    const ValueId y =
        b.linear(label, narrow, rows_of(b, p + ".x_proj", rank + 2 * n, first, size, d, false), DType::kF32);
    return b.rms_norm(std::string(label) + "_norm", y,
                      {b.vector(p + "." + norm + ".weight", size), block.eps, 0.0f, 1}, storage);
  };
  const ValueId steps = selected("dt_low", "dt_layernorm", 0, rank, product);
  const ValueId input = selected("B", "b_layernorm", rank, n, DType::kF32);
  const ValueId output = selected("C", "c_layernorm", rank + n, n, DType::kF32);
  const ValueId dt =
      b.linear("dt", steps, {b.weight(p + ".dt_proj.weight", d, rank), std::nullopt}, DType::kF32);
  Ssm1 ssm;
  ssm.a_log = b.part({p + ".A_log", n, 0, n, n, Transpose::kYes}, d);
  ssm.dt_bias = b.vector(p + ".dt_proj.bias", d);
  ssm.d = b.vector(p + ".D", d);
  ssm.slot = b.slot(ssm1_slot(d, n, block.layer));
  const ValueId y = b.ssm1("ssm", {mixed, dt, input, output}, ssm, DType::kF32);
  const ValueId gated = b.act_mul("gated", gate, y, Act::kSilu, product);
  return b.linear("out", gated,
                  rows_of(b, p + ".out_proj", block.d_model, 0, block.d_model, d, block.proj_bias),
                  DType::kF32);
}

/// True for layers `offset`, `offset` + `period`, ...
std::vector<char> read_every(ConfigReader& config, const std::string& what, int32_t period, int32_t offset,
                             int32_t n_layers) {
  period = config.count_or(what + "_layer_period", period);
  const bool stated = config.raw(what + "_layer_offset") != nullptr;
  if (stated) offset = config.count_or_none(what + "_layer_offset");
  if (offset >= period) {
    config.fail(invalid_argument("[model] config.json: " + what + "_layer_offset must be below " + what +
                                 "_layer_period"));
  }
  std::vector<char> out;
  for (int32_t layer = 0; layer < n_layers; ++layer) out.push_back(layer % period == offset ? 1 : 0);
  return out;
}

MambaBlock read_mamba(ConfigReader& config, const DecoderConfig& c) {
  MambaBlock out;
  out.d_model = c.info.d_model;
  out.eps = c.eps;
  const int64_t d_inner = int64_t{config.count_or("mamba_expand", 2)} * out.d_model;
  if (d_inner > INT32_MAX) config.fail(invalid_argument("[model] config.json: mamba_expand is too large"));
  out.d_inner = static_cast<int32_t>(d_inner);
  out.d_state = config.count_or("mamba_d_state", 16);
  out.taps = config.count_or("mamba_d_conv", 4);
  const Json* rank = config.raw("mamba_dt_rank");
  const bool stated = rank != nullptr && *rank != Json("auto");
  out.dt_rank = stated ? config.count("mamba_dt_rank") : (out.d_model + 15) / 16;
  out.conv_bias = config.flag_or("mamba_conv_bias", true);
  out.proj_bias = config.flag_or("mamba_proj_bias", false);
  config.must_be("mamba_inner_layernorms", Json(true));
  config.ignore(
      {"use_mamba_kernels", "use_mambapy", "use_associative_scan"});  // how transformers computes it
  return out;
}

Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
  ConfigReader config(json);
  PreNormSpec spec;
  spec.config = read_decoder_config(config, {.n_kv_heads = 8});
  const ModelInfo& info = spec.config.info;
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("hidden_act", Json("silu"));  // of the convolution too
  config.must_be("sliding_window", Json());
  spec.norms = {"input_layernorm", "", "pre_ff_layernorm", ""};
  spec.names.final_norm = "model.final_layernorm";
  const MambaBlock mamba = read_mamba(config, spec.config);
  MoeBlock moe;
  moe.d_model = info.d_model;
  moe.d_ff = info.d_ff;
  const auto named = config.maybe_count("num_experts"), local = config.maybe_count("num_local_experts");
  moe.n_experts = named.value_or(local.value_or(16));
  config.must_equal({"num_local_experts"}, moe.n_experts);
  moe.act = spec.act;
  moe.router.top_k = config.count_or("num_experts_per_tok", 2);
  moe.names.router = "router";
  config.ignore({"output_router_logits", "router_aux_loss_coef", "n_ctx", "calc_logits_for_entire_prompt",
                 "num_logits_to_keep"});
  std::vector<char> attends = read_every(config, "attn", 8, 4, info.n_layers);
  std::vector<char> sparse = read_every(config, "expert", 2, 1, info.n_layers);
  if (moe.n_experts == 1) sparse.assign(sparse.size(), 0);
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  spec.mixer = [mamba, attends](GraphBuilder& b, const std::string& p, int32_t layer,
                                ValueId x) -> std::optional<ValueId> {
    if (attends[static_cast<size_t>(layer)] != 0) return std::nullopt;
    MambaBlock block = mamba;
    block.prefix = p + ".mamba";
    block.layer = layer;
    return mamba_block(b, block, x);
  };
  spec.feed_forward = [moe, sparse](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x) {
    MoeBlock block = moe;
    block.prefix = p + ".feed_forward";
    if (sparse[static_cast<size_t>(layer)] != 0) return moe_block(b, block, x);
    return mlp_block(b, {block.prefix, moe.d_model, moe.d_ff, moe.act, false}, x);
  };
  return make_pre_norm_decoder(std::move(spec));
}

constexpr std::string_view kTypes[] = {"jamba"};

/// Layers that attend have key heads; they must lie as period and offset can say. Which layers have experts
/// files do not say: every second one, as in all published models (a tensor is missing else).
Status adjust(const Json& metadata, Json& config) {
  const Json* layers = config.find("num_hidden_layers");
  const int64_t n = layers != nullptr && layers->is_int() ? layers->as_int() : 0;
  SKUA_ASSIGN_OR_RETURN(const LayerCounts heads, layer_counts(metadata, "jamba.attention.head_count_kv", n));
  const auto next = [&](int64_t from) {
    while (from < n && heads.zero[static_cast<size_t>(from)] != 0) ++from;
    return from;
  };
  const int64_t first = next(0), second = next(first + 1), period = second < n ? second - first : n;
  for (int64_t layer = 0; layer < n; ++layer) {
    if ((layer % period == first) == (heads.zero[static_cast<size_t>(layer)] == 0)) continue;
    return unsupported(
        "[gguf] jamba.attention.head_count_kv: layers that attend do not lie at equal distances");
  }
  config.set("attn_layer_period", Json(period));
  config.set("attn_layer_offset", Json(first));
  config.set("num_key_value_heads", Json(heads.count));
  const Json* inner = metadata.find("jamba.ssm.inner_size");
  const Json* width = config.find("hidden_size");
  const bool sized = inner != nullptr && width != nullptr && inner->is_int() && width->is_int() &&
                     width->as_int() > 0 && inner->as_int() % width->as_int() == 0;
  if (!sized) return invalid_argument("[gguf] jamba.ssm.inner_size must be a multiple of embedding_length");
  config.set("mamba_expand", Json(inner->as_int() / width->as_int()));
  return ok_status();
}

constexpr GgufName kGgufTensors[] = {{"output_norm", "model.final_layernorm"},
                                     {"ffn_norm", "pre_ff_layernorm"},
                                     {"ssm_in", "mamba.in_proj"},
                                     {"ssm_conv1d", "mamba.conv1d"},
                                     {"ssm_x", "mamba.x_proj"},
                                     {"ssm_dt", "mamba.dt_proj"},
                                     {"ssm_dt_norm", "mamba.dt_layernorm"},
                                     {"ssm_b_norm", "mamba.b_layernorm"},
                                     {"ssm_c_norm", "mamba.c_layernorm"},
                                     {"ssm_a", "mamba.A_log"},
                                     {"ssm_d", "mamba.D"},
                                     {"ssm_out", "mamba.out_proj"},
                                     {"ffn_gate", "feed_forward.gate_proj"},
                                     {"ffn_up", "feed_forward.up_proj"},
                                     {"ffn_down", "feed_forward.down_proj"},
                                     {"ffn_gate_inp", "feed_forward.router"},
                                     {"ffn_gate_exps", "feed_forward.experts.gate_proj"},
                                     {"ffn_up_exps", "feed_forward.experts.up_proj"},
                                     {"ffn_down_exps", "feed_forward.experts.down_proj"}};
constexpr GgufName kGgufKeys[] = {
    {"expert_count", "num_experts"},         {"attention.head_count_kv", ""},
    {"ssm.time_step_rank", "mamba_dt_rank"}, {"ssm.state_size", "mamba_d_state"},
    {"ssm.conv_kernel", "mamba_d_conv"},     {"ssm.inner_size", ""}};
constexpr GgufName kGgufFlags[] = {{"blk.0.ssm_conv1d.bias", "mamba_conv_bias"}};
constexpr GgufChange kGgufChanges[] = {{"ssm_a", GgufValues::kLogMatrix}};

}  // namespace

extern const Family kJamba;
const Family kJamba{
    "jamba",
    kTypes,
    "jamba",
    GgufRows::kPlain,
    &parse,
    &adjust,
    {.tensors = kGgufTensors, .keys = kGgufKeys, .flags = kGgufFlags, .changes = kGgufChanges}};

}  // namespace skua
