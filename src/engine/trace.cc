// Trace events in the JSON array form. Source: Trace Event Format ("X" complete events, microseconds).
#include "engine/trace.h"

#include <cerrno>
#include <cstring>

namespace skua {

Result<std::unique_ptr<Trace>> Trace::create(const std::filesystem::path& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    const std::string text = "[trace] cannot create " + path.string() + ": " + strerror(errno);
    return errno == ENOENT ? not_found(text) : io_error(text);
  }
  std::fputs("[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"skua\"}}", file);
  return std::unique_ptr<Trace>(new Trace(path, file));
}

Trace::~Trace() { (void)close(); }

void Trace::span(std::string_view name, uint64_t track, double begin, double end,
                 std::initializer_list<Arg> args) {
  if (file_ == nullptr) return;
  std::fprintf(
      file_, ",\n{\"name\":\"%.*s\",\"ph\":\"X\",\"pid\":1,\"tid\":%llu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
      static_cast<int>(name.size()), name.data(), static_cast<unsigned long long>(track), begin * 1e6,
      (end - begin) * 1e6);
  const char* separator = "";
  for (const Arg& arg : args) {
    std::fprintf(file_, "%s\"%.*s\":%lld", separator, static_cast<int>(arg.name.size()), arg.name.data(),
                 static_cast<long long>(arg.value));
    separator = ",";
  }
  std::fputs("}}", file_);
}

Status Trace::close() {
  if (file_ == nullptr) return ok_status();
  std::fputs("\n]\n", file_);
  const bool failed = std::ferror(file_) != 0;
  const bool close_failed = std::fclose(file_) != 0;
  file_ = nullptr;
  if (failed || close_failed) {
    return resource_exhausted("[trace] " + path_.string() +
                              " could not be written to its end; is the disk full?");
  }
  return ok_status();
}

}  // namespace skua
