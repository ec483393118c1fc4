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

FileWriter::FileWriter(std::filesystem::path path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Result<FileWriter> FileWriter::create(const std::filesystem::path& path) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return errno_status(path, "create");
  return FileWriter(path, std::move(temporary), fd);
}

Status FileWriter::append(std::span<const std::byte> bytes) {
  return write_all(fd_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
}

Status FileWriter::commit() {
  if (::fsync(fd_) != 0) return errno_status(path_, "sync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_status(path_, "rename to");
  ::close(std::exchange(fd_, -1));
  return ok_status();
}

Status write_file_atomic(const std::filesystem::path& path, std::string_view contents) {
  SKUA_ASSIGN_OR_RETURN(FileWriter file, FileWriter::create(path));
  SKUA_RETURN_IF_ERROR(file.append(std::as_bytes(std::span(contents))));
  return file.commit();
}

}  // namespace skua
