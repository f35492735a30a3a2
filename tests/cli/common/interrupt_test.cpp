#include "common/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/child_process.h"
#include "cli/command_line.h"

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
