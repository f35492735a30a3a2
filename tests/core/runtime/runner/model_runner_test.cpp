#include "runtime/runner/model_runner.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "device/device_manager.h"
#include "support/allocation_counter.h"
#include "support/copy_model.h"
#include "support/long_matmul.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using test::CopyModel;
using test::random_floats;

struct RunnerFixture {
  explicit RunnerFixture(size_t count = 16, RunnerConfig config = {})
      : n(count),
        copy(static_cast<int64_t>(n)),
        runner(std::make_unique<ModelRunner>(make_model("m", copy.image()), config)) {}
  size_t n;
  CopyModel copy;
  std::unique_ptr<ModelRunner> runner;
};

// One client's memory and bindings.
struct RunnerClient {
  explicit RunnerClient(size_t n, unsigned seed = 1) : x(random_floats(n, seed)), y(n), c(n) {
    in[0] = {"x", 0, x.data(), n * 4};
    out[0] = {"y", 0, y.data(), n * 4};
    out[1] = {"c", 0, c.data(), n * 4};
  }
  std::vector<float> x, y, c;
  InputBinding in[1];
  OutputBinding out[2];
};

template <class F>
void expect_message(F&& f, ErrorCode code, std::string_view message) {
  try {
    f();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.what(), message);
  }
}

TEST(ModelRunner, ExecutesByNameByIndexAndByPosition) {
  RunnerFixture f;
  RunnerClient a(f.n);
  f.runner->execute(a.in, a.out);
  EXPECT_EQ(a.x, a.y);
  EXPECT_EQ(a.c, f.copy.constants);

  RunnerClient b(f.n, 2);
  const InputBinding in[] = {{{}, 0, b.x.data(), f.n * 4}};
  const OutputBinding out[] = {{{}, 1, b.c.data(), f.n * 4}, {{}, 0, b.y.data(), f.n * 4}};
  f.runner->execute(in, out);
  EXPECT_EQ(b.x, b.y);
  EXPECT_EQ(b.c, f.copy.constants);

  RunnerClient c(f.n, 3);
  const void* inputs[] = {c.x.data()};
  void* outputs[] = {c.y.data(), c.c.data()};
  f.runner->execute(inputs, outputs);
  EXPECT_EQ(c.x, c.y);
}

TEST(ModelRunner, ExecutesWithMapsAndAllocatesOutputs) {
  RunnerFixture f;
  const std::vector<float> x = random_floats(f.n);
  const OutputMemory result = f.runner->execute(InputMemoryView{{"x", {x.data(), f.n * 4}}});
  ASSERT_EQ(result.size(), 2u);
  const auto* y = static_cast<const float*>(result.at("y").data());
  EXPECT_EQ(std::vector<float>(y, y + f.n), x);

  std::vector<float> y2(f.n), c2(f.n);
  f.runner->execute(InputMemoryView{{"x", {x.data(), f.n * 4}}},
                    OutputMemoryView{{"c", {c2.data(), f.n * 4}}, {"y", {y2.data(), f.n * 4}}});
  EXPECT_EQ(y2, x);
}

