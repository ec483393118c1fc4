// trained_check DIR...: teacher-forced greedy choices and losses of a trained checkpoint against those that
// its reference wrote into DIR/expected.safetensors (promptI, greedyI, gapI; eval_ids, eval_nll). cpu, f32.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backend/all/make_backend.h"
#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "engine/runner.h"

namespace skua::golden {
namespace {

constexpr int32_t kContext = 2048;
/// Choices whose two best logits lie nearer than this are not decided in float32.
constexpr float kDecided = 1e-3f;

struct Totals {
  int n_choices = 0, n_undecided = 0, n_wrong = 0;
  double nll_error = 0;  // largest, of one token
  double nll = 0, expected_nll = 0;
  size_t n_nll = 0;
};

/// Logits [ids, n_vocab] of a whole text from an empty cache.
Result<std::vector<float>> logits_of(Runner& runner, const std::vector<int32_t>& ids) {
  std::vector<PageTable> tables = runner.cache().new_tables();
  const auto n = static_cast<int32_t>(ids.size());
  SKUA_RETURN_IF_ERROR(runner.cache().extend(tables, n, runner.step()));
  std::vector<std::span<const int32_t>> pages;
  for (const PageTable& table : tables) pages.push_back(table.pages());
  Batch batch;
  append(batch, ids, 0, n, std::move(pages));
  const Status ran = runner.run(batch);
  for (PageTable& table : tables) table.release_all(runner.step());
  SKUA_RETURN_IF_ERROR(ran);
  return runner.logits();
}

Result<std::vector<int32_t>> ids_of(const SafetensorsFile& file, const std::string& name) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<int64_t> wide, file.read_i64(name));
  return std::vector<int32_t>(wide.begin(), wide.end());
}

Status judge_choices(Runner& runner, const SafetensorsFile& file, int index, Totals& totals) {
  const std::string i = std::to_string(index);
  SKUA_ASSIGN_OR_RETURN(std::vector<int32_t> ids, ids_of(file, "prompt" + i));
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> greedy, ids_of(file, "greedy" + i));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> gap, file.read_f32("gap" + i));
  if (ids.empty() || gap.size() != greedy.size()) return data_loss("prompt, greedy and gap do not fit");
  const size_t n_prompt = ids.size();
  ids.insert(ids.end(), greedy.begin(), greedy.end());
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> logits, logits_of(runner, ids));
  const size_t n_vocab = logits.size() / ids.size();
  for (size_t step = 0; step < greedy.size(); ++step) {
    const float* row = &logits[(n_prompt + step - 1) * n_vocab];
    const bool right = std::max_element(row, row + n_vocab) - row == greedy[step];
    ++totals.n_choices;
    if (gap[step] <= kDecided)
      ++totals.n_undecided;
    else if (!right)
      ++totals.n_wrong;
  }
  return ok_status();
}

Status judge_losses(Runner& runner, const SafetensorsFile& file, Totals& totals) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ids_of(file, "eval_ids"));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> expected, file.read_f32("eval_nll"));
  if (expected.size() + 1 != ids.size()) return data_loss("eval_ids and eval_nll do not fit");
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> logits, logits_of(runner, ids));
  const size_t n_vocab = logits.size() / ids.size();
  for (size_t t = 0; t < expected.size(); ++t) {
    const float* row = &logits[t * n_vocab];
    const double top = *std::max_element(row, row + n_vocab);
    double sum = 0;
    for (size_t v = 0; v < n_vocab; ++v) sum += std::exp(row[v] - top);
    const double nll = std::log(sum) + top - row[static_cast<size_t>(ids[t + 1])];
    const double error = std::abs(nll - expected[t]);
    totals.nll_error = std::isnan(error) ? INFINITY : std::max(totals.nll_error, error);
    totals.nll += nll;
    totals.expected_nll += expected[t];
  }
  totals.n_nll = expected.size();
  return ok_status();
}

Result<Totals> check_folder(const std::string& folder, Backend& backend) {
  SKUA_ASSIGN_OR_RETURN(const auto checkpoint, open_checkpoint(folder));
  SKUA_ASSIGN_OR_RETURN(const LoadedModel model,
                        load_model(*checkpoint, backend, ConfigPolicy::kStrict, nullptr, kContext));
  RunnerOptions options;
  options.context = options.max_tokens = kContext;
  options.max_seqs = 1;
  SKUA_ASSIGN_OR_RETURN(const auto runner, Runner::create(model, backend, options));
  SKUA_ASSIGN_OR_RETURN(const SafetensorsFile file,
                        SafetensorsFile::open(std::filesystem::path(folder) / "expected.safetensors"));
  Totals out;
  for (int i = 0; file.find("prompt" + std::to_string(i)) != nullptr; ++i) {
    SKUA_RETURN_IF_ERROR(judge_choices(*runner, file, i, out));
  }
  if (out.n_choices == 0) return data_loss("expected.safetensors holds no prompt0");
  SKUA_RETURN_IF_ERROR(judge_losses(*runner, file, out));
  return out;
}

int run(int argc, char** argv) {
  CLI::App app("Compares trained checkpoints with their reference's greedy choices and losses (cpu, f32).");
  std::vector<std::string> folders;
  app.add_option("DIR", folders, "model folders with an expected.safetensors")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  int code = 0;
  for (const std::string& folder : folders) {
    BackendRequest request;
    request.name = "cpu";
    request.compute = "f32";
    request.n_threads = available_cpus();
    const auto backend = make_backend(request);
    if (!backend.ok()) return std::fprintf(stderr, "%s\n", backend.status().message().c_str()), 2;
    const auto totals = check_folder(folder, **backend);
    if (!totals.ok()) {
      std::fprintf(stderr, "trained_check: %s: %s\n", folder.c_str(), totals.status().message().c_str());
      code = 1;
      continue;
    }
    const auto n = static_cast<double>(totals->n_nll);
    const double got = std::exp(totals->nll / n), expected = std::exp(totals->expected_nll / n);
    const bool pass = totals->n_wrong == 0 && std::abs(got - expected) <= 0.01;
    std::printf(
        "%s: %d greedy choices, %d undecided, %d wrong; perplexity %.4f of %.4f, largest error of a loss "
        "%.1e: %s\n",
        folder.c_str(), totals->n_choices, totals->n_undecided, totals->n_wrong, got, expected,
        totals->nll_error, pass ? "pass" : "MISS");
    if (!pass) code = 1;
  }
  return code;
}

}  // namespace
}  // namespace skua::golden

int main(int argc, char** argv) { return skua::golden::run(argc, argv); }
