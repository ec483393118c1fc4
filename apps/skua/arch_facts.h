// What is known of each family: its kinds of layers and the backends that run them, read off its golden case.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/families.h"

namespace skua {

/// A golden case of tests/models/golden: its name and its config.json.
struct GoldenConfig {
  std::string_view name;
  std::string_view config;
};

/// All of them, as they were when this was built.
std::span<const GoldenConfig> golden_configs();

struct FamilyFacts {
  const Family* family = nullptr;
  std::vector<std::string> goldens;
  std::set<std::string> kinds;  // of its golden cases: dense or moe; sliding, chunked, mla, recurrent
  /// By "ref", "cpu f32", "cpu native" (weights of 4 bits, rounded activations): empty if every op of the
  /// first golden case has a kernel, else what the backend said.
  std::map<std::string, std::string> missing;
};

/// The facts of each family. A family without a golden case has no kinds; a golden case that no longer parses
/// shows as missing on every backend.
std::vector<FamilyFacts> family_facts(std::span<const Family* const> families,
                                      std::span<const GoldenConfig> goldens);

/// Names of families that no golden case runs.
std::vector<std::string> families_without_golden(std::span<const Family* const> families,
                                                 std::span<const GoldenConfig> goldens);

}  // namespace skua
