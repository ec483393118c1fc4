// The sizes, the samples and the table of skua bench mla.
#include "skua/bench_mla.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/threads.h"
#include "skua/bench_measure.h"
#include "skua/bench_mla_arm.h"
#include "skua/memory_speed.h"
#include "skua/terminal.h"

namespace skua {
namespace {

constexpr int64_t kContexts[] = {4096, 16384, 32768};
constexpr int64_t kBatches[] = {1, 4};
constexpr double kRowSeconds = 1.0;  // samples are taken until then, or until there are kMostSamples
constexpr size_t kMostSamples = 30;

struct Row {
  MlaArmKind kind{};
  int64_t context = 0, batch = 0;
  double worst = 0;  // error / bound, before timing
  size_t n_samples = 0;
  double seconds = 0, attend_seconds = 0;  // medians
  uint64_t cache_bytes = 0, flops = 0, bytes_per_token = 0;
  LatentCounters counted;
  std::string warning;

  double bytes_per_second() const { return static_cast<double>(cache_bytes) / attend_seconds; }
  double flops_per_second() const { return static_cast<double>(flops) / seconds; }
};

/// What the counters must say of an arm; empty if they do.
std::string contradiction(const Row& row, int n_threads) {
  const auto tokens = static_cast<uint64_t>(row.batch), rows = static_cast<uint64_t>(row.batch * row.context);
  const LatentCounters& c = row.counted;
  const bool latent = row.kind != MlaArmKind::kDecompressed;
  const bool split = row.kind == MlaArmKind::kSplit && n_threads > 1 && row.batch < 4 * n_threads;
  const LatentPath& wanted = split ? c.split_decode : c.decode;
  const uint64_t all = c.decode.rows + c.split_decode.rows + c.prefill.rows;
  if (row.kind == MlaArmKind::kSplit && !split) return "this many threads and sequences are not split";
  if (!latent) return all == 0 ? "" : "latent rows were read";
  if (wanted.tokens == tokens && wanted.rows == rows && all == rows && (c.merges > 0) == split) return "";
  return std::to_string(wanted.tokens) + " tokens and " + std::to_string(wanted.rows) + " of " +
         std::to_string(all) + " rows took that path; expected " + std::to_string(tokens) + " and " +
         std::to_string(rows);
}

Result<Row> measure_row(MlaArm& arm, const MlaBenchData& data, Row row, size_t least_samples) {
  const size_t width = static_cast<size_t>(data.geometry().n_heads * data.geometry().v);
  SKUA_ASSIGN_OR_RETURN(const MlaArm::Step first, arm.run(row.context, row.batch));
  for (int64_t s = 0; s < row.batch; ++s) {
    const auto truth = data.truth(s, row.context);
    row.worst = std::max(row.worst, worst_ratio(truth, &first.values[static_cast<size_t>(s) * width]));
  }
  if (!(row.worst <= 1)) {
    return internal_error("[bench mla] " + std::string(mla_arm_name(row.kind)) + " at " +
                          std::to_string(row.context) + " x " + std::to_string(row.batch) +
                          " is off float64 by " + std::to_string(row.worst) +
                          " times its bound; it is not timed");
  }
  row.counted = first.counted;
  std::vector<double> whole, attend;
  double spent = 0;
  while (whole.size() < least_samples || (spent < kRowSeconds && whole.size() < kMostSamples)) {
    SKUA_ASSIGN_OR_RETURN(const MlaArm::Step step, arm.run(row.context, row.batch));
    whole.push_back(step.seconds);
    attend.push_back(step.attend_seconds);
    spent += step.seconds;
  }
  for (std::vector<double>* seconds : {&whole, &attend}) std::sort(seconds->begin(), seconds->end());
  row.n_samples = whole.size();
  row.seconds = median(whole);
  row.attend_seconds = median(attend);
  row.cache_bytes = arm.cache_bytes(row.context, row.batch);
  row.bytes_per_token = arm.bytes_per_token();
  row.flops = arm.flops(row.context, row.batch);
  return row;
}

Json path_json(const LatentPath& path) {
  Json out = Json::object();
  out.set("tokens", path.tokens);
  out.set("rows", path.rows);
  out.set("bytes", path.bytes);
  return out;
}

std::string as_json(const std::vector<Row>& rows, const std::string& backend, double memory_speed) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json one = Json::object();
    one.set("arm", std::string(mla_arm_name(row.kind)));
    one.set("context", row.context);
    one.set("batch", row.batch);
    one.set("worst_error_over_bound", row.worst);
    one.set("samples", static_cast<int64_t>(row.n_samples));
    one.set("seconds", row.seconds);
    one.set("attention_seconds", row.attend_seconds);
    one.set("cache_bytes_per_token", row.bytes_per_token);
    one.set("cache_bytes", row.cache_bytes);
    one.set("cache_bytes_per_second", row.bytes_per_second());
    one.set("share_of_memory_speed", memory_speed > 0 ? Json(row.bytes_per_second() / memory_speed) : Json());
    one.set("flops", row.flops);
    one.set("flops_per_second", row.flops_per_second());
    Json counters = Json::object();
    counters.set("decode", path_json(row.counted.decode));
    counters.set("split_decode", path_json(row.counted.split_decode));
    counters.set("merges", row.counted.merges);
    one.set("counters", std::move(counters));
    one.set("warning", row.warning.empty() ? Json() : Json(row.warning));
    list.push_back(std::move(one));
  }
  Json out = Json::object();
  out.set("backend", backend);
  out.set("memory_read_bytes_per_second", memory_speed);
  out.set("rows", std::move(list));
  return out.dump(2) + "\n";
}

