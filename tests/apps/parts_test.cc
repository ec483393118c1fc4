// Parts of the program that are easier to see from inside: the bar, texts for terminals, near words.
#include <gtest/gtest.h>
#include <poll.h>

#include <csignal>

#include "skua/command_line.h"
#include "skua/interrupt.h"
#include "skua/terminal.h"

namespace skua {
namespace {

TEST(Bar, ShowsPartAndSizesAndFitsTheLine) {
  EXPECT_EQ(bar_text("Loading", 0, 1 << 20, 60),
            "Loading  [.....................]   0%        0 B of 1.0 MiB");
  EXPECT_EQ(bar_text("Loading", 1 << 19, 1 << 20, 60),
            "Loading  [##########...........]  50%  512.0 KiB of 1.0 MiB");
  const std::string full = bar_text("Loading", 1 << 20, 1 << 20, 200);
  EXPECT_NE(full.find("[" + std::string(40, '#') + "] 100%"), std::string::npos) << full;
  for (int width : {0, 1, 5, 20, 40, 80, 300}) {
    for (uint64_t done : {uint64_t{0}, uint64_t{1} << 60, UINT64_MAX})
      EXPECT_LE(bar_text("Loading", done, UINT64_MAX, width).size(),
                static_cast<size_t>(std::max(0, width - 1)));
  }
  EXPECT_EQ(bar_text("L", 5, 3, 80), bar_text("L", 3, 3, 80));
}

TEST(Terminal, SizesAndRates) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(uint64_t{3} << 50), "3072.0 TiB");
  EXPECT_EQ(human_rate(3.14159), "3.14");
  EXPECT_EQ(human_rate(314.159), "314.2");
}

TEST(Terminal, Utf8IsCheckedToTheByte) {
  const auto offset = [](std::string_view text) {
    const Status status = check_utf8(text, "x");
    if (status.ok()) return std::string("fine");
    const std::string tail = status.message().substr(status.message().find("offset ") + 7);
    return tail.substr(0, tail.find(';'));
  };
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "h\xc3\xa9"})
    EXPECT_EQ(offset(good), "fine") << good;
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xef\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(offset(bad), "0") << bad;
    EXPECT_EQ(offset("h\xc3\xa9" + std::string(bad)), "3") << bad;
  }
}

TEST(Terminal, ControlCharactersDoNotReachIt) {
  EXPECT_EQ(visible("a\x1b[2Jb\r\n\tc\x7f\xc2\x9b\xc2\xa9"), "a[2Jb\n\tc\xc2\xa9");
}

bool has_handler() {
  struct sigaction action {};
  sigaction(SIGINT, nullptr, &action);
  return action.sa_handler != SIG_DFL;
}

TEST(Interrupts, ASecondOneEndsTheProgramWhereTheFirstCannotWait) {
  {
    InterruptGuard guard(SecondInterrupt::kEndsProgram);
    EXPECT_TRUE(has_handler());
    std::raise(SIGINT);
    EXPECT_FALSE(has_handler());
    EXPECT_TRUE(guard.take());
  }
  {
    InterruptGuard guard(SecondInterrupt::kIgnored);
    std::raise(SIGINT);
    std::raise(SIGINT);
    EXPECT_TRUE(has_handler());
    EXPECT_TRUE(guard.take());
    EXPECT_FALSE(guard.take());
  }
  EXPECT_FALSE(has_handler());
}

TEST(Interrupts, CanBeWaitedForEvenIfTheyCameBefore) {
  InterruptGuard guard(SecondInterrupt::kIgnored);
  pollfd ready{guard.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0);
  std::raise(SIGINT);
  EXPECT_EQ(poll(&ready, 1, 0), 1);
  EXPECT_TRUE(guard.take());
  EXPECT_EQ(poll(&ready, 1, 0), 0);
}

TEST(CommandLine, NearWords) {
  const std::string_view words[] = {"temperature", "top-k", "top-p", "seed"};
  EXPECT_EQ(nearest_word("temprature", words), "temperature");
  EXPECT_EQ(nearest_word("sed", words), "seed");
  EXPECT_EQ(nearest_word("top_k", words), "top-k");
  EXPECT_EQ(nearest_word("frobnicate", words), "");
  EXPECT_EQ(nearest_word("", words), "");
}

}  // namespace
}  // namespace skua
