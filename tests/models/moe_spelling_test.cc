// Families with experts: older and newer spellings of one config give the same model, and what is not handled
// is refused with its key, its value and what is supported.
#include <gtest/gtest.h>

#include <cmath>

#include "models/spelling.h"

namespace skua {
namespace {

struct Pair {
  const char* older;
  const char* newer;
};

class MoeSpellings : public testing::TestWithParam<Pair> {};

TEST_P(MoeSpellings, GiveTheSameModel) {
  const std::string newer = text_of(with(GetParam().newer));
  EXPECT_FALSE(newer.starts_with("error")) << newer;
  EXPECT_EQ(text_of(with(GetParam().older)), newer);
}

// As such checkpoints' configs on the Hub are spelled, and as transformers 5 saves the same model.
constexpr Pair kPairs[] = {
    {R"({"model_type": "olmoe", "num_experts": 4, "num_experts_per_tok": 2, "clip_qkv": null, "rope_scaling": null,
         "rope_theta": 20000.0, "norm_topk_prob": false, "output_router_logits": false})",
     R"({"model_type": "olmoe", "num_experts": 4, "num_experts_per_tok": 2, "rms_norm_eps": 1e-05,
         "rope_parameters": {"rope_theta": 20000.0, "rope_type": "default"}})"},
    {R"({"model_type": "dots1", "n_routed_experts": 4, "n_shared_experts": 2, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "moe_layer_freq": 1, "norm_topk_prob": true,
         "scoring_func": "noaux_tc", "routed_scaling_factor": 2.5, "sliding_window": null, "max_window_layers": 62,
         "use_sliding_window": false, "rope_scaling": null, "rope_theta": 10000000, "rms_norm_eps": 1e-05})",
     R"({"model_type": "dots1", "n_routed_experts": 4, "n_shared_experts": 2, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "norm_topk_prob": true, "n_group": 1,
         "routed_scaling_factor": 2.5, "topk_group": 1, "sliding_window": 4096, "layer_types": ["full_attention",
         "full_attention", "full_attention", "full_attention"], "rms_norm_eps": 1e-05,
         "rope_parameters": {"rope_theta": 10000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "glm4_moe", "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "partial_rotary_factor": 0.5, "use_qk_norm": true,
         "rope_scaling": null, "rope_theta": 1000000, "num_nextn_predict_layers": 1, "norm_topk_prob": true})",
     R"({"model_type": "glm4_moe", "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "use_qk_norm": true, "rope_parameters": {"rope_theta":
         1000000.0, "partial_rotary_factor": 0.5, "rope_type": "default"}})"},
    {R"({"model_type": "ernie4_5_moe", "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1,
         "moe_intermediate_size": 8, "moe_layer_start_index": 1, "moe_layer_end_index": 3, "moe_capacity": [64, 64, 64],
         "moe_gate": "topk", "moe_use_aux_free": true, "rope_theta": 500000.0})",
     R"({"model_type": "ernie4_5_moe", "moe_num_experts": 4, "moe_k": 2, "moe_num_shared_experts": 1,
         "moe_intermediate_size": 8, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
         "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}})"},
    {R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": [2, 2, 2, 2], "num_shared_expert": [1, 1, 1, 1],
         "moe_intermediate_size": [24, 24, 24, 24], "use_qk_norm": true, "use_cla": false, "use_mixed_mlp_moe": true,
         "norm_topk_prob": true, "rope_theta": 10000.0, "rope_scaling": {"type": "dynamic", "alpha": 16.0,
         "factor": 1.0}})",
     R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": 2, "rope_parameters": {"rope_type": "dynamic",
         "alpha": 16.0, "rope_theta": 10000.0}})"},
    {R"({"model_type": "granitemoe", "num_local_experts": 4, "logits_scaling": 6.0, "rope_theta": 10000,
         "rope_scaling": null, "attention_multiplier": 0.5})",
     R"({"model_type": "granitemoe", "num_local_experts": 4, "num_experts_per_tok": 2, "logits_scaling": 6.0,
         "attention_multiplier": 0.5, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"},
    {R"({"model_type": "minimax_m2", "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8, "rotary_dim": 4,
         "attn_type_list": [1, 1, 1, 1], "qk_norm_type": "per_layer", "use_qk_norm": true, "use_routing_bias": true,
         "scoring_func": "sigmoid", "shared_intermediate_size": 0, "mlp_intermediate_size": 99, "use_mtp": true,
         "num_mtp_modules": 3, "mtp_transformer_layers": 1, "layernorm_mlp_beta": 1.0, "rope_theta": 5000000})",
     R"({"model_type": "minimax_m2", "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8,
         "rope_parameters": {"rope_theta": 5000000.0, "partial_rotary_factor": 0.5, "rope_type": "default"}})"},
    {R"({"model_type": "exaone_moe", "num_experts": 4, "num_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "sliding_window": 16, "sliding_window_pattern": "LLLG",
         "scoring_func": "sigmoid", "topk_method": "noaux_tc", "rope_theta": 1000000, "rope_scaling": null,
         "is_moe_layer": [false, true, true, true]})",
     R"({"model_type": "exaone_moe", "num_experts": 4, "num_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "sliding_window": 16,
         "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
         "routed_scaling_factor": 2.5, "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "solar_open", "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "first_k_dense_replace": 0, "use_qk_norm": false, "partial_rotary_factor": 1.0,
         "rope_theta": 1000000, "head_dim": 8})",
     R"({"model_type": "solar_open", "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2,
         "moe_intermediate_size": 8, "head_dim": 8, "rope_parameters": {"rope_theta": 1000000.0,
         "partial_rotary_factor": 1.0, "rope_type": "default"}})"},
    {R"({"model_type": "afmoe", "num_experts": 4, "num_shared_experts": 1, "num_experts_per_tok": 2, "head_dim": 8,
         "moe_intermediate_size": 8, "num_dense_layers": 2, "global_attn_every_n_layers": 4, "sliding_window": 16,
         "mup_enabled": true, "n_group": 1, "topk_group": 1, "num_expert_groups": 1, "num_limited_groups": 1,
         "load_balance_coeff": 0.001, "route_norm": true, "route_scale": 2.826, "score_func": "sigmoid",
         "rope_theta": 10000, "rope_scaling": null})",
     R"({"model_type": "afmoe", "num_experts": 4, "num_shared_experts": 1, "num_experts_per_tok": 2, "head_dim": 8,
         "moe_intermediate_size": 8, "num_dense_layers": 2, "sliding_window": 16, "mup_enabled": true, "layer_types":
         ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"], "route_scale": 2.826,
         "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"},
};
INSTANTIATE_TEST_SUITE_P(All, MoeSpellings, testing::ValuesIn(kPairs),
                         [](const testing::TestParamInfo<Pair>& param) {
                           return parse_json(param.param.newer)->find("model_type")->as_string();
                         });

