// model_dump DIR IDS LOGITS: for comparisons with other programs (tools/mlx_agreement). Prints one line "NAME
// CRC32" per quantized matrix, of its values as little-endian f32, row by row; then reads ids (text) from IDS
// and writes the logits [ids, n_vocab] of one pass over them to LOGITS. cpu, f32.
#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "backend/all/make_backend.h"
#include "base/file.h"
#include "base/threads.h"
#include "checkpoint/checkpoint.h"
#include "engine/runner.h"

namespace skua::golden {
namespace {

/// CRC-32 as zip and zlib have it (reflected polynomial edb88320).
class Crc32 {
 public:
  Crc32() {
    for (uint32_t i = 0; i < table_.size(); ++i) {
      uint32_t x = i;
      for (int bit = 0; bit < 8; ++bit) x = x >> 1 ^ (x % 2 == 1 ? 0xedb88320u : 0u);
      table_[i] = x;
    }
  }
  void add(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes)
      state_ = state_ >> 8 ^ table_[(state_ ^ std::to_integer<uint32_t>(b)) & 255];
  }
  uint32_t take() { return ~std::exchange(state_, ~0u); }

 private:
  std::array<uint32_t, 256> table_;
  uint32_t state_ = ~0u;
};

Status print_values(const Checkpoint& checkpoint) {
  Crc32 crc;
  for (const TensorEntry& entry : checkpoint.tensors()) {
    SKUA_ASSIGN_OR_RETURN(const EncodedMatrix matrix, checkpoint.matrix(entry.name));
    if (matrix.format.is_plain()) continue;
    std::vector<float> row(static_cast<size_t>(matrix.cols));
    for (int64_t r = 0; r < matrix.rows; ++r) {
      decode_row(matrix, r, 0, matrix.cols, row.data());
      crc.add(std::as_bytes(std::span(row)));
    }
    std::printf("%s %08x\n", entry.name.c_str(), crc.take());
  }
  return ok_status();
}

Result<std::vector<int32_t>> read_ids(const std::string& path) {
  SKUA_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  std::istringstream words(text);
  std::vector<int32_t> out;
  for (int32_t id = 0; words >> id;) out.push_back(id);
  if (out.empty() || !words.eof()) return invalid_argument(path + ": expected whole numbers");
  return out;
}

Result<std::vector<float>> logits_of(const Checkpoint& checkpoint, const std::vector<int32_t>& ids) {
  const auto n = static_cast<int32_t>(ids.size());
  BackendRequest request;
  request.name = "cpu";
  request.compute = "f32";
  request.n_threads = available_cpus();
  SKUA_ASSIGN_OR_RETURN(const auto backend, make_backend(request));
  SKUA_ASSIGN_OR_RETURN(const LoadedModel model,
                        load_model(checkpoint, *backend, ConfigPolicy::kStrict, nullptr, n));
  RunnerOptions options;
  options.context = options.max_tokens = n;
  options.max_seqs = 1;
  SKUA_ASSIGN_OR_RETURN(const auto runner, Runner::create(model, *backend, options));
  std::vector<PageTable> tables = runner->cache().new_tables();
  SKUA_RETURN_IF_ERROR(runner->cache().extend(tables, n, runner->step()));
  std::vector<std::span<const int32_t>> pages;
  for (const PageTable& table : tables) pages.push_back(table.pages());
  Batch batch;
  append(batch, ids, 0, n, std::move(pages));
  const Status ran = runner->run(batch);
  for (PageTable& table : tables) table.release_all(runner->step());
  SKUA_RETURN_IF_ERROR(ran);
  SKUA_ASSIGN_OR_RETURN(const std::span<const float> logits, runner->logits());
  return std::vector<float>(logits.begin(), logits.end());
}

Status dump(const char* folder, const char* ids_path, const char* logits_path) {
  SKUA_ASSIGN_OR_RETURN(const auto checkpoint, open_checkpoint(folder));
  SKUA_RETURN_IF_ERROR(print_values(*checkpoint));
  SKUA_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, read_ids(ids_path));
  SKUA_ASSIGN_OR_RETURN(const std::vector<float> logits, logits_of(*checkpoint, ids));
  SKUA_ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(logits_path));
  SKUA_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(logits))));
  return file.commit();
}

}  // namespace
}  // namespace skua::golden

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: model_dump DIR IDS LOGITS\n");
    return 2;
  }
  const skua::Status status = skua::golden::dump(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "model_dump: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
