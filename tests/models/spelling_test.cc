// Older and newer spellings of one config must give the same model; values that change the maths and are not
// handled must be refused.
#include <gtest/gtest.h>

#include "models/spelling.h"

namespace skua {
namespace {

struct Pair {
  const char* older;
  const char* newer;
};

class Spellings : public testing::TestWithParam<Pair> {};

TEST_P(Spellings, GiveTheSameModel) {
  const std::string newer = text_of(with(GetParam().newer));
  EXPECT_FALSE(newer.starts_with("error")) << newer;
  EXPECT_EQ(text_of(with(GetParam().older)), newer);
}

constexpr Pair kPairs[] = {
    {R"({"model_type": "gemma", "hidden_act": "gelu", "hidden_activation": null, "head_dim": 8, "rope_theta": 10000.0})",
     R"({"model_type": "gemma", "hidden_act": "gelu_pytorch_tanh", "head_dim": 8,
         "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})"},
    {R"({"model_type": "gemma2", "head_dim": 8, "sliding_window": 16, "hidden_act": "gelu_pytorch_tanh",
         "cache_implementation": "hybrid", "rope_theta": 10000.0})",
     R"({"model_type": "gemma2", "head_dim": 8, "sliding_window": 16, "rope_parameters": {"rope_theta": 10000.0,
         "rope_type": "default"}, "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
         "full_attention"]})"},
    {R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_theta": 10000.0, "rope_scaling":
         {"type": "su", "long_factor": [1.5, 1.6, 1.7, 1.8], "short_factor": [1, 1, 1, 1]}})",
     R"({"model_type": "phi3", "rope_parameters": {"rope_type": "longrope", "rope_theta": 10000.0,
         "original_max_position_embeddings": 64, "partial_rotary_factor": 1.0,
         "long_factor": [1.5, 1.6, 1.7, 1.8], "short_factor": [1, 1, 1, 1]}})"},
    {R"({"model_type": "smollm3", "rope_theta": 5000000.0, "no_rope_layer_interval": 2})",
     R"({"model_type": "smollm3", "rope_parameters": {"rope_theta": 5000000.0, "rope_type": "default"},
         "no_rope_layers": [1, 0, 1, 0]})"},
    {R"({"model_type": "olmo3", "sliding_window": 16, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "yarn",
         "factor": 8.0, "attention_factor": 1.2, "original_max_position_embeddings": 64, "beta_fast": 32.0,
         "beta_slow": 1.0}})",
     R"({"model_type": "olmo3", "sliding_window": 16, "rope_parameters": {"full_attention": {"rope_type": "yarn",
         "rope_theta": 500000.0, "factor": 8.0, "attention_factor": 1.2, "original_max_position_embeddings": 64,
         "beta_fast": 32.0, "beta_slow": 1.0}, "sliding_attention": {"rope_type": "default",
         "rope_theta": 500000.0}}})"},
    {R"({"model_type": "exaone4", "sliding_window": 16, "sliding_window_pattern": "LLLG", "rope_theta": 1000000.0})",
     R"({"model_type": "exaone4", "sliding_window": 16, "sliding_window_pattern": 4, "layer_types":
         ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}})"},
    {R"({"model_type": "glm4", "attention_bias": true, "partial_rotary_factor": 0.5, "rope_theta": 10000.0})",
     R"({"model_type": "glm4", "attention_bias": true, "rope_parameters": {"rope_theta": 10000.0,
         "partial_rotary_factor": 0.5, "rope_type": "default"}})"},
    {R"({"model_type": "hunyuan_v1_dense", "use_qk_norm": true, "use_cla": false, "rope_theta": 10000.0,
         "rope_scaling": {"type": "dynamic", "alpha": 16.0, "factor": 1.0}})",
     R"({"model_type": "hunyuan_v1_dense", "rope_parameters": {"rope_type": "default", "rope_theta":
         403174.73596633737}})"},
    {R"({"model_type": "cohere2", "sliding_window": 16, "sliding_window_pattern": 4, "rotary_pct": 1.0,
         "position_embedding_type": "rope_gptj", "use_parallel_block": true, "rope_theta": 50000.0})",
     R"({"model_type": "cohere2", "sliding_window": 16, "layer_types": ["sliding_attention", "sliding_attention",
         "sliding_attention", "full_attention"], "rope_parameters": {"rope_theta": 50000.0, "rope_type": "default"}})"},
    {R"({"model_type": "stablelm", "partial_rotary_factor": 0.25, "rope_theta": 10000, "rope_scaling": null})",
     R"({"model_type": "stablelm", "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25,
         "rope_type": "default"}})"},
    {R"({"model_type": "phi", "partial_rotary_factor": 0.5, "rope_theta": 10000.0})",
     R"({"model_type": "phi", "rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}})"},
    {R"({"model_type": "gpt_neox", "rotary_pct": 0.5, "rotary_emb_base": 20000})",
     R"({"model_type": "gpt_neox", "rope_parameters": {"rope_theta": 20000.0, "partial_rotary_factor": 0.5,
         "rope_type": "default"}})"},
    {R"({"model_type": "gemma4_text", "head_dim": 8, "sliding_window": 16, "hidden_size_per_layer_input": 0,
         "attention_k_eq_v": true, "global_head_dim": 16, "num_global_key_value_heads": 1, "layer_types":
         ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]})",
     R"({"model_type": "gemma4_text", "head_dim": 8, "sliding_window": 16, "hidden_size_per_layer_input": 0,
         "attention_k_eq_v": true, "per_layer_config": {"3": {"head_dim": 16, "num_key_value_heads": 1}},
         "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
         "partial_rotary_factor": 0.25}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})"},
    {R"({"model_type": "gemma3n_text", "head_dim": 8, "sliding_window": 16, "num_kv_shared_layers": 1,
         "intermediate_size": 24, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "rope_scaling": null,
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]})",
     R"({"model_type": "gemma3n_text", "head_dim": 8, "sliding_window": 16, "num_kv_shared_layers": 1,
         "intermediate_size": [24, 24, 24, 24], "activation_sparsity_pattern": [0.0, 0.0, 0.0, 0.0],
         "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0},
         "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})"},
};
INSTANTIATE_TEST_SUITE_P(All, Spellings, testing::ValuesIn(kPairs));

