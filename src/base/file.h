// Read-only access to files: whole small files, and memory maps of large ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/status.h"

namespace skua {

/// A file mapped for reading. Owns the mapping; bytes() stays valid until destruction. Movable.
class MappedFile {
 public:
  /// Errors: kNotFound, kIo (also for directories); an empty file maps to zero bytes.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  /// Tells the system that these pages are not needed again (they stay readable). Keeps peak memory low while
  /// weights are packed.
  void drop_pages(std::span<const std::byte> range) const;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Reads a whole file. Errors: kNotFound, kIo, kInvalidArgument when it is larger than `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{1} << 30);

/// A file that appears whole or not at all: written beside its place, renamed by commit(), removed otherwise.
class FileWriter {
 public:
  /// Errors: kNotFound (folder), kIo.
  static Result<FileWriter> create(const std::filesystem::path& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  /// Errors: kResourceExhausted (disk full), kIo.
  Status append(std::span<const std::byte> bytes);
  Status commit();

 private:
  FileWriter(std::filesystem::path path, std::string temporary, int fd);

  std::filesystem::path path_;
  std::string temporary_;
  int fd_ = -1;
};

/// Writes through a temporary file in the same folder and renames it, so that a reader sees all or nothing.
/// Errors: kIo, kResourceExhausted (disk full); the temporary file is removed.
Status write_file_atomic(const std::filesystem::path& path, std::string_view contents);

}  // namespace skua
