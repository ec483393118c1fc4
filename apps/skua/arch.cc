// skua arch: the families of models that can be run.
#include "base/json.h"
#include "skua/arch_facts.h"
#include "skua/commands.h"
#include "skua/terminal.h"

namespace skua {
namespace {

/// Why a family's facts are not told.
const std::string kNoGolden =
    "runs, but no golden case of a reference exists to read its facts off; a float64 written for it judges "
    "it";

template <typename Items>
std::string joined(const Items& items) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : " ") + std::string(item);
  return out.empty() ? "-" : out;
}

template <typename Items>
Json array_of(const Items& items) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(Json(std::string(item)));
  return out;
}

/// Architectures of GGUF files that hold the family's models.
std::vector<std::string_view> gguf_archs(const Family& family) {
  std::vector<std::string_view> out;
  for (const std::string_view arch : {family.gguf_arch, family.gguf_names.also, family.gguf_names.read_as})
    if (!arch.empty()) out.push_back(arch);
  return out;
}

std::string as_json(const std::vector<FamilyFacts>& all) {
  Json out = Json::array();
  for (const FamilyFacts& facts : all) {
    Json entry = Json::object();
    entry.set("family", Json(std::string(facts.family->name)));
    entry.set("model_types", array_of(facts.family->model_types));
    entry.set("kinds", array_of(facts.kinds));
    Json runs = Json::object(), missing = Json::object();
    for (const auto& [way, reason] : facts.missing) {
      runs.set(way, Json(reason.empty()));
      if (!reason.empty()) missing.set(way, Json(reason));
    }
    entry.set("runs", std::move(runs));
    entry.set("missing", std::move(missing));
    entry.set("gguf", array_of(gguf_archs(*facts.family)));
    entry.set("golden", array_of(facts.goldens));
    if (facts.goldens.empty()) entry.set("note", Json(kNoGolden));
    out.push_back(std::move(entry));
  }
  return out.dump(2) + "\n";
}

using Row = std::vector<std::string>;

std::string table_of(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      out += row[i] + (last ? "\n" : std::string(widths[i] - row[i].size() + 2, ' '));
    }
  }
  return out;
}

std::string as_table(const std::vector<FamilyFacts>& all) {
  std::vector<Row> rows{{"MODEL_TYPE", "KINDS", "REF", "CPU F32", "CPU NATIVE", "GGUF", "GOLDEN"}};
  for (const FamilyFacts& facts : all) {
    const auto says = [&](const char* way) {
      const auto at = facts.missing.find(way);
      return at == facts.missing.end() ? "?" : at->second.empty() ? "yes" : "no";
    };
    rows.push_back({joined(facts.family->model_types), joined(facts.kinds), says("ref"), says("cpu f32"),
                    says("cpu native"), joined(gguf_archs(*facts.family)), joined(facts.goldens)});
  }
  std::string out = table_of(rows);
  for (const FamilyFacts& facts : all) {
    if (facts.goldens.empty()) out += "?: " + joined(facts.family->model_types) + ": " + kNoGolden + "\n";
  }
  return out;
}

}  // namespace

Exit arch_command(const CommandInput& input) {
  const std::vector<FamilyFacts> all = family_facts(families(), golden_configs());
  return print_and_exit(input.options.flag(Opt::kJson) ? as_json(all) : as_table(all));
}

}  // namespace skua