TEST(ModelRunner, ErrorsDescribeInvalidRequests) {
  RunnerFixture f;
  RunnerClient k(f.n);
  const auto run = [&](std::vector<InputBinding> in, std::vector<OutputBinding> out) {
    return [&f, in, out] { f.runner->execute(in, out); };
  };
  const InputBinding x = k.in[0];
  const OutputBinding y = k.out[0], c = k.out[1];
  expect_message(run({{"image", 0, k.x.data(), 64}}, {y, c}), ErrorCode::not_found,
                 "there is no input 'image'; inputs are: 'x'");
  expect_message(run({x}, {y, {"", 0, k.y.data(), 64}}), ErrorCode::not_found,
                 "there is no output ''; outputs are: 'y', 'c'");
  expect_message(run({{{}, 4, k.x.data(), 64}}, {y, c}), ErrorCode::not_found,
                 "there is no input 4; the model has 1");
  expect_message(run({{"x", 0, k.x.data(), 60}}, {y, c}), ErrorCode::invalid_argument,
                 "input 'x': expected 64 bytes (f32 [16]), given 60 bytes");
  expect_message(run({x}, {y, {"c", 0, k.c.data(), 65}}), ErrorCode::invalid_argument,
                 "output 'c': expected 64 bytes (f32 [16]), given 65 bytes");
  expect_message(run({x}, {y}), ErrorCode::invalid_argument, "output 'c' is missing");
  expect_message(run({}, {y, c}), ErrorCode::invalid_argument, "input 'x' is missing");
  expect_message(run({x, x}, {y, c}), ErrorCode::invalid_argument, "input 'x' is given twice");
  expect_message(run({{"x", 0, nullptr, 64}}, {y, c}), ErrorCode::invalid_argument,
                 "input 'x': the pointer is null");
  const void* inputs[] = {nullptr};
  void* outputs[] = {k.y.data(), k.c.data()};
  expect_message([&] { f.runner->execute(inputs, outputs); }, ErrorCode::invalid_argument,
                 "input 'x': the pointer is null");
  expect_message([&] { f.runner->execute_async(std::span(k.in).first(0), k.out); },
                 ErrorCode::invalid_argument, "input 'x' is missing");
  expect_message([&] { f.runner->profile(); }, ErrorCode::failed_precondition,
                 "the runner was made without profiling");
}

// The run writes an output before it has read the input, or while it reads it.
TEST(ModelRunner, OutputsMayBeInTheMemoryOfInputs) {
  for (const bool checked : {true, false})
    for (const bool overlap : {true, false}) {
      RunnerConfig config;
      config.validate_io_params = checked;
      config.overlap_io = overlap;
      RunnerFixture f(16, config);
      const std::vector<float> x = random_floats(f.n);
      for (size_t at = 0; at <= 2 * f.n; at++)
        for (const bool constants : {true, false}) {
          std::vector<float> room(3 * f.n), other(f.n);
          float* const input = room.data() + f.n;
          float* const y = constants ? other.data() : room.data() + at;
          float* const c = constants ? room.data() + at : other.data();
          const InputBinding in[] = {{"x", 0, input, f.n * 4}};
          const OutputBinding out[] = {{"y", 0, y, f.n * 4}, {"c", 0, c, f.n * 4}};
          const void* inputs[] = {input};
          void* outputs[] = {y, c};
          const std::function<void()> calls[] = {
              [&] { f.runner->execute(in, out); }, [&] { f.runner->execute(inputs, outputs); },
              [&] {
                const RequestPtr r = f.runner->execute_async(in, out);
                r->wait();
                r->check();
              }};
          for (const auto& call : calls) {
            std::copy(x.begin(), x.end(), input);
            call();
            EXPECT_EQ(std::vector<float>(y, y + f.n), x) << at << constants;
            EXPECT_EQ(std::vector<float>(c, c + f.n), f.copy.constants) << at << constants;
          }
        }
    }
}

TEST(ModelRunner, RefusesOutputsInTheMemoryOfOutputs) {
  for (const bool checked : {true, false}) {
    RunnerConfig config;
    config.validate_io_params = checked;
    RunnerFixture f(16, config);
    RunnerClient k(f.n);
    const auto run = [&](float* y, float* c) {
      return [&f, &k, y, c] {
        f.runner
            ->execute_async(k.in,
                            std::vector<OutputBinding>{{"y", 0, y, f.n * 4}, {"c", 0, c, f.n * 4}})
            ->wait();
      };
    };
    std::vector<float> room(2 * f.n);
    expect_message(run(room.data(), room.data() + f.n - 1), ErrorCode::invalid_argument,
                   "outputs 'y' and 'c' are in the same memory: give each of them its own");
    EXPECT_NO_THROW(run(room.data(), room.data() + f.n)()) << "neighbours";
    const void* inputs[] = {k.x.data()};
    void* outputs[] = {k.y.data(), k.y.data()};
    expect_message([&] { f.runner->execute(inputs, outputs); }, ErrorCode::invalid_argument,
                   "outputs 'y' and 'c' are in the same memory: give each of them its own");
  }
}

