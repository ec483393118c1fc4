// Families with latent attention, scans, convolutions, sinks, chunks and norms of heads from GGUF files: a
// tiny model written the way converters write it (rows reordered, -exp taken, tensors split and turned) gives
// what it gives under its transformers names. Facts: llama.cpp's conversion scripts (those of
// llama-cpp-python 0.3.36), gguf-py 0.19.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <regex>

#include "engine/gguf_files.h"
#include "models/gguf_import.h"

namespace skua::test {
namespace {

Stored minus_exp(const Stored& t, std::vector<int64_t> shape) {
  std::vector<float> values = values_of(t);
  for (float& v : values) v = -std::exp(v);
  return f32(std::move(shape), values);
}

/// What converters do to Mamba-2's mixers.
void change_mamba2(Tensors& all, int64_t n_groups) {
  each(all, ".A_log", [](const std::string& p, const Stored& t, Tensors& out) {
    out[p + ".A_log"] = minus_exp(t, {t.shape[0], 1});
  });
  each(all, ".D", [](const std::string& p, const Stored& t, Tensors& out) {
    out[p + ".D"] = f32({t.shape[0], 1}, values_of(t));
  });
  for (const char* name : {".mamba.norm.weight", ".mixer.norm.weight"}) {
    each(all, name, [&](const std::string& p, const Stored& t, Tensors& out) {
      out[p + name] = f32({n_groups, t.shape[0] / n_groups}, values_of(t));
    });
  }
}

/// The halves of a fused projection.
void split_halves(Tensors& all, const std::string& suffix, const std::string& first,
                  const std::string& second) {
  each(all, suffix, [&](const std::string& p, const Stored& t, Tensors& out) {
    out[p + first] = row_range(t, 0, t.n() / 2);
    out[p + second] = row_range(t, t.n() / 2, t.n() / 2);
  });
}

/// kv_b_proj [heads x (nope + v), rank] as k_b, turned, and v_b.
void split_kv_b(Tensors& all, int64_t n_heads, int64_t nope, int64_t v) {
  each(all, ".kv_b_proj.weight", [&](const std::string& p, const Stored& t, Tensors& out) {
    const int64_t rank = t.shape.back();
    std::vector<float> turned;
    std::vector<int64_t> values;
    const std::vector<float> all_values = values_of(t);
    for (int64_t head = 0; head < n_heads; ++head) {
      for (int64_t r = 0; r < rank; ++r)
        for (int64_t i = 0; i < nope; ++i)
          turned.push_back(all_values[static_cast<size_t>((head * (nope + v) + i) * rank + r)]);
      for (int64_t i = 0; i < v; ++i) values.push_back(head * (nope + v) + nope + i);
    }
    out[p + ".k_b"] = f32({n_heads, rank, nope}, turned);
    out[p + ".v_b"] = rows_at(t, values, {n_heads, v, rank});
  });
}

/// in_proj_qkvz: per key head q, k, v, z -> all q, all k, all v; all z.
void split_qkvz(Tensors& all, int64_t n_k, int64_t k, int64_t v_per_key) {
  each(all, ".in_proj_qkvz.weight", [&](const std::string& p, const Stored& t, Tensors& out) {
    const int64_t wide = 2 * k + 2 * v_per_key;
    std::vector<int64_t> qkv, z;
    const auto take = [&](std::vector<int64_t>& to, int64_t first, int64_t n) {
      for (int64_t head = 0; head < n_k; ++head)
        for (int64_t i = 0; i < n; ++i) to.push_back(head * wide + first + i);
    };
    take(qkv, 0, k);
    take(qkv, k, k);
    take(qkv, 2 * k, v_per_key);
    take(z, 2 * k + v_per_key, v_per_key);
    out[p + ".qkv"] = rows_at(t, qkv, {static_cast<int64_t>(qkv.size()), t.shape.back()});
    out[p + ".z"] = rows_at(t, z, {static_cast<int64_t>(z.size()), t.shape.back()});
  });
}

/// Norms around zero are stored with 1 added, but for the one inside of delta layers.
void add_one_to_norms(Tensors& all) {
  for (auto& [name, t] : all) {
    if (!name.ends_with("norm.weight") || name.ends_with("linear_attn.norm.weight")) continue;
    std::vector<float> values = values_of(t);
    for (float& v : values) v += 1.0f;
    t = f32(t.shape, values);
  }
}

/// Rows of `n_v` value heads, grouped by key head, in turn over the key heads instead; the first `skip` stay.
std::vector<int64_t> tiled(int64_t rows, int64_t skip, int64_t n_k, int64_t n_v) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < skip; ++i) out.push_back(i);
  const int64_t per_key = n_v / n_k, dim = (rows - skip) / n_v;
  for (int64_t r = 0; r < per_key; ++r)
    for (int64_t key = 0; key < n_k; ++key)
      for (int64_t i = 0; i < dim; ++i) out.push_back(skip + (key * per_key + r) * dim + i);
  return out;
}

