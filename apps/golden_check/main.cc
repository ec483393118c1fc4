// golden_check [--backend ref|cpu] DIR...: compares skua with the reference implementation's answers on tiny
// models.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "backend/all/make_backend.h"
#include "base/threads.h"
#include "golden_check/report.h"
#include "models/families.h"

namespace skua::golden {
namespace {

struct Options {
  std::vector<std::string> folders;
  std::string backend = "ref";
  std::string isa = "auto";
  bool rounded = false;
  bool json = false;
  bool no_fusion = false;
  bool require_known = false;
  double factor = 0;  // 0 = by backend
  int threads = 0;
};

/// The backend's arithmetic decides how near it must come: see RunOptions::noise_factor.
double default_factor(const Options& options) {
  return options.backend == "ref" && !options.rounded ? 2 : 10;
}

Row check_folder(const std::string& folder, Backend& backend, const RunOptions& run_options) {
  Row row;
  row.name = std::filesystem::path(folder).lexically_normal().filename().string();
  auto golden_case = read_case(folder);
  if (!golden_case.ok()) {
    row.message = golden_case.status().message();
    return row;
  }
  row.name = golden_case->name;
  const Json* type = golden_case->checkpoint->config().find("model_type");
  if (type != nullptr && type->is_string()) row.model_type = type->as_string();
  if (const auto family = find_family(row.model_type); !family.ok()) {
    row.verdict = Verdict::kUnknown;
    row.message = "model_type \"" + row.model_type + "\" is not known";
    return row;
  }
  auto outcome = run_case(*golden_case, backend, run_options);
  if (!outcome.ok()) {
    row.message = outcome.status().message();
    return row;
  }
  row.outcome = *outcome;
  row.verdict = outcome->pass() ? Verdict::kPass : Verdict::kMiss;
  return row;
}

std::string known_types() {
  std::string out;
  for (const Family* family : families()) {
    for (std::string_view type : family->model_types) out += (out.empty() ? "" : ", ") + std::string(type);
  }
  return out;
}

/// Exit code: 1 on a miss, an error, or when nothing was compared at all.
int exit_code(const Summary& summary, const Options& options) {
  if (summary.n_miss > 0 || summary.n_error > 0 || summary.n_pass == 0) return 1;
  return options.require_known && summary.n_unknown > 0 ? 1 : 0;
}

/// Goldens are float32 results, so cpu always computes in f32.
Result<std::unique_ptr<Backend>> open_backend(const Options& options) {
  BackendRequest request;
  request.name = options.backend;
  request.compute = options.backend == "cpu" ? "f32" : options.rounded ? "rounded" : "f64";
  request.isa = options.isa;
  request.n_threads = options.threads > 0 ? options.threads : available_cpus();
  return make_backend(request);
}

int check_all(const Options& options) {
  auto backend = open_backend(options);
  if (!backend.ok()) {
    std::fprintf(stderr, "golden_check: %s\n", backend.status().message().c_str());
    return 2;
  }
  RunOptions run_options;
  run_options.noise_factor = options.factor > 0 ? options.factor : default_factor(options);
  if (options.no_fusion) run_options.fusion = Fusion::kOff;
  std::vector<Row> rows;
  if (!options.json) std::printf("%s\n", header_line().c_str());
  for (const std::string& folder : options.folders) {
    rows.push_back(check_folder(folder, **backend, run_options));
    if (options.json) continue;
    std::printf("%s\n", line_of(rows.back()).c_str());
    std::fflush(stdout);
  }
  const Summary summary = summarize(rows);
  const std::string description = (*backend)->description();
  std::printf("%s\n",
              (options.json ? json_of(rows, description) : summary_line(summary, description)).c_str());
  if (!options.json && summary.n_unknown > 0) std::printf("known model_types: %s\n", known_types().c_str());
  return exit_code(summary, options);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Regenerates the weights of golden cases, runs them, and compares with the reference's logits and "
      "greedy "
      "tokens. Exit code: 0 all compared cases agree, 1 a miss, an error or nothing compared, 2 bad usage.");
  Options options;
  app.add_option("DIR", options.folders, "golden folders (config.json, manifest.json, expected.safetensors)")
      ->required();
  app.add_option("--backend", options.backend, "ref or cpu")
      ->check(CLI::IsMember({"ref", "cpu"}))
      ->capture_default_str();
  app.add_option("--isa", options.isa, "cpu: auto, avx2 or avx512")
      ->check(CLI::IsMember({"auto", "avx2", "avx512"}))
      ->capture_default_str();
  app.add_flag("--rounded", options.rounded, "ref: round every edge to the storage type it is declared with");
  app.add_flag("--no-fusion", options.no_fusion, "run the graph as the family built it");
  app.add_flag("--require-known", options.require_known, "an unknown model_type fails the run");
  app.add_flag("--json", options.json, "print one JSON document instead of the table");
  app.add_option("--factor", options.factor,
                 "allowed error, in units of the reference's own noise (default: 10; 2 for unrounded ref)")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "threads (default: one per CPU)")->check(CLI::Range(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return check_all(options);
}

}  // namespace
}  // namespace skua::golden

int main(int argc, char** argv) { return skua::golden::run(argc, argv); }
