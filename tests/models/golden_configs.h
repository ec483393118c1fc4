// The configs of all golden cases, and which of their keys no family needs.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"

namespace skua {

struct GoldenConfig {
  std::string name;
  Json config;
};
inline void PrintTo(const GoldenConfig& c, std::ostream* out) { *out << c.name; }

inline std::vector<GoldenConfig> golden_configs() {
  std::vector<GoldenConfig> out;
  for (const auto& entry : std::filesystem::directory_iterator(SKUA_TEST_DATA "/models/golden")) {
    std::ifstream file(entry.path() / "config.json");
    if (!file) continue;
    std::stringstream text;
    text << file.rdbuf();
    auto config = parse_json(text.str());
    SKUA_CHECK(config.ok());
    out.push_back({entry.path().filename().string(), std::move(*config)});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

/// Keys that have no say in what a token's logits are, in any family: who made the file, how it was trained,
/// how text is generated from it, how another program computes the same, what guesses further tokens ahead.
inline const std::set<std::string> kNoSay = {"architectures",
                                             "transformers_version",
                                             "dtype",
                                             "torch_dtype",
                                             "use_cache",
                                             "initializer_range",
                                             "embedding_initializer_range",
                                             "init_std",
                                             "pad_token_id",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "eod_token_id",
                                             "sep_token_id",
                                             "attention_dropout",
                                             "hidden_dropout",
                                             "residual_dropout",
                                             "embedding_dropout",
                                             "classifier_dropout",
                                             "dropout",
                                             "layerdrop",
                                             "attn_pdrop",
                                             "resid_pdrop",
                                             "embd_pdrop",
                                             "altup_coef_clip",
                                             "output_router_logits",
                                             "router_aux_loss_coef",
                                             "router_jitter_noise",
                                             "pretraining_tp",
                                             "max_position_embeddings",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "summary_type",
                                             "summary_use_proj",
                                             "reorder_and_upcast_attn",
                                             "num_logits_to_keep",
                                             "use_mamba_kernels",
                                             "use_mambapy",
                                             "use_associative_scan",
                                             "mamba_ssm_cache_dtype",
                                             "chunk_size",
                                             "mamba_chunk_size",
                                             "residual_in_fp32",
                                             "rescale_prenorm_residual",
                                             "time_step_floor",
                                             "time_step_max",
                                             "num_nextn_predict_layers",
                                             "mtp_layers_block_type",
                                             "moe_shared_expert_overlap"};

}  // namespace skua
