// Wiring of absorbed latent attention.
#include "models/mla.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/moe.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

constexpr float kLoraEps = 1e-6f;  // of the norms inside, whatever rms_norm_eps says

/// Rows [first, first + block) of every `stride` of a projection, with the bias that goes with them.
Linear cut(GraphBuilder& b, const std::string& name, WeightSource rows, int64_t cols, bool bias) {
  rows.tensor = name + ".weight";
  Linear out{b.part(rows, cols), std::nullopt};
  if (bias) {
    rows.tensor = name + ".bias";
    out.bias = b.part(rows, 1);
  }
  return out;
}

/// One of the two halves of kv_b_proj [heads x (nope + v), rank], decoded once if it is stored quantized. MLX
/// keeps them apart: embed_q [heads, rank, nope] and unembed_out [heads, v, rank].
enum class Half : uint8_t { kKeys, kValues };

WeightId up_projection(GraphBuilder& b, const MlaSpec& m, const std::string& prefix, Half half) {
  const int64_t n = m.n_heads, rank = m.kv_rank;
  BlockSource folded{{prefix + ".kv_b_proj.weight"}, n, int64_t{m.nope_dim} + m.v_dim, rank};
  if (half == Half::kKeys) {
    folded.take = Take::kColumns;
    const BlockSource apart{{prefix + ".embed_q.weight"}, n, rank, m.nope_dim};
    return b.weight({prefix + ".w_uk", n * rank, m.nope_dim, {folded, apart}, DType::kBF16});
  }
  folded.first = m.nope_dim;
  const BlockSource apart{{prefix + ".unembed_out.weight"}, n, m.v_dim, rank};
  return b.weight({prefix + ".w_uv", n * m.v_dim, rank, {folded, apart}, DType::kBF16});
}

/// Tokens of a sequence in one step from which decompressing its whole context is less work than absorbing:
/// it costs (nope + v) rank multiply-adds a key and head, once, and saves rank + rank - nope - v for each
/// token.
int32_t decompress_from(const MlaSpec& m) {
  const int64_t saved = 2 * int64_t{m.kv_rank} - m.nope_dim - m.v_dim;
  if (saved <= 0) return std::numeric_limits<int32_t>::max();
  const int64_t cost = (int64_t{m.nope_dim} + m.v_dim) * m.kv_rank;
  return static_cast<int32_t>(std::max<int64_t>((cost + saved - 1) / saved, 32));
}

/// The queries against the layer's latent slot, in the graph's arithmetic: [T, heads * v].
ValueId attend(GraphBuilder& b, const MlaSpec& m, const std::string& p, SlotId slot, ValueId q_nope,
               ValueId q_pe, std::optional<ValueId> chosen) {
  const DType input = b.numerics().matmul_input, kv = b.numerics().kv;
  const WeightId up_keys = up_projection(b, m, p, Half::kKeys);
  const WeightId up_values = up_projection(b, m, p, Half::kValues);
  if (b.numerics().mla_prefill == MlaPrefill::kFast) {
    if (chosen) {
      b.fail(
          unsupported("[model] mla-prefill fast does not know attention to chosen tokens (index_topk); use "
                      "mla-prefill exact"));
    }
    return b.mla_fast_attention("attend", q_nope, q_pe,
                                {slot, up_keys, up_values, m.n_heads, m.scale, decompress_from(m)}, input);
  }
  const ValueId q_latent = b.head_linear("q_latent", q_nope, {up_keys, m.n_heads}, kv);
  const ValueId mixed =
      b.mla_attention("attend", q_latent, q_pe, {slot, m.n_heads, m.scale, m.index.top_k}, input, chosen);
  return b.head_linear("values", mixed, {up_values, m.n_heads}, input);
}

constexpr float kIndexNormEps = 1e-6f;