TEST(ModelRunner, AnchorsWithoutBytesNeedNoPointer) {
  RunnerFixture f(0);
  const InputBinding in[] = {{"x", 0, nullptr, 0}};
  const OutputBinding out[] = {{"y", 0, nullptr, 0}, {"c", 0, nullptr, 0}};
  EXPECT_NO_THROW(f.runner->execute(in, out));
  const void* inputs[] = {nullptr};
  void* outputs[] = {nullptr, nullptr};
  EXPECT_NO_THROW(f.runner->execute(inputs, outputs));
  EXPECT_NO_THROW(f.runner->execute(nullptr, nullptr));
  RunnerConfig overlapped;
  overlapped.overlap_io = true;
  RunnerFixture stages(0, overlapped);
  EXPECT_NO_THROW(stages.runner->execute(nullptr, nullptr));
}

TEST(ModelRunner, WithoutInputsOfRequestsTheListMayBeNull) {
  const std::vector<float> x(16, 3.f);
  RunnerConfig config;
  config.frozen_inputs = {{"x", {x.data(), 64}}};
  RunnerFixture f(16, config);
  std::vector<float> y(16), c(16);
  void* outputs[] = {y.data(), c.data()};
  f.runner->execute(nullptr, outputs);
  EXPECT_EQ(y, x);
  expect_message([&] { f.runner->execute(nullptr, nullptr); }, ErrorCode::invalid_argument,
                 "output 'y': the pointer is null");
}

TEST(ModelRunner, SynchronousExecuteAllocatesNothing) {
  RunnerFixture f(1000);
  RunnerClient k(f.n);
  const void* inputs[] = {k.x.data()};
  void* outputs[] = {k.y.data(), k.c.data()};
  const test::AllocationCounter counter;
  for (int i = 0; i < 10; i++) {
    f.runner->execute(k.in, k.out);
    f.runner->execute(inputs, outputs);
  }
  EXPECT_EQ(counter.count(), 0);
}

TEST(ModelRunner, AsynchronousExecuteAllocatesNothingOnceWarm) {
  for (const bool dynamic : {false, true}) {
    RunnerConfig config;
    config.session.load.threads = 1;
    if (dynamic) {
      config.batching_dim = 0;
      config.timeout = 1us;
    }
    RunnerFixture f(16, config);
    std::vector<std::unique_ptr<RunnerClient>> clients;
    std::vector<RequestPtr> requests(32);
    for (unsigned i = 0; i < 32; i++) {
      clients.push_back(std::make_unique<RunnerClient>(f.n, i));
      if (dynamic && i % 2) {
        clients[i]->in[0].bytes = 12;
        clients[i]->out[0].bytes = clients[i]->out[1].bytes = 12;
      }
    }
    const auto round = [&] {
      for (size_t i = 0; i < 32; i++)
        requests[i] = f.runner->execute_async(clients[i]->in, clients[i]->out);
      for (auto& r : requests) r->wait();
    };
    round();
    f.runner->execute(clients[0]->in, clients[0]->out);
    round();
    const test::AllocationCounter counter;
    for (int i = 0; i < 20; i++) round();
    EXPECT_EQ(counter.count(), 0);
  }
}

TEST(ModelRunner, TheFourFlavoursAgreeAndStayInsideTheMemoryGiven) {
  RunnerFixture f(5);
  const std::vector<float> x = random_floats(5);
  const InputMemoryView in{{"x", {x.data(), 20}}};
  const OutputMemory allocated = f.runner->execute(in);
  const auto* first = static_cast<const float*>(allocated.at("y").data());
  EXPECT_EQ(std::vector<float>(first, first + 5), x);
  for (const bool async : {false, true}) {
    std::vector<float> y(7, -5.f), c(7, -5.f);
    const OutputMemoryView out{{"y", {y.data() + 1, 20}}, {"c", {c.data() + 1, 20}}};
    if (async) {
      const RequestPtr r = f.runner->execute_async(in, out);
      ASSERT_TRUE(r->wait(60s));
      r->check();
    } else {
      f.runner->execute(in, out);
    }
    EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end() - 1), x);
    EXPECT_EQ(std::vector<float>(c.begin() + 1, c.end() - 1), f.copy.constants);
    for (const auto* v : {&y, &c}) {
      EXPECT_EQ(v->front(), -5.f);
      EXPECT_EQ(v->back(), -5.f);
    }
  }
  // In the fourth form, the runner allocates the outputs of an asynchronous request.
  const auto [request, memory] = f.runner->execute_async(in);
  ASSERT_TRUE(request->wait(60s));
  request->check();
  const auto* fourth = static_cast<const float*>(memory.at("y").data());
  EXPECT_EQ(std::vector<float>(fourth, fourth + 5), x);
}

