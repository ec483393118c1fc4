// Errors as values. A Status is what a file, a request, a flag, a device or an allocation can cause; our own
// bugs are SKUA_CHECK (check.h). No exception crosses a module border.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace skua {

/// Kinds of failure. Each maps to one HTTP status and one exit code; see http_status() and exit_code().
enum class Code : uint8_t {
  kOk,
  kInvalidArgument,    // the caller's value is wrong (400)
  kNotFound,           // a named thing does not exist (404)
  kUnsupported,        // valid, but not something skua does (501)
  kDataLoss,           // a file's bytes contradict themselves (500)
  kResourceExhausted,  // memory, disk, context or queue is full (503)
  kIo,                 // the operating system refused (500)
  kCancelled,          // the caller went away (499)
  kInternal,           // a sticky device error or broken invariant (500)
};

std::string_view code_name(Code code);
int http_status(Code code);

/// Result of an operation without a value. Message form: "[stage] what was expected, what was got, what to
/// do".
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  /// Returns the same error with `context` put before its message; an ok status stays ok.
  Status with_context(std::string_view context) const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status ok_status() { return Status(); }
Status invalid_argument(std::string message);
Status not_found(std::string message);
Status unsupported(std::string message);
Status data_loss(std::string message);
Status resource_exhausted(std::string message);
Status io_error(std::string message);
Status cancelled(std::string message);
Status internal_error(std::string message);

/// A value or the reason there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    SKUA_CHECK(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    SKUA_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    SKUA_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    SKUA_CHECK(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace skua

#define SKUA_CONCAT_INNER(a, b) a##b
#define SKUA_CONCAT(a, b) SKUA_CONCAT_INNER(a, b)

/// Returns from the enclosing function if the Status expression failed.
#define SKUA_RETURN_IF_ERROR(expr)               \
  do {                                           \
    ::skua::Status skua_status_ = (expr);        \
    if (!skua_status_.ok()) return skua_status_; \
  } while (false)

/// Declares or assigns `lhs` from a Result expression, or returns its error.
#define SKUA_ASSIGN_OR_RETURN(lhs, expr) \
  SKUA_ASSIGN_OR_RETURN_IMPL(SKUA_CONCAT(skua_result_, __LINE__), lhs, expr)
#define SKUA_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return tmp.status();              \
  lhs = std::move(tmp).value()