/// Writes the indexer's keys of this step, then chooses positions. `q_in`: what q_b_proj reads.
ValueId index_block(GraphBuilder& b, const MlaSpec& m, const std::string& prefix, int32_t layer, ValueId x,
                    ValueId q_in, ValueId angles) {
  const DType f32 = DType::kF32, kv = b.numerics().kv;
  const int64_t rope = m.rope_dim, dim = m.index.head_dim, rest = dim - rope, n = m.index.n_heads;
  const std::string p = prefix + ".indexer";
  const SlotId slot = b.slot({SlotKind::kLatent, layer, 1, m.rope_dim, static_cast<int32_t>(rest), 0, kv});
  ValueId key = b.linear("index_k", x, {b.weight(p + ".wk.weight", dim, m.d_model), std::nullopt}, f32);
  key = b.layer_norm("index_k_norm", key,
                     {b.vector(p + ".k_norm.weight", dim), b.vector(p + ".k_norm.bias", dim), kIndexNormEps},
                     f32);
  ValueId key_rotated = b.slice("index_k_pe", key, {0, rope}, f32);
  key_rotated = b.rope("index_k_rope", key_rotated, angles, {1, m.rope_dim, m.index.style}, kv);
  b.kv_write("index_keys", key_rotated, b.slice("index_k_rest", key, {rope, rest}, kv), slot);

  const std::string q_name = p + ".wq_b";
  ValueId q_rotated =
      b.linear("index_q_pe", q_in, cut(b, q_name, {"", n * dim, 0, rope, dim}, m.q_rank, false), f32);
  q_rotated = b.rope("index_q_rope", q_rotated, angles, {m.index.n_heads, m.rope_dim, m.index.style}, kv);
  const ValueId q_rest =
      b.linear("index_q_rest", q_in, cut(b, q_name, {"", n * dim, rope, rest, dim}, m.q_rank, false), kv);
  const ValueId weights =
      b.linear("index_weights", x, {b.weight(p + ".weights_proj.weight", n, m.d_model), std::nullopt}, f32);
  return b.index_select("index", {q_rest, q_rotated, weights}, {slot, m.index.n_heads, m.index.top_k});
}

}  // namespace

MlaSpec read_mla(ConfigReader& config, int32_t d_model, int32_t n_heads) {
  MlaSpec out;
  out.d_model = d_model;
  out.n_heads = n_heads;
  out.q_rank = config.maybe_count("q_lora_rank").value_or(0);
  out.kv_rank = config.count("kv_lora_rank");
  out.nope_dim = config.count("qk_nope_head_dim");
  out.rope_dim = config.count("qk_rope_head_dim");
  out.v_dim = config.count("v_head_dim");
  out.bias = config.flag_or("attention_bias", false);
  config.must_be("qk_head_dim", Json(out.nope_dim + out.rope_dim));
  config.must_equal({"num_key_value_heads"}, n_heads);  // all share one latent, none another's values
  // Derived from the others: written as the rotated part, or as the whole of a head of queries.
  if (const auto dim = config.maybe_count("head_dim"); dim && *dim != out.nope_dim + out.rope_dim)
    config.must_equal({"head_dim"}, out.rope_dim);
  return out;
}

MlaIndex read_mla_index(ConfigReader& config, const MlaSpec& spec) {
  MlaIndex out;
  out.top_k = config.count("index_topk", 1 << 24);
  out.n_heads = config.count("index_n_heads");
  out.head_dim = config.count("index_head_dim");
  // The first published code rotated pairs; the checkpoints were trained with halves (its later correction).
  if (config.flag_or("indexer_rope_interleave", false)) out.style = RopeStyle::kInterleaved;
  if (out.head_dim <= spec.rope_dim) {
    config.fail(invalid_argument("[model] config.json: index_head_dim " + std::to_string(out.head_dim) +
                                 " must be larger than qk_rope_head_dim " + std::to_string(spec.rope_dim)));
  }
  if (spec.q_rank == 0) config.fail(invalid_argument("[model] config.json: the indexer needs q_lora_rank"));
  return out;
}

float mla_scale(const MlaSpec& spec, const Json& rope) {
  double scale = 1.0 / std::sqrt(static_cast<double>(spec.nope_dim) + spec.rope_dim);
  const Json* type = rope.find("rope_type");
  if (type == nullptr) type = rope.find("type");
  const Json* all_dim = rope.find("mscale_all_dim");
  const Json* factor = rope.find("factor");
  const bool scaled = type != nullptr && *type != Json("default") && all_dim != nullptr &&
                      all_dim->is_number() && factor != nullptr && factor->is_number();
  if (scaled && all_dim->as_double() != 0 && factor->as_double() > 1) {
    const double temperature = 0.1 * all_dim->as_double() * std::log(factor->as_double()) + 1.0;
    scale *= temperature * temperature;
  }
  return static_cast<float>(scale);
}

