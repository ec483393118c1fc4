// What skua bench measures: whole prompts and replies, several replies together, and single ops.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/status.h"
#include "engine/engine.h"

namespace skua {

/// All steps of one op and kernel in a step of the model.
struct OpFigures {
  std::string op, kernel;
  int64_t count = 0;
  double seconds = 0;  // per step of the model, the median over steps
  uint64_t bytes = 0;  // weights and cache that are read
  uint64_t flops = 0;
};

struct Measured {
  std::vector<double> prompt, decode;  // tokens per second, one per run, sorted
  std::vector<double> together;        // of all sequences, one per run, sorted; empty unless asked for
  double memory_speed = 0;             // bytes per second
  uint64_t bytes_per_token = 0;        // weights read for one token
  uint64_t together_steps = 0, together_tokens = 0;  // decoding steps of one run, and what they made
  uint64_t peak_bytes = 0;                           // of the process, before the memory's speed was measured
  std::vector<OpFigures> decode_ops, prompt_ops;     // longest first
};

double median(const std::vector<double>& sorted);

/// Runs everything. Errors: those of the engine.
Result<Measured> measure(Engine& engine, const OptionValues& options);

}  // namespace skua
