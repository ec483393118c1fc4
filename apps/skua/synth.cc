// skua synth: random weights of a real geometry, so that speed can be measured without downloads. A byte is a
// function of seed, tensor name and place.
#include "skua/synth.h"

#include <cstring>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/memory_checkpoint.h"
#include "checkpoint/safetensors_writer.h"
#include "models/families.h"
#include "models/geometries.h"
#include "skua/commands.h"
#include "skua/output_folder.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

constexpr float kDeviation = 0.02f;  // of the weights

/// SplitMix64, by Steele, Lea and Flood.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Noise {
 public:
  Noise(uint64_t seed, const std::string& name) : state_(mix(seed + 1)) {
    for (const char c : name) state_ = mix(state_ ^ static_cast<unsigned char>(c)) + 0x9e3779b97f4a7c15u;
  }
  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }

 private:
  uint64_t state_;
};

struct SynthModel {
  Json config;
  std::vector<PlannedWeight> weights;
};

Result<Json> find_config(const std::string& source) {
  if (const std::string_view known = known_config(source); !known.empty()) return parse_json(known);
  std::filesystem::path path = source;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= "config.json";
  if (source.empty() || !std::filesystem::exists(path, error)) {
    return not_found("no config '" + source + "': expected a config.json, a folder with one, or one of " +
                     known_config_names());
  }
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  auto json = parse_json(text);
  if (!json.ok()) return json.status().with_context(path.string());
  return json;
}

/// Of the ways in which a checkpoint may keep a weight's blocks: one tensor with the blocks as they are, as
/// MLX's checkpoints have it; else the first.
const BlockSource& chosen_source(const WeightDecl& decl) {
  for (const BlockSource& source : decl.blocks) {
    const bool one = source.tensors.size() == 1 && source.tensors[0].ends_with(".weight");
    if (one && source.n_blocks > 1 && source.take == Take::kRows && source.first == 0) return source;
  }
  return decl.blocks[0];
}

/// The tensors that a weight is read from. A matrix is quantized; vectors stay bf16, and so do matrices that
/// would be decoded at load (routers, the two-part projections of latent attention).
Result<std::vector<PlannedWeight>> plan_tensors(const WeightDecl& decl, const std::optional<Format>& format) {
  std::vector<std::string> names{decl.name};
  std::vector<int64_t> shape{decl.rows, decl.cols};
  if (!decl.blocks.empty()) {
    const BlockSource& source = chosen_source(decl);
    names = source.tensors;
    shape = {source.block_rows, source.block_cols};
    // Experts are stacked; blocks of one projection (heads) lie one after another.
    const bool whole_blocks = decl.rows == source.n_blocks * source.block_rows;
    if (names.size() == 1 && source.n_blocks > 1 && whole_blocks) {
      shape.insert(shape.begin(), source.n_blocks);
    } else if (names.size() == 1) {
      shape[0] *= source.n_blocks;
    }
  }
  if (shape.size() == 2 && shape[0] == 1 && decl.rows == 1) shape.erase(shape.begin());
  const bool quantized = format && shape.size() > 1 && !decl.plain && decl.rows > 1;
  if (quantized && shape.back() % format->group != 0) {
    return unsupported(decl.name + " has rows of " + std::to_string(shape.back()) + ", which groups of " +
                       std::to_string(format->group) +
                       " do not divide; choose another --group or --quant none");
  }
  std::vector<PlannedWeight> out;
  for (const std::string& name : names)
    out.push_back({name, shape, quantized ? *format : plain_format(DType::kBF16)});
  return out;
}

/// What the model would read.
Result<SynthModel> plan_model(const OptionValues& options, const std::string& source) {
  SynthModel out;
  SKUA_ASSIGN_OR_RETURN(const Json config, find_config(source));
  out.config = Json::object();
  for (const auto& [key, value] : config.members()) {  // a quantization is replaced by the wanted one
    if (key != "quantization" && key != "quantization_config") out.config.append_member(key, value);
  }
  const auto policy =
      options.flag(Opt::kAllowUnknownConfig) ? ConfigPolicy::kAllowUnknown : ConfigPolicy::kStrict;
  SKUA_ASSIGN_OR_RETURN(const auto model, parse_model(out.config, policy));
  SKUA_ASSIGN_OR_RETURN(const Graph graph, model->build({}));
  const std::optional<Format> format = wanted_format(options);
  std::set<std::string> planned;  // several weights may be cut from one tensor
  for (const WeightDecl& decl : graph.weights) {
    SKUA_ASSIGN_OR_RETURN(const std::vector<PlannedWeight> tensors, plan_tensors(decl, format));
    for (const PlannedWeight& tensor : tensors) {
      if (planned.insert(tensor.name).second) out.weights.push_back(tensor);
    }
  }
  if (format) {
    Json settings = Json::object();
    settings.set("group_size", int64_t{format->group});
    settings.set("bits", int64_t{format->bits});
    settings.set("mode", "affine");
    out.config.set("quantization", settings);
    out.config.set("quantization_config", std::move(settings));
  }
  return out;
}