TEST(ModelRunner, WithoutThreadSafetyOneThreadAtATimeMaySubmit) {
  RunnerConfig config;
  config.thread_safe = false;
  RunnerFixture f(16, config);
  for (unsigned t = 0; t < 4; t++)
    std::thread([&] {
      RunnerClient k(f.n, t);
      const RequestPtr r = f.runner->execute_async(k.in, k.out);
      ASSERT_TRUE(r->wait(60s));
      EXPECT_EQ(k.x, k.y);
    }).join();
}

TEST(ModelRunner, WaitsForABusyDeviceAsConfigured) {
  const device::DeviceManager manager;
  std::vector<std::shared_ptr<device::Device>> all;
  for (int64_t i = 0; i < manager.device_count(); i++) all.push_back(manager.get_device());
  CopyModel copy(4);
  RunnerConfig config;
  config.device_wait_sleep = 1ms;
  for (const auto wait : {0ms, 5ms}) {
    config.device_wait_timeout = wait;
    try {
      ModelRunner(make_model("m", copy.image()), config);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unavailable);
    }
  }
  config.device_wait_timeout = RunnerConfig::kNever;
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    all.pop_back();
  });
  EXPECT_NO_THROW(ModelRunner(make_model("m", copy.image()), config));
  later.join();
}

TEST(ModelRunner, RefusesBadQueueDepths) {
  CopyModel copy(4);
  for (const size_t depth : {ModelRunner::kMaxQueueDepth + 1, SIZE_MAX}) {
    RunnerConfig config;
    config.queue_depth = depth;
    EXPECT_THROW(ModelRunner(make_model("m", copy.image()), config), Error);
  }
}

TEST(ModelRunner, AsyncRequestsComplete) {
  RunnerFixture f;
  std::vector<std::unique_ptr<RunnerClient>> clients;
  std::vector<RequestPtr> requests;
  for (unsigned i = 0; i < 200; i++) {  // more than the queue holds
    clients.push_back(std::make_unique<RunnerClient>(f.n, i));
    requests.push_back(f.runner->execute_async(clients[i]->in, clients[i]->out));
  }
  for (unsigned i = 0; i < 200; i++) {
    EXPECT_TRUE(requests[i]->wait());
    EXPECT_NO_THROW(requests[i]->check());
    EXPECT_EQ(clients[i]->x, clients[i]->y);
  }
}

TEST(ModelRunner, AThousandRequestsInFlightAreAnsweredInOrder) {
  RunnerConfig config;
  config.queue_depth = 1024;
  RunnerFixture f(64, config);
  constexpr unsigned kCount = 1000;
  std::vector<std::unique_ptr<RunnerClient>> clients;
  std::vector<RequestPtr> requests;
  struct Order {
    std::mutex mutex;
    std::vector<unsigned> answered;
  } order;
  struct Call {
    Order* order;
    unsigned number;
  };
  std::vector<Call> calls;
  for (unsigned i = 0; i < kCount; i++) calls.push_back({&order, i});
  for (unsigned i = 0; i < kCount; i++) {
    clients.push_back(std::make_unique<RunnerClient>(f.n, i));
    RequestCallback callback;
    callback.call = [](void* context, ErrorCode) noexcept {
      const auto& call = *static_cast<Call*>(context);
      const std::lock_guard lock(call.order->mutex);
      call.order->answered.push_back(call.number);
    };
    callback.context = &calls[i];
    requests.push_back(f.runner->execute_async(clients[i]->in, clients[i]->out, callback));
  }
  for (unsigned i = 0; i < kCount; i++) {
    ASSERT_TRUE(requests[i]->wait());
    EXPECT_EQ(clients[i]->x, clients[i]->y);
  }
  f.runner->stop();  // the last callback is over
  ASSERT_EQ(order.answered.size(), kCount);
  EXPECT_TRUE(std::ranges::is_sorted(order.answered));
}

