// Which wrappers there are, what their text models' configs leave out, and how their tensors are called.
// Sources: configuration and modeling files of gemma3, gemma3n, gemma4, llama4, mistral3 and qwen3_5 in
// transformers 4.50 to 5.17, which changed the prefixes; mlx-lm (names).
#include "models/text_part.h"

#include <algorithm>
#include <map>

#include "models/config_reader.h"
#include "models/gguf_import.h"

namespace skua {
namespace {

struct Wrapper {
  std::string_view model_type;
  std::string_view text_type;  // of the text model, if text_config does not say it
  std::string_view defaults;   // what text_config may leave out: the reference's defaults
};

// Published configs hold only what differs from the defaults of their time.
constexpr Wrapper kWrappers[] = {
    {"gemma3", "gemma3_text",
     R"({"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
         "max_position_embeddings": 131072, "sliding_window": 4096, "query_pre_attn_scalar": 256})"},
    {"gemma3n", "gemma3n_text", "{}"},
    {"gemma4", "gemma4_text", "{}"},
    {"llama4", "llama4_text", "{}"},
    {"mistral3", "mistral", "{}"},
    {"qwen3_5", "qwen3_5_text", "{}"},
    {"qwen3_5_moe", "qwen3_5_moe_text", "{}"},
};

struct Prefix {
  std::string_view stored, text;
};
constexpr Prefix kPrefixes[] = {{"language_model.model.", "model."},
                                {"language_model.lm_head.", "lm_head."},
                                {"model.language_model.", "model."}};

/// Parts that are not run, with or without "model." before them.
constexpr std::string_view kOtherParts[] = {"vision_tower.", "vision_model.", "multi_modal_projector.",
                                            "audio_tower.",  "embed_vision.", "embed_audio.",
                                            "visual."};

const Wrapper* find_wrapper(const Json& config) {
  const Json* type = config.find("model_type");
  const Json* text = config.find("text_config");
  if (type == nullptr || text == nullptr || !text->is_object()) return nullptr;
  for (const Wrapper& wrapper : kWrappers) {
    if (*type == Json(wrapper.model_type)) return &wrapper;
  }
  return nullptr;
}

/// Refuses outer keys that may matter to the text.
Status check_outer(const Json& config, ConfigPolicy policy) {
  ConfigReader outer(config);
  outer.ignore({"text_config",
                "vision_config",
                "audio_config",
                "tie_word_embeddings",
                "image_token_index",
                "image_token_id",
                "video_token_id",
                "vision_start_token_id",
                "vision_end_token_id",
                "audio_token_id",
                "boi_token_index",
                "boi_token_id",
                "eoi_token_index",
                "eoi_token_id",
                "boa_token_id",
                "eoa_token_id",
                "eoa_token_index",
                "mm_tokens_per_image",
                "projector_hidden_act",
                "vision_feature_layer",
                "spatial_merge_size",
                "multimodal_projector_bias",
                "processor_class",
                "vision_soft_tokens_per_image",
                "use_cache",
                "audio_soft_tokens_per_image"});
  return outer.finish(policy);
}

Json text_config(const Json& config, const Wrapper& wrapper) {
  Json text = *config.find("text_config");
  if (text.find("model_type") == nullptr) text.set("model_type", Json(wrapper.text_type));
  const auto defaults = parse_json(wrapper.defaults);
  for (const auto& [key, value] : defaults->members()) {
    if (text.find(key) == nullptr) text.set(key, value);
  }
  for (const char* key : {"tie_word_embeddings", "eos_token_id", "bos_token_id", "pad_token_id",
                          "quantization", "quantization_config"}) {
    const Json* outer = config.find(key);
    if (outer != nullptr && !outer->is_null()) text.set(key, *outer);
  }
  return text;
}

std::string text_name(const std::string& stored) {
  for (const Prefix& prefix : kPrefixes) {
    if (stored.starts_with(prefix.stored))
      return std::string(prefix.text) + stored.substr(prefix.stored.size());
  }
  return stored;
}

/// "vision_tower.*" for a tensor of a part that is not run, else nothing.
std::string other_part(const std::string& stored) {
  const std::string_view all = stored;
  const std::string_view name = all.starts_with("model.") ? all.substr(6) : all;
  for (const std::string_view part : kOtherParts) {
    if (name.starts_with(part)) return stored.substr(0, stored.size() - name.size() + part.size()) + "*";
  }
  return "";
}

class TextPart final : public Checkpoint {
 public:
  TextPart(std::unique_ptr<Checkpoint> whole, Json config)
      : whole_(std::move(whole)), config_(std::move(config)) {}

