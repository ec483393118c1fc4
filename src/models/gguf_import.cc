// Translation tables from GGUF to transformers names. Sources: the GGUF specification's key list and the
// tensor name map of gguf-py (facts). q and k rows of some architectures are stored permuted for pair-wise
// rotation: row (head, half h, i) of the original lies at (head, i, h); a row map undoes it without moving
// bytes.
#include "models/gguf_import.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "models/families.h"
#include "models/gguf_config.h"
#include "models/gguf_values.h"

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

// Where the four norms of a layer go depends on whether the layer has norms after its blocks too.
constexpr GgufName kTwoNorms[] = {{"ffn_norm", "post_attention_layernorm"}};
constexpr GgufName kFourNorms[] = {
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
};

/// What decides how a file's tensors are called.
struct Translation {
  std::span<const GgufName> own;  // of the family
  std::string_view layers;
  bool four_norms = false;
  int64_t n_layers = 0;

  std::string_view part(std::string_view name) const {
    std::string_view found = find_name(own, name);
    for (const std::span<const GgufName> table : {std::span<const GgufName>(kLayerTensors), {kExpertTensors}})
      if (found.empty()) found = find_name(table, name);
    return !found.empty() ? found : four_norms ? find_name(kFourNorms, name) : find_name(kTwoNorms, name);
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
    std::string_view found = find_name(names.own, stem);
    if (found.empty()) found = find_name(kGlobalTensors, stem);
    return found.empty() || suffix.empty() ? std::string() : std::string(found) + std::string(suffix);
  }
  const std::string prefix = std::string(names.layers) + std::to_string(layer) + ".";
  if (layer >= names.n_layers) return prefix + std::string(part);
  std::string_view whole = find_name(names.own, part);
  if (whole.empty()) whole = find_name(kExpertTensors, part);
  if (!whole.empty()) return prefix + std::string(whole);
  if (suffix.empty()) return {};
  const std::string_view found = names.part(part.substr(0, part.size() - suffix.size()));
  return found.empty() ? std::string() : prefix + std::string(found) + std::string(suffix);
}

/// Where the rows [first, first + n) of a projection, in transformers order, lie in the file: heads were
/// stored with their halves in turn.
std::vector<uint32_t> deinterleave(int64_t first, int64_t n, int64_t n_heads) {
  std::vector<uint32_t> map(static_cast<size_t>(n));
  const int64_t head_dim = n / n_heads;
  for (int64_t row = 0; row < n; ++row) {
    const int64_t head = row / head_dim;
    const int64_t half = row % head_dim / (head_dim / 2);
    const int64_t i = row % (head_dim / 2);
    map[static_cast<size_t>(row)] = static_cast<uint32_t>(first + head * head_dim + 2 * i + half);
  }
  return map;
}

/// Heads of q or of k, as the config says; 0 if it does not.
int64_t heads_of(const Json& config, char projection) {
  const Json* heads = config.find(projection == 'q' ? "num_attention_heads" : "num_key_value_heads");
  if (heads == nullptr) heads = config.find("num_attention_heads");
  return heads != nullptr && heads->is_int() ? heads->as_int() : 0;
}

/// The same for `n` rows of q or k, and whether they can be those.
Result<std::vector<uint32_t>> deinterleave(const std::string& stored, int64_t first, int64_t n,
                                           int64_t n_heads) {
  if (n_heads >= 1 && n % (2 * n_heads) == 0) return deinterleave(first, n, n_heads);
  return data_loss("[gguf] " + stored + " has " + std::to_string(n) +
                   " rows, which the heads of the file do not divide");
}

/// 'q' or 'k' if the tensor is the weight or the bias of that projection, else 0.
char interleaved(std::string_view name, std::string_view suffix) {
  for (const char projection : {'q', 'k'}) {
    const std::string end = std::string(".") + projection + "_proj" + std::string(suffix);
    if (name.ends_with(end)) return projection;
  }
  return 0;
}

/// A tensor of the file, and which of its rows, in which order; empty = all as they lie.
struct Source {
  std::string stored;
  std::vector<uint32_t> rows;
};

/// What a file's tensors are under transformers names.
struct Tensors {
  std::vector<TensorEntry> entries;
  std::map<std::string, Source, std::less<>> sources;
  std::map<std::string, ChangedTensor, std::less<>> changed;

