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
  std::vector<int32_t> likeliest;

  double mean() const { return nll / static_cast<double>(n_judged); }
  double perplexity() const { return std::exp(mean()); }
};

double share(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

/// Adds minus the logarithm of the probability of `next` under one row of logits.
void judge(std::span<const float> logits, int32_t next, Score& score) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const float top = *best;
  double sum = 0;
  for (float logit : logits) sum += exact_exp(static_cast<double>(logit) - top);
  const double chosen = logits[static_cast<size_t>(next)];
  score.nll += std::log(sum) - (chosen - top);
  score.n_top1 += logits[static_cast<size_t>(next)] == top ? 1 : 0;
  score.likeliest.push_back(static_cast<int32_t>(best - logits.begin()));
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
      judge(logits->subspan(i * n_vocab, n_vocab), ids[begin + i + 1], score);
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

/// One model under one arithmetic.
struct Reading {
  std::string backend;
  Score score;
};

Result<Reading> read_with(const CommandInput& input, const std::string& text, const std::string& compute) {
  const OptionValues& options = input.options;
  EngineOptions wanted = engine_options(options);
  wanted.compute = compute;
  wanted.context = static_cast<int32_t>(options.integer(Opt::kWindow));
  wanted.prefill_chunk = options.text(Opt::kMlaPrefill) == "fast" ? kLongStepTokens : kStepTokens;
  const std::string model = input.arguments.empty() ? options.text(Opt::kModel) : input.arguments[0];
  SKUA_ASSIGN_OR_RETURN(const auto engine, load_engine(options, model, wanted));
  const Parts parts = options.flag(Opt::kDocuments) ? Parts::kDocuments : Parts::kOne;
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, encode_text(*engine, text, parts));
  SKUA_ASSIGN_OR_RETURN(Score score, score_ids(*engine, ids, static_cast<size_t>(wanted.context)));
  report_latents(*engine);
  warn_of_saturation(*engine);
  return Reading{engine->backend_description(), std::move(score)};
}

/// Tokens for which both think the same one likeliest.
int64_t n_agreeing(const Score& a, const Score& b) {
  int64_t n = 0;
  for (size_t i = 0; i < a.likeliest.size(); ++i) n += a.likeliest[i] == b.likeliest[i] ? 1 : 0;
  return n;
}

Json json_of(const Reading& reading, const Reading* against, int64_t window) {
  const Score& score = reading.score;
  Json out = Json::object();
  out.set("perplexity", score.perplexity());
  out.set("nll_per_token", score.mean());
  out.set("n_tokens", score.n_judged);
  out.set("n_tokens_left", score.n_left);
  out.set("top1", share(score.n_top1, score.n_judged));
  out.set("window", window);
  out.set("backend", reading.backend);
  if (against == nullptr) return out;
  Json other = json_of(*against, nullptr, window);
  other.set("loss", score.perplexity() / against->score.perplexity() - 1);
  other.set("agreement", share(n_agreeing(score, against->score), score.n_judged));
  out.set("against", std::move(other));
  return out;
}

std::string text_of(const Reading& reading, const Reading* against, int64_t window) {
  const Score& score = reading.score;
  char line[400];
  std::snprintf(
      line, sizeof(line),
      "perplexity %.4f over %lld tokens, windows of %lld (the last %lld fill none); likeliest token "
      "right %.2f %%\n",
      score.perplexity(), static_cast<long long>(score.n_judged), static_cast<long long>(window),
      static_cast<long long>(score.n_left), 100 * share(score.n_top1, score.n_judged));
  std::string out = line;
  if (against == nullptr) return out;
  const Score& other = against->score;
  std::snprintf(
      line, sizeof(line),
      "against %s: perplexity %.4f, loss %+.4f %%; the same token likeliest at %.2f %%; theirs right "
      "%.2f %%\n",
      against->backend.c_str(), other.perplexity(), 100 * (score.perplexity() / other.perplexity() - 1),
      100 * share(n_agreeing(score, other), score.n_judged), 100 * share(other.n_top1, other.n_judged));
  return out + line;
}

}  // namespace

Exit perplexity_command(const CommandInput& input) {
  const OptionValues& options = input.options;
  const auto text = read_text(input);
  if (!text.ok()) return fail(text.status());
  const Status utf8 = check_utf8(*text, "the text");
  if (!utf8.ok()) return fail_input(utf8);
  const auto reading = read_with(input, *text, options.text(Opt::kCompute));
  if (!reading.ok()) return fail(reading.status());
  Result<Reading> other = Reading{};
  const std::string against = options.text(Opt::kAgainst);
  if (against != "none") other = read_with(input, *text, against);
  if (!other.ok()) return fail(other.status());
  const Reading* compared = against == "none" ? nullptr : &*other;
  const int64_t window = options.integer(Opt::kWindow);
  if (options.flag(Opt::kJson)) return print_and_exit(json_of(*reading, compared, window).dump() + "\n");
  return print_and_exit(text_of(*reading, compared, window));
}

}  // namespace skua
