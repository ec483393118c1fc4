// What reaches stderr: levels, and texts that try to be more than one line.
#include "base/log.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

std::string logged(LogLevel level, std::string_view text) {
  testing::internal::CaptureStderr();
  log(level, text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WarningsAreShownAndNewsIsNotUntilAsked) {
  EXPECT_EQ(logged(LogLevel::kError, "bad"), "skua: error: bad\n");
  EXPECT_EQ(logged(LogLevel::kWarning, "odd"), "skua: warning: odd\n");
  EXPECT_EQ(logged(LogLevel::kInfo, "news"), "");
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(logged(LogLevel::kInfo, "news"), "skua: news\n");
  set_log_level(LogLevel::kWarning);
}

TEST(Log, ControlCharactersAreSpelledOut) {
  EXPECT_EQ(logged(LogLevel::kError, "a\nb\x1b[2J\r\x7f\t"), "skua: error: a\\x0ab\\x1b[2J\\x0d\\x7f\\x09\n");
  EXPECT_EQ(logged(LogLevel::kError, "c1 \xc2\x9b."), "skua: error: c1 \\xc2\\x9b.\n");
  EXPECT_EQ(logged(LogLevel::kError, "gr\xc3\xbc\xc3\x9f \xc2\xa9\n"),
            "skua: error: gr\xc3\xbc\xc3\x9f \xc2\xa9\n");
}

}  // namespace
}  // namespace skua
