// decode_steps CONFIG BITS COMPUTE: a few decode steps of a made model, for counting their instructions.
// skua::measured_steps() runs them and nothing else: counters are switched on inside it by its name
// (bench/instructions). One thread, AVX2, since valgrind knows no AVX-512.
#include <cstdio>
#include <string>

#include "engine/engine.h"
#include "skua/synth.h"

namespace skua {

constexpr int kPromptTokens = 100;  // two pages, so that attention closes one
constexpr int kSteps = 4;

/// Runs kSteps steps of one token each; the number that ran.
[[gnu::noinline]] int measured_steps(Engine& engine) {
  int n_steps = 0;
  for (; n_steps < kSteps && !engine.idle(); ++n_steps) engine.step();
  return n_steps;
}

namespace {

Result<std::unique_ptr<Engine>> open_engine(const char* config, const char* bits, const char* compute) {
  OptionValues values;
  SKUA_RETURN_IF_ERROR(values.set(Opt::kQuant, bits, OptionSource::kCommandLine, "BITS"));
  SKUA_RETURN_IF_ERROR(values.set(Opt::kSeed, "1", OptionSource::kCommandLine, "--seed"));
  SKUA_ASSIGN_OR_RETURN(auto checkpoint, synthetic_checkpoint(values, config));
  EngineOptions options;
  options.compute = compute;
  options.isa = "avx2";
  options.n_threads = 1;
  options.context = 2 * kPromptTokens;
  options.speculate = "off";
  return Engine::open(std::move(checkpoint), options);
}

Status run(const char* config, const char* bits, const char* compute) {
  SKUA_ASSIGN_OR_RETURN(const auto engine, open_engine(config, bits, compute));
  GenerateRequest request;
  for (int i = 0; i < kPromptTokens; ++i)
    request.prompt_ids.push_back((i * 37 + 11) % static_cast<int>(engine->model().n_vocab));
  request.max_tokens = 2 * kSteps;
  request.sampling.temperature = 0;
  request.end_tokens = EndTokens::kIgnore;
  SKUA_RETURN_IF_ERROR(engine->submit(std::move(request)).status());
  engine->step();  // the prompt
  engine->step();  // what only the first decode step does: its plan is made
  const uint64_t before = engine->counters().n_tokens;
  const int n_steps = measured_steps(*engine);
  const uint64_t n_tokens = engine->counters().n_tokens - before;
  if (n_steps != kSteps || n_tokens != static_cast<uint64_t>(kSteps)) {
    return internal_error("[decode_steps] expected " + std::to_string(kSteps) + " steps of one token, got " +
                          std::to_string(n_tokens) + " tokens in " + std::to_string(n_steps) + " steps");
  }
  std::printf("{\"steps\": %d, \"compiler\": \"g++ %s\"}\n", n_steps, __VERSION__);
  return ok_status();
}

}  // namespace
}  // namespace skua

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: decode_steps CONFIG BITS COMPUTE\n");
    return 2;
  }
  const skua::Status status = skua::run(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "decode_steps: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
