// Builds, lowers and binds the graphs of an arm, and runs them step by step with a clock. Embeddings stand
// for what a model computes before: their rows are queries and cache rows.
#include "skua/bench_mla_arm.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "tensor/dtype.h"

namespace skua {
namespace {

constexpr int32_t kFillTokens = 512;  // of one step of filling
constexpr DType kF32 = DType::kF32;

bool is_up_projection(const std::string& name) { return name == "up_keys" || name == "up_values"; }

}  // namespace

std::string_view mla_arm_name(MlaArmKind kind) {
  switch (kind) {
    case MlaArmKind::kDecompressed:
      return "decompressed";
    case MlaArmKind::kAbsorbed:
      return "absorbed";
    case MlaArmKind::kSplit:
      return "absorbed, split";
    case MlaArmKind::kSparse:
      return "2048 chosen";
    case MlaArmKind::kExactPrefill:
      return "prefill exact";
    case MlaArmKind::kFastPrefill:
      break;
  }
  return "prefill fast";
}

Result<std::unique_ptr<MlaArm>> MlaArm::create(MlaArmKind kind, const MlaBenchData& data,
                                               const CpuOptions& cpu, int64_t max_context, int64_t max_seqs) {
  std::unique_ptr<MlaArm> arm(new MlaArm(kind, data, max_context, max_seqs));
  CpuOptions options = cpu;
  options.split_latents = kind == MlaArmKind::kSplit || kind == MlaArmKind::kSparse;
  SKUA_ASSIGN_OR_RETURN(arm->backend_, make_cpu_backend(options));
  return arm;
}

/// Decompressed: the query's parts side by side, as keys lie.
ValueId MlaArm::decode_nodes(GraphBuilder& b, SlotId slot) const {
  const MlaGeometry& g = data_.geometry();
  const auto n = static_cast<int32_t>(g.n_heads);
  const auto from_table = [&](const char* name, int64_t width) {
    return b.embed(name, Embed{b.weight(name, data_.n_queries(), width), 1.0f, EmbedIndex::kPositions}, kF32);
  };
  if (kind_ == MlaArmKind::kDecompressed) {
    return b.attention("attend", from_table("q", g.n_heads * (g.nope + g.rope)), {slot, n, g.scale()}, kF32);
  }
  const ValueId q_nope = from_table("q_nope", g.n_heads * g.nope),
                q_pe = from_table("q_pe", g.n_heads * g.rope);
  const WeightId up_keys = b.weight("up_keys", g.n_heads * g.rank, g.nope);
  const WeightId up_values = b.weight("up_values", g.n_heads * g.v, g.rank);
  if (kind_ == MlaArmKind::kFastPrefill)
    return b.mla_fast_attention("attend", q_nope, q_pe, {slot, up_keys, up_values, n, g.scale(), 1}, kF32);
  const ValueId q_latent = b.head_linear("q_latent", q_nope, {up_keys, n}, kF32);
  const auto top_k = static_cast<int32_t>(kind_ == MlaArmKind::kSparse ? kMlaChosen : 0);
  std::optional<ValueId> chosen;
  if (top_k > 0) chosen = from_table("chosen", top_k);
  const ValueId mean = b.mla_attention("attend", q_latent, q_pe, {slot, n, g.scale(), top_k}, kF32, chosen);
  return b.head_linear("values", mean, {up_values, n}, kF32);
}

Result<Graph> MlaArm::graph(Role role) const {
  const MlaGeometry& g = data_.geometry();
  const bool latent = kind_ != MlaArmKind::kDecompressed;
  GraphBuilder b{Numerics{}};
  const int64_t k_width = latent ? g.rope : g.n_heads * (g.nope + g.rope);
  const int64_t v_width = latent ? g.rank : g.n_heads * g.v;
  CacheSlot shape;
  shape.kind = latent ? SlotKind::kLatent : SlotKind::kFull;
  shape.n_kv_heads = latent ? 1 : static_cast<int32_t>(g.n_heads);
  shape.k_dim = static_cast<int32_t>(k_width / shape.n_kv_heads);
  shape.v_dim = static_cast<int32_t>(v_width / shape.n_kv_heads);
  const SlotId slot = b.slot(shape);
  const ValueId k = b.embed(b.weight(latent ? "kpe" : "keys", kMlaTableRows, k_width));
  const ValueId v = b.embed(b.weight(latent ? "ckv" : "values_table", kMlaTableRows, v_width));
  b.kv_write("cache", k, v, slot);
  return b.finish(b.gather_rows(role == Role::kFill ? k : decode_nodes(b, slot)));
}

std::vector<float> MlaArm::weight_values(const std::string& name) const {
  if (name == "up_keys") return data_.up_keys;
  if (name == "up_values") return data_.up_values;
  if (name == "kpe") return data_.kpe;
  if (name == "ckv") return data_.ckv;
  if (name == "keys") return data_.table_keys();
  if (name == "values_table") return data_.table_values();
  if (name == "q_nope") return data_.q_nope;
  if (name == "q_pe") return data_.q_pe;
  if (name == "chosen") {
    std::vector<float> out;
    for (int64_t i = 0; i < data_.n_queries() * kMlaChosen; ++i)
      out.push_back(static_cast<float>(chosen_position(i % kMlaChosen, chosen_of_)));
    return out;
  }
  const MlaGeometry& g = data_.geometry();
  std::vector<float> q;
  for (int64_t i = 0; i < data_.n_queries() * g.n_heads; ++i) {
    q.insert(q.end(), data_.q_nope.begin() + i * g.nope, data_.q_nope.begin() + (i + 1) * g.nope);
    q.insert(q.end(), data_.q_pe.begin() + i * g.rope, data_.q_pe.begin() + (i + 1) * g.rope);
  }
  return q;
}

Result<std::vector<PackedWeight>> MlaArm::pack(const Graph& graph) {
  std::vector<PackedWeight> out;
  for (const WeightDecl& decl : graph.weights) {
    const std::vector<float> values = weight_values(decl.name);
    SKUA_CHECK_EQ(static_cast<int64_t>(values.size()), decl.rows * decl.cols);
    std::vector<uint16_t> narrow;
    EncodedMatrix source;
    source.rows = decl.rows;
    source.cols = decl.cols;
    if (is_up_projection(decl.name)) {  // as a load leaves them
      for (const float value : values) narrow.push_back(f32_to_bf16(value));
      source.format = {FormatKind::kBF16};
      source.planes[0] = reinterpret_cast<const std::byte*>(narrow.data());
    } else {
      source.format = {FormatKind::kF32};
      source.planes[0] = reinterpret_cast<const std::byte*>(values.data());
    }
    source.row_stride_bytes[0] = plane_row_bytes(source.format, 0, decl.cols);
    SKUA_ASSIGN_OR_RETURN(PackedWeight packed, backend_->pack(source, decl.name));
    out.push_back(std::move(packed));
  }
  return out;
}

Result<std::unique_ptr<MlaArm::Program>> MlaArm::program(Role role, const Capacity& capacity) {
  auto out = std::make_unique<Program>();
  SKUA_ASSIGN_OR_RETURN(const Graph built, graph(role));
  SKUA_ASSIGN_OR_RETURN(out->weights, pack(built));
  LowerRequest request;
  request.graph = &built;
  request.backend = backend_.get();
  request.weights = out->weights;
  request.capacity = capacity;
  request.cache_group = {0};
  request.slab_bytes = {cache_.slab->bytes()};
  SKUA_ASSIGN_OR_RETURN(out->plan, lower(request));
  out->inputs.assign(static_cast<size_t>(StepInput::kPageTable) + 1, nullptr);
  std::vector<std::byte*> bases;
  for (const BufferInfo& buffer : out->plan.buffers) {
    if (buffer.kind == BufferKind::kWeight) {
      bases.push_back(out->weights[buffer.index].buffer->data());
    } else if (buffer.kind == BufferKind::kCache) {
      bases.push_back(cache_.slab->data());
    } else {
      SKUA_ASSIGN_OR_RETURN(auto memory, backend_->allocate(buffer.bytes, buffer.name));
      bases.push_back(memory->data());
      if (buffer.kind == BufferKind::kInput) out->inputs[buffer.index] = memory->data();
      out->owned.push_back(std::move(memory));
    }
  }
  out->bound = std::make_unique<BoundPlan>(out->plan, bases);
  return out;
}

void MlaArm::write_inputs(Program& program, const std::vector<int32_t>& ids,
                          const std::vector<StepSeq>& seqs) const {
  const auto put = [&](StepInput input, const void* from, size_t bytes) {
    std::byte* to = program.inputs[static_cast<size_t>(input)];
    if (to != nullptr && bytes > 0) std::memcpy(to, from, bytes);
  };
  const auto put_ints = [&](StepInput input, const std::vector<int32_t>& values) {
    put(input, values.data(), values.size() * sizeof(int32_t));
  };
  const auto n = static_cast<int32_t>(ids.size()), n_seqs = static_cast<int32_t>(seqs.size());
  const StepHeader header{n, n_seqs, n, 0};
  put(StepInput::kHeader, &header, sizeof(header));
  put_ints(StepInput::kIds, ids);
  std::vector<int32_t> token_seq, rows, tables;
  for (int32_t s = 0; s < n_seqs; ++s) {
    token_seq.insert(token_seq.end(), static_cast<size_t>(seqs[static_cast<size_t>(s)].q_len), s);
    const int64_t first = seqs[static_cast<size_t>(s)].reserved * pages_per_seq();
    for (int64_t page = 0; page < pages_per_seq(); ++page)
      tables.push_back(static_cast<int32_t>(first + page));
  }
  for (int32_t i = 0; i < n; ++i) rows.push_back(i);
  put_ints(StepInput::kPositions, rows);  // which query of the table
  put_ints(StepInput::kTokenSeq, token_seq);
  put(StepInput::kSeqs, seqs.data(), seqs.size() * sizeof(StepSeq));
  put_ints(StepInput::kRows, rows);
  put_ints(StepInput::kPageTable, tables);
}

Result<MlaCache> MlaArm::fill() {
  SKUA_ASSIGN_OR_RETURN(const Graph built, graph(Role::kFill));
  const uint64_t pages = static_cast<uint64_t>(max_seqs_ * pages_per_seq());
  SKUA_ASSIGN_OR_RETURN(cache_.slab, backend_->allocate(pages * backend_->cache_page_bytes(built.slots[0]),
                                                        "the cache of bench mla"));
  cache_.max_context = max_context_;
  SKUA_ASSIGN_OR_RETURN(const auto filling, program(Role::kFill, {kFillTokens, 1, kFillTokens,
                                                                  static_cast<int32_t>(pages_per_seq())}));
  for (int64_t s = 0; s < max_seqs_; ++s) {
    for (int64_t begin = 0; begin < max_context_; begin += kFillTokens) {
      const int64_t n = std::min<int64_t>(kFillTokens, max_context_ - begin);
      std::vector<int32_t> ids;
      for (int64_t i = 0; i < n; ++i) ids.push_back(MlaBenchData::row_of(s, begin + i));
      write_inputs(*filling, ids,
                   {{0, static_cast<int32_t>(n), static_cast<int32_t>(begin + n), static_cast<int32_t>(s)}});
      SKUA_RETURN_IF_ERROR(backend_->run(filling->bound->steps(), filling->bound->order()));
    }
  }
  return cache_;
}

LatentCounters MlaArm::since(const LatentCounters& now, const LatentCounters& then) {
  const auto path = [](const LatentPath& a, const LatentPath& b) {
    return LatentPath{a.tokens - b.tokens, a.rows - b.rows, a.bytes - b.bytes};
  };
  LatentCounters out;
  out.decode = path(now.decode, then.decode);
  out.split_decode = path(now.split_decode, then.split_decode);
  out.prefill = path(now.prefill, then.prefill);
  out.fast_prefill = path(now.fast_prefill, then.fast_prefill);
  out.sparse = path(now.sparse, then.sparse);
  out.merges = now.merges - then.merges;
  return out;
}

Result<MlaArm::Step> MlaArm::run(int64_t context, int64_t n_seqs, int64_t q_len) {
  if (decode_ == nullptr || (kind_ == MlaArmKind::kSparse && chosen_of_ != context)) {
    chosen_of_ = context;
    const auto queries = static_cast<int32_t>(data_.n_queries());
    SKUA_ASSIGN_OR_RETURN(decode_, program(Role::kDecode, {queries, static_cast<int32_t>(max_seqs_), queries,
                                                           static_cast<int32_t>(pages_per_seq())}));
  }
  std::vector<int32_t> ids;
  std::vector<StepSeq> seqs;
  for (int64_t s = 0; s < n_seqs; ++s) {
    seqs.push_back({static_cast<int32_t>(ids.size()), static_cast<int32_t>(q_len),
                    static_cast<int32_t>(context), static_cast<int32_t>(s)});
    for (int64_t i = 0; i < q_len; ++i) ids.push_back(MlaBenchData::row_of(s, context - q_len + i));
  }
  write_inputs(*decode_, ids, seqs);
  using Clock = std::chrono::steady_clock;
  Step out;
  const LatentCounters before = backend_->latent_counters();
  for (const uint32_t index : decode_->bound->order()) {
    const std::string& op = decode_->plan.steps[index].op;
    const auto start = Clock::now();
    SKUA_RETURN_IF_ERROR(backend_->run(decode_->bound->steps(), std::span(&index, 1)));
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const bool attends = op.ends_with("attention");
    if (attends || op == "head_linear") out.seconds += seconds;
    if (attends) out.attend_seconds += seconds;
  }
  out.counted = since(backend_->latent_counters(), before);
  out.values.resize(ids.size() * static_cast<size_t>(data_.geometry().n_heads * data_.geometry().v));
  std::memcpy(out.values.data(), decode_->bound->output(), out.values.size() * sizeof(float));
  return out;
}

uint64_t MlaArm::bytes_per_token() const {
  const MlaGeometry& g = data_.geometry();
  const int64_t latent = g.rank + g.rope, whole = g.n_heads * (g.nope + g.rope + g.v);
  return static_cast<uint64_t>(kind_ == MlaArmKind::kDecompressed ? whole : latent) * sizeof(float);
}

uint64_t MlaArm::cache_bytes(int64_t context, int64_t n_seqs) const {
  return bytes_per_token() * static_cast<uint64_t>(rows_seen(context) * n_seqs);
}

uint64_t MlaArm::flops(int64_t context, int64_t n_seqs, int64_t q_len) const {
  const MlaGeometry& g = data_.geometry();
  const bool by_head = kind_ == MlaArmKind::kDecompressed || kind_ == MlaArmKind::kFastPrefill;
  const int64_t per_key = by_head ? g.nope + g.rope + g.v : 2 * g.rank + g.rope;
  const int64_t pairs = q_len * rows_seen(context) - q_len * (q_len - 1) / 2;
  const int64_t projected = kind_ == MlaArmKind::kDecompressed  ? 0
                            : kind_ == MlaArmKind::kFastPrefill ? context
                                                                : q_len;
  return static_cast<uint64_t>(2 * n_seqs * g.n_heads *
                               (pairs * per_key + projected * g.rank * (g.nope + g.v)));
}

}  // namespace skua
