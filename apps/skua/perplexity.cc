// skua perplexity: how well a model foretells a text. Windows follow each other without overlap: each is read
// from an empty cache, and every one of its tokens foretells the next, the last one the first token of the
// window that follows. What is left at the end, less than a window, is not judged.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/exp.h"
#include "base/file.h"
#include "base/json.h"
#include "cache/page_table.h"
#include "engine/runner.h"
#include "skua/commands.h"
#include "skua/model_source.h"
#include "skua/terminal.h"
#include "skua/texts.h"
#include "text/tokenizer.h"

namespace skua {
namespace {

constexpr int32_t kStepTokens = 64;       // logits of a step: this many rows of the vocabulary
constexpr int32_t kLongStepTokens = 512;  // for --mla-prefill fast, which decompresses for long steps alone

struct Score {
  double nll = 0;  // natural logarithm, summed
  int64_t n_judged = 0;
  int64_t n_left = 0;  // tokens at the end of the text that fill no window
  int64_t n_top1 = 0;  // tokens that the model thought likeliest
};

/// Adds minus the logarithm of the probability of `next` under one row of logits.
void judge(std::span<const float> logits, int32_t next, Score& score) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += exact_exp(static_cast<double>(logit) - top);
  const double chosen = logits[static_cast<size_t>(next)];
  score.nll += std::log(sum) - (chosen - top);
  score.n_top1 += logits[static_cast<size_t>(next)] == top ? 1 : 0;
  ++score.n_judged;
}

/// Runs all but the last of `ids` from an empty cache and judges all but the first.
Status judge_window(Runner& runner, size_t step_tokens, std::span<const int32_t> ids, Score& score) {
  std::vector<PageTable> tables = runner.cache().new_tables();
  Status status;
  for (size_t begin = 0; status.ok() && begin + 1 < ids.size(); begin += step_tokens) {
    const auto part = ids.subspan(begin, std::min<size_t>(step_tokens, ids.size() - 1 - begin));
    const auto n_part = static_cast<int32_t>(part.size());
    const auto n_cached = static_cast<int32_t>(begin);
    status = runner.cache().extend(tables, n_cached + n_part, runner.step());
    if (!status.ok()) break;
    std::vector<std::span<const int32_t>> pages;
    for (const PageTable& table : tables) pages.push_back(table.pages());
    Batch batch;
    append(batch, part, n_cached, n_part, std::move(pages));
    status = runner.run(batch);
    if (!status.ok()) break;
    const auto logits = runner.logits();
    if (!logits.ok()) return logits.status();
    const size_t n_vocab = logits->size() / part.size();
    for (size_t i = 0; i < part.size(); ++i) {
      judge(std::span(*logits).subspan(i * n_vocab, n_vocab), ids[begin + i + 1], score);
    }
    runner.cache().drop_windows(tables, n_cached + n_part, runner.step());
  }
  for (PageTable& table : tables) table.release_all(runner.step());
  return status;
}

Result<std::string> read_text(const CommandInput& input) {
  if (!input.options.given(Opt::kFile)) return read_stdin();
  return read_file(input.options.text(Opt::kFile));
}

enum class Parts : uint8_t { kOne, kDocuments };

/// The text's ids. With kDocuments, blank lines part documents: each is tokenized by itself (which puts the
/// model's first token before it, if it has one), and an end token stands between them, as in training.
Result<std::vector<int32_t>> encode_text(Engine& engine, const std::string& text, Parts parts) {
  if (engine.tokenizer() == nullptr) return not_found("the model has no tokenizer");
  const Tokenizer& tokenizer = *engine.tokenizer();
  if (parts == Parts::kOne) return tokenizer.encode(text);
  const ModelInfo& model = engine.model();
  if (model.end_ids.empty()) return invalid_argument("--documents: the model's config has no eos_token_id");
  std::vector<int32_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find("\n\n", begin), text.size());
    if (begin > 0) out.push_back(model.end_ids[0]);
    SKUA_ASSIGN_OR_RETURN(const auto ids, tokenizer.encode(text.substr(begin, end - begin)));
    out.insert(out.end(), ids.begin(), ids.end());
    begin = end + 2;
  }
  return out;
}

Result<Score> score_ids(Engine& engine, const std::vector<int32_t>& ids, size_t window) {
  if (ids.size() < 2) return invalid_argument("the text has fewer than two tokens");
  Score score;
  window = std::min(window, ids.size() - 1);
  ProgressBar bar("Reading");
  const auto step_tokens = static_cast<size_t>(engine.options().prefill_chunk);
  size_t begin = 0;
  for (; begin + window < ids.size(); begin += window) {
    SKUA_RETURN_IF_ERROR(
        judge_window(engine.runner(), step_tokens, std::span(ids).subspan(begin, window + 1), score));
    bar.update(begin + window, ids.size());
  }
  score.n_left = static_cast<int64_t>(ids.size() - 1 - begin);
  return score;
}

}  // namespace

Exit perplexity_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const auto text = read_text(input);
  if (!text.ok()) return fail(text.status());
  const Status utf8 = check_utf8(*text, "the text");
  if (!utf8.ok()) return fail_input(utf8);
  EngineOptions wanted = engine_options(options);
  const auto window = static_cast<int32_t>(options.integer(Opt::kWindow));
  wanted.context = window;
  wanted.prefill_chunk = options.text(Opt::kMlaPrefill) == "fast" ? kLongStepTokens : kStepTokens;
  const std::string model = input.arguments.empty() ? options.text(Opt::kModel) : input.arguments[0];
  auto engine = load_engine(options, model, wanted);
  if (!engine.ok()) return fail(engine.status());
  const auto ids =
      encode_text(**engine, *text, options.flag(Opt::kDocuments) ? Parts::kDocuments : Parts::kOne);
  if (!ids.ok()) return fail(ids.status());
  const auto score = score_ids(**engine, *ids, static_cast<size_t>(window));
  if (!score.ok()) return fail(score.status());
  report_latents(**engine);
  warn_of_saturation(**engine);
  const double mean = score->nll / static_cast<double>(score->n_judged);
  const double top1 = static_cast<double>(score->n_top1) / static_cast<double>(score->n_judged);
  if (options.flag(Opt::kJson)) {
    Json out = Json::object();
    out.set("perplexity", std::exp(mean));
    out.set("nll_per_token", mean);
    out.set("n_tokens", score->n_judged);
    out.set("n_tokens_left", score->n_left);
    out.set("top1", top1);
    out.set("window", window);
    out.set("backend", (*engine)->backend_description());
    return print_and_exit(out.dump() + "\n");
  }
  char line[200];
  std::snprintf(line, sizeof(line),
                "perplexity %.4f over %lld tokens, windows of %d (the last %lld fill none); likeliest token "
                "right %.2f %%\n",
                std::exp(mean), static_cast<long long>(score->n_judged), window,
                static_cast<long long>(score->n_left), 100 * top1);
  return print_and_exit(line);
}

}  // namespace skua
