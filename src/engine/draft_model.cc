// The draft keeps its own cache of every sequence and brings it up to date before each guess: tokens that
// were guessed and refused are dropped, tokens that came from elsewhere are run.
#include "engine/draft_model.h"

#include <algorithm>
#include <limits>

namespace skua {

Result<std::unique_ptr<DraftModel>> DraftModel::create(LoadedModel model, Backend& backend,
                                                       const DraftOptions& options) {
  std::unique_ptr<DraftModel> draft(new DraftModel(std::move(model), options));
  RunnerOptions runner{options.context, options.max_tokens, options.max_seqs};
  SKUA_ASSIGN_OR_RETURN(draft->runner_, Runner::create(draft->model_, backend, runner));
  return draft;
}

/// Makes the cache hold all of `ids`; the logits of the last one can be read then. The first `n_certain` are
/// never taken back: what lies out of sight of them is let go.
Status DraftModel::catch_up(Known& known, std::span<const int32_t> ids, int32_t n_certain) {
  CacheManager& cache = runner_->cache();
  const auto differ = std::mismatch(known.ids.begin(), known.ids.end(), ids.begin(), ids.end());
  auto n_kept = static_cast<size_t>(differ.first - known.ids.begin());
  n_kept = std::min(n_kept, ids.size() - 1);
  known.ids.resize(n_kept);
  while (known.ids.size() < ids.size()) {
    const auto n_known = static_cast<int32_t>(known.ids.size());
    const auto part = ids.subspan(
        known.ids.size(), std::min(ids.size() - known.ids.size(), static_cast<size_t>(options_.max_tokens)));
    const auto n_part = static_cast<int32_t>(part.size());
    cache.drop_windows(known.pages, std::min(n_known, n_certain), runner_->step());
    SKUA_RETURN_IF_ERROR(cache.extend(known.pages, n_known + n_part, runner_->step()));
    std::vector<std::span<const int32_t>> tables;
    for (const PageTable& table : known.pages) tables.push_back(table.pages());
    Batch batch;
    append(batch, part, n_known, 1, std::move(tables));
    SKUA_RETURN_IF_ERROR(runner_->run(batch));
    known.ids.insert(known.ids.end(), part.begin(), part.end());
  }
  return ok_status();
}

std::vector<int32_t> DraftModel::propose(const Sequence& seq, int32_t max_tokens) {
  const auto room = static_cast<int64_t>(options_.context) - static_cast<int64_t>(seq.ids.size());
  max_tokens = static_cast<int32_t>(std::min<int64_t>(max_tokens, room));
  Known& known = known_[{seq.request_id, seq.choice}];
  if (known.pages.empty()) known.pages = runner_->cache().new_tables();
  if (!known.sampler) known.sampler = seq.sampler;
  known.sampler->restore(seq.sampler->state());
  std::vector<int32_t> ids = seq.ids;
  // What was guessed and refused is behind what is known for good; no later guess begins before that.
  const auto differ = std::mismatch(known.ids.begin(), known.ids.end(), ids.begin(), ids.end());
  const auto n_same = static_cast<size_t>(differ.first - known.ids.begin());
  runner_->cache().drop_windows(known.pages, static_cast<int32_t>(std::min(n_same, ids.size() - 1)),
                                runner_->step());
  std::vector<int32_t> out;
  const int32_t n_certain = static_cast<int32_t>(seq.ids.size()) - 1;  // the last one is run again
  while (static_cast<int32_t>(out.size()) < max_tokens) {
    if (!catch_up(known, ids, n_certain).ok()) break;
    const auto row = runner_->logits();
    if (!row.ok()) break;
    // The two output matrices may be padded to different numbers of rows.
    std::vector<float> logits(row->begin(), row->end());
    logits.resize(static_cast<size_t>(known.sampler->n_vocab()), -std::numeric_limits<float>::infinity());
    const auto prompt = std::span<const int32_t>(ids).first(static_cast<size_t>(seq.n_prompt));
    const auto generated = std::span<const int32_t>(ids).subspan(prompt.size());
    const auto token = known.sampler->sample(logits, prompt, generated, ids.size());
    if (!token.ok()) break;
    out.push_back(token->id);
    ids.push_back(token->id);
  }
  return out;
}

void DraftModel::forget(const Sequence& seq) {
  const auto known = known_.find({seq.request_id, seq.choice});
  if (known == known_.end()) return;
  for (PageTable& table : known->second.pages) table.release_all(runner_->step());
  known_.erase(known);
}

Status check_same_vocabulary(const Tokenizer& model, const Tokenizer& draft) {
  if (model.n_vocab() != draft.n_vocab()) {
    return invalid_argument("[draft] the draft model's vocabulary has " + std::to_string(draft.n_vocab()) +
                            " tokens, the model's " + std::to_string(model.n_vocab()) +
                            "; they must be the same");
  }
  for (int32_t id = 0; id < model.n_vocab(); ++id) {
    if (model.token_text(id) == draft.token_text(id)) continue;
    return invalid_argument("[draft] token " + std::to_string(id) + " is \"" + draft.token_text(id) +
                            "\" in the draft model and \"" + model.token_text(id) + "\" in the model");
  }
  return ok_status();
}

}  // namespace skua
