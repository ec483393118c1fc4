// skua quantize: any checkpoint that skua reads, written as MLX affine safetensors that mlx-lm reads too.
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/safetensors_writer.h"
#include "models/gguf_import.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/output_folder.h"
#include "skua/terminal.h"
#include "skua/texts.h"
#include "tensor/encode_affine.h"

namespace skua {
namespace {

/// One --rule: modules whose path holds `part` get `format` (nothing: they stay as they are).
struct Rule {
  std::string part;
  std::optional<Format> format;
  size_t n_fitting = 0;  // modules whose path holds `part`
};

/// "down_proj=8", "lm_head=none", "layers.0.=6:32".
Result<Rule> parse_rule(const std::string& text, const Format& standard) {
  const auto wrong = [&] {
    return invalid_argument(
        "--rule: expected PART=BITS, PART=BITS:GROUP or PART=none, with 2, 3, 4, 5, 6 or 8 "
        "bits and groups of 32, 64 or 128, got '" +
        text + "'");
  };
  const size_t equals = text.rfind('=');
  if (equals == 0 || equals == text.npos) return wrong();
  const std::string value = text.substr(equals + 1);
  if (value == "none") return Rule{text.substr(0, equals), std::nullopt};
  Format format = standard;
  const char* const end = value.data() + value.size();
  auto [at, error] = std::from_chars(value.data(), end, format.bits);
  if (error == std::errc() && at != end && *at == ':') {
    const auto group = std::from_chars(at + 1, end, format.group);
    at = group.ptr;
    error = group.ec;
  }
  const bool bits_fit = format.bits >= 2 && format.bits <= 8 && format.bits != 7;
  const bool group_fits = format.group == 32 || format.group == 64 || format.group == 128;
  if (error != std::errc() || at != end || !bits_fit || !group_fits) return wrong();
  return Rule{text.substr(0, equals), format};
}

std::string module_of(const std::string& name) { return name.substr(0, name.size() - 7); }

/// Matrices of linear and embedding modules; routers decide by small differences and stay as they are, as do
/// the two-part projections of latent attention, of which one is used transposed.
bool can_be_quantized(const TensorEntry& entry) {
  if (entry.shape.size() != 2 || !entry.name.ends_with(".weight")) return false;
  for (const char* kept :
       {".gate.weight", ".router.weight", ".router.proj.weight", ".kv_b_proj.weight", "norm.weight"})
    if (entry.name.ends_with(kept)) return false;
  return true;
}

DType plain_type(const Format& format) {
  return format.kind == FormatKind::kF32   ? DType::kF32
         : format.kind == FormatKind::kF16 ? DType::kF16
                                           : DType::kBF16;
}

class Quantizer {
 public:
  Quantizer(const Checkpoint& source, Format standard, std::vector<Rule> rules)
      : source_(source), standard_(standard), rules_(std::move(rules)) {}

  Status plan() {
    for (const TensorEntry& entry : source_.tensors()) {
      SKUA_ASSIGN_OR_RETURN(const EncodedMatrix matrix, source_.matrix(entry.name));
      // Blocks that only GGUF has become bf16 where they are not quantized anew.
      const DType kept = matrix.format.is_plain() ? plain_type(matrix.format) : DType::kBF16;
      PlannedWeight weight{entry.name, entry.shape, plain_format(kept)};
      SKUA_ASSIGN_OR_RETURN(std::optional<Format> format, wanted(entry));
      if (format && entry.shape.back() % format->group != 0) format.reset();
      if (format) {
        weight.format = *format;
        weight.format.scale_type = kept;
        ++n_quantized_;
      }
      weights_.push_back(std::move(weight));
    }
    for (const Rule& rule : rules_) {
      if (rule.n_fitting > 0) continue;
      return invalid_argument("--rule: no module of " + source_.source() + " has '" + rule.part +
                              "' in its path; skua inspect --tensors shows them");
    }
    if (n_quantized_ == 0) return invalid_argument("[quantize] no tensor of " + source_.source() + " fits");
    return ok_status();
  }

  Status write(const OutputFolder& folder) {
    SKUA_ASSIGN_OR_RETURN(auto writer,
                          SafetensorsWriter::create(folder.path() / "model.safetensors", weights_));
    ProgressBar bar("Quantizing");
    for (size_t i = 0; i < weights_.size(); ++i) {
      SKUA_RETURN_IF_ERROR(folder.check_interrupt());
      std::vector<std::byte> planes[3];
      SKUA_RETURN_IF_ERROR(encode(weights_[i], planes));
      SKUA_RETURN_IF_ERROR(writer.append(planes));
      source_.release(weights_[i].name);
      bar.update(i + 1, weights_.size());
    }
    return writer.finish();
  }

  /// The source's config with what was done to each module.
  Json config() const {
    Json settings = Json::object();
    settings.set("group_size", int64_t{standard_.group});
    settings.set("bits", int64_t{standard_.bits});
    settings.set("mode", "affine");
    for (const PlannedWeight& weight : weights_) {
      if (weight.shape.size() != 2 || !weight.name.ends_with(".weight")) continue;
      const Format& format = weight.format;
      if (format.is_plain()) {
        settings.set(module_of(weight.name), false);
      } else if (format.bits != standard_.bits || format.group != standard_.group) {
        Json own = Json::object();
        own.set("group_size", int64_t{format.group});
        own.set("bits", int64_t{format.bits});
        settings.set(module_of(weight.name), std::move(own));
      }
    }
    Json out = source_.config();
    out.set("quantization", settings);
    out.set("quantization_config", std::move(settings));
    return out;
  }

