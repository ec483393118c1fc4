// Translation tables from GGUF to transformers names. Sources: the GGUF specification's key list and the
// tensor name map of gguf-py (facts). q and k rows of some architectures are stored permuted for pair-wise
// rotation: row (head, half h, i) of the original lies at (head, i, h); a row map undoes it without moving
// bytes.
#include "models/gguf_import.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "models/config_reader.h"
#include "models/families.h"
#include "models/gguf_values.h"
#include "models/rope_scaling.h"

namespace skua {
namespace {

constexpr GgufName kGlobalTensors[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

constexpr GgufName kLayerTensors[] = {
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"}, {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},           {"ffn_down", "mlp.down_proj"},
};

// Most families with experts; the others name theirs themselves.
constexpr GgufName kExpertTensors[] = {
    {"ffn_gate_inp", "mlp.gate"},
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
};

constexpr GgufName kExpertKeys[] = {
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"expert_group_count", "n_group"},
    {"expert_group_used_count", "topk_group"},
    {"expert_gating_func", "scoring_func"},
};

// Where the four norms of a layer go depends on whether the layer has norms after its blocks too.
constexpr GgufName kTwoNorms[] = {{"ffn_norm", "post_attention_layernorm"}};
constexpr GgufName kFourNorms[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

constexpr GgufName kConfigKeys[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.sliding_window", "sliding_window"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
};

std::string_view lookup(std::span<const GgufName> table, std::string_view name) {
  for (const GgufName& row : table) {
    if (row.gguf == name) return row.transformers;
  }
  return {};
}

/// Whether the family says itself what the key is.
bool names_key(const Family& family, std::string_view key) {
  return std::any_of(family.gguf_names.keys.begin(), family.gguf_names.keys.end(),
                     [&](const GgufName& own) { return own.gguf == key; });
}

/// Layers, without those that only guess ahead.
int64_t layer_count(const Json& config) {
  const Json* value = config.find("num_hidden_layers");
  return value != nullptr && value->is_int() ? value->as_int() : 0;
}

/// What decides how a file's tensors are called.
struct Translation {
  std::span<const GgufName> own;  // of the family
  std::string_view layers;
  bool four_norms = false;
  int64_t n_layers = 0;

  std::string_view part(std::string_view name) const {
    std::string_view found = lookup(own, name);
    for (const std::span<const GgufName> table : {std::span<const GgufName>(kLayerTensors), {kExpertTensors}})
      if (found.empty()) found = lookup(table, name);
    return !found.empty() ? found : four_norms ? lookup(kFourNorms, name) : lookup(kTwoNorms, name);
  }
};

/// ".weight" or ".bias" at the end of a name, or nothing.
std::string_view suffix_of(std::string_view name) {
  for (const std::string_view suffix : {".weight", ".bias"})
    if (name.ends_with(suffix)) return suffix;
  return {};
}

/// "blk.3.attn_q.weight" -> 3 and "attn_q.weight"; nothing if it is no tensor of a layer.
struct LayerName {
  int64_t layer = -1;
  std::string_view part;
};
LayerName layer_name(std::string_view name) {
  if (!name.starts_with("blk.")) return {};
  name.remove_prefix(4);
  LayerName out;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), out.layer);
  if (read.ec != std::errc() || out.layer < 0 || read.ptr == name.data() + name.size() || *read.ptr != '.')
    return {};
  out.part = name.substr(static_cast<size_t>(read.ptr - name.data()) + 1);
  return out;
}

/// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; empty if there is no translation. Names
/// of layers behind the last one stay.
std::string translate(std::string_view name, const Translation& names) {
  const std::string_view suffix = suffix_of(name);
  const auto [layer, part] = layer_name(name);
  if (layer < 0) {
    const std::string_view stem = name.substr(0, name.size() - suffix.size());
    std::string_view found = lookup(names.own, stem);
    if (found.empty()) found = lookup(kGlobalTensors, stem);
    return found.empty() || suffix.empty() ? std::string() : std::string(found) + std::string(suffix);
  }
  const std::string prefix = std::string(names.layers) + std::to_string(layer) + ".";
  if (layer >= names.n_layers) return prefix + std::string(part);
  std::string_view whole = lookup(names.own, part);
  if (whole.empty()) whole = lookup(kExpertTensors, part);
  if (!whole.empty()) return prefix + std::string(whole);
  if (suffix.empty()) return {};
  const std::string_view found = names.part(part.substr(0, part.size() - suffix.size()));
  return found.empty() ? std::string() : prefix + std::string(found) + std::string(suffix);
}

/// Rows of an interleaved projection in transformers order.
std::vector<uint32_t> deinterleave(int64_t rows, int64_t n_heads) {
  std::vector<uint32_t> map(static_cast<size_t>(rows));
  const int64_t head_dim = rows / n_heads;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t head = row / head_dim;
    const int64_t half = row % head_dim / (head_dim / 2);
    const int64_t i = row % (head_dim / 2);
    map[static_cast<size_t>(row)] = static_cast<uint32_t>(head * head_dim + 2 * i + half);
  }
  return map;
}

