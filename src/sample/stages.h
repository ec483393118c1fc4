// The stages that narrow or scale the window of candidates, one function each. None empties it.
#pragma once

#include "sample/candidates.h"
#include "sample/sampling_params.h"

namespace skua {

/// Keeps logits within n standard deviations of the best. Source: arXiv:2411.07641.
void keep_top_n_sigma(Candidates& candidates, double n);

/// Keeps the fewest best tokens whose probability reaches p. Source: arXiv:1904.09751.
void keep_top_p(Candidates& candidates, double p);

/// Keeps tokens of at least p times the best one's probability. Source: arXiv:2407.01082.
void keep_min_p(Candidates& candidates, double p);

/// Takes tokens in the order of how close their surprise is to the entropy, until their probability exceeds
/// p. Of equals above the mean the higher id comes first. Source: arXiv:2202.00666.
void keep_typical(Candidates& candidates, double p);

/// If `chance` (uniform in [0, 1)) is below `probability`: of the tokens with a probability of at least
/// `threshold`, drops all but the last. Source: text-generation-webui pull request 6335.
struct Xtc {
  double probability = 0, threshold = 0;
};
void drop_top_choices(Candidates& candidates, const Xtc& xtc, double chance);

/// Divides by the temperature; 0 keeps the best only. With a range, the temperature goes from t - range (at
/// least 0) to t + range with (entropy / log size)^exponent. Source: llama.cpp, "entropy" dynamic
/// temperature.
void apply_temperature(Candidates& candidates, const SamplingParams& params);

/// Mirostat's cut: version 1 keeps k tokens, k estimated from the slope of the best 100 and mu; version 2
/// keeps tokens with a surprise of at most mu bits. Source: arXiv:2007.14966.
void cut_mirostat(Candidates& candidates, Mirostat version, double mu);

}  // namespace skua
