#include "checkpoint/printable.h"

#include <gtest/gtest.h>

namespace skua {
namespace {

TEST(Printable, KeepsTextAndReplacesWhatTerminalsObey) {
  EXPECT_EQ(printable("model.layers.0.mod\xC3\xA8le"), "model.layers.0.mod\xC3\xA8le");
  EXPECT_EQ(printable(std::string_view("a\x1B[31m\nb\0c\x7F", 11)), "a?[31m?b?c?");
  EXPECT_EQ(printable("a\xC2\x9B"
                      "31m"),
            "a??31m");
  EXPECT_EQ(printable("bad \xFF\xFE"), "bad ??");
}

TEST(Printable, CutsLongNamesBetweenCharacters) {
  EXPECT_EQ(printable(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(printable(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_EQ(printable(std::string(199, 'x') + "\xC3\xA8" + "y"), std::string(199, 'x') + "...");
  EXPECT_EQ(printable(std::string(1000, '\x80')), std::string(197, '?') + "...");
}

}  // namespace
}  // namespace skua