  void add(TensorEntry entry, std::string name, std::vector<uint32_t> rows = {}) {
    sources.emplace(name, Source{entry.name, std::move(rows)});
    entry.name = std::move(name);
    entries.push_back(std::move(entry));
  }
  void add(TensorEntry entry, std::string name, ChangedTensor tensor) {
    entry.shape = tensor.shape();
    changed.emplace(name, std::move(tensor));
    add(std::move(entry), std::move(name));
  }
};

class ImportedGguf final : public Checkpoint {
 public:
  ImportedGguf(std::unique_ptr<Checkpoint> file, Json config, Tensors tensors, GgufRows rows)
      : file_(std::move(file)), config_(std::move(config)), tensors_(std::move(tensors)), rows_(rows) {}

  CheckpointKind kind() const override { return CheckpointKind::kGguf; }
  std::string source() const override { return file_->source(); }
  const Json& config() const override { return config_; }
  std::span<const TensorEntry> tensors() const override { return tensors_.entries; }

  Result<EncodedMatrix> matrix(std::string_view name) const override {
    const auto& changed = tensors_.changed;
    if (const auto own = changed.find(name); own != changed.end()) return own->second.matrix();
    const auto source = tensors_.sources.find(name);
    if (source == tensors_.sources.end()) return not_found("[gguf] no tensor " + std::string(name));
    const auto& [stored, rows] = source->second;
    SKUA_ASSIGN_OR_RETURN(EncodedMatrix out, file_->matrix(stored));
    if (!rows.empty()) {
      out.rows = static_cast<int64_t>(rows.size());
      out.row_map = rows;
    } else if (const char qk = interleaved(name, ".weight"); rows_ == GgufRows::kInterleavedQk && qk != 0) {
      SKUA_ASSIGN_OR_RETURN(out.row_map, deinterleave(stored, 0, out.rows, heads_of(config_, qk)));
    }
    return out;
  }

  void release(std::string_view name) const override {
    const auto source = tensors_.sources.find(name);
    if (source != tensors_.sources.end()) file_->release(source->second.stored);
  }

  Result<std::string> side_file(std::string_view name) const override { return file_->side_file(name); }

 private:
  std::unique_ptr<Checkpoint> file_;
  Json config_;
  Tensors tensors_;
  GgufRows rows_;
};

/// Translates the tensors of one file.
class Importer {
 public:
  Importer(const Checkpoint& file, const Family& family, const Json& config)
      : file_(file),
        family_(family),
        config_(config),
        names_{family.gguf_names.tensors, family.gguf_names.layers,
               file.find("blk.0.post_ffw_norm.weight") != nullptr, gguf_layer_count(config)} {}