class ImportedGguf final : public Checkpoint {
 public:
  ImportedGguf(std::unique_ptr<Checkpoint> file, Json config, std::vector<TensorEntry> entries,
               std::map<std::string, std::string, std::less<>> stored_names,
               std::map<std::string, ChangedTensor, std::less<>> changed, GgufRows rows)
      : file_(std::move(file)),
        config_(std::move(config)),
        entries_(std::move(entries)),
        stored_names_(std::move(stored_names)),
        changed_(std::move(changed)),
        rows_(rows) {}

  CheckpointKind kind() const override { return CheckpointKind::kGguf; }
  std::string source() const override { return file_->source(); }
  const Json& config() const override { return config_; }
  std::span<const TensorEntry> tensors() const override { return entries_; }

  Result<EncodedMatrix> matrix(std::string_view name) const override {
    if (const auto changed = changed_.find(name); changed != changed_.end()) return changed->second.matrix();
    const auto stored = stored_names_.find(name);
    if (stored == stored_names_.end()) return not_found("[gguf] no tensor " + std::string(name));
    SKUA_ASSIGN_OR_RETURN(EncodedMatrix out, file_->matrix(stored->second));
    const bool q = name.find(".q_proj.weight") != std::string_view::npos;
    const bool k = name.find(".k_proj.weight") != std::string_view::npos;
    if (rows_ != GgufRows::kInterleavedQk || (!q && !k)) return out;
    const Json* heads = config_.find(q ? "num_attention_heads" : "num_key_value_heads");
    if (heads == nullptr) heads = config_.find("num_attention_heads");
    if (heads == nullptr || !heads->is_int() || heads->as_int() < 1 ||
        out.rows % (2 * heads->as_int()) != 0) {
      return data_loss("[gguf] " + stored->second + " has " + std::to_string(out.rows) +
                       " rows, which the heads of the file do not divide");
    }
    out.row_map = deinterleave(out.rows, heads->as_int());
    return out;
  }

  void release(std::string_view name) const override {
    const auto stored = stored_names_.find(name);
    if (stored != stored_names_.end()) file_->release(stored->second);
  }

  Result<std::string> side_file(std::string_view name) const override { return file_->side_file(name); }

 private:
  std::unique_ptr<Checkpoint> file_;
  Json config_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string, std::less<>> stored_names_;
  std::map<std::string, ChangedTensor, std::less<>> changed_;
  GgufRows rows_;
};

