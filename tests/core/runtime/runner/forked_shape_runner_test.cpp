#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/runner/shape_runner_support.h"
#include "support/sanitized.h"

// A sanitizer's own threads do not survive fork().
#if !POPRT_TEST_SANITIZED
namespace poprt::runtime {
namespace {

using namespace shape_test;

// Returns the exit code of a child that calls `code`, or minus the signal that ended it. A child
// that waits for ever is ended by an alarm.
int in_child(auto&& code) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(code());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

enum Answer : int { kRight = 0, kRefused = 1, kWrong = 2, kOtherError = 3 };

// Runs a request in a forked child.
Answer run_forked(ShapeRunner& runner, int64_t batch, int64_t length, bool async = false) {
  ShapedRequest r(batch, length, 5);
  const Error e = shaped_error([&] {
    if (!async) return runner.execute(r.in, r.out);
    RequestOptions options;
    options.timeout = 50s;
    const RequestPtr request = runner.execute_async(r.in, r.out, {}, options);
    request->wait();
    request->check();
  });
  if (e.code() == ErrorCode::ok) return r.x == r.y ? kRight : kWrong;
  const bool clear = e.code() == ErrorCode::failed_precondition &&
                     std::string(e.what()).find("was forked") != std::string::npos;
  return clear ? kRefused : kOtherError;
}

// Servers that load a model before they fork their workers.
TEST(ShapeRunner, AForkedChildRunsKnownShapesAndCompilesOthers) {
  for (const bool ahead : {false, true}) {
    CountingCompiler compiler;
    auto runner = std::make_unique<ShapeRunner>(
        open_copies(), compiler.function(), ahead ? shaped_copies({9, 9}) : nullptr, limited_to(3));
    ShapedRequest known(2, 4);
    runner->execute(known.in, known.out);
    known.expect_right();
    // The thread that has compiled the shape may not have released the lock yet.
    while (runner->shapes().compiled < 1) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    for (int i = 0; i < 5; i++)
      EXPECT_EQ(in_child([&] {
                  int answer = run_forked(*runner, 2, 4);
                  for (int64_t length = 1; length < 8; length++)
                    answer |= run_forked(*runner, 3, length, length % 2);
                  answer |= run_forked(*runner, 2, 4);
                  if (ahead) answer |= run_forked(*runner, 9, 9);
                  if (runner->shapes().compiled < 7) answer |= 4;
                  runner->stop();
                  runner.reset();
                  return answer;
                }),
                kRight)
          << i;
    known.y.assign(known.y.size(), -1);
    runner->execute(known.in, known.out);
    known.expect_right();
  }
}

// A thread of the parent may have any lock of the runner when the process forks.
TEST(ShapeRunner, AChildForkedWhileShapesAreCompiledGetsTheResultOrOneError) {
  CountingCompiler compiler;
  auto runner = std::make_unique<ShapeRunner>(open_copies(), compiler.function(),
                                              shaped_copies({2, 2}), limited_to(4));
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 2; t++)
    others.emplace_back([&, t] {
      RequestOptions options;
      options.timeout = 50s;
      for (int64_t i = 0; !stop; i++) {
        ShapedRequest r(3 + t, 1 + i % 90);
        if (t == 0) {
          runner->execute(r.in, r.out);
        } else {
          const RequestPtr request = runner->execute_async(r.in, r.out, {}, options);
          request->wait();
          request->check();
        }
        if (i % 8 == 0) std::this_thread::sleep_for(200us);
      }
    });
  int known_right = 0, new_right = 0;
  for (int i = 0; i < 200 && !HasFailure(); i++) {
    const int code = in_child([&] {
      const int known = run_forked(*runner, 2, 2), other = run_forked(*runner, 1, 7, i % 2);
      if (i % 3 == 0) runner->stop();
      runner.reset();
      return known + 4 * other;
    });
    EXPECT_GE(code, 0) << "signal " << -code << " in child " << i;
    EXPECT_LE(code % 4, kRefused) << i;
    EXPECT_LE(code / 4, kRefused) << i;
    known_right += code % 4 == kRight;
    new_right += code / 4 == kRight;
    std::this_thread::sleep_for(std::chrono::microseconds(i * 7 % 300));
  }
  stop = true;
  for (std::thread& t : others) t.join();
  EXPECT_GT(known_right, 0);
  ShapedRequest after(5, 5);
  runner->execute(after.in, after.out);
  after.expect_right();
  RecordProperty("known", known_right);
  RecordProperty("new", new_right);
}

TEST(ShapeRunner, AForkedChildDoesNotWaitForRequestsOfItsParent) {
  CountingCompiler compiler;
  auto runner = std::make_unique<ShapeRunner>(open_copies(), compiler.function(),
                                              shaped_copies({2, 2}), ShapeRunnerConfig());
  compiler.hold(true);
  ShapedRequest waits(1, 5);
  RequestOptions options;
  options.timeout = 1h;
  RequestPtr request = runner->execute_async(waits.in, waits.out, {}, options);
  while (compiler.calls == 0) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              request->wait();
              const Error e = shaped_error([&] { request->check(); });
              if (e.code() != ErrorCode::failed_precondition) return 1;
              if (std::string(e.what()).find("was forked") == std::string::npos) return 2;
              // The child refuses the shape that its parent compiles, and a new shape. It runs the
              // shape that is ready.
              if (run_forked(*runner, 1, 5) != kRefused) return 3;
              if (run_forked(*runner, 1, 6, true) != kRefused) return 4;
              if (run_forked(*runner, 2, 2) != kRight) return 5;
              if (runner->statistics().completed != 1) return 6;
              request = RequestPtr();
              runner.reset();
              return 0;
            }),
            0);
  compiler.hold(false);
  request->wait();
  request->check();
  waits.expect_right();
}

}  // namespace
}  // namespace poprt::runtime
#endif