  Result<Tensors> run() {
    for (const TensorEntry& entry : file_.tensors()) SKUA_RETURN_IF_ERROR(add(entry));
    for (const GgufName& list : family_.gguf_names.lists) SKUA_RETURN_IF_ERROR(add_numbers(list));
    std::sort(out_.entries.begin(), out_.entries.end(),
              [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
    return std::move(out_);
  }

 private:
  Status add(const TensorEntry& entry) {
    for (const char* name : {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"})
      if (entry.name == name) return ok_status();  // read into the config
    const auto [layer, part] = layer_name(entry.name);
    const bool fused = part == "attn_qkv.weight" || part == "attn_qkv.bias";
    if (fused && layer < names_.n_layers && find_name(names_.own, "attn_qkv").empty())
      return split_qkv(entry, layer);
    std::string name = translate(entry.name, names_);
    if (name.empty()) return unsupported("[gguf] tensor " + entry.name + " has no known meaning");
    const char qk = interleaved(name, ".bias");
    if (family_.gguf_rows == GgufRows::kInterleavedQk && qk != 0) {
      const int64_t n = entry.shape.back();
      SKUA_ASSIGN_OR_RETURN(const auto order, deinterleave(entry.name, 0, n, heads_of(config_, qk)));
      SKUA_ASSIGN_OR_RETURN(ChangedTensor tensor, ChangedTensor::pick(file_, entry, order));
      out_.add(entry, std::move(name), std::move(tensor));
    } else if (const GgufChange* change = find_change(family_, part)) {
      SKUA_ASSIGN_OR_RETURN(ChangedTensor tensor, ChangedTensor::make(file_, entry, change->values));
      out_.add(entry, std::move(name), std::move(tensor));
    } else {
      out_.add(entry, std::move(name));
    }
    return ok_status();
  }

  /// attn_qkv holds the rows of q, then of k, then of v: converters can fuse what the family keeps apart.
  Status split_qkv(const TensorEntry& entry, int64_t layer) {
    const std::string_view suffix = suffix_of(entry.name);
    const int64_t n_heads = heads_of(config_, 'q'), n_kv_heads = heads_of(config_, 'k');
    const int64_t rows = entry.shape.front();
    const int64_t n_all = n_heads + 2 * n_kv_heads;
    if (n_heads < 1 || n_kv_heads < 1 || rows % n_all != 0) {
      return data_loss("[gguf] " + entry.name + " has " + std::to_string(rows) +
                       " rows, which are not those of q, k and v as the heads of the file say");
    }
    const int64_t head_dim = rows / n_all;
    int64_t first = 0;
    for (const char part : {'q', 'k', 'v'}) {
      const int64_t heads = part == 'q' ? n_heads : n_kv_heads, n = heads * head_dim;
      const bool turned = family_.gguf_rows == GgufRows::kInterleavedQk && part != 'v';
      std::vector<uint32_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), static_cast<uint32_t>(first));
      if (turned) {
        SKUA_ASSIGN_OR_RETURN(order, deinterleave(entry.name, first, n, heads));
      }
      first += n;
      std::string name = translate(
          "blk." + std::to_string(layer) + ".attn_" + std::string(1, part) + std::string(suffix), names_);
      TensorEntry own = entry;
      own.bytes = entry.bytes / static_cast<uint64_t>(rows) * static_cast<uint64_t>(n);
      if (suffix == ".bias") {
        SKUA_ASSIGN_OR_RETURN(ChangedTensor tensor, ChangedTensor::pick(file_, entry, order));
        out_.add(std::move(own), std::move(name), std::move(tensor));
        continue;
      }
      own.shape.front() = n;
      out_.add(std::move(own), std::move(name), std::move(order));
    }
    return ok_status();
  }

  /// A list of the metadata as a tensor of one number in each layer.
  Status add_numbers(const GgufName& list) {
    const std::string key =
        file_.config().find("general.architecture")->as_string() + "." + std::string(list.gguf);
    const Json* values = file_.config().find(key);
    if (values == nullptr || !values->is_array() || static_cast<int64_t>(values->size()) != names_.n_layers)
      return invalid_argument("[gguf] " + key + " must hold a number for each of " +
                              std::to_string(names_.n_layers) + " layers, got " +
                              (values == nullptr ? "nothing" : values->dump().substr(0, 80)));
    for (int64_t layer = 0; layer < names_.n_layers; ++layer) {
      const Json& value = values->items()[static_cast<size_t>(layer)];
      if (!value.is_number())
        return invalid_argument("[gguf] " + key + " holds " + value.dump().substr(0, 40) +
                                ", expected numbers");
      TensorEntry entry{key, {}, "F32", {key}, sizeof(float)};
      const std::string prefix = std::string(names_.layers) + std::to_string(layer) + ".";
      out_.add(std::move(entry), prefix + std::string(list.transformers),
               ChangedTensor::number(static_cast<float>(value.as_double())));
    }
    return ok_status();
  }

  const Checkpoint& file_;
  const Family& family_;
  const Json& config_;
  Translation names_;
  Tensors out_;
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
    if (has_experts == !find_name(family->gguf_names.keys, "expert_count").empty()) return family;
    other = family;
  }
  if (other != nullptr) return other;
  std::string known;
  for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
  return unsupported("[gguf] architecture \"" + arch->as_string() + "\" is not known; known are " + known);
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> import_gguf(std::unique_ptr<Checkpoint> file, ConfigPolicy policy) {
  if (file->kind() != CheckpointKind::kGguf) return file;
  SKUA_ASSIGN_OR_RETURN(const Family* family, family_of(*file));
  SKUA_ASSIGN_OR_RETURN(Json config, gguf_config(*file, *family, policy));
  SKUA_ASSIGN_OR_RETURN(Tensors tensors, Importer(*file, *family, config).run());
  return std::unique_ptr<Checkpoint>(std::make_unique<ImportedGguf>(std::move(file), std::move(config),
                                                                    std::move(tensors), family->gguf_rows));
}

}  // namespace skua
