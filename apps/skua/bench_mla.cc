// The sizes, the samples and the table of skua bench mla.
#include "skua/bench_mla.h"

#include <algorithm>
#include <cstdio>

#include "backend/cpu/args.h"
#include "base/json.h"
#include "base/log.h"
#include "base/threads.h"
#include "skua/bench_measure.h"
#include "skua/bench_mla_arm.h"
#include "skua/latent_report.h"
#include "skua/memory_speed.h"
#include "skua/terminal.h"

namespace skua {
namespace {

constexpr int64_t kContexts[] = {4096, 16384, 32768};
constexpr int64_t kBatches[] = {1, 4};
constexpr int64_t kPrefillContexts[] = {512, 4096};
constexpr int64_t kChunk = 512;  // tokens of a prompt that one step brings
constexpr int64_t kLeastContext = cpu::kSplitPages * kPageTokens + 1;  // what two splits need
constexpr double kRowSeconds = 1.0;  // samples are taken until then, or until there are kMostSamples
constexpr size_t kMostSamples = 30;

struct Row {
  MlaArmKind kind{};
  int64_t context = 0, batch = 0, q_len = 1;
  double worst = 0;  // error / bound, before timing
  size_t n_samples = 0;
  double seconds = 0, attend_seconds = 0;  // medians
  uint64_t cache_bytes = 0, flops = 0, bytes_per_token = 0;
  LatentCounters counted;
  std::string warning;