struct Refusal {
  const char* own;
  std::vector<const char*> parts;  // of the error's text
};

TEST(MoeRefusals, NameTheKeyTheValueAndWhatIsHandled) {
  const Refusal cases[] = {
      {R"({"model_type": "olmoe", "clip_qkv": 8.0})", {"clip_qkv", "8", "null"}},
      {R"({"model_type": "dots1", "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "scoring_func": "softmax"})",
       {"scoring_func", "softmax", "noaux_tc"}},
      {R"({"model_type": "glm4_moe", "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "topk_method": "greedy"})",
       {"topk_method", "greedy", "noaux_tc"}},
      {R"({"model_type": "glm4_moe", "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "mlp_layer_types": ["dense", "dense", "linear", "sparse"]})",
       {"mlp_layer_types", "linear", "dense, sparse"}},
      {R"({"model_type": "ernie4_5_moe", "moe_intermediate_size": 8, "moe_gate_act": "sigmoid"})",
       {"moe_gate_act", "sigmoid", "softmax"}},
      {R"({"model_type": "ernie4_5_moe", "moe_intermediate_size": 8, "moe_num_experts": [64, 64]})",
       {"moe_num_experts", "[64,64]", "integer"}},
      {R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_topk": [2, 2, 1, 2]})",
       {"moe_topk", "[2,2,1,2]", "one count for all layers"}},
      {R"({"model_type": "hunyuan_v1_moe", "num_experts": 4, "moe_intermediate_size": 8})",
       {"moe_intermediate_size", "24"}},
      {R"({"model_type": "granitemoe", "num_local_experts": 4, "rope_scaling": {"type": "ntk", "factor": 2.0}})",
       {"rope_type", "ntk", "yarn"}},
      {R"({"model_type": "minimax_m2", "head_dim": 8, "attn_type_list": [0, 1, 1, 1]})",
       {"attn_type_list", "0", "1"}},
      {R"({"model_type": "minimax_m2", "head_dim": 8, "attn_type_list": 1})", {"attn_type_list", "list"}},
      {R"({"model_type": "minimax_m2", "head_dim": 8, "scoring_func": "softmax"})",
       {"scoring_func", "softmax", "sigmoid"}},
      {R"({"model_type": "exaone_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "sliding_window": 8, "sliding_window_pattern": "LGLG"})",
       {"sliding_window_pattern", "LGLG", "LLLG"}},
      {R"({"model_type": "exaone_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "sliding_window": 8, "first_k_dense_replace": 1, "is_moe_layer": [true, true, true, true]})",
       {"is_moe_layer", "dense", "sparse"}},
      {R"({"model_type": "solar_open", "head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
           "moe_intermediate_size": 8, "use_qk_norm": true})",
       {"use_qk_norm", "true", "false"}},
      {R"({"model_type": "afmoe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "head_dim": 8, "n_group": 2})",
       {"n_group", "2", "1"}},
      {R"({"model_type": "afmoe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
           "head_dim": 8, "score_func": "softmax"})",
       {"score_func", "softmax", "sigmoid"}},
      {R"({"model_type": "olmoe", "some_new_switch": true})", {"some_new_switch"}},
  };
  for (const Refusal& refusal : cases) {
    const std::string text = text_of(with(refusal.own));
    EXPECT_TRUE(text.starts_with("error")) << refusal.own;
    for (const char* part : refusal.parts)
      EXPECT_NE(text.find(part), std::string::npos) << text << "\n" << part;
  }
}

