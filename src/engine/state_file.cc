// Layout, little-endian: Header; n_tokens ids (i32); per group one byte per stretch (1 = resident), then the
// bytes of its resident pages. The checksum covers everything after the header.
#include "engine/state_file.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/file.h"
#include "base/math.h"

namespace skua {
namespace {

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t page_tokens;
  uint64_t fingerprint;
  uint32_t n_tokens;
  uint32_t n_groups;
  uint64_t payload_bytes;
  uint64_t checksum;
  char cache_type[8];  // "f32", padded with zeros
};
constexpr char kMagic[8] = {'s', 'k', 'u', 'a', 's', 't', 'a', 't'};
constexpr uint32_t kVersion = 2;

/// The pages of a prefix, by group and stretch; -1 = not resident.
using Pages = std::vector<std::vector<int32_t>>;

/// Calls put(bytes) for the whole payload, page by page.
template <typename Put>
Status for_payload(StepRunner& runner, std::span<const int32_t> ids, const Pages& pages, Put&& put) {
  SKUA_RETURN_IF_ERROR(put(std::as_bytes(ids)));
  std::vector<std::byte> bytes;
  for (uint32_t group = 0; group < pages.size(); ++group) {
    std::vector<uint8_t> resident;
    for (int32_t page : pages[group]) resident.push_back(page >= 0 ? 1 : 0);
    SKUA_RETURN_IF_ERROR(put(std::as_bytes(std::span(resident))));
    bytes.resize(runner.page_bytes(group));
    for (int32_t page : pages[group]) {
      if (page < 0) continue;
      SKUA_RETURN_IF_ERROR(runner.read_page(group, page, bytes));
      SKUA_RETURN_IF_ERROR(put(std::span<const std::byte>(bytes)));
    }
  }
  return ok_status();
}

/// Takes bytes off the front of a file's payload.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> left) : left_(left) {}
  Result<std::span<const std::byte>> take(uint64_t n) {
    if (n > left_.size()) return data_loss("[state] the file ends before its contents do");
    const auto out = left_.first(n);
    left_ = left_.subspan(n);
    return out;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::span<const std::byte> left_;
};

Status check_header(const Header& header, uint64_t file_bytes, StepRunner& runner) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return data_loss("[state] this is not a saved state");
  if (header.version != kVersion) {
    return unsupported("[state] the file has version " + std::to_string(header.version) +
                       ", this skua reads version " + std::to_string(kVersion) + "; save it again");
  }
  if (header.payload_bytes != file_bytes - sizeof(Header)) {
    return data_loss("[state] the file should have " + std::to_string(header.payload_bytes) +
                     " bytes after its header, it has " + std::to_string(file_bytes - sizeof(Header)));
  }
  const std::string saved(header.cache_type, ::strnlen(header.cache_type, sizeof(header.cache_type)));
  if (saved != runner.cache_type()) {
    return invalid_argument("[state] the file was saved with --cache-type " + saved + ", this run has " +
                            std::string(runner.cache_type()) + "; use the same, or save it again");
  }
  if (header.page_tokens != kPageTokens || header.n_groups != runner.cache().pools().size() ||
      header.fingerprint != runner.fingerprint()) {
    return invalid_argument(
        "[state] the file was saved with other weights, another cache layout or another compute mode");
  }
  return ok_status();
}

Status check_checksum(const Header& header, std::span<const std::byte> payload) {
  Checksum sum;
  sum.add(payload);
  if (sum.value() != header.checksum) return data_loss("[state] the checksum is wrong: the file is damaged");
  return ok_status();
}

/// Fills one group's table with pages and their bytes.
Status read_group(StepRunner& runner, uint32_t group, int32_t n_tokens, Reader& reader, PageTable& table) {
  const auto n_stretches = static_cast<uint64_t>(ceil_div(n_tokens, kPageTokens));
  SKUA_ASSIGN_OR_RETURN(const auto resident, reader.take(n_stretches));
  for (uint64_t stretch = 0; stretch < n_stretches; ++stretch) {
    // Stretches that were not saved hold nothing: they must not be taken for cached ones.
    if (resident[stretch] == std::byte{0}) {
      table.drop(stretch, runner.step());
      continue;
    }
    SKUA_ASSIGN_OR_RETURN(const auto bytes, reader.take(runner.page_bytes(group)));
    if (table.pages()[stretch] < 0) continue;  // more was saved than the next token needs
    SKUA_RETURN_IF_ERROR(runner.write_page(group, table.pages()[stretch], bytes));
  }
  return ok_status();
}

}  // namespace

Result<int32_t> save_state(StepRunner& runner, std::span<const int32_t> ids,
                           const std::filesystem::path& path) {
  const PrefixMatch match = runner.cache().prefixes().match(ids, static_cast<int32_t>(ids.size()));
  if (match.n_tokens == 0) return not_found("[state] nothing of this text is in the cache");
  Pages pages = match.shared;
  for (size_t group = 0; group < match.tail.size(); ++group) pages[group].push_back(match.tail[group]);
  ids = ids.first(static_cast<size_t>(match.n_tokens));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.page_tokens = kPageTokens;
  header.fingerprint = runner.fingerprint();
  header.n_tokens = static_cast<uint32_t>(match.n_tokens);
  runner.cache_type().copy(header.cache_type, sizeof(header.cache_type));
  header.n_groups = static_cast<uint32_t>(pages.size());
  Checksum sum;
  SKUA_RETURN_IF_ERROR(for_payload(runner, ids, pages, [&](std::span<const std::byte> bytes) {
    sum.add(bytes);
    header.payload_bytes += bytes.size();
    return ok_status();
  }));
  header.checksum = sum.value();
  SKUA_ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  SKUA_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(&header, 1))));
  SKUA_RETURN_IF_ERROR(
      for_payload(runner, ids, pages, [&](std::span<const std::byte> bytes) { return file.append(bytes); }));
  SKUA_RETURN_IF_ERROR(file.commit());
  return match.n_tokens;
}

Result<std::vector<int32_t>> restore_state(StepRunner& runner, const std::filesystem::path& path) {
  SKUA_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  Header header{};
  if (file.bytes().size() < sizeof(Header))
    return data_loss("[state] the file is too short to be a saved state");
  std::memcpy(&header, file.bytes().data(), sizeof(Header));
  SKUA_RETURN_IF_ERROR(check_header(header, file.bytes().size(), runner));
  const auto payload = file.bytes().subspan(sizeof(Header));
  SKUA_RETURN_IF_ERROR(check_checksum(header, payload));
  Reader reader(payload);
  SKUA_ASSIGN_OR_RETURN(const auto id_bytes, reader.take(uint64_t{header.n_tokens} * sizeof(int32_t)));
  std::vector<int32_t> ids(header.n_tokens);
  std::memcpy(ids.data(), id_bytes.data(), id_bytes.size());
  CacheManager& cache = runner.cache();
  std::vector<PageTable> tables = cache.new_tables();
  const auto n_tokens = static_cast<int32_t>(header.n_tokens);
  Status status = cache.extend(tables, n_tokens, runner.step());
  for (uint32_t group = 0; status.ok() && group < tables.size(); ++group) {
    status = read_group(runner, group, n_tokens, reader, tables[group]);
  }
  if (status.ok() && !reader.at_end()) status = data_loss("[state] the file goes on after its contents");
  if (!status.ok()) {
    for (PageTable& table : tables) table.release_all(runner.step());
    return status.with_context(path.string());
  }
  cache.finish(ids, n_tokens, tables, runner.step());
  return ids;
}

}  // namespace skua