/// Qwen3.5: value heads in turn, in every tensor that has them.
void tile_value_heads(Tensors& all, int64_t n_k, int64_t n_v, int64_t k_rows) {
  for (auto& [name, t] : all) {
    if (name.find(".linear_attn.") == std::string::npos || name.ends_with(".norm.weight")) continue;
    const bool vector = t.shape.size() == 1, out = name.ends_with("out_proj.weight");
    const bool qkv = name.ends_with("in_proj_qkv.weight") || name.ends_with("conv1d.weight");
    if (!vector && !out) {
      t = rows_at(t, tiled(t.n(), qkv ? k_rows : 0, n_k, n_v), t.shape);
      continue;
    }
    const int64_t cols = t.shape.back();
    const std::vector<int64_t> order = tiled(cols, 0, n_k, n_v);
    const std::vector<float> from = values_of(t);
    std::vector<float> to;
    for (size_t row = 0; row < from.size() / order.size(); ++row)
      for (const int64_t c : order) to.push_back(from[row * order.size() + static_cast<size_t>(c)]);
    t = f32(t.shape, to);
  }
}

/// MXFP4 rows as GGUF's blocks: the scale, then columns j and j + 16 in byte j.
Stored as_blocks(const Stored& t) {
  Stored out{{FormatKind::kMxfp4Block}, t.shape, {}, {}};
  for (size_t r = 0; r < t.rows.size(); ++r) {
    std::vector<std::byte> row;
    for (size_t b = 0; b < t.scales[r].size(); ++b) {
      const auto code = [&](size_t column) {
        const auto byte = std::to_integer<unsigned>(t.rows[r][b * 16 + column / 2]);
        return column % 2 == 0 ? byte & 15 : byte >> 4;
      };
      row.push_back(t.scales[r][b]);
      for (size_t j = 0; j < 16; ++j) row.push_back(static_cast<std::byte>(code(j) | code(j + 16) << 4));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

/// The norms of all heads of q and of k as rows of one tensor.
void stack_head_norms(Tensors& all, std::vector<int64_t> n_heads) {
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? ".q_layernorm" : ".k_layernorm";
    each(all, name + ".norms.0.weight", [&](const std::string& p, const Stored& first, Tensors& out) {
      std::vector<float> values = values_of(first);
      for (int64_t head = 1; head < n_heads[i]; ++head) {
        const auto more = values_of(all.at(p + name + ".norms." + std::to_string(head) + ".weight"));
        values.insert(values.end(), more.begin(), more.end());
      }
      out[p + name + ".weight"] = f32({n_heads[i], first.shape.back()}, values);
    });
  }
  std::erase_if(all, [](const auto& entry) { return entry.first.find(".norms.") != std::string::npos; });
}

struct Case {
  const char* model;  // FamilyModel::name
  const char* arch;
  const char* changes;   // to the model's config, first: what such files cannot say
  const char* metadata;  // below the architecture's name, beside or instead of the common; null: not there
  Renames own;           // below the layer or, for tensors outside of them, in whole
  std::function<void(Tensors&)> rewrite = [](Tensors&) {};
  bool exact = true;  // the same bytes; else numbers close to them, since -exp was taken
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model; }

Renames with_mamba2(const std::string& block, Renames more) {
  for (const auto& [from, to] : Renames{{"in_proj", "ssm_in"},
                                        {"conv1d", "ssm_conv1d"},
                                        {"dt_bias", "ssm_dt.bias"},
                                        {"A_log", "ssm_a"},
                                        {"D", "ssm_d"},
                                        {"norm", "ssm_norm"},
                                        {"out_proj", "ssm_out"}})
    more.emplace_back(block + "." + from, to);
  return more;
}

const Renames kMlaNames = {{"self_attn.q_a_proj", "attn_q_a"},
                           {"self_attn.q_b_proj", "attn_q_b"},
                           {"self_attn.q_a_layernorm", "attn_q_a_norm"},
                           {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
                           {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
                           {"self_attn.kv_b_proj", "attn_kv_b"},
                           {"self_attn.k_b", "attn_k_b.weight"},
                           {"self_attn.v_b", "attn_v_b.weight"},
                           {"self_attn.indexer.weights_proj", "indexer.proj"},
                           {"self_attn.indexer.k_norm", "indexer.k_norm"},
                           {"self_attn.indexer.wk", "indexer.attn_k"},
                           {"self_attn.indexer.wq_b", "indexer.attn_q_b"}};

const Renames kLfm2Names = {{"model.embedding_norm", "token_embd_norm"},
                            {"operator_norm", "attn_norm"},
                            {"ffn_norm", "ffn_norm"},
                            {"self_attn.out_proj", "attn_output"},
                            {"self_attn.q_layernorm", "attn_q_norm"},
                            {"self_attn.k_layernorm", "attn_k_norm"},
                            {"conv.conv", "shortconv.conv"},
                            {"conv.in_proj", "shortconv.in_proj"},
                            {"conv.out_proj", "shortconv.out_proj"},
                            {"feed_forward.w1", "ffn_gate"},
                            {"feed_forward.w3", "ffn_up"},
                            {"feed_forward.w2", "ffn_down"},
                            {"feed_forward.gate", "ffn_gate_inp"},
                            {"feed_forward.expert_bias", "exp_probs_b.bias"}};

Renames with_delta(Renames more) {
  for (const auto& [from, to] : Renames{{"linear_attn.in_proj_qkv", "attn_qkv"},
                                        {"linear_attn.in_proj_z", "attn_gate"},
                                        {"linear_attn.in_proj_ba", "ssm_ba"},
                                        {"linear_attn.in_proj_a", "ssm_alpha"},
                                        {"linear_attn.in_proj_b", "ssm_beta"},
                                        {"linear_attn.qkv", "attn_qkv.weight"},
                                        {"linear_attn.z", "attn_gate.weight"},
                                        {"linear_attn.A_log", "ssm_a"},
                                        {"linear_attn.conv1d", "ssm_conv1d"},
                                        {"linear_attn.dt_bias", "ssm_dt.bias"},
                                        {"linear_attn.norm", "ssm_norm"},
                                        {"linear_attn.out_proj", "ssm_out"},
                                        {"post_attention_layernorm", "post_attention_norm"},
                                        {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
                                        {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
                                        {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
                                        {"mlp.shared_expert.down_proj", "ffn_down_shexp"}})
    more.emplace_back(from, to);
  return more;
}

void change_delta(Tensors& all) {
  each(all, ".A_log", [](const std::string& p, const Stored& t, Tensors& out) {
    out[p + ".A_log"] = minus_exp(t, t.shape);
  });
  add_one_to_norms(all);
}

const Renames kGemma4Names = {{"model.embed_tokens_per_layer", "per_layer_token_embd"},
                              {"model.per_layer_model_projection", "per_layer_model_proj"},
                              {"model.per_layer_projection_norm", "per_layer_proj_norm"},
                              {"post_attention_layernorm", "post_attention_norm"},
                              {"pre_feedforward_layernorm", "ffn_norm"},
                              {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
                              {"post_feedforward_layernorm", "post_ffw_norm"},
                              {"post_feedforward_layernorm_1", "post_ffw_norm_1"},
                              {"post_feedforward_layernorm_2", "post_ffw_norm_2"},
                              {"per_layer_input_gate", "inp_gate"},
                              {"per_layer_projection", "proj"},
                              {"post_per_layer_input_norm", "post_norm"},
                              {"layer_scalar", "layer_output_scale.weight"},
                              {"router.proj", "ffn_gate_inp"},
                              {"router.scale", "ffn_gate_inp.scale"},
                              {"router.per_expert_scale", "ffn_down_exps.scale"},
                              {"experts.gate_up", "ffn_gate_up_exps.weight"},
                              {"rope_freqs", "rope_freqs"}};

const Renames kGemma3nNames = {{"model.altup_projections", "altup_proj"},
                               {"model.altup_unembed_projections", "altup_unembd_proj"},
                               {"model.embed_tokens_per_layer", "per_layer_token_embd"},
                               {"model.per_layer_model_projection", "per_layer_model_proj"},
                               {"model.per_layer_projection_norm", "per_layer_proj_norm"},
                               {"post_attention_layernorm", "post_attention_norm"},
                               {"pre_feedforward_layernorm", "ffn_norm"},
                               {"post_feedforward_layernorm", "post_ffw_norm"},
                               {"per_layer_input_gate", "inp_gate"},
                               {"per_layer_projection", "proj"},
                               {"post_per_layer_input_norm", "post_norm"},
                               {"altup.correction_coefs", "altup_correct_coef"},
                               {"altup.correct_output_scale", "altup_correct_scale.weight"},
                               {"altup.prediction_coefs", "altup_predict_coef"},
                               {"altup.modality_router", "altup_router"},
                               {"altup.router_norm", "altup_router_norm"},
                               {"laurel.linear_left", "laurel_l"},
                               {"laurel.linear_right", "laurel_r"},
                               {"laurel.post_laurel_norm", "laurel_post_norm"}};

/// The projections of all streams in one tensor.
void stack_altup(Tensors& all) {
  for (const char* name : {"model.altup_projections", "model.altup_unembed_projections"}) {
    Stored stacked;
    for (int64_t i = 0;; ++i) {
      const auto at = all.find(std::string(name) + "." + std::to_string(i) + ".weight");
      if (at == all.end()) break;
      stacked.format = at->second.format;
      stacked.shape = {i + 1, at->second.n(), at->second.shape.back()};
      stacked.rows.insert(stacked.rows.end(), at->second.rows.begin(), at->second.rows.end());
      all.erase(at);
    }
    all[std::string(name) + ".weight"] = stacked;
  }
}

/// Angles of full layers that turn, and those that do not.
void add_gemma4_rope(Tensors& all, size_t turning, size_t still) {
  std::vector<float> factors(turning, 1.0f);
  factors.resize(turning + still, 1e30f);
  all["rope_freqs.weight"] = f32({static_cast<int64_t>(factors.size())}, factors);
}

/// Gate and up of each expert, one below the other.
void fuse_gate_up(Tensors& all) {
  Tensors fused;
  for (auto at = all.begin(); at != all.end();) {
    static const std::regex name(R"((.*\.experts)\.(\d+)\.(gate|up)_proj\.weight)");
    std::smatch match;
    if (!std::regex_match(at->first, match, name)) {
      ++at;
      continue;
    }
    if (match[3] == "gate") {
      const Stored& up = all.at(match[1].str() + "." + match[2].str() + ".up_proj.weight");
      Stored& to = fused[match[1].str() + ".gate_up"];
      to.format = up.format;
      const int64_t n = to.shape.empty() ? 1 : to.shape[0] + 1;
      to.shape = {n, 2 * up.n(), up.shape.back()};
      for (const Stored* part : std::initializer_list<const Stored*>{&at->second, &up})
        to.rows.insert(to.rows.end(), part->rows.begin(), part->rows.end());
      ++at;
      continue;
    }
    ++at;
  }
  std::erase_if(all, [](const auto& entry) {
    return entry.first.find(".experts.") != std::string::npos && !entry.first.ends_with("down_proj.weight");
  });
  all.merge(fused);
}

const std::vector<Case> kCases = {
    {"gpt_oss_mxfp4",
     "gpt-oss",
     "{}",
     R"({"expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 32,
           "attention.sliding_window": 33, "rope.freq_base": 150000.0, "rope.scaling.type": "yarn",
           "rope.scaling.factor": 32.0, "rope.scaling.original_context_length": 4096,
           "rope.scaling.yarn_beta_fast": 32.0, "rope.scaling.yarn_beta_slow": 1.0})",
     {{"self_attn.sinks", "attn_sinks.weight"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"mlp.router", "ffn_gate_inp"},
      {"mlp.experts.gate_proj", "ffn_gate_exps"},
      {"mlp.experts.up_proj", "ffn_up_exps"},
      {"mlp.experts.down_proj", "ffn_down_exps"}},
     [](Tensors& all) {
       for (auto& [name, t] : all)
         if (!t.scales.empty()) t = as_blocks(t);
     }},
    {"cohere_qk_norm_bf16",
     "command-r",
     "{}",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5, "logit_scale": 0.0625,
           "rope.freq_base": 500000.0, "rope.scaling.type": "none"})",
     {},
     [](Tensors& all) {
       for (auto& [name, t] : all) {
         if (name.ends_with("_norm.weight")) t = f32({t.shape[0] / 16, 16}, values_of(t));
       }
     }},
    {"stablelm_qk_norm_f32",
     "stablelm",
     "{}",
     R"({"attention.layer_norm_rms_epsilon": null, "attention.layer_norm_epsilon": 1e-5,
           "rope.freq_base": null, "rope.dimension_count": 4, "use_parallel_residual": true})",
     {{"self_attn.q_layernorm", "attn_q_norm"}, {"self_attn.k_layernorm", "attn_k_norm"}},
     [](Tensors& all) {
       stack_head_norms(all, {3, 1});
     }},
    {"lfm2_bf16", "lfm2", R"({"conv_bias": false, "rope_theta": 10000.0, "norm_eps": 1e-5})",
     R"({"attention.head_count_kv": [0, 1, 0], "shortconv.l_cache": 4, "vocab_size": 101})", kLfm2Names},
    {"lfm2_moe_f16", "lfm2moe", R"({"routed_scaling_factor": 1.0, "rope_theta": 10000.0, "norm_eps": 1e-5})",
     R"({"attention.head_count_kv": [0, 1, 0], "shortconv.l_cache": 3, "vocab_size": 101, "expert_count": 5,
           "expert_used_count": 2, "expert_feed_forward_length": 14, "leading_dense_block_count": 1,
           "expert_gating_func": 2})",
     kLfm2Names},
    {"deepseek_v2_bf16", "deepseek2", "{}",
     R"({"vocab_size": 91, "attention.kv_lora_rank": 37, "attention.head_count_kv": 1,
           "attention.key_length": 47, "attention.value_length": 37, "attention.key_length_mla": 32,
           "attention.value_length_mla": 18, "rope.dimension_count": 10, "leading_dense_block_count": 1,
           "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 14, "expert_shared_count": 2,
           "expert_weights_scale": 1.5, "expert_gating_func": 1, "expert_group_count": 3,
           "expert_group_used_count": 2})",
     kMlaNames, [](Tensors& all) { split_kv_b(all, 3, 22, 18); }},
    {"deepseek_v2_f32", "deepseek2", "{}",
     R"({"vocab_size": 91, "attention.kv_lora_rank": 37, "attention.head_count_kv": 3,
           "attention.key_length": 32, "attention.value_length": 18, "rope.dimension_count": 10,
           "leading_dense_block_count": 1, "expert_count": 6, "expert_used_count": 2,
           "expert_feed_forward_length": 14, "expert_shared_count": 2, "expert_weights_scale": 1.5,
           "expert_group_count": 3, "expert_group_used_count": 2})",
     kMlaNames},
    {"deepseek_v3_f32", "deepseek2",
     R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024,
           "mscale": 0.7, "mscale_all_dim": 0.7}})",
     R"({"vocab_size": 88, "attention.q_lora_rank": 32, "attention.kv_lora_rank": 64,
           "attention.head_count_kv": 1, "attention.key_length": 80, "attention.value_length": 64,
           "attention.key_length_mla": 48, "attention.value_length_mla": 16, "rope.dimension_count": 16,
           "leading_dense_block_count": 1, "expert_count": 8, "expert_used_count": 3,
           "expert_feed_forward_length": 32, "expert_shared_count": 1, "expert_weights_scale": 2.5,
           "expert_weights_norm": true, "expert_group_count": 4, "expert_group_used_count": 2,
           "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
           "rope.scaling.original_context_length": 1024, "rope.scaling.yarn_log_multiplier": 0.07})",
     kMlaNames, [](Tensors& all) { split_kv_b(all, 4, 32, 16); }},
    {"glm4_moe_lite_f16", "deepseek2", R"({"attention_bias": false, "moe_layer_freq": 1})",
     R"({"vocab_size": 70, "attention.q_lora_rank": 12, "attention.kv_lora_rank": 20,
           "attention.head_count_kv": 1, "attention.key_length": 26, "attention.value_length": 20,
           "attention.key_length_mla": 20, "attention.value_length_mla": 9, "rope.dimension_count": 6,
           "leading_dense_block_count": 1, "expert_count": 5, "expert_used_count": 2,
           "expert_feed_forward_length": 10, "expert_shared_count": 1, "expert_weights_norm": true,
           "expert_weights_scale": 1.0})",
     kMlaNames, [](Tensors& all) { split_kv_b(all, 2, 14, 9); }},
    {"deepseek_v32_f32", "deepseek32",
     R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024,
           "mscale": 1.0, "mscale_all_dim": 1.0}, "num_nextn_predict_layers": 1})",
     R"({"block_count": 3, "nextn_predict_layers": 1, "vocab_size": 88, "attention.q_lora_rank": 20,
           "attention.kv_lora_rank": 24, "attention.head_count_kv": 1, "attention.key_length": 32,
           "attention.value_length": 24, "attention.key_length_mla": 20, "attention.value_length_mla": 14,
           "rope.dimension_count": 8, "leading_dense_block_count": 1, "expert_count": 4, "expert_used_count": 2,
           "expert_feed_forward_length": 12, "expert_shared_count": 1, "expert_weights_scale": 2.5,
           "expert_weights_norm": true, "expert_group_count": 1, "expert_group_used_count": 1,
           "expert_gating_func": 2, "attention.indexer.head_count": 5, "attention.indexer.key_length": 22,
           "attention.indexer.top_k": 50, "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0,
           "rope.scaling.original_context_length": 1024, "rope.scaling.yarn_log_multiplier": 0.1})",
     kMlaNames,
     [](Tensors& all) {
       split_kv_b(all, 3, 12, 14);
       all["model.layers.2.input_layernorm.weight"] =
           f32({40}, std::vector<float>(40, 1.0f));  // guesses ahead
     }},
    {"youtu_bf16", "deepseek2", R"({"rope_interleave": true})",
     R"({"vocab_size": 70, "attention.q_lora_rank": 12, "attention.kv_lora_rank": 24,
           "attention.head_count_kv": 1, "attention.key_length": 32, "attention.value_length": 24,
           "attention.key_length_mla": 24, "attention.value_length_mla": 16, "rope.dimension_count": 8,
           "leading_dense_block_count": 2, "expert_feed_forward_length": 36, "expert_shared_count": 0})",
     kMlaNames, [](Tensors& all) { split_kv_b(all, 5, 16, 16); }},
    {"llama4_bf16",
     "llama4",
     R"({"attention_chunk_size": 8192, "no_rope_layers": null, "floor_scale": 8192, "attn_scale": 0.1,
           "rope_theta": 10000.0})",
     R"({"vocab_size": 101, "feed_forward_length": 37, "expert_feed_forward_length": 41, "expert_count": 5,
           "expert_used_count": 2, "interleave_moe_layer_step": 2, "rope.dimension_count": 20})",
     {{"feed_forward.gate_proj", "ffn_gate"},
      {"feed_forward.up_proj", "ffn_up"},
      {"feed_forward.down_proj", "ffn_down"},
      {"feed_forward.router", "ffn_gate_inp"},
      {"feed_forward.experts.gate_proj", "ffn_gate_exps"},
      {"feed_forward.experts.up_proj", "ffn_up_exps"},
      {"feed_forward.experts.down_proj", "ffn_down_exps"},
      {"feed_forward.shared_expert.gate_proj", "ffn_gate_shexp"},
      {"feed_forward.shared_expert.up_proj", "ffn_up_shexp"},
      {"feed_forward.shared_expert.down_proj", "ffn_down_shexp"}}},
    {"mamba2_bf16", "mamba2",
     R"({"n_groups": 1, "use_bias": false, "layer_norm_epsilon": 1e-5, "rms_norm_eps": null})",
     R"({"attention.head_count": 0, "attention.head_count_kv": null, "attention.key_length": null,
           "attention.value_length": null, "rope.freq_base": null, "feed_forward_length": 0,
           "context_length": 1048576, "ssm.conv_kernel": 3, "ssm.inner_size": 80, "ssm.state_size": 9,
           "ssm.time_step_rank": 4, "ssm.group_count": 1})",
     with_mamba2(
         "mixer",
         {{"backbone.embeddings", "token_embd"}, {"backbone.norm_f", "output_norm"}, {"norm", "attn_norm"}}),
     [](Tensors& all) { change_mamba2(all, 1); }, false},
    {"falcon_h1_f32", "falcon-h1",
     R"({"attention_in_multiplier": 1.0, "attention_out_multiplier": 1.0, "key_multiplier": 1.0,
           "lm_head_multiplier": 1.0, "embedding_multiplier": 1.0, "ssm_in_multiplier": 1.0,
           "mlp_multipliers": [1, 1], "ssm_multipliers": [1, 1, 1, 1, 1], "ssm_out_multiplier": 1.0})",
     R"({"vocab_size": 101, "ssm.conv_kernel": 4, "ssm.inner_size": 66, "ssm.state_size": 7,
           "ssm.time_step_rank": 6, "ssm.group_count": 3})",
     with_mamba2("mamba", {{"model.final_layernorm", "output_norm"},
                           {"pre_ff_layernorm", "ffn_norm"},
                           {"feed_forward.gate_proj", "ffn_gate"},
                           {"feed_forward.up_proj", "ffn_up"},
                           {"feed_forward.down_proj", "ffn_down"}}),
     [](Tensors& all) { change_mamba2(all, 3); }, false},
    {"nemotron_h_bf16", "nemotron_h",
     R"({"use_bias": false, "mlp_bias": false, "layer_norm_epsilon": 1e-5, "rms_norm_eps": null})",
     R"({"vocab_size": 101, "feed_forward_length": [0, 0, 41, 0, 0], "attention.head_count_kv": [0, 1, 0, 0, 0],
           "ssm.conv_kernel": 4, "ssm.inner_size": 84, "ssm.state_size": 11, "ssm.time_step_rank": 6,
           "ssm.group_count": 2, "rope.scaling.finetuned": false})",
     with_mamba2("mixer", {{"backbone.embeddings", "token_embd"},
                           {"backbone.norm_f", "output_norm"},
                           {"norm", "attn_norm"},
                           {"mixer.q_proj", "attn_q"},
                           {"mixer.k_proj", "attn_k"},
                           {"mixer.v_proj", "attn_v"},
                           {"mixer.o_proj", "attn_output"},
                           {"mixer.up_proj", "ffn_up"},
                           {"mixer.down_proj", "ffn_down"}}),
     [](Tensors& all) { change_mamba2(all, 2); }, false},
    {"nemotron_h_moe_f32", "nemotron_h_moe",
     R"({"use_bias": false, "mlp_bias": false, "layer_norm_epsilon": 1e-5, "rms_norm_eps": null})",
     R"({"vocab_size": 101, "block_count": 5, "nextn_predict_layers": 1, "feed_forward_length": [0, 13, 0, 13, 13],
           "attention.head_count_kv": [0, 0, 1, 0, 1], "attention.layer_norm_epsilon": 1e-5,
           "ssm.conv_kernel": 4, "ssm.inner_size": 84, "ssm.state_size": 11, "ssm.time_step_rank": 6,
           "ssm.group_count": 2, "rope.scaling.finetuned": false, "expert_count": 6, "expert_used_count": 3,
           "expert_feed_forward_length": 13, "expert_shared_feed_forward_length": 19, "expert_shared_count": 1,
           "expert_weights_norm": true, "expert_weights_scale": 2.5, "expert_group_count": 3,
           "expert_group_used_count": 2, "moe_latent_size": 17})",
     with_mamba2("mixer", {{"backbone.embeddings", "token_embd"},
                           {"backbone.norm_f", "output_norm"},
                           {"norm", "attn_norm"},
                           {"mixer.q_proj", "attn_q"},
                           {"mixer.k_proj", "attn_k"},
                           {"mixer.v_proj", "attn_v"},
                           {"mixer.o_proj", "attn_output"},
                           {"mixer.gate", "ffn_gate_inp"},
                           {"mixer.gate.e_score_correction_bias", "exp_probs_b.bias"},
                           {"mixer.shared_experts.up_proj", "ffn_up_shexp"},
                           {"mixer.shared_experts.down_proj", "ffn_down_shexp"},
                           {"mixer.fc1_latent_proj", "ffn_latent_down"},
                           {"mixer.fc2_latent_proj", "ffn_latent_up"}}),
     [](Tensors& all) {
       change_mamba2(all, 2);
       all["backbone.layers.4.norm.weight"] = f32({48}, std::vector<float>(48, 1.0f));  // guesses ahead
     },
     false},
    {"granitemoehybrid_bf16", "granitehybrid", R"({"mamba_expand": 2})",
     R"({"vocab_size": 101, "attention.head_count_kv": [0, 1, 0], "expert_count": 5, "expert_used_count": 2,
           "expert_shared_feed_forward_length": 19, "attention.scale": 0.2, "embedding_scale": 3.0,
           "residual_scale": 0.4, "logit_scale": 2.0, "ssm.conv_kernel": 4, "ssm.inner_size": 96,
           "ssm.state_size": 8, "ssm.time_step_rank": 4, "ssm.group_count": 1, "rope.scaling.finetuned": false})",
     with_mamba2("mamba", {{"block_sparse_moe.router.layer", "ffn_gate_inp"},
                           {"shared_mlp.gate", "ffn_gate_shexp.weight"},
                           {"shared_mlp.up", "ffn_up_shexp.weight"},
                           {"shared_mlp.output_linear", "ffn_down_shexp"}}),
     [](Tensors& all) {
       change_mamba2(all, 1);
       split_halves(all, ".shared_mlp.input_linear.weight", ".shared_mlp.gate", ".shared_mlp.up");
       pair_wise_qk(all, 3, 1);
     },
     false},
    {"granitehybrid_f32", "granitehybrid",
     R"({"mamba_n_groups": 1, "position_embedding_type": "nope", "intermediate_size": 29})",
     R"({"vocab_size": 101, "attention.head_count_kv": [0, 1], "ssm.conv_kernel": 4, "ssm.inner_size": 96,
           "ssm.state_size": 8, "ssm.time_step_rank": 6, "ssm.group_count": 1, "rope.scaling.finetuned": false})",
     with_mamba2("mamba", {{"shared_mlp.gate", "ffn_gate.weight"},
                           {"shared_mlp.up", "ffn_up.weight"},
                           {"shared_mlp.output_linear", "ffn_down"}}),
     [](Tensors& all) {
       change_mamba2(all, 1);
       split_halves(all, ".shared_mlp.input_linear.weight", ".shared_mlp.gate", ".shared_mlp.up");
       pair_wise_qk(all, 3, 1);
     },
     false},
    {"gemma4_bf16", "gemma4",
     R"({"rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
           "rope_theta": 1000000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
     R"({"attention.key_length": 40, "attention.value_length": 40, "attention.key_length_swa": 24,
           "attention.value_length_swa": 24, "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0,
           "rope.dimension_count": 40, "rope.dimension_count_swa": 24, "attention.head_count_kv": [2, 1, 2, 1],
           "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0, "attention.sliding_window": 33,
           "attention.sliding_window_pattern": [true, false, true, false], "final_logit_softcapping": 15.0})",
     kGemma4Names, [](Tensors& all) { add_gemma4_rope(all, 5, 15); }},
    {"gemma4_e_f16", "gemma4",
     R"({"rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
           "rope_theta": 1000000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
     R"({"attention.key_length": 40, "attention.value_length": 40, "attention.key_length_swa": 24,
           "attention.value_length_swa": 24, "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0,
           "rope.dimension_count": 40, "rope.dimension_count_swa": 24, "feed_forward_length": [41, 41, 82, 82],
           "attention.shared_kv_layers": 2, "embedding_length_per_layer_input": 7, "attention.sliding_window": 50,
           "attention.sliding_window_pattern": [true, false, true, false]})",
     kGemma4Names, [](Tensors& all) { add_gemma4_rope(all, 5, 15); }},
    {"gemma4_moe_bf16", "gemma4",
     R"({"rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
           "rope_theta": 1000000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
     R"({"attention.key_length": 40, "attention.value_length": 40, "attention.key_length_swa": 24,
           "attention.value_length_swa": 24, "rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0,
           "rope.dimension_count": 40, "rope.dimension_count_swa": 24, "attention.head_count_kv": [2, 2],
           "attention.shared_kv_layers": 0, "embedding_length_per_layer_input": 0, "attention.sliding_window": 33,
           "attention.sliding_window_pattern": [true, false], "expert_count": 6, "expert_used_count": 3,
           "expert_feed_forward_length": 19})",
     kGemma4Names,
     [](Tensors& all) {
       add_gemma4_rope(all, 5, 15);
       fuse_gate_up(all);
     }},
    {"gemma3n_bf16", "gemma3n", R"({"rope_theta": 1000000.0, "rope_local_base_freq": 10000.0})",
     R"({"rope.freq_base": 1000000.0, "rope.freq_base_swa": 10000.0, "altup.active_idx": 0,
           "altup.num_inputs": 3, "attention.shared_kv_layers": 2, "attention.sliding_window": 33,
           "attention.sliding_window_pattern": [true, false, true, false],
           "embedding_length_per_layer_input": 7, "feed_forward_length": [41, 41, 30, 30],
           "activation_sparsity_scale": [1.2815515655446008, null, null, null]})",
     kGemma3nNames, stack_altup, false},
    {"jamba_bf16",
     "jamba",
     R"({"mamba_proj_bias": false})",
     R"({"rope.freq_base": null, "attention.key_length": null, "attention.value_length": null,
           "attention.head_count_kv": [0, 1, 0, 0], "expert_count": 3, "expert_used_count": 2,
           "ssm.conv_kernel": 4, "ssm.inner_size": 90, "ssm.state_size": 6, "ssm.time_step_rank": 5})",
     {{"model.final_layernorm", "output_norm"},
      {"pre_ff_layernorm", "ffn_norm"},
      {"mamba.in_proj", "ssm_in"},
      {"mamba.conv1d", "ssm_conv1d"},
      {"mamba.x_proj", "ssm_x"},
      {"mamba.dt_proj", "ssm_dt"},
      {"mamba.dt_layernorm", "ssm_dt_norm"},
      {"mamba.b_layernorm", "ssm_b_norm"},
      {"mamba.c_layernorm", "ssm_c_norm"},
      {"mamba.A_log", "ssm_a"},
      {"mamba.D", "ssm_d"},
      {"mamba.out_proj", "ssm_out"},
      {"feed_forward.gate_proj", "ffn_gate"},
      {"feed_forward.up_proj", "ffn_up"},
      {"feed_forward.down_proj", "ffn_down"},
      {"feed_forward.router", "ffn_gate_inp"}},
     [](Tensors& all) {
       each(all, ".A_log", [](const std::string& p, const Stored& t, Tensors& out) {
         out[p + ".A_log"] = minus_exp(t, t.shape);
       });
     },
     false},
    {"qwen3_next_bf16", "qwen3next", R"({"mlp_only_layers": [], "full_attention_interval": 2})",
     R"({"vocab_size": 101, "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 14,
           "expert_shared_feed_forward_length": 19, "rope.dimension_count": 6, "ssm.conv_kernel": 4,
           "ssm.state_size": 10, "ssm.group_count": 2, "ssm.time_step_rank": 6, "ssm.inner_size": 120,
           "full_attention_interval": 2, "attention.recurrent_layers": [true, false, true]})",
     with_delta({}),
     [](Tensors& all) {
       change_delta(all);
       split_qkvz(all, 2, 10, 60);
     },
     false},
    {"qwen3_5_moe_f32", "qwen35moe", R"({"linear_num_key_heads": 2, "linear_num_value_heads": 6})",
     R"({"vocab_size": 101, "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 14,
           "expert_shared_feed_forward_length": 19, "rope.dimension_count": 4, "ssm.conv_kernel": 3,
           "ssm.state_size": 9, "ssm.group_count": 2, "ssm.time_step_rank": 6, "ssm.inner_size": 102,
           "full_attention_interval": 2, "rope.dimension_sections": [11, 11, 10, 0]})",
     with_delta({}),
     [](Tensors& all) {
       tile_value_heads(all, 2, 6, 36);
       change_delta(all);
     },
     false},
    {"qwen3_5_dense_f32", "qwen35", R"({"num_experts": null, "moe_intermediate_size": null,
           "shared_expert_intermediate_size": null, "num_experts_per_tok": null, "intermediate_size": 41})",
     R"({"vocab_size": 101, "rope.dimension_count": 4, "ssm.conv_kernel": 3, "ssm.state_size": 9,
           "ssm.group_count": 1, "ssm.time_step_rank": 3, "ssm.inner_size": 51, "full_attention_interval": 2,
           "rope.dimension_sections": [11, 11, 10, 0]})",
     with_delta({}), change_delta, false},
};

