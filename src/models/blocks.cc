// Attention, gated MLP and output head as most decoder families have them.
#include "models/blocks.h"

#include <cmath>

namespace skua {
namespace {

Linear projection(GraphBuilder& b, const std::string& name, int64_t out, int64_t in, bool bias) {
  Linear linear{b.weight(name + ".weight", out, in), std::nullopt};
  if (bias) linear.bias = b.vector(name + ".bias", out);
  return linear;
}

/// Norm (if any) and rotation of q or k.
ValueId rotate(GraphBuilder& b, const AttentionBlock& block, const std::string& name, int32_t n_heads,
               ValueId x, ValueId angles) {
  if (block.qk_norm) {
    RmsNorm norm = *block.qk_norm;
    norm.weight = b.vector(block.prefix + "." + name + "_norm.weight", block.head_dim);
    norm.n_groups = n_heads;
    x = b.rms_norm(name + "_norm", x, norm, DType::kF32);
  }
  return b.rope(name + "_rope", x, angles, {n_heads, block.head_dim, RopeStyle::kHalf}, b.numerics().kv);
}

}  // namespace

ValueId attention_block(GraphBuilder& b, const AttentionBlock& block, ValueId x, ValueId angles) {
  const int64_t q_dim = int64_t{block.n_heads} * block.head_dim;
  const int64_t kv_dim = int64_t{block.n_kv_heads} * block.head_dim;
  const SlotId slot =
      b.slot({block.window > 0 ? SlotKind::kWindow : SlotKind::kFull, block.layer, block.n_kv_heads,
              block.head_dim, block.head_dim, block.window, b.numerics().kv});
  const std::string& p = block.prefix;
  ValueId q =
      b.linear("q", x, projection(b, p + ".q_proj", q_dim, block.d_model, block.qkv_bias), DType::kF32);
  ValueId k =
      b.linear("k", x, projection(b, p + ".k_proj", kv_dim, block.d_model, block.qkv_bias), DType::kF32);
  const ValueId v =
      b.linear("v", x, projection(b, p + ".v_proj", kv_dim, block.d_model, block.qkv_bias), b.numerics().kv);
  q = rotate(b, block, "q", block.n_heads, q, angles);
  k = rotate(b, block, "k", block.n_kv_heads, k, angles);
  b.kv_write("kv", k, v, slot);
  const float scale = block.scale > 0
                          ? block.scale
                          : static_cast<float>(1.0 / std::sqrt(static_cast<double>(block.head_dim)));
  const ValueId mixed = b.attention("attend", q, {slot, block.n_heads, scale, block.window, block.softcap},
                                    b.numerics().matmul_input);
  return b.linear("o", mixed, projection(b, p + ".o_proj", block.d_model, q_dim, block.o_bias), DType::kF32);
}

ValueId mlp_block(GraphBuilder& b, const MlpBlock& block, ValueId x) {
  const std::string& p = block.prefix;
  const ValueId gate = b.linear(
      "gate", x, projection(b, p + ".gate_proj", block.d_ff, block.d_model, block.bias), DType::kF32);
  const ValueId up =
      b.linear("up", x, projection(b, p + ".up_proj", block.d_ff, block.d_model, block.bias), DType::kF32);
  const ValueId hidden = b.act_mul("act", gate, up, block.act, b.numerics().matmul_input);
  return b.linear("down", hidden, projection(b, p + ".down_proj", block.d_model, block.d_ff, block.bias),
                  DType::kF32);
}

ValueId head_block(GraphBuilder& b, const HeadBlock& block, ValueId x) {
  const ValueId rows = b.gather_rows(x);
  const std::string name = block.tied ? "model.embed_tokens.weight" : "lm_head.weight";
  const ValueId logits = b.linear(
      "logits", rows, {b.weight(name, block.n_vocab, block.d_model), std::nullopt}, b.numerics().logits);
  return block.softcap > 0 ? b.softcap("softcap", logits, block.softcap, b.numerics().logits) : logits;
}

Act read_act(ConfigReader& config, std::string_view key, std::string_view fallback) {
  const std::string name = config.text_or(key, fallback);
  if (name == "silu" || name == "swish") return Act::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return Act::kGeluTanh;
  if (name == "gelu") return Act::kGeluErf;
  if (name == "relu") return Act::kRelu;
  config.fail(unsupported("[model] \"" + std::string(key) + "\" is \"" + name +
                          "\"; known are silu, gelu, gelu_pytorch_tanh, relu"));
  return Act::kSilu;
}

std::vector<IgnorableTensor> common_ignorable(bool tied) {
  std::vector<IgnorableTensor> out{{"*.rotary_emb.inv_freq", "recomputed from the config"}};
  if (tied) out.push_back({"lm_head.weight", "tied to the embedding"});
  return out;
}

}  // namespace skua
