// From what a user calls a model to a path, an open checkpoint, or a running engine.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/options.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/store.h"
#include "engine/engine.h"

namespace skua {

StoreRoots store_roots(const OptionValues& options);

/// Where the model lies; without a name, the default model. Errors: kNotFound, saying what to do.
Result<std::filesystem::path> locate_model(const OptionValues& options, const std::string& model);

/// locate_model, then open_checkpoint; its notes are logged as warnings.
Result<std::unique_ptr<Checkpoint>> open_model(const OptionValues& options, const std::string& model);

EngineOptions engine_options(const OptionValues& options);

/// open_model and the engine on top, with a progress bar; with --verbose, an account of what was loaded.
Result<std::unique_ptr<Engine>> load_engine(const OptionValues& options, const std::string& model,
                                            const EngineOptions& engine);

/// With --verbose: which paths latent attention took since the engine was opened, over all layers.
void report_latents(const Engine& engine);

/// Warns if numbers were too large for the cache's type (--cache-type).
void warn_of_saturation(const Engine& engine);

}  // namespace skua
