// LongCat-Flash: each layer holds two attention and two MLP sublayers; the experts, some of which return
// their input, run beside the second pair and join at the end. Latents and queries are scaled for their
// ranks. llama.cpp has no architecture for it: there are no GGUF files. Sources: transformers
// modeling_longcat_flash.py and configuration_longcat_flash.py (5.17); arXiv:2509.01322.
#include <cmath>

#include "models/blocks.h"
#include "models/decoder_config.h"
#include "models/families.h"
#include "models/mla.h"
#include "models/moe.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

class LongcatFlash final : public Model {
 public:
  static Result<std::unique_ptr<Model>> parse(const Json& json, ConfigPolicy policy) {
    auto model = std::make_unique<LongcatFlash>();
    ConfigReader config(json);
    ModelInfo& info = model->info_;
    info.model_type = config.text_or("model_type", "");
    info.n_layers = config.count("num_layers", 5000);
    config.must_be("num_hidden_layers", Json(2 * info.n_layers));
    info.d_model = config.count("hidden_size");
    config.require({"zero_expert_num"});
    info.d_ff = config.count("ffn_hidden_size");
    info.n_heads = info.n_kv_heads = config.count("num_attention_heads");
    info.n_vocab = config.count("vocab_size");
    info.max_context = config.count_or("max_position_embeddings", 131072);
    info.end_ids = config.ids("eos_token_id");
    if (const auto bos = config.ids("bos_token_id"); !bos.empty()) info.bos_id = bos[0];
    model->eps_ = static_cast<float>(config.number_or("rms_norm_eps", 1e-5));
    model->tied_ = config.flag_or("tie_word_embeddings", false);
    model->act_ = read_act(config, "hidden_act", "silu");
    MlaSpec& mla = model->mla_ = read_mla(config, info.d_model, info.n_heads);
    info.head_dim = mla.rope_dim;
    model->read_experts(config);
    config.must_be("attention_method", Json("MLA"));
    config.must_be("mla_scale_q_lora", Json(true));
    config.must_be("mla_scale_kv_lora", Json(true));
    config.ignore({"num_key_value_heads", "head_dim"});
    const Json rope = rope_parameters(config);
    SKUA_RETURN_IF_ERROR(config.finish(policy));
    if (mla.q_rank == 0) return invalid_argument("[model] config.json: longcat_flash needs q_lora_rank");
    SKUA_ASSIGN_OR_RETURN(model->angles_, rope_angles_from(rope, mla.rope_dim, 1e7));
    // Both parts of the query carry the factor, so it is a factor of the scores.
    const double d_model = info.d_model;
    mla.scale = static_cast<float>(double{mla_scale(mla, rope)} * std::sqrt(d_model / mla.q_rank));
    mla.kv_scale = static_cast<float>(std::sqrt(d_model / mla.kv_rank));
    return std::unique_ptr<Model>(std::move(model));
  }

  const ModelInfo& info() const override { return info_; }
  std::vector<IgnorableTensor> ignorable() const override {
    std::vector<IgnorableTensor> out = common_ignorable(tied_);
    out.push_back({"model.mtp.*", "multi-token prediction is not used"});
    for (int32_t e = moe_.n_experts; e < moe_.n_experts + moe_.n_identity; ++e) {
      out.push_back(
          {"model.layers.*.mlp.experts." + std::to_string(e) + ".*", "this expert returns its input"});
    }
    return out;
  }

  Result<Graph> build(const Numerics& numerics) const override {
    GraphBuilder b(numerics);
    ValueId x = b.embed(b.weight("model.embed_tokens.weight", info_.n_vocab, info_.d_model));
    const ValueId angles = b.rope_angles("rope", angles_);
    for (int32_t layer = 0; layer < info_.n_layers; ++layer) {
      const std::string p = "model.layers." + std::to_string(layer);
      ValueId shortcut = x;
      for (int32_t half = 0; half < 2; ++half) {
        const std::string i = "." + std::to_string(half);
        b.set_scope("layers." + std::to_string(layer) + i);
        ValueId y = b.rms_norm("attn_norm", x, norm(b, p + ".input_layernorm" + i), numerics.matmul_input);
        y = mla_block(b, mla_, p + ".self_attn" + i, 2 * layer + half, y, angles);
        x = b.add("attn_add", x, y, numerics.residual);
        y = b.rms_norm("mlp_norm", x, norm(b, p + ".post_attention_layernorm" + i), numerics.matmul_input);
        if (half == 0) {
          MoeBlock moe = moe_;
          moe.prefix = p + ".mlp";
          shortcut = moe_block(b, moe, y);
        }
        y = mlp_block(b, {p + ".mlps" + i, info_.d_model, info_.d_ff, act_, false}, y);
        x = b.add("mlp_add", x, y, numerics.residual);
      }
      x = b.add("shortcut_add", x, shortcut, numerics.residual);
    }
    b.set_scope("");
    x = b.rms_norm("final_norm", x, norm(b, "model.norm"), numerics.matmul_input);
    return b.finish(head_block(b, {info_.d_model, info_.n_vocab, tied_, 0.0f}, x));
  }

 private:
  void read_experts(ConfigReader& config) {
    moe_.d_model = info_.d_model;
    moe_.d_ff = config.count("expert_ffn_hidden_size");
    moe_.n_experts = config.count("n_routed_experts");
    moe_.n_identity = config.count_or_none("zero_expert_num");
    if (moe_.n_identity > kMaxExperts) config.fail(invalid_argument("[model] zero_expert_num is too large"));
    moe_.act = act_;
    moe_.router.top_k = config.count("moe_topk");
    moe_.router.scale = static_cast<float>(config.number_or("routed_scaling_factor", 6.0));
    moe_.names.router = "router.classifier";
    moe_.names.selection_bias = "router.e_score_correction_bias";
    config.must_be("zero_expert_type", Json("identity"));
    config.must_be("router_bias", Json(false));
    // Written by the base class or by training; the reference routes without groups.
    config.ignore({"first_k_dense_replace", "moe_intermediate_size", "n_group", "n_shared_experts",
                   "norm_topk_prob", "topk_group", "topk_method"});
  }

  RmsNorm norm(GraphBuilder& b, const std::string& name) const {
    return {b.vector(name + ".weight", info_.d_model), eps_, 0.0f, 1};
  }

  ModelInfo info_;
  MlaSpec mla_;
  MoeBlock moe_;
  RopeAngles angles_;
  Act act_ = Act::kSilu;
  float eps_ = 1e-5f;
  bool tied_ = false;
};

constexpr std::string_view kTypes[] = {"longcat_flash"};

}  // namespace

extern const Family kLongcatFlash;
const Family kLongcatFlash{"longcat_flash", kTypes, "", GgufRows::kPlain, &LongcatFlash::parse, nullptr};

}  // namespace skua
