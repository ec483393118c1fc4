// Formatting of results.
#include "golden_check/report.h"

#include <cstdio>

#include "base/json.h"

namespace skua::golden {
namespace {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "ok";
    case Verdict::kMiss:
      return "MISS";
    case Verdict::kError:
      return "ERROR";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "";
}

constexpr const char* kHeaderFormat = "%-20s %-7s %10s %10s %10s %10s %8s %10s %10s";

}  // namespace

Summary summarize(const std::vector<Row>& rows) {
  Summary out;
  for (const Row& row : rows) {
    out.n_pass += row.verdict == Verdict::kPass ? 1 : 0;
    out.n_miss += row.verdict == Verdict::kMiss ? 1 : 0;
    out.n_error += row.verdict == Verdict::kError ? 1 : 0;
    out.n_unknown += row.verdict == Verdict::kUnknown ? 1 : 0;
  }
  return out;
}

std::string header_line() {
  char text[256];
  std::snprintf(text, sizeof(text), kHeaderFormat, "case", "result", "prompt err", "decode err", "ref noise",
                "allowed", "greedy", "undecided", "first diff");
  return text;
}

std::string line_of(const Row& row) {
  char text[512];
  if (row.verdict == Verdict::kError || row.verdict == Verdict::kUnknown) {
    std::snprintf(text, sizeof(text), "%-20s %-7s ", row.name.c_str(), name_of(row.verdict));
    return text + row.message;
  }
  const Outcome& o = row.outcome;
  const std::string first = o.first_disagreement < 0 ? "-" : std::to_string(o.first_disagreement);
  std::snprintf(text, sizeof(text), "%-20s %-7s %10.2e %10.2e %10.2e %10.2e %5d/%-2d %10d %10s",
                row.name.c_str(), name_of(row.verdict), o.prompt_error, o.step_error, o.noise, o.prompt_limit,
                o.n_agree, o.n_steps, o.n_undecided, first.c_str());
  return text;
}

std::string summary_line(const Summary& summary, const std::string& backend) {
  return std::to_string(summary.n_pass) + " passed, " + std::to_string(summary.n_miss) + " missed, " +
         std::to_string(summary.n_error) + " errors, " + std::to_string(summary.n_unknown) +
         " of unknown model_type (" + backend + ")";
}

std::string json_of(const std::vector<Row>& rows, const std::string& backend) {
  Json cases = Json::array();
  for (const Row& row : rows) {
    Json item = Json::object();
    item.set("case", row.name).set("model_type", row.model_type).set("result", name_of(row.verdict));
    if (row.verdict == Verdict::kError || row.verdict == Verdict::kUnknown) {
      item.set("message", row.message);
    } else {
      const Outcome& o = row.outcome;
      item.set("prompt_error", o.prompt_error).set("prompt_limit", o.prompt_limit);
      item.set("decode_error", o.step_error)
          .set("decode_limit", o.step_limit)
          .set("reference_noise", o.noise);
      item.set("greedy_agree", o.n_agree).set("greedy_total", o.n_steps).set("undecided", o.n_undecided);
      item.set("first_disagreement", o.first_disagreement < 0 ? Json() : Json(o.first_disagreement));
    }
    cases.push_back(std::move(item));
  }
  const Summary summary = summarize(rows);
  Json out = Json::object();
  out.set("backend", backend).set("cases", std::move(cases));
  out.set("passed", summary.n_pass).set("missed", summary.n_miss);
  out.set("errors", summary.n_error).set("unknown", summary.n_unknown);
  return out.dump(1);
}

}  // namespace skua::golden