TEST(LongRope, IsChosenByTheServedContextAndNothingElse) {
  const Json config = with(R"({"model_type": "phi3", "original_max_position_embeddings": 64, "rope_scaling":
      {"type": "longrope", "long_factor": [2, 2, 2, 2], "short_factor": [1, 1, 1, 1]}})");
  EXPECT_NE(text_of(config, 64), text_of(config, 65));
  EXPECT_EQ(text_of(config, 65), text_of(config, 256));
  EXPECT_EQ(text_of(config), text_of(config, 256));  // the checkpoint's own 256
  EXPECT_EQ(text_of(config, 8), text_of(config, 64));
}

TEST(Refusals, NameTheKeyThatWouldChangeTheMaths) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model_type": "gemma2", "use_bidirectional_attention": true})", "use_bidirectional_attention"},
      {R"({"model_type": "cohere", "use_qk_norm": true})", "use_qk_norm"},
      {R"({"model_type": "cohere2", "use_parallel_block": false, "sliding_window": 8})",
       "use_parallel_block"},
      {R"({"model_type": "phi", "qk_layernorm": true})", "qk_layernorm"},
      {R"({"model_type": "stablelm", "qk_layernorm": true})", "qk_layernorm"},
      {R"({"model_type": "starcoder2", "norm_type": "rms"})", "norm_type"},
      {R"({"model_type": "apertus", "hidden_act": "silu"})", "hidden_act"},
      {R"({"model_type": "smollm3", "no_rope_layers": [1]})", "no_rope_layers"},
      {R"({"model_type": "opt", "ffn_dim": 9, "do_layer_norm_before": false})", "do_layer_norm_before"},
      {R"({"model_type": "opt", "ffn_dim": 9, "word_embed_proj_dim": 16})", "word_embed_proj_dim"},
      {R"({"model_type": "phi3", "rope_scaling": {"type": "longrope", "long_factor": [1], "short_factor": [1]},
           "original_max_position_embeddings": 64})",
       "long_factor"},
      {R"({"model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "factor": 2.0}})",
       "dynamic"},
      {R"({"model_type": "exaone4", "sliding_window": 8, "sliding_window_pattern": "LGLG"})",
       "sliding_window_pattern"},
  };
  for (const auto& [config, key] : cases) {
    const std::string text = text_of(with(config));
    EXPECT_TRUE(text.starts_with("error")) << config;
    EXPECT_NE(text.find(key), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace skua