struct Chain {
  ModelRunner* runner;
  RunnerClient* client;
  std::atomic<int> left{100};
  std::atomic<bool> done{false};
  static void next(void* context, ErrorCode code) noexcept {
    auto* self = static_cast<Chain*>(context);
    if (code == ErrorCode::ok && self->left.fetch_sub(1) > 1)
      self->runner->execute_async(self->client->in, self->client->out, {next, self});
    else
      self->done = true;
  }
};

TEST(ModelRunner, CallbacksMaySubmit) {
  RunnerFixture f;
  RunnerClient k(f.n);
  Chain chain{f.runner.get(), &k};
  f.runner->execute_async(k.in, k.out, {Chain::next, &chain});
  while (!chain.done) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(chain.left.load(), 0);
}

TEST(ModelRunner, ACallbackReceivesAnErrorIfTheQueueIsFull) {
  RunnerConfig config;
  config.queue_depth = 1;
  RunnerFixture f(16, config);
  struct Context {
    ModelRunner* runner;
    RunnerClient a{16}, b{16};
    std::atomic<int> code{-1};
  } context{f.runner.get()};
  RunnerClient k(16);
  f.runner->execute_async(k.in, k.out,
                          {[](void* c, ErrorCode) noexcept {
                             auto& x = *static_cast<Context*>(c);
                             try {
                               x.runner->execute_async(x.a.in, x.a.out);
                               x.runner->execute_async(x.b.in, x.b.out);
                               x.code = 0;
                             } catch (const Error& e) {
                               x.code = static_cast<int>(e.code());
                             }
                           },
                           &context});
  while (context.code < 0) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(context.code, static_cast<int>(ErrorCode::resource_exhausted));
  f.runner->stop();
}

TEST(ModelRunner, ManyThreadsShareOne) {
  for (const int threads : {1, 2}) {
    RunnerConfig config;
    config.session.load.threads = threads;
    config.queue_depth = 4;
    RunnerFixture f(threads == 1 ? 64 : 1 << 20, config);
    EXPECT_EQ(f.runner->threads(), threads);
    std::vector<std::thread> clients;
    for (unsigned t = 0; t < 8; t++)
      clients.emplace_back([&, t] {
        for (unsigned i = 0; i < (threads == 1 ? 200u : 3u); i++) {
          RunnerClient k(f.n, t * 1000 + i);
          if ((t + i) % 2) {
            f.runner->execute(k.in, k.out);
          } else {
            const auto request = f.runner->execute_async(k.in, k.out);
            ASSERT_TRUE(request->wait());
            request->check();
          }
          ASSERT_EQ(k.x, k.y);
          ASSERT_EQ(k.c, f.copy.constants);
        }
      });
    for (auto& c : clients) c.join();
  }
}

TEST(ModelRunner, StopCancelsAndIsRepeatable) {
  RunnerFixture f;
  RunnerClient k(f.n);
  f.runner->execute_async(k.in, k.out)->wait();
  f.runner->stop();
  f.runner->stop();
  expect_message([&] { f.runner->execute(k.in, k.out); }, ErrorCode::cancelled,
                 "the runner was stopped");
  expect_message([&] { f.runner->execute_async(k.in, k.out); }, ErrorCode::cancelled,
                 "the runner was stopped");
}

TEST(ModelRunner, StopWhileClientsSubmit) {
  for (int round = 0; round < 20; round++) {
    RunnerConfig config;
    config.queue_depth = 2;
    RunnerFixture f(256, config);
    std::vector<std::thread> clients;
    std::atomic<int> cancelled{0};
    for (unsigned t = 0; t < 3; t++)
      clients.emplace_back([&, t] {
        RunnerClient k(f.n, t);
        try {
          for (;;) {
            const auto request = f.runner->execute_async(k.in, k.out);
            request->wait();
            request->check();
          }
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), ErrorCode::cancelled);
          cancelled++;
        }
      });
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    f.runner->stop();
    for (auto& c : clients) c.join();
    EXPECT_EQ(cancelled, 3);
  }
}