  size_t n_quantized() const { return n_quantized_; }
  size_t n_kept() const { return weights_.size() - n_quantized_; }

 private:
  /// The format that the rules want for a tensor; nothing: it stays as it is.
  Result<std::optional<Format>> wanted(const TensorEntry& entry) {
    std::optional<Format> format;
    if (can_be_quantized(entry)) format = standard_;
    if (entry.shape.size() != 2 || !entry.name.ends_with(".weight")) return format;
    const Rule* last = nullptr;
    for (Rule& rule : rules_) {
      if (module_of(entry.name).find(rule.part) == std::string::npos) continue;
      ++rule.n_fitting;
      format = rule.format;
      last = &rule;
    }
    if (last == nullptr || !format || entry.shape.back() % format->group == 0) return format;
    return invalid_argument("--rule: " + last->part + " asks for groups of " + std::to_string(format->group) +
                            ", but " + entry.name + " has rows of " + std::to_string(entry.shape.back()));
  }

  Status encode(const PlannedWeight& weight, std::vector<std::byte> (&planes)[3]) const {
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix matrix, source_.matrix(weight.name));
    uint64_t stride[3];
    for (int p = 0; p < 3; ++p) {
      planes[p].resize(plane_bytes(weight, p));
      stride[p] = plane_row_bytes(weight.format, p, matrix.cols);
    }
    std::vector<float> values(static_cast<size_t>(matrix.cols));
    for (int64_t row = 0; row < matrix.rows; ++row) {
      decode_row(matrix, row, 0, matrix.cols, values.data());
      const auto at = [&](int p) { return planes[p].data() + static_cast<uint64_t>(row) * stride[p]; };
      if (!weight.format.is_plain()) {
        encode_affine_row(weight.format, values.data(), matrix.cols, at(0), at(1), at(2));
        continue;
      }
      for (int64_t i = 0; i < matrix.cols; ++i) {
        const float value = values[static_cast<size_t>(i)];
        const uint16_t half = weight.format.kind == FormatKind::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
        if (weight.format.kind == FormatKind::kF32) {
          std::memcpy(at(0) + 4 * i, &value, 4);
        } else {
          std::memcpy(at(0) + 2 * i, &half, 2);
        }
      }
    }
    return ok_status();
  }

  const Checkpoint& source_;
  Format standard_;
  std::vector<Rule> rules_;
  std::vector<PlannedWeight> weights_;
  size_t n_quantized_ = 0;
};

/// Everything else that belongs to the model.
Status copy_side_files(const Checkpoint& source, const std::filesystem::path& folder) {
  size_t n = 0;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
                           "merges.txt", "tokenizer.model", "added_tokens.json", "generation_config.json",
                           "chat_template.jinja", "chat_template.json"}) {
    const auto text = source.side_file(name);
    if (!text.ok()) continue;
    SKUA_RETURN_IF_ERROR(write_file_atomic(folder / name, *text));
    ++n;
  }
  if (n == 0)
    log_warning(
        "the source has no tokenizer files of its own (GGUF holds its vocabulary inside); put them beside "
        "the result to generate text");
  return ok_status();
}

Result<std::string> quantize_model(const CommandInput& input) {
  const OptionValues& options = input.options;
  const std::optional<Format> standard = wanted_format(options);
  if (!standard)
    return invalid_argument("--quant: quantize needs bits; --rule PART=none keeps single modules");
  std::vector<Rule> rules;
  for (const std::string& text : options.texts(Opt::kRule)) {
    SKUA_ASSIGN_OR_RETURN(Rule rule, parse_rule(text, *standard));
    rules.push_back(std::move(rule));
  }
  SKUA_ASSIGN_OR_RETURN(auto file, open_model(options, split_arguments(input).model));
  const auto policy =
      options.flag(Opt::kAllowUnknownConfig) ? ConfigPolicy::kAllowUnknown : ConfigPolicy::kStrict;
  SKUA_ASSIGN_OR_RETURN(const auto source, import_gguf(std::move(file), policy));
  if (source->config().find("quantization") != nullptr ||
      source->config().find("quantization_config") != nullptr)
    return invalid_argument("[quantize] " + source->source() +
                            " is quantized already; start from its original");
  Quantizer quantizer(*source, *standard, std::move(rules));
  SKUA_RETURN_IF_ERROR(quantizer.plan());
  SKUA_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::make(options));
  SKUA_RETURN_IF_ERROR(quantizer.write(folder));
  SKUA_RETURN_IF_ERROR(copy_side_files(*source, folder.path()));
  SKUA_RETURN_IF_ERROR(write_file_atomic(folder.path() / "config.json", quantizer.config().dump(2) + "\n"));
  SKUA_RETURN_IF_ERROR(open_checkpoint(folder.path()).status());
  return std::to_string(quantizer.n_quantized()) + " tensors quantized, " +
         std::to_string(quantizer.n_kept()) + " kept, in " + folder.keep().string() + "\n";
}

}  // namespace

Exit quantize_command(const CommandInput& input) {
  const auto done = quantize_model(input);
  if (done.ok()) return print_and_exit(*done);
  return fail(done.status(), done.status().code() == Code::kCancelled ? Exit::kInterrupted : Exit::kError);
}

}  // namespace skua