  double bytes_per_second() const { return static_cast<double>(cache_bytes) / attend_seconds; }
  double flops_per_second() const { return static_cast<double>(flops) / seconds; }
};

/// The path that an arm's label promises; nullptr for the one that reads no latent rows.
LatentPath LatentCounters::*promised(const Row& row) {
  switch (row.kind) {
    case MlaArmKind::kDecompressed:
      return nullptr;
    case MlaArmKind::kAbsorbed:
      return &LatentCounters::decode;
    case MlaArmKind::kSplit:
      return &LatentCounters::split_decode;
    case MlaArmKind::kSparse:
      return &LatentCounters::sparse;
    case MlaArmKind::kExactPrefill:
      return &LatentCounters::prefill;
    case MlaArmKind::kFastPrefill:
      break;
  }
  return &LatentCounters::fast_prefill;
}

/// Rows that the step fetched, whatever the path.
uint64_t rows_fetched(const LatentCounters& c) {
  return c.decode.rows + c.split_decode.rows + c.prefill.rows + c.fast_prefill.rows + c.sparse.rows;
}

/// What the counters say against an arm's label; empty if nothing.
std::string contradiction(const Row& row) {
  const LatentCounters& c = row.counted;
  const auto number = [](uint64_t n) { return std::to_string(n); };
  const int64_t seen = row.kind == MlaArmKind::kSparse ? kMlaChosen : row.context;
  const uint64_t all = rows_fetched(c), once = static_cast<uint64_t>(row.batch * seen);
  if (promised(row) == nullptr) return all == 0 ? "" : number(all) + " latent rows were read";
  const LatentPath& path = c.*promised(row);
  if (path.tokens != static_cast<uint64_t>(row.batch * row.q_len) || path.rows != all)
    return number(path.tokens) + " tokens and " + number(path.rows) + " of " + number(all) +
           " rows took that path";
  // Tokens of an exact prompt share passes in groups; all else fetches each row once.
  if (row.kind != MlaArmKind::kExactPrefill && all != once)
    return number(all) + " rows were fetched where there are " + number(once);
  if (row.kind == MlaArmKind::kSparse) return "";
  return (c.merges > 0) == (row.kind == MlaArmKind::kSplit) ? "" : number(c.merges) + " splits were merged";
}

/// The worst error over its bound: of every token of a decode step, of some of a chunk.
double worst_of(const MlaBenchData& data, const Row& row, const std::vector<float>& values) {
  const auto width = static_cast<size_t>(data.geometry().n_heads * data.geometry().v);
  double worst = 0;
  for (int64_t s = 0; s < row.batch; ++s) {
    for (int64_t i = 0; i < row.q_len;
         i += i + 1 < row.q_len ? std::min(int64_t{73}, row.q_len - 1 - i) : 1) {
      const int64_t token = s * row.q_len + i;
      const auto truth = data.truth(token, s, row.context - row.q_len + i + 1,
                                    row.kind == MlaArmKind::kSparse ? MlaSeen::kChosen : MlaSeen::kAll);
      worst = std::max(worst, worst_ratio(truth, &values[static_cast<size_t>(token) * width]));
    }
  }
  return worst;
}

Result<Row> measure_row(MlaArm& arm, const MlaBenchData& data, Row row, size_t least_samples) {
  SKUA_ASSIGN_OR_RETURN(const MlaArm::Step first, arm.run(row.context, row.batch, row.q_len));
  row.worst = worst_of(data, row, first.values);
  if (!(row.worst <= 1)) {
    return internal_error("[bench mla] " + std::string(mla_arm_name(row.kind)) + " at " +
                          std::to_string(row.context) + " x " + std::to_string(row.batch) +
                          " is off float64 by " + std::to_string(row.worst) +
                          " times its bound; it is not timed");
  }
  row.counted = first.counted;
  row.warning = contradiction(row);
  std::vector<double> whole, attend;
  double spent = 0;
  while (whole.size() < least_samples || (spent < kRowSeconds && whole.size() < kMostSamples)) {
    SKUA_ASSIGN_OR_RETURN(const MlaArm::Step step, arm.run(row.context, row.batch, row.q_len));
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
  row.flops = arm.flops(row.context, row.batch, row.q_len);
  return row;
}

std::string as_json(const std::vector<Row>& rows, const std::string& backend, double memory_speed) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json one = Json::object();
    one.set("arm", std::string(mla_arm_name(row.kind)));
    one.set("context", row.context);
    one.set("batch", row.batch);
    one.set("tokens_per_sequence", row.q_len);
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
    one.set("counters", latent_json(row.counted));
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
      "\none token per sequence; prefill: 512 of one prompt\nthe cache holds f32: 2304 bytes of a token's "
      "latent row (1152 in 16 bits), "
      "20480 decompressed\n\n";
  std::snprintf(line, sizeof line, "%-16s %7s %5s %9s %9s %8s %7s %8s %9s %9s %7s %6s\n", "arm", "context",
                "batch", "ms", "attn ms", "MB", "GB/s", "memory", "GFLOP/s", "rows", "merges", "err");
  out += line;
  for (const Row& row : rows) {
    const uint64_t n_rows = rows_fetched(row.counted);
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

/// What is to be measured, in order; arms that share a cache follow each other.
std::vector<Row> rows_to_measure(const OptionValues& options, int n_threads) {
  std::vector<int64_t> contexts(std::begin(kContexts), std::end(kContexts));
  const int64_t context_given = options.given(Opt::kContext) ? options.integer(Opt::kContext) : 0;
  if (context_given > 0) contexts = {context_given};
  std::vector<int64_t> batches(std::begin(kBatches), std::end(kBatches));
  if (options.given(Opt::kSequences)) batches = {options.integer(Opt::kSequences)};
  std::vector<Row> out;
  using enum MlaArmKind;
  for (const MlaArmKind kind : {kDecompressed, kAbsorbed, kSplit, kSparse}) {
    if (kind == kSplit && n_threads == 1) continue;  // there is nobody to deal splits to
    for (const int64_t context : contexts) {
      if (kind == kSparse && context <= kMlaChosen) continue;  // every row would be seen
      for (const int64_t batch : batches) out.push_back({.kind = kind, .context = context, .batch = batch});
    }
  }
  std::vector<int64_t> prompts(std::begin(kPrefillContexts), std::end(kPrefillContexts));
  if (context_given > 0) prompts = {context_given};
  for (const MlaArmKind kind : {MlaArmKind::kExactPrefill, MlaArmKind::kFastPrefill}) {
    for (const int64_t context : prompts)
      out.push_back({.kind = kind, .context = context, .batch = 1, .q_len = std::min(kChunk, context)});
  }
  return out;
}

Result<std::vector<Row>> measure_all(const OptionValues& options, const CpuOptions& cpu) {
  std::vector<Row> rows = rows_to_measure(options, cpu.n_threads);
  int64_t max_context = 0, max_seqs = 0, max_queries = 0;
  for (const Row& row : rows) {
    max_context = std::max(max_context, row.context);
    max_seqs = std::max(max_seqs, row.batch);
    max_queries = std::max(max_queries, row.q_len * row.batch);
  }
  const MlaBenchData data(MlaGeometry{}, max_queries);
  std::unique_ptr<MlaArm> arm;
  MlaCache latents;
  ProgressBar bar("Measuring");
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].kind != rows[i - 1].kind) {
      arm.reset();
      SKUA_ASSIGN_OR_RETURN(arm, MlaArm::create(rows[i].kind, data, cpu, max_context, max_seqs));
      const bool shares = latents.slab != nullptr;
      if (shares) arm->use(latents);
      if (!shares) {
        SKUA_ASSIGN_OR_RETURN(const MlaCache filled, arm->fill());
        if (rows[i].kind != MlaArmKind::kDecompressed) latents = filled;
      }
    }
    SKUA_ASSIGN_OR_RETURN(
        rows[i], measure_row(*arm, data, rows[i], static_cast<size_t>(options.integer(Opt::kRepeat))));
    bar.update(i + 1, rows.size());
  }
  return rows;
}

}  // namespace

Exit bench_mla(const OptionValues& options) {
  if (options.text(Opt::kBackend) != "cpu") {
    return fail(invalid_argument("--backend: bench mla measures cpu, got " + options.text(Opt::kBackend)),
                Exit::kUsage);
  }
  const int64_t context = options.integer(Opt::kContext);
  if (context > 0 && context < kLeastContext) {
    return fail(invalid_argument("--context: bench mla needs " + std::to_string(kLeastContext) +
                                 " tokens or more, since fewer have nothing to split; got " +
                                 std::to_string(context)),
                Exit::kUsage);
  }
  CpuOptions cpu;
  const auto isa = cpu_isa_from_name(options.text(Opt::kIsa));
  if (!isa.ok()) return fail(isa.status(), Exit::kUsage);
  cpu.isa = *isa;
  cpu.n_threads = static_cast<int>(options.integer(Opt::kThreads));
  if (cpu.n_threads == 0) cpu.n_threads = available_cpus();
  if (cpu.n_threads == 1) log_warning("absorbed, split is left out: one thread has nobody to deal splits to");
  const auto rows = measure_all(options, cpu);
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
