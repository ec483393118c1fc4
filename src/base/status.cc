// Names and mappings of error codes. Owns nothing; the messages are made where the errors happen.
#include "base/status.h"

namespace skua {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kDataLoss:
      return "data loss";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kIo:
      return "i/o error";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown";
}

int http_status(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kInvalidArgument:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kUnsupported:
      return 501;
    case Code::kResourceExhausted:
      return 503;
    case Code::kCancelled:
      return 499;
    case Code::kDataLoss:
    case Code::kIo:
    case Code::kInternal:
      return 500;
  }
  return 500;
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

Status invalid_argument(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }
Status not_found(std::string message) { return Status(Code::kNotFound, std::move(message)); }
Status unsupported(std::string message) { return Status(Code::kUnsupported, std::move(message)); }
Status data_loss(std::string message) { return Status(Code::kDataLoss, std::move(message)); }
Status resource_exhausted(std::string message) {
  return Status(Code::kResourceExhausted, std::move(message));
}
Status io_error(std::string message) { return Status(Code::kIo, std::move(message)); }
Status cancelled(std::string message) { return Status(Code::kCancelled, std::move(message)); }
Status internal_error(std::string message) { return Status(Code::kInternal, std::move(message)); }

}  // namespace skua