void fill_bf16(Noise noise, bool ones, std::vector<std::byte>& out) {
  for (size_t i = 0; i + 1 < out.size(); i += 2) {
    const float uniform = static_cast<float>(noise.next() >> 40) * 0x1p-23f - 1.0f;  // [-1, 1)
    const uint16_t bits = f32_to_bf16(ones ? 1.0f : 1.7320508f * kDeviation * uniform);
    std::memcpy(&out[i], &bits, 2);
  }
}

void fill_planes(const PlannedWeight& weight, uint64_t seed, std::vector<std::byte> (&planes)[3]) {
  for (int plane = 0; plane < 3; ++plane) planes[plane].resize(plane_bytes(weight, plane));
  Noise noise(seed, weight.name);
  if (weight.format.is_plain()) {
    fill_bf16(noise, weight.shape.size() == 1 && weight.name.ends_with("norm.weight"), planes[0]);
    return;
  }
  for (size_t i = 0; i < planes[0].size(); i += 8) {
    const uint64_t word = noise.next();
    std::memcpy(&planes[0][i], &word, std::min<size_t>(8, planes[0].size() - i));
  }
  // Codes are uniform: their deviation is their range / sqrt(12).
  const auto range = static_cast<float>((1 << weight.format.bits) - 1);
  const float scale = kDeviation * 3.4641016f / range;
  const uint16_t numbers[2] = {f32_to_bf16(scale), f32_to_bf16(-scale * range / 2)};
  for (int plane = 1; plane < 3; ++plane) {
    for (size_t i = 0; i < planes[plane].size(); i += 2)
      std::memcpy(&planes[plane][i], &numbers[plane - 1], 2);
  }
}

/// fn(weight, planes) for every weight, with a progress bar.
template <typename Fn>
Status each_weight(const SynthModel& model, const OptionValues& options, const Fn& fn) {
  const auto seed = options.seed(Opt::kSeed);
  if (!seed) return invalid_argument("--seed: expected a whole number");
  ProgressBar bar("Making");
  for (size_t i = 0; i < model.weights.size(); ++i) {
    std::vector<std::byte> planes[3];
    fill_planes(model.weights[i], *seed, planes);
    SKUA_RETURN_IF_ERROR(fn(model.weights[i], planes));
    bar.update(i + 1, model.weights.size());
  }
  return ok_status();
}

Status write_model(const OptionValues& options, const std::string& source) {
  SKUA_ASSIGN_OR_RETURN(const SynthModel model, plan_model(options, source));
  SKUA_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::make(options));
  SKUA_ASSIGN_OR_RETURN(auto writer,
                        SafetensorsWriter::create(folder.path() / "model.safetensors", model.weights));
  SKUA_RETURN_IF_ERROR(each_weight(model, options, [&](const PlannedWeight&, const auto& planes) {
    const Status going = folder.check_interrupt();
    return going.ok() ? writer.append(planes) : going;
  }));
  SKUA_RETURN_IF_ERROR(writer.finish());
  SKUA_RETURN_IF_ERROR(write_file_atomic(folder.path() / "config.json", model.config.dump(2) + "\n"));
  folder.keep();
  return ok_status();
}

}  // namespace

Status check_synth_usage(const OptionValues& options, const std::string& source) {
  if (source.empty()) {
    return invalid_argument("expected a config: a config.json, a folder with one, or one of " +
                            known_config_names());
  }
  if (options.seed(Opt::kSeed)) return ok_status();
  return invalid_argument("--seed: expected a whole number, since equal seeds give equal weights, got " +
                          options.text(Opt::kSeed));
}

Result<std::unique_ptr<Checkpoint>> synthetic_checkpoint(const OptionValues& options,
                                                         const std::string& source) {
  SKUA_ASSIGN_OR_RETURN(SynthModel model, plan_model(options, source));
  auto out = std::make_unique<MemoryCheckpoint>("random weights of " + source);
  out->free_when_released();
  SKUA_RETURN_IF_ERROR(each_weight(model, options, [&](const PlannedWeight& weight, const auto& planes) {
    std::vector<std::byte> all = planes[0];
    for (int plane = 1; plane < 3; ++plane) all.insert(all.end(), planes[plane].begin(), planes[plane].end());
    return out->add_tensor(weight.name, weight.shape, weight.format, std::move(all));
  }));
  out->set_config(std::move(model.config));
  return std::unique_ptr<Checkpoint>(std::move(out));
}

Exit synth_command(const CommandInput& input) {
  const std::string source = split_arguments(input).model;
  Status usage = check_synth_usage(input.options, source);
  if (usage.ok()) usage = check_out_given(input.options);
  if (!usage.ok()) return fail(usage, Exit::kUsage);
  const Status status = write_model(input.options, source);
  if (status.ok()) return Exit::kOk;
  return fail(status, status.code() == Code::kCancelled ? Exit::kInterrupted : Exit::kError);
}

}  // namespace skua