  /// Takes the text's tensors; counts the others by part.
  Status take_tensors(std::map<std::string, int>& aside) {
    for (const TensorEntry& entry : whole_->tensors()) {
      const std::string part = other_part(entry.name);
      if (!part.empty()) {
        ++aside[part];
        continue;
      }
      TensorEntry renamed = entry;
      renamed.name = text_name(entry.name);
      if (!stored_names_.emplace(renamed.name, entry.name).second) {
        return data_loss("[load] " + source() + " holds " + renamed.name + " twice, once as " + entry.name);
      }
      entries_.push_back(std::move(renamed));
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const TensorEntry& a, const TensorEntry& b) { return a.name < b.name; });
    return ok_status();
  }

  CheckpointKind kind() const override { return whole_->kind(); }
  std::string source() const override { return whole_->source(); }
  const Json& config() const override { return config_; }
  std::span<const TensorEntry> tensors() const override { return entries_; }
  Result<EncodedMatrix> matrix(std::string_view name) const override {
    return whole_->matrix(stored_name(name));
  }
  void release(std::string_view name) const override { whole_->release(stored_name(name)); }
  void release_rows(std::string_view name, int64_t row, int64_t n) const override {
    whole_->release_rows(stored_name(name), row, n);
  }
  std::span<const std::string> notes() const override { return whole_->notes(); }
  Result<std::string> side_file(std::string_view name) const override { return whole_->side_file(name); }

 private:
  std::string_view stored_name(std::string_view name) const {
    const auto at = stored_names_.find(name);
    return at == stored_names_.end() ? name : std::string_view(at->second);
  }

  std::unique_ptr<Checkpoint> whole_;
  Json config_;
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::string, std::less<>> stored_names_;
};

}  // namespace

Result<std::unique_ptr<Checkpoint>> text_part(std::unique_ptr<Checkpoint> whole, ConfigPolicy policy,
                                              std::vector<std::string>& notices) {
  const Wrapper* wrapper = find_wrapper(whole->config());
  if (wrapper == nullptr) return whole;
  SKUA_RETURN_IF_ERROR(check_outer(whole->config(), policy));
  Json config = text_config(whole->config(), *wrapper);
  auto out = std::make_unique<TextPart>(std::move(whole), std::move(config));
  std::map<std::string, int> aside;
  SKUA_RETURN_IF_ERROR(out->take_tensors(aside));
  std::string names;
  for (const auto& [part, n] : aside)
    names += (names.empty() ? "" : ", ") + part + " (" + std::to_string(n) + " tensors)";
  notices.push_back("the text model of " + std::string(wrapper->model_type) +
                    " is run; images and sound are not: left aside " + (names.empty() ? "nothing" : names));
  return std::unique_ptr<Checkpoint>(std::move(out));
}

Result<std::unique_ptr<Checkpoint>> import_checkpoint(std::unique_ptr<Checkpoint> file, ConfigPolicy policy,
                                                      std::vector<std::string>& notices) {
  SKUA_ASSIGN_OR_RETURN(auto imported, import_gguf(std::move(file), policy));
  return text_part(std::move(imported), policy, notices);
}

}  // namespace skua
