#include "common/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

namespace poprt::cli {
namespace {

// Returns the output of `body` when standard error is a terminal.
std::string on_terminal(const std::function<void()>& body) {
  const int outside = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (outside < 0 || ::grantpt(outside) != 0 || ::unlockpt(outside) != 0) return "no terminal";
  const int inside = ::open(::ptsname(outside), O_RDWR | O_NOCTTY);
  termios plain{};
  ::tcgetattr(inside, &plain);
  plain.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // a line feed stays one
  ::tcsetattr(inside, TCSANOW, &plain);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(inside, STDERR_FILENO);
  body();
  std::fflush(stderr);
  std::fputs("$", stderr);
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::string shown;
  for (char c = 0; ::read(outside, &c, 1) == 1 && c != '$';) shown += c;
  ::close(inside);
  ::close(outside);
  return shown;
}

TEST(Progress, ABarIsFortyWide) {
  EXPECT_EQ(on_terminal([] {
              ProgressBar bar(true);
              bar.begin("First");
              for (const double done : {0.0, 0.001, 0.005, 0.5, 1.0}) bar.update(done);
              bar.finish();
            }),
            "\rFirst:   0%|" + std::string(40, ' ') + "|\rFirst:   1%|" + std::string(40, ' ') +
                "|\rFirst:  50%|" + std::string(20, '#') + std::string(20, ' ') +
                "|\rFirst: 100%|" + std::string(40, '#') + "|\n");
}

TEST(Progress, ALineIsEndedOnce) {
  const std::string bar = "\rB:   3%|#" + std::string(39, ' ') + "|";
  EXPECT_EQ(on_terminal([] {
              ProgressBar bar(true);
              bar.finish();
              bar.begin("A");
              bar.begin("B");
              ProgressBar::callback(0.03, "step", &bar);
              bar.begin("B");
              ProgressBar::callback(0.03, "step", &bar);
            }),
            bar + "\n" + bar + "\n");
  EXPECT_EQ(on_terminal([] {
              ProgressBar bar(true);
              bar.begin("B");
              bar.update(0.03);
              bar.finish();
              bar.finish();
            }),
            bar + "\n");
}

TEST(Progress, ShowsNothingIfDisabledOrWithoutATerminal) {
  EXPECT_EQ(on_terminal([] {
              ProgressBar bar(false);
              bar.begin("A");
              bar.update(0.5);
            }),
            "");
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(true);
    bar.begin("A");
    bar.update(0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace poprt::cli
