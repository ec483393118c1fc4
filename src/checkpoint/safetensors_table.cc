// Joins MLX triples and MXFP4 pairs and refuses the layouts of other quantizers. Owns no file access.
#include "checkpoint/safetensors_table.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "checkpoint/mlx_quantization.h"
#include "checkpoint/printable.h"

namespace skua {
namespace {

using ByName = std::unordered_map<std::string_view, const SafetensorsTensor*>;

constexpr std::string_view kWeight = ".weight";

/// "model.layers.0.mlp.up_proj" of "model.layers.0.mlp.up_proj.weight"; empty if it is no weight.
std::string_view module_of(std::string_view name) {
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : std::string_view();
}

std::string described(const SafetensorsTensor& tensor) {
  return printable(tensor.name) + " " + tensor.dtype + " " + shape_text(tensor.shape);
}

bool is_plain(const SafetensorsTensor& tensor) {
  return tensor.type == DType::kF32 || tensor.type == DType::kF16 || tensor.type == DType::kBF16;
}

Status check_setting(const QuantSetting& setting) {
  const auto one_of = [](int64_t value, std::initializer_list<int64_t> known) {
    return std::find(known.begin(), known.end(), value) != known.end();
  };
  if (setting.mode == "mxfp4") return ok_status();  // its only bits and group were checked when it was read
  if (setting.mode != "affine") {
    return unsupported("config.json: " + setting.origin + " has mode \"" + printable(setting.mode) +
                       "\", which skua does not read yet; it reads \"affine\" and \"mxfp4\"");
  }
  if (one_of(setting.bits, {2, 3, 4, 5, 6, 8}) && one_of(setting.group, {32, 64, 128})) return ok_status();
  return unsupported("config.json: " + setting.origin + " has " + std::to_string(setting.bits) +
                     " bits in groups of " + std::to_string(setting.group) +
                     "; affine has 2, 3, 4, 5, 6 or 8 bits in groups of 32, 64 or 128");
}

/// The members of one quantized weight.
struct Triple {
  const SafetensorsTensor* weight;
  const SafetensorsTensor* scales;
  const SafetensorsTensor* biases;  // nullptr: a block-float mode
};

/// Finds the members around a u32 weight and says which is missing.
Result<Triple> find_triple(const SafetensorsTensor& weight, const ByName& by_name) {
  const std::string module(module_of(weight.name));
  const auto find = [&](const char* suffix) {
    const auto at = by_name.find(module + suffix);
    return at == by_name.end() ? nullptr : at->second;
  };
  const Triple out{&weight, find(".scales"), find(".biases")};
  if (out.scales == nullptr) {
    return data_loss(described(weight) + " holds packed codes, but there is no " + printable(module) +
                     ".scales");
  }
  return out;
}

/// Whether the members are those of the setting's mode.
Status check_mode(const Triple& t, const QuantSetting& setting) {
  if (setting.mode != "mxfp4") {
    if (t.biases != nullptr) return ok_status();
    return unsupported(
        described(*t.weight) + " has scales (" + t.scales->dtype +
        ") and no biases: a block-float mode (mxfp4, mxfp8, nvfp4), and config.json does not say " +
        "that it is mxfp4, the one that skua reads");
  }
  if (t.biases == nullptr && t.scales->type == DType::kU8) return ok_status();
  return data_loss(described(*t.weight) + " and " + described(*t.scales) +
                   (t.biases != nullptr ? " and " + described(*t.biases) : "") + ": " + setting.origin +
                   " says mxfp4, which has U8 scales and no biases");
}

/// Checks the members against each other and against the setting, and returns the logical row length.
Result<int64_t> check_triple(const Triple& t, const QuantSetting& setting) {
  const auto contradiction = [&](const std::string& what) {
    return data_loss(what + ": " + described(*t.weight) + ", " + described(*t.scales) + ", " +
                     (t.biases != nullptr ? described(*t.biases) + ", " : "") + "and config.json says " +
                     std::to_string(setting.bits) + " bits, group " + std::to_string(setting.group) + " (" +
                     setting.origin + ")");
  };
  if (t.biases != nullptr && (!is_plain(*t.scales) || t.biases->type != t.scales->type)) {
    return contradiction("affine scales and biases must both be F32, F16 or BF16");
  }
  const auto& codes = t.weight->shape;
  const auto& scales = t.scales->shape;
  if (codes.empty() || scales.size() != codes.size() || (t.biases != nullptr && t.biases->shape != scales) ||
      !std::equal(codes.begin(), codes.end() - 1, scales.begin())) {
    return contradiction("the shapes of a quantized weight do not go together");
  }
  // A tensor without rows can name any row length: bound both, so that no product below wraps.
  constexpr int64_t kMaxCols = int64_t{1} << 48;
  if (codes.back() > kMaxCols || scales.back() > kMaxCols) return contradiction("rows are impossibly long");
  const int64_t code_bits = codes.back() * 32;
  const int64_t cols = scales.back() * setting.group;
  if (cols * setting.bits != code_bits) {
    return contradiction("the packed rows hold " + std::to_string(code_bits) + " bits, the scales ask for " +
                         std::to_string(scales.back()) + " groups of " + std::to_string(setting.group) +
                         " columns of " + std::to_string(setting.bits) + " bits, " +
                         std::to_string(cols * setting.bits));
  }
  return cols;
}

/// Wraps up one quantized weight.
Result<StoredTensor> join_triple(const Triple& t, const MlxQuantization::Choice& choice, bool any_settings) {
  if (choice.setting == nullptr) {
    const std::string why = any_settings ? "config.json says that it is not quantized"
                                         : "config.json has no \"quantization\" that says how";
    return invalid_argument(described(*t.weight) + " is stored quantized, but " + why);
  }
  SKUA_RETURN_IF_ERROR(check_setting(*choice.setting));
  SKUA_RETURN_IF_ERROR(check_mode(t, *choice.setting));
  SKUA_ASSIGN_OR_RETURN(const int64_t cols, check_triple(t, *choice.setting));
  StoredTensor out;
  out.format = t.biases == nullptr ? Format{FormatKind::kMxfp4}
                                   : Format{FormatKind::kAffine, static_cast<uint8_t>(choice.setting->bits),
                                            static_cast<uint16_t>(choice.setting->group), *t.scales->type};
  out.entry.name = t.weight->name;
  out.entry.shape = t.weight->shape;
  out.entry.shape.back() = cols;
  out.entry.stored_type = format_name(*out.format);
  out.entry.members = {t.weight->name, t.scales->name};
  out.planes = {t.weight->bytes, t.scales->bytes};
  if (t.biases == nullptr) return out;
  out.entry.members.push_back(t.biases->name);
  out.planes[2] = t.biases->bytes;
  return out;
}

/// X_blocks [..., groups, 16] with X_scales [..., groups], as transformers stores MXFP4: one tensor, called
/// X_blocks, of [..., 32 groups]. Source: transformers integrations/mxfp4.py (facts).
Result<StoredTensor> join_blocks(const SafetensorsTensor& blocks, const SafetensorsTensor* scales) {
  if (scales == nullptr)
    return data_loss(described(blocks) + " holds MXFP4 codes, but there are no scales for it");
  std::vector<int64_t> shape = blocks.shape;
  const bool whole = !shape.empty() && shape.back() == 16;
  if (whole) shape.pop_back();
  constexpr int64_t kMaxGroups = int64_t{1} << 48;
  if (!whole || shape.empty() || shape != scales->shape || shape.back() > kMaxGroups ||
      blocks.type != DType::kU8 || scales->type != DType::kU8) {
    return data_loss("MXFP4 blocks U8 [..., groups, 16] need scales U8 [..., groups]: " + described(blocks) +
                     ", " + described(*scales));
  }
  StoredTensor out;
  out.format = Format{FormatKind::kMxfp4};
  out.entry.name = blocks.name;
  out.entry.shape = std::move(shape);
  out.entry.shape.back() *= 32;
  out.entry.stored_type = format_name(*out.format);
  out.entry.members = {blocks.name, scales->name};
  out.planes = {blocks.bytes, scales->bytes};
  return out;
}

StoredTensor plain_tensor(const SafetensorsTensor& tensor) {
  StoredTensor out;
  out.entry.name = tensor.name;
  out.entry.shape = tensor.shape;
  out.entry.stored_type = tensor.dtype;
  out.entry.members = {tensor.name};
  out.planes[0] = tensor.bytes;
  if (is_plain(tensor)) {
    out.format = plain_format(*tensor.type);
  } else {
    out.refusal = "is stored as " + tensor.dtype +
                  ", which skua does not read as a weight; it reads F32, F16, BF16, " +
                  "MLX affine and MXFP4";
  }
  return out;
}

/// Refuses weights packed by GPTQ or AWQ: they are told by their names whatever the config says.
Status refuse_foreign_packing(std::span<const SafetensorsTensor> tensors) {
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.name.ends_with(".qweight")) {
      return unsupported(described(tensor) +
                         " is packed by GPTQ or AWQ, which skua does not read yet; it reads MLX " +
                         "affine and unquantized safetensors, and GGUF");
    }
  }
  return ok_status();
}

