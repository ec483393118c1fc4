// Golden configs are built into graphs; their slots and ops say the kinds, the backends' choose() says who
// runs them. No weight is made.
#include "skua/arch_facts.h"

#include <algorithm>

#include "backend/all/make_backend.h"
#include "base/json.h"

namespace skua {
namespace {

bool runs(const Family& family, const Json& config) {
  const Json* type = config.find("model_type");
  const auto& types = family.model_types;
  return type != nullptr && type->is_string() &&
         std::find(types.begin(), types.end(), type->as_string()) != types.end();
}

void add_kinds(const Graph& graph, std::set<std::string>& kinds) {
  bool experts = false, chunks = false;
  for (const Node& node : graph.nodes) {
    experts |= std::holds_alternative<MoeExperts>(node.op);
    const auto* attention = std::get_if<Attention>(&node.op);
    if (attention == nullptr) continue;
    chunks |= attention->chunk > 0;
    if (attention->window > 0) kinds.insert("sliding");
  }
  kinds.insert(experts ? "moe" : "dense");
  if (chunks) kinds.insert("chunked");
  for (const CacheSlot& slot : graph.slots) {
    if (slot.kind == SlotKind::kLatent) kinds.insert("mla");
    if (slot.kind == SlotKind::kConv || slot.kind == SlotKind::kRecurrent) kinds.insert("recurrent");
  }
}

/// How a weight would lie: vectors in f32, matrices in bf16 or, if `quantized`, in MLX's 4 bits where they
/// fit.
PackedWeight layout_of(const WeightDecl& decl, bool quantized) {
  const Format four_bits{FormatKind::kAffine, 4, 32, DType::kBF16};
  Format format{FormatKind::kBF16};
  if (decl.rows == 1) format = {FormatKind::kF32};
  if (decl.plain) format = plain_format(*decl.plain);
  const std::string& stored = decl.blocks.empty() ? decl.name : decl.blocks[0].tensors[0];
  const bool matrix = decl.rows > 1 && stored.ends_with(".weight");  // MLX leaves other matrices alone
  if (quantized && matrix && !decl.plain && decl.cols % 32 == 0) format = four_bits;
  PackedWeight out;
  out.layout.format = format;
  out.layout.rows = decl.rows;
  out.layout.cols = decl.cols;
  for (int plane = 0; plane < 3; ++plane)
    out.layout.plane_row_bytes[plane] = plane_row_bytes(format, plane, decl.cols);
  return out;
}

/// Whether every op has a kernel; else the first refusal.
Status check_kernels(const Model& model, const BackendRequest& request) {
  SKUA_ASSIGN_OR_RETURN(const auto backend, make_backend(request));
  SKUA_ASSIGN_OR_RETURN(const Graph graph, model.build(backend->numerics()));
  std::vector<PackedWeight> weights;
  for (const WeightDecl& decl : graph.weights)
    weights.push_back(layout_of(decl, request.compute == "native"));
  const ChooseContext context{&graph, weights, {4, 2, 4, 2}};
  for (const Node& node : graph.nodes) {
    const auto choice = backend->choose(context, node);
    if (!choice.ok()) return choice.status().with_context(node.label);
  }
  return ok_status();
}

struct Way {
  const char* name;
  BackendRequest request;
};

std::vector<Way> ways() {
  return {{"ref", {"ref", "f64", "auto", "exact", "f32", 1}},
          {"cpu f32", {"cpu", "f32", "auto", "exact", "f32", 1}},
          {"cpu native", {"cpu", "native", "auto", "exact", "f32", 1}}};
}

void add_golden(const GoldenConfig& golden, const Json& config, FamilyFacts& facts) {
  const bool first = facts.goldens.empty();
  facts.goldens.emplace_back(golden.name);
  const auto model = facts.family->parse(config, ConfigPolicy::kStrict);
  Status built = model.status();
  if (model.ok()) {
    const auto graph = (*model)->build(Numerics{});
    built = graph.status();
    if (graph.ok()) add_kinds(*graph, facts.kinds);
  }
  for (const Way& way : ways()) {
    std::string& missing = facts.missing[way.name];
    if (!built.ok()) {
      missing = built.message();
    } else if (first) {
      if (const Status status = check_kernels(**model, way.request); !status.ok()) missing = status.message();
    }
  }
}

}  // namespace

std::vector<FamilyFacts> family_facts(std::span<const Family* const> families,
                                      std::span<const GoldenConfig> goldens) {
  std::vector<FamilyFacts> out;
  for (const Family* family : families) out.push_back({family, {}, {}, {}});
  for (const GoldenConfig& golden : goldens) {
    const auto config = parse_json(golden.config);
    if (!config.ok()) continue;
    for (FamilyFacts& facts : out) {
      if (runs(*facts.family, *config)) add_golden(golden, *config, facts);
    }
  }
  return out;
}

std::vector<std::string> families_without_golden(std::span<const Family* const> families,
                                                 std::span<const GoldenConfig> goldens) {
  std::vector<std::string> out;
  for (const Family* family : families) {
    const bool found = std::any_of(goldens.begin(), goldens.end(), [&](const GoldenConfig& golden) {
      const auto config = parse_json(golden.config);
      return config.ok() && runs(*family, *config);
    });
    if (!found) out.emplace_back(family->name);
  }
  return out;
}

}  // namespace skua