/// The rotation's factor and the scores' scale of a latent-attention model under YaRN.
std::pair<double, double> yarn_factors(const std::string& model_type, double mscale, double all_dim) {
  const std::string own = R"({"model_type": ")" + model_type + R"(", "kv_lora_rank": 16, "q_lora_rank": null,
    "num_key_value_heads": 4, "first_k_dense_replace": 0, "n_group": 1, "topk_group": 1, "n_shared_experts": 0,
    "routed_scaling_factor": 1.0, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 8, "rope_theta": 10000, "rope_scaling": {"type": "yarn",
    "factor": 40, "original_max_position_embeddings": 4096, "beta_fast": 32, "beta_slow": 1, "mscale": )" +
                          std::to_string(mscale) + R"(, "mscale_all_dim": )" + std::to_string(all_dim) + "}}";
  const auto model = parse_model(with(own.c_str()), ConfigPolicy::kStrict);
  if (!model.ok()) return {};
  const auto graph = (*model)->build(Numerics{});
  if (!graph.ok()) return {};
  std::pair<double, double> out;
  for (const Node& node : graph->nodes) {
    if (const auto* angles = std::get_if<RopeAngles>(&node.op)) out.first = angles->attention_factor;
    if (const auto* attention = std::get_if<MlaAttention>(&node.op)) out.second = double{attention->scale};
  }
  return out;
}

// Fault B062: under YaRN the rotation's magnitude is the ratio of mscale and mscale_all_dim; the scores'
// scale takes the square of mscale_all_dim's temperature. V2-Lite says 0.707 twice, V3 1.0 twice.
TEST(MlaYarn, B062RotationAndScoresHaveFactorsOfTheirOwn) {
  const double plain = 1.0 / std::sqrt(192.0);
  const auto lite = yarn_factors("deepseek_v2", 0.707, 0.707), v3 = yarn_factors("deepseek_v3", 1.0, 1.0);
  EXPECT_DOUBLE_EQ(lite.first, 1.0);
  EXPECT_DOUBLE_EQ(v3.first, 1.0);
  EXPECT_NEAR(lite.second, plain * 1.5896261651, 1e-8);
  EXPECT_NEAR(v3.second, plain * 1.8738542071, 1e-8);
  const auto apart = yarn_factors("deepseek_v3", 1.0, 0.707);
  EXPECT_NEAR(apart.first, 1.3688879454 / 1.2608037774, 1e-8);
  EXPECT_NEAR(apart.second, plain * 1.5896261651, 1e-8);
}

}  // namespace
}  // namespace skua
