// trained_check DIR...: teacher-forced greedy choices and losses of a trained checkpoint against those that
// its reference wrote into DIR/expected.safetensors (promptI, greedyI, gapI; eval_ids, eval_nll). cpu, f32.
// trained_check --quantize BITS DIR...: the checkpoint is first written in MLX's format (as `skua quantize`
// does), and every next token of the same texts is compared with float64 on the numbers that the quantized
// weights hold.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "backend/all/make_backend.h"
#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/mlx_quantizer.h"
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
  SKUA_ASSIGN_OR_RETURN(const std::span<const float> logits, runner.logits());
  return std::vector<float>(logits.begin(), logits.end());
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

/// Negative log-likelihood of `id` under one row of logits.
double loss_of(std::span<const float> row, int32_t id) {
  const double top = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(logit - top);
  return std::log(sum) + top - row[static_cast<size_t>(id)];
}

Status judge_losses(Runner& runner, const SafetensorsFile& file, Totals& totals) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ids_of(file, "eval_ids"));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> expected, file.read_f32("eval_nll"));
  if (expected.size() + 1 != ids.size()) return data_loss("eval_ids and eval_nll do not fit");
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> logits, logits_of(runner, ids));
  const size_t n_vocab = logits.size() / ids.size();
  for (size_t t = 0; t < expected.size(); ++t) {
    const double nll = loss_of(std::span(logits).subspan(t * n_vocab, n_vocab), ids[t + 1]);
    const double error = std::abs(nll - expected[t]);
    totals.nll_error = std::isnan(error) ? INFINITY : std::max(totals.nll_error, error);
    totals.nll += nll;
    totals.expected_nll += expected[t];
  }
  totals.n_nll = expected.size();
  return ok_status();
}

/// A model and how to run it, each part pointing to those above it; the checkpoint's bytes stay mapped.
struct Loaded {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<Backend> backend;
  LoadedModel model;
  std::unique_ptr<Runner> runner;
};

Result<std::unique_ptr<Loaded>> load(const std::filesystem::path& folder, const std::string& backend) {
  BackendRequest request;
  request.name = backend;
  request.compute = backend == "ref" ? "f64" : "f32";
  request.n_threads = available_cpus();
  auto out = std::make_unique<Loaded>();
  SKUA_ASSIGN_OR_RETURN(out->backend, make_backend(request));
  SKUA_ASSIGN_OR_RETURN(out->checkpoint, open_checkpoint(folder));
  SKUA_ASSIGN_OR_RETURN(
      out->model, load_model(*out->checkpoint, *out->backend, ConfigPolicy::kStrict, nullptr, kContext));
  RunnerOptions options;
  options.context = options.max_tokens = kContext;
  options.max_seqs = 1;
  SKUA_ASSIGN_OR_RETURN(out->runner, Runner::create(out->model, *out->backend, options));
  return out;
}

Result<SafetensorsFile> open_expected(const std::filesystem::path& folder) {
  return SafetensorsFile::open(folder / "expected.safetensors");
}

Result<Totals> check_folder(const std::string& folder) {
  SKUA_ASSIGN_OR_RETURN(const auto loaded, load(folder, "cpu"));
  SKUA_ASSIGN_OR_RETURN(const SafetensorsFile file, open_expected(folder));
  Totals out;
  for (int i = 0; file.find("prompt" + std::to_string(i)) != nullptr; ++i) {
    SKUA_RETURN_IF_ERROR(judge_choices(*loaded->runner, file, i, out));
  }
  if (out.n_choices == 0) return data_loss("expected.safetensors holds no prompt0");
  SKUA_RETURN_IF_ERROR(judge_losses(*loaded->runner, file, out));
  return out;
}

/// A folder of its own that goes away.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "trained_check.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Every next token of one text: the likeliest one by both, and the losses.
Status judge_text(Runner& cpu, Runner& exact, const std::vector<int32_t>& ids, Totals& totals) {
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> got, logits_of(cpu, ids));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> expected, logits_of(exact, ids));
  const size_t n_vocab = got.size() / ids.size();
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const std::span<const float> row(&got[t * n_vocab], n_vocab), wanted(&expected[t * n_vocab], n_vocab);
    const auto best = std::max_element(wanted.begin(), wanted.end()) - wanted.begin();
    float second = -INFINITY;
    for (size_t v = 0; v < n_vocab; ++v)
      if (static_cast<std::ptrdiff_t>(v) != best) second = std::max(second, wanted[v]);
    ++totals.n_choices;
    if (wanted[static_cast<size_t>(best)] - second <= kDecided)
      ++totals.n_undecided;
    else if (std::max_element(row.begin(), row.end()) - row.begin() != best)
      ++totals.n_wrong;
    const double nll = loss_of(row, ids[t + 1]), exact_nll = loss_of(wanted, ids[t + 1]);
    const double error = std::abs(nll - exact_nll);
    totals.nll_error = std::isnan(error) ? INFINITY : std::max(totals.nll_error, error);
    totals.nll += nll;
    totals.expected_nll += exact_nll;
    ++totals.n_nll;
  }
  return ok_status();
}

