#include "common/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/child_process.h"
#include "cli/command_line.h"
#include "common/child.h"
#include "common/temporary_folder.h"

namespace poprt::cli {
namespace {

TEST(Interrupt, SignalsRemoveTemporaryFilesThatAreOpen) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
    const int status = status_of([&] {
      const std::string own = ".poprt-" + std::to_string(::getpid()) + "-";
      for (int i = 0; i < 200; i++)  // more than one read of the folder of descriptors returns
        ::open(path(own + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600);
      ::open(path("x" + own).c_str(), O_CREAT | O_WRONLY, 0600);
      ::open(path(".poprt-1-a").c_str(), O_CREAT | O_WRONLY, 0600);
      ::open(path("kept").c_str(), O_CREAT | O_WRONLY, 0600);
      ::close(::open(path(own + "closed").c_str(), O_CREAT | O_WRONLY, 0600));
      ::signal(signal, SIG_DFL);  // a shell ignores SIGINT for background processes
      remove_temporaries_when_interrupted();
      ::raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      left.push_back(entry.path().filename().string());
    EXPECT_EQ(left.size(), 4U) << left.front();
    EXPECT_TRUE(std::filesystem::exists(path("kept")));
    EXPECT_TRUE(std::filesystem::exists(path(".poprt-1-a")));
  }
}

TEST(Interrupt, SignalsEndChildrenAndRemoveTemporaryFolders) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    const TemporaryFolder folder;
    const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
    ::setenv("TMPDIR", folder.path().c_str(), 1);
    const int status = status_of([&] {
      ::signal(signal, SIG_DFL);
      remove_temporaries_when_interrupted();
      const TemporaryFolder removed;
      std::filesystem::create_directories(removed.path() / "a/b");
      std::ofstream(removed.path() / "a/b/c") << "text";
      std::filesystem::create_symlink(path("kept"), removed.path() / "a/link");
      std::ofstream(path("kept")) << "text";
      std::ofstream(path("part")) << "text";
      const RemovedWithUs part(path("part"));
      // The child ends the command and would write a file after that.
      run_program({"sh", "-c",
                   "echo $$ > " + path("child") + "; kill -" + std::to_string(signal) + " " +
                       std::to_string(::getpid()) + "; sleep 1; echo > " + path("late")},
                  "purpose");
    });
    ::unsetenv("TMPDIR");
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    const pid_t child = std::stoi(read_file(path("child")));
    for (int i = 0; i < 500 && ::kill(child, 0) == 0; i++) ::usleep(10'000);
    EXPECT_FALSE(std::filesystem::exists(path("late")));
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      left.insert(entry.path().filename().string());
    if (signal == SIGKILL)
      EXPECT_EQ(left.size(), 4U);
    else
      EXPECT_EQ(left, (std::set<std::string>{"child", "kept"}));
  }
}

TEST(Interrupt, SignalsThatAreIgnoredStayIgnored) {
  EXPECT_EQ(status_of([] {
              ::signal(SIGHUP, SIG_IGN);
              remove_temporaries_when_interrupted();
              ::raise(SIGHUP);
            }),
            0);
}

}  // namespace
}  // namespace poprt::cli
