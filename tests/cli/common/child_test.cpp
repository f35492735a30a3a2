#include "common/child.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

TEST(Child, CodesAndOutputOfPrograms) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  EXPECT_EQ(run_program({"sh", "-c", "exit 7"}, "purpose"), 7);
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}, "purpose"), -1);
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run_program({"sh", "-c", "exit 7"}, "purpose"), 7);
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(run_program({"sh", "-c", "echo $1; echo wrong >&2; cat", "sh", "said"}, "purpose", out),
            0);
  EXPECT_EQ(read_file(out), "said\nwrong\n");
  EXPECT_EQ(std::filesystem::status(out).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(run_program({"sh", "-c", "echo b"}, "purpose", out), 0);
  EXPECT_EQ(read_file(out), "b\n");
  EXPECT_EQ(message_of<Failure>([] { (void)run_program({"/no/such/program"}, "purpose"); }),
            "purpose: cannot start /no/such/program: No such file or directory");
}

TEST(Child, ProgramsDoNotReadOurStandardInput) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "ours\n", 5), 5);
  ::close(ends[1]);
  const int before = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  const TemporaryFolder folder;
  EXPECT_EQ(run_program({"cat"}, "purpose", folder.path() / "out"), 0);
  EXPECT_EQ(read_file(folder.path() / "out"), "");
  char c = 0;
  EXPECT_EQ(::read(STDIN_FILENO, &c, 1), 1);
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(ends[0]);
}

TEST(Child, FlushesEarlierOutputBeforeTheChildRuns) {
  testing::internal::CaptureStdout();
  fmt::print("first ");
  run_program({"sh", "-c", "echo second"}, "purpose");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "first second\n");
}

TEST(Child, TheInterpreterHasAName) {
  ::setenv("POPRT_PYTHON", "mine", 1);
  EXPECT_EQ(python(), "mine");
  ::setenv("POPRT_PYTHON", "", 1);
  EXPECT_EQ(python(), "python3");
  ::unsetenv("POPRT_PYTHON");
  EXPECT_EQ(python(), "python3");
}

}  // namespace
}  // namespace poprt::cli
