// Tiny random models of every registered family, with odd sizes: for tests that iterate the registry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/memory_checkpoint.h"
#include "engine/load.h"
#include "tensor/format.h"

namespace skua::test {

struct FamilyModel {
  std::string name;    // "llama_q4_1"
  std::string family;  // Family::name
  std::string config;  // JSON
  Format format;       // of matrices; vectors are f32
};
inline void PrintTo(const FamilyModel& model, std::ostream* out) { *out << model.name; }

/// At least one model per family; all have vocabularies of a few hundred and a context of 4,096.
std::vector<FamilyModel> family_models();

/// Some of them, of each kind one: for tests that cost more.
std::vector<FamilyModel> sample_family_models();

/// Those of the sample that keep keys and values of heads (which may be 16-bit numbers).
std::vector<FamilyModel> sample_models_with_heads();

/// The model's checkpoint: every weight that its graph declares, from a seed made of its name.
std::unique_ptr<MemoryCheckpoint> make_checkpoint(const FamilyModel& model);

}  // namespace skua::test