// The previous runner's last run may still be on the device.
std::shared_ptr<device::Device> device_in_time(const device::DeviceManager& manager) {
  for (int i = 0; i < 10000; i++) try {
      return manager.get_device();
    } catch (const Error&) {
      std::this_thread::sleep_for(1ms);
    }
  return manager.get_device();
}

TEST(ModelRunner, DestructionAnswersRequestsAndFreesTheDevice) {
  const device::DeviceManager manager(1);
  for (int round = 0; round < 20; round++) {
    RunnerConfig config;
    config.session.device = device_in_time(manager);
    RunnerFixture f(1 << 14, config);
    config.session.device.reset();
    std::vector<std::unique_ptr<RunnerClient>> clients;
    std::vector<RequestPtr> requests;
    for (unsigned i = 0; i < 20; i++) {
      clients.push_back(std::make_unique<RunnerClient>(f.n, i));
      requests.push_back(f.runner->execute_async(clients[i]->in, clients[i]->out));
    }
    f.runner.reset();
    for (unsigned i = 0; i < 20; i++) {
      ASSERT_TRUE(requests[i]->wait(30s));
      if (requests[i]->code() == ErrorCode::ok)
        ASSERT_EQ(clients[i]->x, clients[i]->y);
      else
        ASSERT_EQ(requests[i]->code(), ErrorCode::cancelled);
    }
  }
}

TEST(ModelRunner, AnIdleRunnerFreesItsDeviceAtOnce) {
  const device::DeviceManager manager(1);
  for (int i = 0; i < 50; i++) {
    RunnerConfig config;
    config.session.device = manager.get_device();
    RunnerFixture f(16, config);
    config.session.device.reset();
    RunnerClient k(f.n);
    f.runner->execute_async(k.in, k.out)->wait();
  }
}

// A sanitizer's own threads do not survive fork().
#if !POPRT_TEST_SANITIZED
TEST(ModelRunner, AForkedChildRunsSynchronously) {
  RunnerConfig config;
  config.session.load.threads = 2;
  RunnerFixture f(1 << 20, config);
  RunnerClient k(f.n);
  f.runner->execute_async(k.in, k.out)->wait();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    RunnerClient mine(f.n, 5);
    f.runner->execute(mine.in, mine.out);
    int code = mine.x == mine.y ? 0 : 1;
    try {
      f.runner->execute_async(mine.in, mine.out);
      code = 2;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::failed_precondition) code = 3;
    }
    f.runner->stop();
    f.runner.reset();
    _exit(code);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

#if !POPRT_TEST_SANITIZED
// The queue of the parent is full, and its threads submit requests.
TEST(ModelRunner, AChildOfAParentWithAFullQueueIsRefusedAtOnce) {
  RunnerConfig config;
  config.queue_depth = 1;
  RunnerFixture f(1 << 16, config);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (const WhenFull when : {WhenFull::wait, WhenFull::line})
    others.emplace_back([&, when] {
      RequestOptions options;
      options.when_full = when;
      options.timeout = std::chrono::seconds(50);
      RunnerClient k(f.n);
      while (!stop) f.runner->execute_async(k.in, k.out, {}, options)->wait();
    });
  RunnerClient own(f.n);
  for (int i = 0; i < 200 && !HasFailure(); i++) {
    const RequestPtr request = f.runner->execute_async(own.in, own.out);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      RunnerClient mine(f.n, 5);
      int code = 0;
      for (const WhenFull when : {WhenFull::wait, WhenFull::fail, WhenFull::line}) try {
          RequestOptions options;
          options.when_full = when;
          f.runner->execute_async(mine.in, mine.out, {}, options);
          code = 1;
        } catch (const Error& e) {
          if (e.code() != ErrorCode::failed_precondition) code = 2;
        }
      request->wait();
      if (request->code() != ErrorCode::ok && request->code() != ErrorCode::failed_precondition)
        code = 3;
      f.runner->stop();
      f.runner.reset();
      _exit(code);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
    request->wait();
    request->check();
  }
  stop = true;
  for (std::thread& t : others) t.join();
}

