#include "common/text_wrapping.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace poprt::cli::test {
namespace {

TEST(TextWidth, ReadsTheEnvironmentWithinLimits) {
  ::setenv("COLUMNS", "100", 1);
  EXPECT_EQ(text_width(), 100U);
  ::setenv("COLUMNS", "500", 1);
  EXPECT_EQ(text_width(), 120U);
  EXPECT_EQ(screen_width(), 500U);
  ::setenv("COLUMNS", "5", 1);
  EXPECT_EQ(text_width(), 40U);
  for (const char* invalid : {"", "0", "-3", "wide", "80x"}) {
    ::setenv("COLUMNS", invalid, 1);
    EXPECT_GE(screen_width(), 40U) << invalid;
  }
  ::unsetenv("COLUMNS");
}

TEST(TextWidth, LinesBreakAtBlanks) {
  EXPECT_EQ(wrapped("one two three", 8, 0, 2), "one two\n  three");
  EXPECT_EQ(wrapped("one two", 8, 4, 4), "one\n    two");
  EXPECT_EQ(wrapped("averylongword b", 5, 0, 0), "averylongword\nb");
  EXPECT_EQ(wrapped("  a   b ", 80, 0, 0), "a b");
  EXPECT_EQ(wrapped("", 80, 0, 0), "");
  EXPECT_EQ(wrapped("\xc3\xa9\xc3\xa9 bb", 5, 0, 0), "\xc3\xa9\xc3\xa9 bb");  // columns, not bytes
}

}  // namespace
}  // namespace poprt::cli::test