std::string as_table(const std::vector<Row>& rows, const std::string& backend, double memory_speed) {
  char line[256];
  std::string out =
      "backend  " + backend + ", memory " + human_rate(memory_speed / 1e9) +
      " GB/s read\none layer of DeepSeek-V2-Lite: 16 heads, latent 512 + 64, head 128 + 64, value 128; "
      "one token per sequence\nthe cache holds f32: 2304 bytes of a token's latent row (1152 in 16 bits), "
      "20480 decompressed\n\n";
  std::snprintf(line, sizeof line, "%-16s %7s %5s %9s %9s %8s %7s %8s %9s %9s %7s %6s\n", "arm", "context",
                "batch", "ms", "attn ms", "MB", "GB/s", "memory", "GFLOP/s", "rows", "merges", "err");
  out += line;
  for (const Row& row : rows) {
    const uint64_t n_rows = row.counted.decode.rows + row.counted.split_decode.rows;
    std::snprintf(line, sizeof line,
                  "%-16s %7lld %5lld %9.3f %9.3f %8.1f %7.2f %7.0f%% %9.1f %9llu %7llu %6.3f\n",
                  std::string(mla_arm_name(row.kind)).c_str(), static_cast<long long>(row.context),
                  static_cast<long long>(row.batch), row.seconds * 1e3, row.attend_seconds * 1e3,
                  static_cast<double>(row.cache_bytes) / 1e6, row.bytes_per_second() / 1e9,
                  memory_speed > 0 ? 100 * row.bytes_per_second() / memory_speed : 0.0,
                  row.flops_per_second() / 1e9, static_cast<unsigned long long>(n_rows),
                  static_cast<unsigned long long>(row.counted.merges), row.worst);
    out += line;
    if (!row.warning.empty()) out += "  WARNING: the counters contradict this label: " + row.warning + "\n";
  }
  return out +
         "\nms: from the heads' queries to their values. rows: latent rows fetched. err: worst error against "
         "float64 over\nits bound, before timing. memory: share of the measured read speed.\n";
}

Result<std::vector<Row>> measure_all(const OptionValues& options, const CpuOptions& cpu, int n_threads) {
  std::vector<int64_t> contexts(std::begin(kContexts), std::end(kContexts));
  if (options.given(Opt::kContext) && options.integer(Opt::kContext) > 0)
    contexts = {options.integer(Opt::kContext)};
  std::vector<int64_t> batches(std::begin(kBatches), std::end(kBatches));
  if (options.given(Opt::kSequences)) batches = {options.integer(Opt::kSequences)};
  const int64_t max_context = contexts.back(), max_seqs = batches.back();
  const MlaBenchData data(MlaGeometry{}, max_seqs);
  std::vector<Row> out;
  MlaCache latents;
  ProgressBar bar("Measuring");
  const uint64_t total = 3 * contexts.size() * batches.size();
  for (const MlaArmKind kind : {MlaArmKind::kDecompressed, MlaArmKind::kAbsorbed, MlaArmKind::kSplit}) {
    SKUA_ASSIGN_OR_RETURN(const auto arm, MlaArm::create(kind, data, cpu, max_context, max_seqs));
    if (kind == MlaArmKind::kSplit) {
      arm->use(latents);
    } else {
      SKUA_ASSIGN_OR_RETURN(latents, arm->fill());
    }
    for (const int64_t context : contexts) {
      for (const int64_t batch : batches) {
        SKUA_ASSIGN_OR_RETURN(Row row,
                              measure_row(*arm, data, {.kind = kind, .context = context, .batch = batch},
                                          static_cast<size_t>(options.integer(Opt::kRepeat))));
        row.warning = contradiction(row, n_threads);
        out.push_back(std::move(row));
        bar.update(out.size(), total);
      }
    }
  }
  return out;
}

}  // namespace

Exit bench_mla(const OptionValues& options) {
  if (options.text(Opt::kBackend) != "cpu") {
    return fail(invalid_argument("--backend: bench mla measures cpu, got " + options.text(Opt::kBackend)),
                Exit::kUsage);
  }
  CpuOptions cpu;
  const auto isa = cpu_isa_from_name(options.text(Opt::kIsa));
  if (!isa.ok()) return fail(isa.status(), Exit::kUsage);
  cpu.isa = *isa;
  cpu.n_threads = static_cast<int>(options.integer(Opt::kThreads));
  if (cpu.n_threads == 0) cpu.n_threads = available_cpus();
  const auto rows = measure_all(options, cpu, cpu.n_threads);
  if (!rows.ok()) return fail(rows.status());
  const auto described = make_cpu_backend(cpu);
  if (!described.ok()) return fail(described.status());
  const std::string backend = (*described)->description();
  const double speed = memory_read_speed(cpu.n_threads);
  const Exit exit = print_and_exit(options.flag(Opt::kJson) ? as_json(*rows, backend, speed)
                                                            : as_table(*rows, backend, speed));
  const bool contradicted =
      std::any_of(rows->begin(), rows->end(), [](const Row& row) { return !row.warning.empty(); });
  return exit == Exit::kOk && contradicted ? Exit::kError : exit;
}

}  // namespace skua
