#include "base/first_use.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/sanitized.h"

namespace poprt {
namespace {

TEST(FirstUse, AllThreadsUseOneObject) {
  static constinit FirstUse<int> first;
  std::atomic<int> made{0};
  std::vector<int*> used(8);
  std::vector<std::thread> threads;
  for (int*& mine : used) threads.emplace_back([&] { mine = &first.get([&] { return ++made; }); });
  for (std::thread& t : threads) t.join();
  for (const int* mine : used) EXPECT_EQ(mine, used[0]);
  EXPECT_GE(made, 1);
  EXPECT_EQ(&first.get([] { return -1; }), used[0]);
}

// The values are never destroyed, so their owners are static, where LeakSanitizer finds them.
TEST(FirstUse, AFailureIsTriedAgain) {
  static FirstUse<const int> first;
  static FirstUse<int> other;
  EXPECT_THROW(first.get([]() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(first.get([] { return 3; }), 3);
  EXPECT_EQ(other.get(), 0);
}

TEST(FirstUse, OneThreadIsFirst) {
  std::atomic<bool> done{false};
  std::atomic<int> first{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; t++) threads.emplace_back([&] { first += is_first_use(done) ? 1 : 0; });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(first, 1);
}

#if !POPRT_TEST_SANITIZED
TEST(FirstUse, AChildDoesNotWaitForAThreadOfTheParent) {
  static constinit FirstUse<int> first;
  std::atomic<bool> begun{false}, end{false};
  std::thread other([&] {
    first.get([&] {
      begun = true;
      while (!end) std::this_thread::yield();
      return 1;
    });
  });
  while (!begun) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(first.get([] { return 2; }) == 2 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  end = true;
  other.join();
  EXPECT_EQ(first.get(), 1);
}
#endif

}  // namespace
}  // namespace poprt
