#include "base/background.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "support/few_threads.h"

namespace poprt {
namespace {

TEST(Background, CallsOnAnotherThread) {
  const auto caller = std::this_thread::get_id();
  Background<bool> other([&](const std::atomic<bool>& stopped) {
    return !stopped && std::this_thread::get_id() != caller;
  });
  EXPECT_TRUE(other.get());
}

TEST(Background, ThrowsTheExceptionOfTheCall) {
  Background<int> failing([](const std::atomic<bool>&) -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(failing.get(), std::runtime_error);
}

TEST(Background, PollsWhileItWaits) {
  std::atomic<int> polls = 0;
  Background<int> call([&](const std::atomic<bool>&) {
    while (polls < 3) std::this_thread::yield();
    return 7;
  });
  EXPECT_EQ(call.get([&] { polls++; }), 7);
}

TEST(Background, StopsACallWhoseResultIsNotNeeded) {
  std::atomic<bool> ended = false;
  const auto until_stopped = [&](const std::atomic<bool>& stopped) {
    while (!stopped) std::this_thread::yield();
    ended = true;
    return 0;
  };
  {
    const Background<int> unused(until_stopped);
  }
  EXPECT_TRUE(ended);
  EXPECT_THROW(Background<int>(until_stopped).get([] { throw std::runtime_error("enough"); }),
               std::runtime_error);
}

TEST(Background, AShortCallIsMadeInGet) {
  const auto caller = std::this_thread::get_id();
  Background<bool> call(
      [&](const std::atomic<bool>&) { return std::this_thread::get_id() == caller; }, true);
  EXPECT_TRUE(call.get());
  bool called = false;
  {
    const Background<int> unused([&](const std::atomic<bool>&) { return called = true; }, true);
  }
  EXPECT_FALSE(called);
}

TEST(Background, CallsInGetIfNoThreadCanBeStarted) {
  const test::FewThreads none(0);
  const auto caller = std::this_thread::get_id();
  Background<bool> call(
      [&](const std::atomic<bool>&) { return std::this_thread::get_id() == caller; });
  EXPECT_TRUE(call.get([] {}));
}

}  // namespace
}  // namespace poprt