/// Some families share an architecture with one that has experts; expert_count tells them apart.
Result<const Family*> family_of(const Checkpoint& file) {
  const Json& metadata = file.config();
  const Json* arch = metadata.find("general.architecture");
  if (arch == nullptr || !arch->is_string()) {
    return invalid_argument("[gguf] general.architecture must be a string, got " +
                            (arch == nullptr ? "nothing" : arch->dump().substr(0, 40)));
  }
  const Json* experts = metadata.find(arch->as_string() + ".expert_count");
  const bool has_experts = experts != nullptr && *experts != Json(0);
  const Family* other = nullptr;
  std::set<std::string_view> names;
  for (const Family* family : families()) {
    if (family->gguf_arch.empty()) continue;
    names.insert(family->gguf_arch);
    if (!family->gguf_names.also.empty()) names.insert(family->gguf_names.also);
    if (family->gguf_arch != arch->as_string() && family->gguf_names.also != arch->as_string()) continue;
    if (family->gguf_names.fits != nullptr && !family->gguf_names.fits(file)) continue;
    if (has_experts == !lookup(family->gguf_names.keys, "expert_count").empty()) return family;
    other = family;
  }
  if (other != nullptr) return other;
  std::string known;
  for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
  return unsupported("[gguf] architecture \"" + arch->as_string() + "\" is not known; known are " + known);
}

/// rope.scaling.* keys and the rope_freqs tensor as transformers' rope_scaling.
Status add_rope(const Checkpoint& file, const std::string& arch, std::set<std::string>& seen, Json& config) {
  const Json& metadata = file.config();
  const std::string prefix = arch + ".rope.scaling.";
  for (const char* key : {"type", "factor", "original_context_length", "finetuned"})
    seen.insert(prefix + key);
  constexpr GgufName kYarn[] = {{"original_context_length", "original_max_position_embeddings"},
                                {"yarn_beta_fast", "beta_fast"},
                                {"yarn_beta_slow", "beta_slow"},
                                {"yarn_attn_factor", "attention_factor"}};
  const Json* type = metadata.find(prefix + "type");
  const Json* factor = metadata.find(prefix + "factor");
  Json scaling = Json::object();
  if (type != nullptr && *type != Json("none")) {
    scaling.set("rope_type", *type);
    if (factor != nullptr) scaling.set("factor", *factor);
    for (const GgufName& key : kYarn) {
      if (*type != Json("yarn")) break;
      const std::string full = prefix + std::string(key.gguf);
      seen.insert(full);
      if (const Json* value = metadata.find(full)) scaling.set(std::string(key.transformers), *value);
    }
  } else if (type == nullptr && factor != nullptr && factor->is_number() && factor->as_double() != 1.0) {
    scaling.set("rope_type", Json("linear"));
    scaling.set("factor", *factor);
  }
  if (file.find("rope_freqs.weight") != nullptr) {
    if (scaling.size() != 0) return unsupported("[gguf] both rope_freqs and rope scaling are given");
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix m, file.matrix("rope_freqs.weight"));
    if (m.rows != 1) return data_loss("[gguf] rope_freqs.weight must be a vector");
    std::vector<float> values(static_cast<size_t>(m.cols));
    decode_row(m, 0, 0, m.cols, values.data());
    Json factors = Json::array();
    for (float value : values) factors.push_back(Json(static_cast<double>(value)));
    scaling.set("rope_type", Json("factors"));
    scaling.set("factors", std::move(factors));
  }
  if (scaling.size() != 0) config.set("rope_scaling", std::move(scaling));
  return ok_status();
}

void add_token_ids(const Json& metadata, Json& config) {
  constexpr GgufName kIds[] = {{"bos", "bos_token_id"}, {"eos", "eos_token_id"}};
  for (const GgufName& id : kIds) {
    const Json* value = metadata.find("tokenizer.ggml." + std::string(id.gguf) + "_token_id");
    if (value != nullptr) config.set(std::string(id.transformers), *value);
  }
}

