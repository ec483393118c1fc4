// skua inspect: what a model is, what it needs, and how it would run. Weights are read only for the plan.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "backend/all/make_backend.h"
#include "base/json.h"
#include "base/log.h"
#include "base/threads.h"
#include "cache/layout.h"
#include "engine/text_setup.h"
#include "engine/weight_blocks.h"
#include "models/families.h"
#include "models/latent_bytes.h"
#include "models/text_part.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/terminal.h"
#include "skua/texts.h"

namespace skua {
namespace {

struct TypeSum {
  int64_t n_tensors = 0;
  uint64_t bytes = 0;
};

/// What can be said without reading weights.
struct Facts {
  std::string source;
  std::vector<TensorEntry> tensors;      // as the file has them
  std::map<std::string, TypeSum> types;  // by stored type
  uint64_t bytes = 0;
  ModelInfo model;
  int32_t context = 0;
  uint64_t weight_bytes = 0;  // stored bytes of the tensors that the model uses
  uint64_t cache_bytes_per_token = 0;
  std::string cache_type;    // of keys and values of heads; empty if there are none
  uint64_t state_bytes = 0;  // of convolutions and recurrent layers, of a sequence that decodes
  uint64_t cache_bytes = 0;
  std::vector<std::string> tokenizer_notes;
  std::optional<LatentSizes> latent;
  uint64_t element_bytes = 0;  // of a stored latent
};

Facts file_facts(const Checkpoint& file) {
  Facts out;
  out.source = file.source();
  out.tensors.assign(file.tensors().begin(), file.tensors().end());
  for (const TensorEntry& tensor : out.tensors) {
    TypeSum& sum = out.types[tensor.stored_type];
    ++sum.n_tensors;
    sum.bytes += tensor.bytes;
    out.bytes += tensor.bytes;
  }
  return out;
}

Status add_model_facts(std::unique_ptr<Checkpoint> file, const EngineOptions& options, Facts& out) {
  std::vector<std::string> notices;
  SKUA_ASSIGN_OR_RETURN(const auto checkpoint,
                        import_checkpoint(std::move(file), options.config_policy, notices));
  for (const std::string& notice : notices) log_warning(notice);
  SKUA_ASSIGN_OR_RETURN(const auto model, parse_model(checkpoint->config(), options.config_policy));
  SKUA_ASSIGN_OR_RETURN(const auto backend, make_backend({options.backend, options.compute, options.isa,
                                                          options.mla_prefill, options.cache_type, 1}));
  SKUA_ASSIGN_OR_RETURN(const Graph graph, model->build(backend->numerics()));
  out.model = model->info();
  SKUA_ASSIGN_OR_RETURN(out.context, resolve_context(options.context, out.model.max_context));
  std::set<std::string> seen;
  for (const WeightDecl& weight : graph.weights) {
    for (const std::string& name : tensors_of(*checkpoint, weight)) {
      const TensorEntry* entry = checkpoint->find(name);
      if (entry != nullptr && seen.insert(name).second) out.weight_bytes += entry->bytes;
    }
  }
  out.latent = latent_sizes(graph);
  out.element_bytes = backend->element_bytes(backend->numerics().kv);
  if (keeps_heads(graph)) out.cache_type = options.backend == "ref" ? "f64" : options.cache_type;
  const CacheLayout layout = make_cache_layout(graph);
  for (size_t slot = 0; slot < graph.slots.size(); ++slot) {
    const uint64_t page = backend->cache_page_bytes(graph.slots[slot]);
    const CacheGroup& group = layout.groups[layout.slot_group[slot]];
    const int32_t n_pages = pages_per_sequence(group, out.context, options.prefill_chunk);
    if (is_sparse(group))
      out.state_bytes += page * static_cast<uint64_t>(pages_in_use(group, out.context));
    else
      out.cache_bytes_per_token += page / kPageTokens;
    out.cache_bytes += page * static_cast<uint64_t>(n_pages);
  }
  return ok_status();
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (int64_t n : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
  return out + "]";
}

std::string row(std::string head, const std::string& text) {
  head.resize(18, ' ');
  return head + text + "\n";
}

std::string tensor_text(const Facts& facts, const OptionValues& options) {
  std::string out = row("file", facts.source);
  out += row("tensors", std::to_string(facts.tensors.size()) + ", " + human_bytes(facts.bytes));
  for (const auto& [type, sum] : facts.types)
    out += row("  " + type, std::to_string(sum.n_tensors) + ", " + human_bytes(sum.bytes));
  if (!options.flag(Opt::kTensors)) return out;
  size_t name = 0, type = 0;
  for (const TensorEntry& tensor : facts.tensors) {
    name = std::max(name, tensor.name.size());
    type = std::max(type, tensor.stored_type.size());
  }
  for (const TensorEntry& tensor : facts.tensors) {
    std::string a = tensor.name, b = tensor.stored_type;
    a.resize(name, ' ');
    b.resize(type, ' ');
    out += "  " + a + "  " + b + "  " + shape_text(tensor.shape) + "\n";
  }
  return out;
}

/// What a token costs in one layer, and what the keys and values of all heads would.
std::string latent_text(const Facts& facts) {
  const LatentSizes& latent = *facts.latent;
  const auto line = [&](const char* head, uint64_t element) {
    const uint64_t kept = latent.latent_bytes(element), full = latent.decompressed_bytes(element);
    char ratio[32];
    std::snprintf(ratio, sizeof(ratio), "%.1f", static_cast<double>(full) / static_cast<double>(kept));
    std::string text = std::to_string(kept) + " bytes per token and layer; keys and values of " +
                       std::to_string(latent.n_heads) + " heads would take " + std::to_string(full) + " (" +
                       ratio + "x)";
    if (latent.index > 0) text += "; index keys " + std::to_string(latent.index_bytes(element));
    return row(head, text);
  };
  return line("latents", facts.element_bytes) + (facts.element_bytes == 2 ? "" : line("  in 16 bits", 2));
}

std::string model_text(const Facts& facts) {
  const ModelInfo& m = facts.model;
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string out = row("model type", m.model_type);
  out += row("layers", number(m.n_layers));
  out += row("width", number(m.d_model) + ", feed-forward " + number(m.d_ff));
  out += row("attention", number(m.n_heads) + " heads over " + number(m.n_kv_heads) + " key-value heads of " +
                              number(m.head_dim));
  out += row("vocabulary", number(m.n_vocab));
  out += row("made for", number(m.max_context) + " tokens");
  out += row("cache per token",
             human_bytes(facts.cache_bytes_per_token) +
                 (facts.cache_type.empty() ? "" : ", keys and values of heads in " + facts.cache_type));
  if (facts.state_bytes > 0)
    out += row("state", human_bytes(facts.state_bytes) + " per sequence at any length");
  if (facts.latent) out += latent_text(facts);
  out +=
      row("memory", human_bytes(facts.weight_bytes + facts.cache_bytes) + " for a context of " +
                        number(facts.context) + ": weights " + human_bytes(facts.weight_bytes) + ", cache " +
                        human_bytes(facts.cache_bytes) + "; the scratch memory of a step comes on top");
  for (const std::string& note : facts.tokenizer_notes) out += row("tokenizer", note);
  return out;
}

Json tensor_json(const Facts& facts, const OptionValues& options) {
  Json types = Json::array();
  for (const auto& [type, sum] : facts.types) {
    Json entry = Json::object();
    entry.set("type", type);
    entry.set("count", sum.n_tensors);
    entry.set("bytes", sum.bytes);
    types.push_back(std::move(entry));
  }
  Json out = Json::object();
  out.set("count", static_cast<int64_t>(facts.tensors.size()));
  out.set("bytes", facts.bytes);
  out.set("types", std::move(types));
  if (!options.flag(Opt::kTensors)) return out;
  Json list = Json::array();
  for (const TensorEntry& tensor : facts.tensors) {
    Json entry = Json::object(), shape = Json::array();
    for (int64_t n : tensor.shape) shape.push_back(n);
    entry.set("name", tensor.name);
    entry.set("type", tensor.stored_type);
    entry.set("shape", std::move(shape));
    entry.set("bytes", tensor.bytes);
    list.push_back(std::move(entry));
  }
  out.set("list", std::move(list));
  return out;
}

Json as_json(const Facts& facts, const OptionValues& options) {
  const ModelInfo& m = facts.model;
  Json model = Json::object(), memory = Json::object(), out = Json::object(), ends = Json::array();
  for (int32_t id : m.end_ids) ends.push_back(id);
  model.set("model_type", m.model_type);
  model.set("n_layers", m.n_layers);
  model.set("d_model", m.d_model);
  model.set("d_ff", m.d_ff);
  model.set("n_heads", m.n_heads);
  model.set("n_kv_heads", m.n_kv_heads);
  model.set("head_dim", m.head_dim);
  model.set("n_vocab", m.n_vocab);
  model.set("max_context", m.max_context);
  model.set("end_ids", std::move(ends));
  memory.set("context", facts.context);
  memory.set("weight_bytes", facts.weight_bytes);
  memory.set("cache_bytes", facts.cache_bytes);
  memory.set("cache_type", facts.cache_type.empty() ? Json() : Json(facts.cache_type));
  memory.set("cache_bytes_per_token", facts.cache_bytes_per_token);
  memory.set("state_bytes_per_sequence", facts.state_bytes);
  if (facts.latent) {
    Json latent = Json::object();  // of one token in one layer
    latent.set("element_bytes", facts.element_bytes);
    latent.set("latent_bytes", facts.latent->latent_bytes(facts.element_bytes));
    latent.set("index_bytes", facts.latent->index_bytes(facts.element_bytes));
    latent.set("decompressed_bytes", facts.latent->decompressed_bytes(facts.element_bytes));
    memory.set("latent", std::move(latent));
  }
  out.set("file", facts.source);
  out.set("tensors", tensor_json(facts, options));
  out.set("model", std::move(model));
  out.set("memory", std::move(memory));
  Json notes = Json::array();
  for (const std::string& note : facts.tokenizer_notes) notes.push_back(note);
  out.set("tokenizer_notes", std::move(notes));
  return out;
}

Result<std::string> plan_text(const CommandInput& input, EngineOptions settings, Engine::PlanFormat format) {
  const auto n_tokens = static_cast<int32_t>(input.options.integer(Opt::kTokens));
  settings.prefill_chunk = std::max(settings.prefill_chunk, n_tokens);
  SKUA_ASSIGN_OR_RETURN(const auto engine,
                        load_engine(input.options, split_arguments(input).model, settings));
  return engine->print_plan(n_tokens, format);
}

}  // namespace

Exit inspect_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const EngineOptions settings = engine_options(options);
  if (options.flag(Opt::kDot)) {
    const auto dot = plan_text(input, settings, Engine::PlanFormat::kDot);
    return dot.ok() ? print_and_exit(*dot) : fail(dot.status());
  }
  auto file = open_model(options, split_arguments(input).model);
  if (!file.ok()) return fail(file.status());
  Facts facts = file_facts(**file);
  if (const auto text = load_text(**file); text.ok() && text->tokenizer != nullptr) {
    facts.tokenizer_notes = text->tokenizer->notes();
  }
  const Status known = add_model_facts(std::move(file).value(), settings, facts);
  // Of a model that skua cannot run, the tensors are still worth seeing.
  if (!known.ok() && !options.flag(Opt::kJson)) (void)print(tensor_text(facts, options)).ok();
  if (!known.ok()) return fail(known);
  Result<std::string> plan = std::string();
  if (options.flag(Opt::kPlan)) plan = plan_text(input, settings, Engine::PlanFormat::kText);
  if (!plan.ok()) return fail(plan.status());
  if (!options.flag(Opt::kJson))
    return print_and_exit(tensor_text(facts, options) + model_text(facts) + *plan);
  Json json = as_json(facts, options);
  if (options.flag(Opt::kPlan)) json.set("plan", *plan);
  return print_and_exit(json.dump(2) + "\n");
}

}  // namespace skua