/// The checkpoint as a GGUF file.
std::unique_ptr<FakeGguf> as_gguf(const Case& c, const Checkpoint& from) {
  const auto model = must(parse_model(from.config(), ConfigPolicy::kStrict));
  Tensors all = tensors_of(from);
  c.rewrite(all);
  return gguf_file(all, c.own, gguf_metadata(c.arch, model->info(), *parse_json(c.metadata)));
}

/// Formats in which the bytes of a row are its numbers, so that rewriting can be told from rounding.
FamilyModel model_of(const Case& c) {
  const std::string wanted = c.model;
  for (FamilyModel model : family_models()) {
    const bool as_f32 = wanted == model.family + "_f32" || wanted == "qwen3_5_dense_f32";
    const bool same_family = wanted.starts_with(model.family) && model.format.kind != FormatKind::kMxfp4;
    if (model.name != wanted && !(as_f32 && same_family)) continue;
    if (wanted == "qwen3_5_dense_f32" && model.name != "qwen3_5_moe_f32") continue;
    if (model.name != wanted) model.format = {FormatKind::kF32};
    Json config = must(parse_json(model.config));
    config.set("rms_norm_eps", Json(1e-5));
    const Json changes = *parse_json(c.changes);
    Json kept = Json::object();
    for (const auto& [key, value] : changes.members()) config.set(key, value);
    for (const auto& [key, value] : config.members()) {
      const Json* change = changes.find(key);
      if (change == nullptr || !change->is_null()) kept.set(key, value);  // null: not there
    }
    model.config = kept.dump();
    return model;
  }
  check_failed(__FILE__, __LINE__, "model_of", "no model " + wanted);
}

class GgufMixers : public testing::TestWithParam<Case> {};

TEST_P(GgufMixers, GiveWhatTheyGiveUnderTheirOwnNames) {
  const Case& c = GetParam();
  const auto checkpoint = make_checkpoint(model_of(c));
  auto imported = import_gguf(as_gguf(c, *checkpoint), ConfigPolicy::kStrict);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  const Rows expected = logits_of(*checkpoint), got = logits_of(**imported);
  if (c.exact) {
    EXPECT_EQ(first_different_row(expected, got), -1);
    return;
  }
  ASSERT_EQ(expected.size(), got.size());
  for (size_t row = 0; row < got.size(); ++row) {
    for (size_t i = 0; i < got[row].size(); ++i)
      ASSERT_NEAR(got[row][i], expected[row][i], 2e-4f * (1.0f + std::abs(expected[row][i])))
          << "row " << row << " column " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GgufMixers, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& param) { return param.param.model; });

}  // namespace
}  // namespace skua::test
