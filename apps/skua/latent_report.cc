// Names of the paths.
#include "skua/latent_report.h"

#include <utility>

#include "skua/terminal.h"

namespace skua {
namespace {

struct Named {
  const char* name;
  const char* key;
  LatentPath LatentCounters::*path;
};
constexpr Named kPaths[] = {
    {"decode, absorbed", "decode", &LatentCounters::decode},
    {"decode, absorbed, split over threads", "split_decode", &LatentCounters::split_decode},
    {"prefill, absorbed (exact)", "prefill", &LatentCounters::prefill},
    {"prefill, decompressed (fast)", "fast_prefill", &LatentCounters::fast_prefill},
    {"chosen rows alone", "sparse", &LatentCounters::sparse},
};

}  // namespace

std::vector<std::string> latent_lines(const LatentCounters& counters) {
  std::vector<std::string> out;
  for (const Named& named : kPaths) {
    const LatentPath& path = counters.*named.path;
    if (path.tokens == 0) continue;
    std::string text = std::string(named.name) + ": " + std::to_string(path.tokens) + " tokens, " +
                       std::to_string(path.rows) + " latent rows, " + human_bytes(path.bytes);
    if (named.path == &LatentCounters::split_decode)
      text += ", " + std::to_string(counters.merges) + " splits merged";
    out.push_back(std::move(text));
  }
  return out;
}

Json latent_json(const LatentCounters& counters) {
  if (latent_lines(counters).empty()) return Json();
  Json out = Json::object();
  for (const Named& named : kPaths) {
    const LatentPath& path = counters.*named.path;
    Json one = Json::object();
    one.set("tokens", path.tokens);
    one.set("rows", path.rows);
    one.set("bytes", path.bytes);
    out.set(named.key, std::move(one));
  }
  out.set("merges", counters.merges);
  return out;
}

}  // namespace skua