/// Settings matched against the modules that are there.
Result<MlxQuantization> settle(std::span<const SafetensorsTensor> tensors, const Json& config) {
  SKUA_ASSIGN_OR_RETURN(MlxQuantization out, MlxQuantization::parse(config));
  std::vector<std::string_view> modules;
  for (const SafetensorsTensor& tensor : tensors) {
    if (const auto module = module_of(tensor.name); !module.empty()) modules.push_back(module);
  }
  SKUA_RETURN_IF_ERROR(out.match(modules));
  return out;
}

}  // namespace

Result<TensorTable> make_safetensors_table(std::span<const SafetensorsTensor> tensors, const Json& config,
                                           std::vector<std::string>& notes) {
  SKUA_RETURN_IF_ERROR(refuse_foreign_packing(tensors));
  SKUA_ASSIGN_OR_RETURN(const MlxQuantization settings, settle(tensors, config));
  notes.insert(notes.end(), settings.notes().begin(), settings.notes().end());

  ByName by_name;
  for (const SafetensorsTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  TensorTable table;
  std::unordered_set<const SafetensorsTensor*> joined;
  for (const SafetensorsTensor& tensor : tensors) {
    const std::string_view module = module_of(tensor.name);
    if (module.empty()) continue;
    const auto choice = settings.choose(module);
    if (tensor.type != DType::kU32) {
      if (choice.override_used == nullptr || choice.setting == nullptr) continue;
      return data_loss(described(tensor) + " is stored unquantized, but config.json gives it " +
                       choice.setting->origin);
    }
    SKUA_ASSIGN_OR_RETURN(const Triple triple, find_triple(tensor, by_name));
    SKUA_ASSIGN_OR_RETURN(StoredTensor stored, join_triple(triple, choice, settings.is_quantized()));
    joined.insert({triple.weight, triple.scales, triple.biases});
    SKUA_RETURN_IF_ERROR(table.add(std::move(stored)));
  }
  constexpr std::string_view kBlocks = "_blocks";
  for (const SafetensorsTensor& tensor : tensors) {
    if (!says_mxfp4(config) || !tensor.name.ends_with(kBlocks)) continue;
    const std::string stem(tensor.name.substr(0, tensor.name.size() - kBlocks.size()));
    const auto at = by_name.find(stem + "_scales");
    const SafetensorsTensor* scales = at == by_name.end() ? nullptr : at->second;
    SKUA_ASSIGN_OR_RETURN(StoredTensor stored, join_blocks(tensor, scales));
    joined.insert({&tensor, scales});
    SKUA_RETURN_IF_ERROR(table.add(std::move(stored)));
  }
  for (const SafetensorsTensor& tensor : tensors) {
    if (joined.contains(&tensor)) continue;
    SKUA_RETURN_IF_ERROR(table.add(plain_tensor(tensor)));
  }
  SKUA_RETURN_IF_ERROR(table.finish());
  return table;
}

}  // namespace skua