/// The folder's checkpoint in MLX's format with this many bits, on the CPU against float64. The perplexity is
/// that of eval_ids.
Result<Totals> check_quantized(const std::string& folder, int bits) {
  SKUA_ASSIGN_OR_RETURN(const auto source, open_checkpoint(folder));
  const TemporaryFolder temporary;
  if (temporary.path().empty()) return io_error("no temporary folder could be made");
  MlxQuantizer quantizer(*source, {FormatKind::kAffine, static_cast<uint8_t>(bits), 64, DType::kBF16}, {});
  SKUA_RETURN_IF_ERROR(quantizer.plan());
  SKUA_RETURN_IF_ERROR(quantizer.write(temporary.path()));
  SKUA_ASSIGN_OR_RETURN(const auto cpu, load(temporary.path(), "cpu"));
  SKUA_ASSIGN_OR_RETURN(const auto exact, load(temporary.path(), "ref"));
  SKUA_ASSIGN_OR_RETURN(const SafetensorsFile file, open_expected(folder));
  Totals out;
  for (int i = 0; file.find("prompt" + std::to_string(i)) != nullptr; ++i) {
    SKUA_ASSIGN_OR_RETURN(std::vector<int32_t> ids, ids_of(file, "prompt" + std::to_string(i)));
    SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> greedy, ids_of(file, "greedy" + std::to_string(i)));
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    SKUA_RETURN_IF_ERROR(judge_text(*cpu->runner, *exact->runner, ids, out));
  }
  if (out.n_choices == 0) return data_loss("expected.safetensors holds no prompt0");
  out.nll = out.expected_nll = 0;
  out.n_nll = 0;
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ids_of(file, "eval_ids"));
  SKUA_RETURN_IF_ERROR(judge_text(*cpu->runner, *exact->runner, ids, out));
  return out;
}

bool report(const std::string& what, const char* judge, const Totals& totals) {
  const auto n = static_cast<double>(totals.n_nll);
  const double got = std::exp(totals.nll / n), expected = std::exp(totals.expected_nll / n);
  const bool pass = totals.n_wrong == 0 && std::abs(got - expected) <= 0.01;
  std::printf(
      "%s: %d greedy choices, %d undecided, %d wrong; perplexity %.4f, %s %.4f, largest error of a loss "
      "%.1e: %s\n",
      what.c_str(), totals.n_choices, totals.n_undecided, totals.n_wrong, got, judge, expected,
      totals.nll_error, pass ? "pass" : "MISS");
  return pass;
}

int run(int argc, char** argv) {
  CLI::App app("Compares trained checkpoints with their reference's greedy choices and losses (cpu, f32).");
  std::vector<std::string> folders;
  app.add_option("DIR", folders, "model folders with an expected.safetensors")->required();
  int bits = 0;
  app.add_option(
         "--quantize", bits,
         "write each checkpoint in MLX's format with this many bits (groups of 64) first, and compare with "
         "float64 on its numbers")
      ->check(CLI::IsMember({2, 3, 4, 5, 6, 8}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  int code = 0;
  for (const std::string& folder : folders) {
    const auto totals = bits == 0 ? check_folder(folder) : check_quantized(folder, bits);
    if (!totals.ok()) {
      std::fprintf(stderr, "trained_check: %s: %s\n", folder.c_str(), totals.status().message().c_str());
      code = 1;
      continue;
    }
    const std::string what = bits == 0 ? folder : folder + " in " + std::to_string(bits) + " bits";
    if (!report(what, bits == 0 ? "its reference's" : "in float64", *totals)) code = 1;
  }
  return code;
}

}  // namespace
}  // namespace skua::golden

int main(int argc, char** argv) { return skua::golden::run(argc, argv); }