ValueId mla_block(GraphBuilder& b, const MlaSpec& m, const std::string& prefix, int32_t layer, ValueId x,
                  ValueId angles) {
  const DType f32 = DType::kF32, input = b.numerics().matmul_input, kv = b.numerics().kv;
  const int64_t n = m.n_heads, rank = m.kv_rank, q_dim = int64_t{m.nope_dim} + m.rope_dim;
  const std::string& p = prefix;
  const SlotId slot = b.slot({SlotKind::kLatent, layer, 1, m.rope_dim, m.kv_rank, 0, kv});

  ValueId q_in = x;
  if (m.q_rank > 0) {
    Linear down{b.weight(p + ".q_a_proj.weight", m.q_rank, m.d_model), std::nullopt};
    if (m.bias) down.bias = b.vector(p + ".q_a_proj.bias", m.q_rank);
    q_in = b.linear("q_a", x, down, f32);
    q_in = b.rms_norm("q_a_norm", q_in, {b.vector(p + ".q_a_layernorm.weight", m.q_rank), kLoraEps}, input);
  }
  const std::string q_name = p + (m.q_rank > 0 ? ".q_b_proj" : ".q_proj");
  const int64_t q_cols = m.q_rank > 0 ? m.q_rank : m.d_model;
  const ValueId q_nope =
      b.linear("q_nope", q_in, cut(b, q_name, {"", n * q_dim, 0, m.nope_dim, q_dim}, q_cols, false), input);
  ValueId q_pe = b.linear("q_pe", q_in,
                          cut(b, q_name, {"", n * q_dim, m.nope_dim, m.rope_dim, q_dim}, q_cols, false), f32);
  q_pe = b.rope("q_rope", q_pe, angles, {m.n_heads, m.rope_dim, m.style}, kv);

  const std::string kv_name = p + ".kv_a_proj_with_mqa";
  const int64_t kv_dim = rank + m.rope_dim;
  ValueId ckv = b.linear("ckv", x, cut(b, kv_name, {"", kv_dim, 0, rank, kv_dim}, m.d_model, m.bias), f32);
  ckv = b.rms_norm("ckv_norm", ckv, {b.vector(p + ".kv_a_layernorm.weight", rank), kLoraEps},
                   m.kv_scale == 1.0f ? kv : f32);
  if (m.kv_scale != 1.0f) ckv = b.scale("ckv_scale", ckv, m.kv_scale, kv);
  ValueId kpe =
      b.linear("kpe", x, cut(b, kv_name, {"", kv_dim, rank, m.rope_dim, kv_dim}, m.d_model, m.bias), f32);
  kpe = b.rope("k_rope", kpe, angles, {1, m.rope_dim, m.style}, kv);
  b.kv_write("latent", kpe, ckv, slot);

  std::optional<ValueId> chosen;
  if (m.index.top_k > 0) chosen = index_block(b, m, p, layer, x, q_in, angles);
  const ValueId values = attend(b, m, p, slot, q_nope, q_pe, chosen);
  Linear out{b.weight(p + ".o_proj.weight", m.d_model, n * m.v_dim), std::nullopt};
  if (m.bias) out.bias = b.vector(p + ".o_proj.bias", m.d_model);
  return b.linear("o", values, out, f32);
}

Result<std::unique_ptr<Model>> finish_mla(const ConfigReader& config, ConfigPolicy policy, PreNormSpec spec,
                                          MlaSpec mla, const Json& rope, double default_theta) {
  SKUA_RETURN_IF_ERROR(config.finish(policy));
  SKUA_ASSIGN_OR_RETURN(spec.angles, rope_angles_from(rope, mla.rope_dim, default_theta));
  mla.scale = mla_scale(mla, rope);
  spec.attention = [mla](GraphBuilder& b, const std::string& p, int32_t layer, ValueId x, ValueId angles) {
    return mla_block(b, mla, p + ".self_attn", layer, x, angles);
  };
  return make_pre_norm_decoder(std::move(spec));
}

MlaSpec read_deepseek_v3(ConfigReader& config, PreNormSpec& spec) {
  spec.config = read_decoder_config(config);
  config.require({"first_k_dense_replace", "n_shared_experts", "q_lora_rank"});
  spec.config.tied = config.flag_or("tie_word_embeddings", false);
  spec.act = read_act(config, "hidden_act", "silu");
  config.must_be("scoring_func", Json("sigmoid"));
  config.must_be("topk_method", Json("noaux_tc"));
  return read_mla(config, spec.config.info.d_model, spec.config.info.n_heads);
}

Result<std::unique_ptr<Model>> finish_sigmoid_mla(ConfigReader& config, ConfigPolicy policy, PreNormSpec spec,
                                                  MlaSpec mla, const MixtureKeys& keys) {
  mla.style = config.flag_or("rope_interleave", true) ? RopeStyle::kInterleaved : RopeStyle::kHalf;
  DeepSeekMoe moe = read_deepseek_moe(config, spec.config.info, spec.act, keys);
  use_sigmoid_router(config, moe);
  ignore_guessing_layers(config, spec);
  spec.feed_forward = mixture(moe);
  return finish_mla(config, policy, std::move(spec), mla, rope_parameters(config), 10000.0);
}

}  // namespace skua
