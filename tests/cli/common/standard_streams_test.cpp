#include "common/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/child_process.h"

namespace poprt::cli {
namespace {

TEST(StandardStreams, OpensStreamsThatAreClosed) {
  // Each of the streams, and all, may be closed when a program begins.
  for (const int mask : {1, 2, 4, 7, 0}) {
    const int status = status_of([&] {
      const int free = ::dup(0);
      ::close(free);
      for (int stream = 0; stream < 3; stream++)
        if (mask >> stream & 1) ::close(stream);
      hold_standard_streams();
      char c = 0;
      int wrong = 0;
      for (int stream = 0; stream < 3; stream++)
        if (::fcntl(stream, F_GETFD) == -1) wrong |= 1;
      if (mask & 1 && ::read(0, &c, 1) != 0) wrong |= 2;
      // An error is reported if the output cannot be written.
      if (mask & 2 && ::write(1, "x", 1) != -1) wrong |= 4;
      if (mask & 4 && ::write(2, "x", 1) != 1) wrong |= 8;
      const int next = ::open("/dev/null", O_RDONLY);
      if (next != free) wrong |= 16;
      ::_exit(wrong);
    });
    EXPECT_EQ(WEXITSTATUS(status), 0) << mask;
  }
}

TEST(StandardStreams, WritesMessagesImmediately) {
  testing::internal::CaptureStderr();
  print_error("{} of {}", 1, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "1 of two");
}

}  // namespace
}  // namespace poprt::cli
