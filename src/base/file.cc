// Files through the system calls, so that errors keep their reason.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace skua {
namespace {

Status errno_status(const std::filesystem::path& path, const char* what) {
  const int error = errno;
  const std::string text =
      std::string("[file] cannot ") + what + " " + path.string() + ": " + strerror(error);
  if (error == ENOENT || error == ENOTDIR) return not_found(text);
  if (error == ENOSPC || error == EDQUOT) return resource_exhausted(text);
  return io_error(text);
}

/// Closes a descriptor at scope end.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<uint64_t> regular_size(int fd, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_status(path, "stat");
  if (!S_ISREG(info.st_mode)) return io_error("[file] " + path.string() + " is not a regular file");
  return static_cast<uint64_t>(info.st_size);
}

Status write_all(int fd, std::string_view contents, const std::filesystem::path& path) {
  while (!contents.empty()) {
    const ssize_t n = ::write(fd, contents.data(), contents.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status(path, "write");
    contents.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(fd) != 0) return errno_status(path, "sync");
  return ok_status();
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return errno_status(path, "open");
  SKUA_ASSIGN_OR_RETURN(const uint64_t size, regular_size(file.fd, path));
  MappedFile out;
  out.path_ = path;
  if (size == 0) return out;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) return errno_status(path, "map");
  out.data_ = static_cast<const std::byte*>(data);
  out.size_ = size;
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop_pages(std::span<const std::byte> range) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(range.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(range.data() + range.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  SKUA_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  if (bytes.size() > max_bytes) {
    return invalid_argument("[file] " + path.string() + " has " + std::to_string(bytes.size()) +
                            " bytes, at most " + std::to_string(max_bytes) + " are read");
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file_atomic(const std::filesystem::path& path, std::string_view contents) {
  std::string temporary = path.string() + ".XXXXXX";
  Descriptor file{::mkstemp(temporary.data())};
  if (file.fd < 0) return errno_status(temporary, "create");
  Status status = write_all(file.fd, contents, temporary);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = errno_status(path, "rename to");
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace skua
