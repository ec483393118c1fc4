// A timeline that chrome://tracing and Perfetto open: one track of steps, one per request.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace skua {

class Trace {
 public:
  /// Errors: kIo, kNotFound (folder).
  static Result<std::unique_ptr<Trace>> create(const std::filesystem::path& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  struct Arg {
    std::string_view name;  // plain ASCII
    int64_t value = 0;
  };

  /// Something that lasted from `begin` to `end`, in seconds of the engine's clock. Track 0 is the step loop.
  void span(std::string_view name, uint64_t track, double begin, double end, std::initializer_list<Arg> args);

  /// Ends the file. Error: kResourceExhausted or kIo if anything could not be written.
  Status close();

 private:
  Trace(std::filesystem::path path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  std::FILE* file_;
};

}  // namespace skua
