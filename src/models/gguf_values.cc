// What converters change, undone. Source: llama.cpp's conversion scripts (facts).
#include "models/gguf_values.h"

#include <algorithm>
#include <cmath>

namespace skua {

Result<ChangedTensor> ChangedTensor::make(const Checkpoint& file, const TensorEntry& entry,
                                          GgufValues values) {
  SKUA_ASSIGN_OR_RETURN(const EncodedMatrix m, file.matrix(entry.name));
  ChangedTensor out;
  out.values_.resize(static_cast<size_t>(m.rows * m.cols));
  for (int64_t row = 0; row < m.rows; ++row)
    decode_row(m, row, 0, m.cols, &out.values_[static_cast<size_t>(row * m.cols)]);
  out.shape_ = entry.shape;
  if (values != GgufValues::kLogMatrix) out.shape_ = {static_cast<int64_t>(out.values_.size())};
  if (values == GgufValues::kVector) return out;
  for (float& value : out.values_) {
    if (!(value < 0.0f) || std::isinf(value)) {
      return data_loss("[gguf] " + entry.name + " holds " + std::to_string(value) +
                       ", expected the negative numbers -exp(A_log); the file is damaged");
    }
    value = static_cast<float>(std::log(-static_cast<double>(value)));
  }
  return out;
}

Result<ChangedTensor> ChangedTensor::pick(const Checkpoint& file, const TensorEntry& entry,
                                          const std::vector<uint32_t>& from) {
  SKUA_ASSIGN_OR_RETURN(const ChangedTensor whole, make(file, entry, GgufValues::kVector));
  ChangedTensor out;
  for (const uint32_t index : from) {
    if (index >= whole.values_.size()) {
      return data_loss("[gguf] " + entry.name + " has " + std::to_string(whole.values_.size()) +
                       " numbers, which do not fit the heads of the file");
    }
    out.values_.push_back(whole.values_[index]);
  }
  out.shape_ = {static_cast<int64_t>(out.values_.size())};
  return out;
}

ChangedTensor ChangedTensor::number(float value) {
  ChangedTensor out;
  out.values_ = {value};
  out.shape_ = {1};
  return out;
}

EncodedMatrix ChangedTensor::matrix() const {
  EncodedMatrix out;
  out.rows = shape_.size() > 1 ? shape_[0] : 1;
  out.cols = static_cast<int64_t>(values_.size()) / std::max<int64_t>(out.rows, 1);
  out.planes[0] = reinterpret_cast<const std::byte*>(values_.data());
  out.row_stride_bytes[0] = static_cast<uint64_t>(out.cols) * sizeof(float);
  return out;
}

const GgufChange* find_change(const Family& family, std::string_view part) {
  for (const GgufChange& change : family.gguf_names.changes)
    if (!part.empty() && change.tensor == part) return &change;
  return nullptr;
}

Result<LayerCounts> layer_counts(const Json& metadata, const std::string& key, int64_t n_layers) {
  const Json* list = metadata.find(key);
  LayerCounts out;
  if (list == nullptr || !list->is_array() || static_cast<int64_t>(list->size()) < n_layers) {
    return invalid_argument("[gguf] " + key + " must hold a count for each of " + std::to_string(n_layers) +
                            " layers, got " + (list == nullptr ? "nothing" : list->dump().substr(0, 80)));
  }
  for (int64_t layer = 0; layer < n_layers; ++layer) {
    const Json& value = list->items()[static_cast<size_t>(layer)];
    const int64_t count = value.kind() == Json::Kind::kInt ? value.as_int() : -1;
    if (count < 0 || (count > 0 && out.count > 0 && count != out.count)) {
      return invalid_argument("[gguf] " + key + " holds " + value.dump().substr(0, 40) +
                              "; one count, or 0, for every layer is handled");
    }
    out.zero.push_back(count == 0 ? 1 : 0);
    if (count > 0) out.count = count;
  }
  return out;
}

Status set_layer_types(const Json& metadata, std::string_view key, std::string_view recurrent,
                       std::string_view attending, Json& config) {
  const Json* arch = metadata.find("general.architecture");
  const Json* layers = config.find("num_hidden_layers");
  const int64_t n = layers != nullptr && layers->is_int() ? layers->as_int() : 0;
  const std::string name = arch != nullptr && arch->is_string() ? arch->as_string() : "?";
  SKUA_ASSIGN_OR_RETURN(const LayerCounts counts,
                        layer_counts(metadata, name + ".attention.head_count_kv", n));
  Json types = Json::array();
  for (const char zero : counts.zero) types.push_back(Json(std::string(zero != 0 ? recurrent : attending)));
  config.set(std::string(key), std::move(types));
  if (counts.count > 0) config.set("num_key_value_heads", Json(counts.count));
  return ok_status();
}

Status adjust_granite(const Json& metadata, Json& config) {
  const std::string arch = metadata.find("general.architecture")->as_string();
  const Json* rotates = metadata.find(arch + ".rope.scaling.finetuned");
  if (rotates != nullptr && *rotates != Json(true))
    return unsupported("[gguf] " + arch + ".rope.scaling.finetuned is " + rotates->dump().substr(0, 40) +
                       ": layers without rotation are not handled for this architecture");
  for (const char* key : {".expert_count", ".expert_used_count"}) {
    const Json* count = metadata.find(arch + key);
    if (count != nullptr && *count != Json(0))
      return unsupported("[gguf] " + arch + key + " is " + count->dump().substr(0, 40) +
                         "; this architecture has no experts");
  }
  const Json* shared = metadata.find(arch + ".expert_shared_feed_forward_length");
  const Json* width = config.find("intermediate_size");
  if (shared != nullptr && (width == nullptr || *shared != *width))
    return unsupported("[gguf] " + arch + ".expert_shared_feed_forward_length is " +
                       shared->dump().substr(0, 40) + ", expected feed_forward_length");
  return ok_status();
}

Status set_gemma_query_scale(Json& config, int64_t largest_n_layers) {
  const Json* layers = config.find("num_hidden_layers");
  const Json* head_dim = config.find("head_dim");
  if (layers == nullptr || *layers != Json(largest_n_layers)) {
    if (head_dim != nullptr) config.set("query_pre_attn_scalar", *head_dim);
    return ok_status();
  }
  const Json* d_model = config.find("hidden_size");
  const Json* heads = config.find("num_attention_heads");
  if (d_model == nullptr || heads == nullptr || !d_model->is_int() || !heads->is_int() ||
      heads->as_int() < 1) {
    return invalid_argument("[gguf] embedding_length or attention.head_count is missing");
  }
  config.set("query_pre_attn_scalar", Json(d_model->as_double() / heads->as_double()));
  return ok_status();
}

Status adjust_mamba2(const Json& metadata, std::string_view head_dim, std::string_view expand, Json& config,
                     bool grouped_norm) {
  const Json* arch = metadata.find("general.architecture");
  const std::string name = arch != nullptr && arch->is_string() ? arch->as_string() : "?";
  const auto number = [](const Json* value) {
    return value != nullptr && value->kind() == Json::Kind::kInt ? value->as_int() : int64_t{0};
  };
  const int64_t inner = number(metadata.find(name + ".ssm.inner_size"));
  const int64_t heads = number(metadata.find(name + ".ssm.time_step_rank"));
  const int64_t d_model = number(config.find("hidden_size"));
  const int64_t groups = number(metadata.find(name + ".ssm.group_count"));
  if (inner < 1 || heads < 1 || inner % heads != 0) {
    return invalid_argument("[gguf] " + name + ".ssm.inner_size " + std::to_string(inner) +
                            " must be a multiple of ssm.time_step_rank " + std::to_string(heads));
  }
  if (groups != 1 && !grouped_norm) {
    return unsupported("[gguf] " + name + ".ssm.group_count is " + std::to_string(groups) +
                       "; only 1 is handled, since programs differ in what the gated norm then goes over");
  }
  config.set(std::string(head_dim), Json(inner / heads));
  if (expand.empty()) return ok_status();
  if (d_model < 1 || inner % d_model != 0) {
    return invalid_argument("[gguf] " + name + ".ssm.inner_size " + std::to_string(inner) +
                            " must be a multiple of embedding_length " + std::to_string(d_model));
  }
  config.set(std::string(expand), Json(inner / d_model));
  return ok_status();
}

}  // namespace skua
