// Rules between options, checked before anything is loaded. The engine checks again what reaches it.
#include "skua/option_rules.h"

#include "text/stop_strings.h"

namespace skua {
namespace {

/// A compute mode belongs to one backend; auto to all.
Status check_compute(const OptionValues& options) {
  const std::string backend = options.text(Opt::kBackend);
  const std::string compute = options.text(Opt::kCompute);
  const bool of_ref = compute == "f64" || compute == "rounded";
  if (compute == "auto" || of_ref == (backend == "ref")) return ok_status();
  return invalid_argument("--compute " + compute + " is of --backend " + (of_ref ? "ref" : "cpu") + "; " +
                          backend + " has auto, " + (of_ref ? "f32 and native" : "f64 and rounded"));
}

/// The reference knows no instruction sets. A variable may stand there for other commands.
Status check_isa(const OptionValues& options) {
  if (options.text(Opt::kBackend) != "ref" || options.source(Opt::kIsa) != OptionSource::kCommandLine)
    return ok_status();
  return invalid_argument("--isa is of --backend cpu; leave it out with --backend ref");
}

/// ref keeps its cache in float64.
Status check_cache_type(const OptionValues& options) {
  const std::string type = options.text(Opt::kCacheType);
  if (type == "f32" || options.text(Opt::kBackend) != "ref") return ok_status();
  return invalid_argument("--cache-type " + type + " is of --backend cpu; ref keeps its cache in float64");
}

}  // namespace

Status check_option_rules(const OptionValues& options) {
  SKUA_RETURN_IF_ERROR(check_compute(options));
  SKUA_RETURN_IF_ERROR(check_isa(options));
  SKUA_RETURN_IF_ERROR(check_cache_type(options));
  if (options.text(Opt::kSpeculate) == "draft" && !options.given(Opt::kDraft)) {
    return invalid_argument("--speculate draft needs --draft MODEL");
  }
  if (auto stops = StopMatcher::make(options.texts(Opt::kStop)); !stops.ok()) return stops.status();
  return ok_status();
}

}  // namespace skua