/// A value as the config spells it.
Result<Json> converted(std::string_view key, const Json& value, const Json& config) {
  if (key == "expert_gating_func") {
    if (value == Json(1)) return Json("softmax");
    if (value == Json(2)) return Json("sigmoid");
    return unsupported("[gguf] expert_gating_func is " + value.dump().substr(0, 40) +
                       "; known are 1 (softmax), 2 (sigmoid)");
  }
  if (key == "attention.sliding_window_pattern" && value.is_array()) {
    Json types = Json::array();
    for (const Json& slides : value.items()) {
      if (static_cast<int64_t>(types.size()) == layer_count(config)) break;
      types.push_back(Json(slides == Json(true) ? "sliding_attention" : "full_attention"));
    }
    return types;
  }
  if (key == "rope.dimension_count") {
    const Json* head_dim = config.find("head_dim");
    const auto size = [](const Json* n) { return n != nullptr && n->is_int() ? n->as_int() : 0; };
    if (size(head_dim) < 1 || size(head_dim) > 65536 || size(&value) < 1 || size(&value) > size(head_dim)) {
      return invalid_argument("[gguf] rope.dimension_count " + value.dump().substr(0, 40) +
                              " must be from 1 to attention.key_length");
    }
    return Json(
        rotary_fraction(static_cast<int32_t>(value.as_int()), static_cast<int32_t>(head_dim->as_int())));
  }
  return value;
}

/// The keys and flags that the family names; nextn_predict_layers are taken off the layers first.
Status add_family_keys(const Checkpoint& file, const Family& family, std::set<std::string>& seen,
                       Json& config) {
  const Json& metadata = file.config();
  const std::string prefix = metadata.find("general.architecture")->as_string() + ".";
  const Json* more = metadata.find(prefix + "nextn_predict_layers");
  if (more != nullptr && more->is_int() && !lookup(family.gguf_names.keys, "nextn_predict_layers").empty())
    config.set("num_hidden_layers", Json(layer_count(config) - more->as_int()));
  std::vector<GgufName> keys(family.gguf_names.keys.begin(), family.gguf_names.keys.end());
  if (!lookup(keys, "expert_count").empty()) {
    for (const GgufName& key : kExpertKeys) {
      const auto same = [&](const GgufName& own) { return own.gguf == key.gguf; };
      if (std::none_of(keys.begin(), keys.end(), same)) keys.push_back(key);
    }
  }
  for (const GgufName& key : keys) {
    const std::string full = prefix + std::string(key.gguf);
    seen.insert(full);
    const Json* value = metadata.find(full);
    if (value == nullptr || key.transformers.empty()) continue;
    SKUA_ASSIGN_OR_RETURN(Json own, converted(key.gguf, *value, config));
    config.set(std::string(key.transformers), std::move(own));
  }
  for (const GgufName& flag : family.gguf_names.flags)
    config.set(std::string(flag.transformers), Json(file.find(flag.gguf) != nullptr));
  return ok_status();
}

/// Sizes that the config does not carry over must agree with those it does.
Status check_sizes(const Json& metadata, const Family& family, const Json& config) {
  const std::string arch = metadata.find("general.architecture")->as_string();
  const auto number = [](const Json* value) {
    return value != nullptr && value->kind() == Json::Kind::kInt ? value->as_int() : int64_t{0};
  };
  // Without these two nothing is said of the heads here: the family's reading of the config names what lacks.
  const int64_t n_heads = number(config.find("num_attention_heads"));
  const int64_t width = number(config.find("hidden_size"));
  int64_t head_dim = number(config.find("head_dim"));
  const bool knows_heads = head_dim != 0 || (width > 0 && n_heads > 0);
  if (head_dim == 0 && knows_heads) head_dim = width / n_heads;
  struct Check {
    const char* key;
    int64_t expected;
    bool known;
  };
  for (const Check& check : {Check{".rope.dimension_count", head_dim, knows_heads},
                             Check{".attention.value_length", head_dim, knows_heads},
                             Check{".vocab_size", number(config.find("vocab_size")), true}}) {
    const Json* value = metadata.find(arch + check.key);
    if (value == nullptr || !check.known || *value == Json(check.expected)) continue;
    if (names_key(family, check.key + 1)) continue;  // the family reads it
    return unsupported(
        "[gguf] " + arch + check.key + " is " + value->dump().substr(0, 40) + ", expected " +
        std::to_string(check.expected) +
        " as the other sizes of the file say; partial rotation and value heads of another size are not "
        "handled for this architecture");
  }
  return ok_status();
}