// Another thread of the parent may hold any lock of the runner when the process forks.
TEST(ModelRunner, AChildForkedDuringARunGetsTheResultOrOneError) {
  for (const int threads : {1, 2}) {
    RunnerConfig config;
    config.session.load.threads = threads;
    RunnerFixture f(1 << 14, config);
    std::atomic<bool> stop{false};
    std::thread other([&] {
      RunnerClient k(f.n);
      while (!stop) f.runner->execute(k.in, k.out);
    });
    int right = 0, refused = 0;
    for (int i = 0; i < 500; i++) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        alarm(60);
        RunnerClient mine(f.n, 5);
        int code = 3;
        try {
          for (int round = 0; round < 2; round++) f.runner->execute(mine.in, mine.out);
          code = mine.x == mine.y ? 0 : 2;
        } catch (const Error& e) {
          const bool clear =
              e.code() == ErrorCode::failed_precondition &&
              std::string(e.what()).find("was forked while another thread") != std::string::npos;
          code = clear ? 1 : 4;
        }
        f.runner->stop();
        f.runner.reset();
        _exit(code);
      }
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " in child " << i;
      ASSERT_LE(WEXITSTATUS(status), 1) << i;
      (WEXITSTATUS(status) == 0 ? right : refused)++;
      std::this_thread::sleep_for(std::chrono::microseconds(i * 7 % 300));
    }
    stop = true;
    other.join();
    EXPECT_EQ(right + refused, 500);
    EXPECT_GT(refused, 0) << "the other thread runs most of the time";
    RunnerClient after(f.n, 7);
    f.runner->execute(after.in, after.out);
    EXPECT_EQ(after.x, after.y) << "the parent is not affected";
  }
}
#endif

TEST(ModelRunner, ProfilesInstructions) {
  RunnerConfig config;
  config.session.load.profile = true;
  RunnerFixture f(16, config);
  RunnerClient k(f.n);
  f.runner->execute(k.in, k.out);
  f.runner->execute(k.in, k.out);
  const auto rows = f.runner->profile();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].runs, 2);
}

TEST(ModelRunner, AResetStartsTheProfileAgain) {
  RunnerConfig config;
  config.session.load.profile = true;
  config.auto_reset = true;
  config.faults = std::make_shared<FaultInjector>("application_runtime_error@3");
  RunnerFixture f(16, config);
  RunnerClient k(f.n);
  f.runner->execute(k.in, k.out);
  f.runner->execute(k.in, k.out);
  EXPECT_EQ(f.runner->profile()[0].runs, 2);
  EXPECT_THROW(f.runner->execute(k.in, k.out), Error);
  f.runner->execute(k.in, k.out);
  EXPECT_EQ(f.runner->profile()[0].runs, 1);
}

TEST(ModelRunner, StopEndsARunWithinALongInstruction) {
  for (const bool synchronous : {false, true}) {
    test::LongMatmul m;
    EXPECT_TRUE(test::caught_in_the_middle([&](auto delay) {
      ModelRunner runner(make_model("long", test::LongMatmul::image()));
      std::fill(m.y.begin(), m.y.end(), 0);
      const InputBinding in[] = {{"x", 0, m.x.data(), test::LongMatmul::kBytes}};
      const OutputBinding out[] = {{"y", 0, m.y.data(), test::LongMatmul::kBytes}};
      std::thread stopper([&] {
        std::this_thread::sleep_for(delay);
        runner.stop();
      });
      ErrorCode code = ErrorCode::ok;
      std::string what;
      try {
        if (synchronous) {
          runner.execute(in, out);
        } else {
          const RequestPtr r = runner.execute_async(in, out);
          r->wait();
          r->check();
        }
      } catch (const Error& e) {
        code = e.code();
        what = e.what();
      }
      stopper.join();
      if (!m.begun() || m.finished()) return false;
      EXPECT_EQ(code, ErrorCode::cancelled);
      EXPECT_EQ(what, "the run was interrupted: the runner was stopped");
      EXPECT_EQ(runner.statistics().cancelled, 1u);
      return true;
    })) << synchronous;
  }
}

}  // namespace
}  // namespace poprt::runtime
