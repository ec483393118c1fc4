// skua quantize: any checkpoint that skua reads, written as MLX affine safetensors that mlx-lm reads too.
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "checkpoint/mlx_quantizer.h"
#include "models/gguf_import.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/output_folder.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

/// "down_proj=8", "lm_head=none", "layers.0.=6:32".
Result<QuantRule> parse_rule(const std::string& text, const Format& standard) {
  const auto wrong = [&] {
    return invalid_argument(
        "--rule: expected PART=BITS, PART=BITS:GROUP or PART=none, with 2, 3, 4, 5, 6 or 8 "
        "bits and groups of 32, 64 or 128, got '" +
        text + "'");
  };
  const size_t equals = text.rfind('=');
  if (equals == 0 || equals == text.npos) return wrong();
  const std::string value = text.substr(equals + 1);
  if (value == "none") return QuantRule{text.substr(0, equals), std::nullopt};
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
  return QuantRule{text.substr(0, equals), format};
}

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

struct Wanted {
  Format standard;
  std::vector<QuantRule> rules;
};

/// What the options ask for. Errors are wrong usage, all of them.
Result<Wanted> read_wanted(const OptionValues& options) {
  const std::optional<Format> standard = wanted_format(options);
  if (!standard)
    return invalid_argument("--quant: quantize needs bits; --rule PART=none keeps single modules");
  Wanted out{*standard, {}};
  for (const std::string& text : options.texts(Opt::kRule)) {
    SKUA_ASSIGN_OR_RETURN(QuantRule rule, parse_rule(text, *standard));
    out.rules.push_back(std::move(rule));
  }
  SKUA_RETURN_IF_ERROR(check_out_given(options));
  return out;
}

Result<std::string> quantize_model(const CommandInput& input, Wanted wanted) {
  const OptionValues& options = input.options;
  SKUA_ASSIGN_OR_RETURN(auto file, open_model(options, split_arguments(input).model));
  const auto policy =
      options.flag(Opt::kAllowUnknownConfig) ? ConfigPolicy::kAllowUnknown : ConfigPolicy::kStrict;
  SKUA_ASSIGN_OR_RETURN(const auto source, import_gguf(std::move(file), policy));
  if (source->config().find("quantization") != nullptr ||
      source->config().find("quantization_config") != nullptr)
    return invalid_argument("[quantize] " + source->source() +
                            " is quantized already; start from its original");
  MlxQuantizer quantizer(*source, wanted.standard, std::move(wanted.rules));
  SKUA_RETURN_IF_ERROR(quantizer.plan());
  SKUA_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::make(options));
  ProgressBar bar("Quantizing");
  SKUA_RETURN_IF_ERROR(quantizer.write(folder.path(), [&](size_t done, size_t all) {
    bar.update(done, all);
    return folder.check_interrupt();
  }));
  SKUA_RETURN_IF_ERROR(copy_side_files(*source, folder.path()));
  SKUA_RETURN_IF_ERROR(open_checkpoint(folder.path()).status());
  return std::to_string(quantizer.n_quantized()) + " tensors quantized, " +
         std::to_string(quantizer.n_kept()) + " kept, in " + folder.keep().string() + "\n";
}

}  // namespace

Exit quantize_command(const CommandInput& input) {
  auto wanted = read_wanted(input.options);
  if (!wanted.ok()) return fail(wanted.status(), Exit::kUsage);
  const auto done = quantize_model(input, std::move(wanted).value());
  if (done.ok()) return print_and_exit(*done);
  return fail(done.status(), done.status().code() == Code::kCancelled ? Exit::kInterrupted : Exit::kError);
}

}  // namespace skua
