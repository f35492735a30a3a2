// A child that is forked while another thread of the parent is in the library.
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/sanitized.h"

namespace {

// A sanitizer's own threads do not survive fork().
#if !POPRT_TEST_SANITIZED
struct Held {
  std::atomic<bool> inside{false}, end{false};
};

TEST(Fork, AChildLogsWhileAThreadOfTheParentIsInTheCallback) {
  Held held;
  poprt_log_set_callback(
      [](poprt_log_level, const char*, void* data) {
        auto& h = *static_cast<Held*>(data);
        h.inside = true;
        while (!h.end) std::this_thread::yield();
      },
      &held);
  std::thread other([] { poprt_log_write(POPRT_LOG_ERROR, "of the parent"); });
  while (!held.inside) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // ends a child that waits for ever
    poprt_log_write(POPRT_LOG_ERROR, "of the child");
    int count = 0;
    poprt_log_set_callback(
        [](poprt_log_level, const char*, void* data) { ++*static_cast<int*>(data); }, &count);
    poprt_log_write(POPRT_LOG_ERROR, "counted");
    ::_exit(count == 1 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  held.end = true;
  other.join();
  poprt_log_set_callback(nullptr, nullptr);
}
#endif

}  // namespace