Result<Json> make_config(const Checkpoint& file, const Family& family, ConfigPolicy policy) {
  const Json& metadata = file.config();
  const std::string arch = metadata.find("general.architecture")->as_string();
  Json config = Json::object();
  config.set("model_type", Json(family.model_types[0]));
  config.set(std::string(kGgufConfig), Json(true));
  // Read elsewhere (vocabulary, rope) or only of interest to trainers.
  std::set<std::string> seen = {arch + ".vocab_size", arch + ".rope.dimension_count",
                                arch + ".attention.value_length"};
  for (const GgufName& key : kConfigKeys) {
    const std::string full = arch + "." + std::string(key.gguf);
    if (names_key(family, key.gguf)) continue;
    seen.insert(full);
    if (const Json* value = metadata.find(full)) config.set(std::string(key.transformers), *value);
  }
  SKUA_RETURN_IF_ERROR(add_rope(file, arch, seen, config));
  add_token_ids(metadata, config);
  const TensorEntry* embedding = file.find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return data_loss("[gguf] token_embd.weight is missing");
  config.set("vocab_size", Json(embedding->shape[0]));
  config.set("tie_word_embeddings", Json(file.find("output.weight") == nullptr));
  if (file.find("blk.0.attn_output.bias") != nullptr) config.set("attention_bias", Json(true));
  SKUA_RETURN_IF_ERROR(add_family_keys(file, family, seen, config));
  SKUA_RETURN_IF_ERROR(check_sizes(metadata, family, config));
  for (const auto& [key, value] : metadata.members()) {
    if (policy == ConfigPolicy::kAllowUnknown || !key.starts_with(arch + ".") || seen.contains(key)) continue;
    return unsupported("[gguf] metadata key " + key + " is not understood and may change the maths; pass " +
                       "--allow-unknown-config to run without it");
  }
  if (family.gguf_names.adjust != nullptr) SKUA_RETURN_IF_ERROR(family.gguf_names.adjust(file, config));
  if (family.adjust_gguf != nullptr) SKUA_RETURN_IF_ERROR(family.adjust_gguf(metadata, config));
  return config;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> import_gguf(std::unique_ptr<Checkpoint> file, ConfigPolicy policy) {
  if (file->kind() != CheckpointKind::kGguf) return file;
  SKUA_ASSIGN_OR_RETURN(const Family* family, family_of(*file));
  SKUA_ASSIGN_OR_RETURN(Json config, make_config(*file, *family, policy));
  const Translation names{family->gguf_names.tensors, family->gguf_names.layers,
                          file->find("blk.0.post_ffw_norm.weight") != nullptr, layer_count(config)};
  std::vector<TensorEntry> entries;
  std::map<std::string, std::string, std::less<>> stored_names;
  std::map<std::string, ChangedTensor, std::less<>> changed;
  for (const TensorEntry& entry : file->tensors()) {
    if (entry.name == "rope_freqs.weight") continue;  // read into the config
    TensorEntry renamed = entry;
    renamed.name = translate(entry.name, names);
    if (renamed.name.empty()) return unsupported("[gguf] tensor " + entry.name + " has no known meaning");
    if (const GgufChange* change = find_change(*family, layer_name(entry.name).part)) {
      SKUA_ASSIGN_OR_RETURN(ChangedTensor tensor, ChangedTensor::make(*file, entry, change->values));
      renamed.shape = tensor.shape();
      changed.emplace(renamed.name, std::move(tensor));
    }
    stored_names.emplace(renamed.name, entry.name);
    entries.push_back(std::move(renamed));
  }
  std::sort(entries.begin(), entries.end(),
            [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
  return std::unique_ptr<Checkpoint>(
      std::make_unique<ImportedGguf>(std::move(file), std::move(config), std::move(entries),
                                     std::move(stored_names), std::move(changed), family->gguf_rows));
}

}  // namespace skua
