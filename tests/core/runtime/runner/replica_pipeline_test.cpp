// Stages of a model on separate threads: each request gets one correct answer.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <random>

#include "base/error.h"
#include "device/device_manager.h"
#include "device/emulator/emulator.h"
#include "program/control.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/variants.h"
#include "support/few_threads.h"
#include "support/shard_chain.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSize = 64;

std::shared_ptr<const Model> chain(size_t ipus, bool pipelined, int64_t rows = 1) {
  return test::shard_chain(ipus, pipelined, {rows, kSize});
}

struct Call {
  explicit Call(float first, size_t rows = 1) : x(rows * kSize), y(x.size(), -1), z(x.size(), -1) {
    for (size_t i = 0; i < x.size(); i++) x[i] = first + static_cast<float>(i);
    in[0] = {"x", 0, x.data(), x.size() * 4};
    out[0] = {"y", 0, y.data(), y.size() * 4};
    out[1] = {"z", 0, z.data(), z.size() * 4};
  }
  bool right() const { return y == x && z == x; }
  std::vector<float> x, y, z;
  InputBinding in[1];
  OutputBinding out[2];
  RequestPtr request;
  std::atomic<int> answers{0};
};

RequestCallback counted(Call& c) {
  return {[](void* user, ErrorCode) noexcept { static_cast<Call*>(user)->answers++; }, &c};
}

TEST(Shards, AModelOfSeveralIpusTakesAsMany) {
  const auto model = chain(3, false);
  EXPECT_EQ(model->ipus, 3u);
  EXPECT_EQ(model->metadata.numIpus(), 3u);
  EXPECT_EQ(device::DeviceManager().device_count() > 3, true);
  ModelRunner runner(model, {});
  Call c(1);
  runner.execute(c.in, c.out);
  EXPECT_TRUE(c.right());
  RunnerConfig one;
  one.session.device = std::make_shared<device::EmulatedDevice>();
  try {
    ModelRunner refused(model, one);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("for 3 IPUs"), std::string::npos) << e.what();
  }
}

TEST(Pipeline, SynchronousCallsGoThroughAllStages) {
  ModelRunner runner(chain(4, true), {});
  for (int i = 0; i < 20; i++) {
    Call c(static_cast<float>(i));
    runner.execute(c.in, c.out);
    ASSERT_TRUE(c.right());
  }
  Call c(99);
  const void* in[] = {c.x.data()};
  void* out[] = {c.y.data(), c.z.data()};
  runner.execute(in, out);
  EXPECT_TRUE(c.right());
}

// Each kind of waiting call receives the error, and the next request is answered.
TEST(Pipeline, SynchronousCallsReceiveErrors) {
  for (const bool by_position : {false, true}) {
    RunnerConfig config;
    config.auto_reset = true;
    config.faults = std::make_shared<FaultInjector>("application_runtime_error@2");
    ModelRunner runner(chain(3, true), config);
    Call c(5);
    const void* in[] = {c.x.data()};
    void* out[] = {c.y.data(), c.z.data()};
    const auto run = [&] { by_position ? runner.execute(in, out) : runner.execute(c.in, c.out); };
    run();
    EXPECT_TRUE(c.right());
    try {
      run();
      ADD_FAILURE() << "by position: " << by_position;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::aborted) << e.what();
    }
    std::ranges::fill(c.y, -1.f);
    run();
    EXPECT_TRUE(c.right());
  }
}

RunnerConfig steps_of(int batches, bool overlap) {
  RunnerConfig config;
  config.batches_per_step = batches;
  config.overlap_io = overlap;
  config.timeout = 100us;
  return config;
}

class Pipelines : public ::testing::TestWithParam<std::tuple<size_t, int, bool>> {};

TEST_P(Pipelines, AnswerManyRequestsInFlight) {
  const auto [ipus, batches, overlap] = GetParam();
  const RunnerConfig config = steps_of(batches, overlap);
  // Lives longer than the runner: a waiting thread may wake up before the callback is called.
  std::array<std::deque<Call>, 3> calls;
  ModelRunner runner(chain(ipus, true), config);
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < calls.size(); t++)
    clients.emplace_back([&, t] {
      for (size_t i = 0; i < 300; i++) {
        Call& c = calls[t].emplace_back(static_cast<float>(1000 * t + i), 1 + i % 5);
        c.request = runner.execute_async(c.in, c.out, counted(c));
      }
      for (Call& c : calls[t]) {
        c.request->wait();
        if (c.request->code() != ErrorCode::ok || !c.right()) wrong++;
      }
    });
  for (auto& c : clients) c.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runner.statistics().completed, 900u);
}

INSTANTIATE_TEST_SUITE_P(Of, Pipelines,
                         ::testing::Combine(::testing::Values(2u, 5u), ::testing::Values(1, 4),
                                            ::testing::Bool()),
                         [](const auto& choice) {
                           return fmt::format("{}", fmt::join(choice.param, "_"));
                         });

// Two pipelines and a model whose three IPUs compute one after the other, in one executable:
// a request names one of them.
TEST_P(Pipelines, AnswerRequestsOfFusedModels) {
  const auto [ipus, batches, overlap] = GetParam();
  const RunnerConfig config = steps_of(batches, overlap);
  std::array<std::deque<Call>, 3> calls;
  ModelFusionRunner runner(
      fuse_models(std::vector{chain(2, true), chain(ipus, true), chain(3, false)}), config);
  EXPECT_EQ(runner.graphs(), 3u);
  const std::string x[] = {"graph0/x", "graph1/x", "graph2/x"},
                    y[] = {"graph0/y", "graph1/y", "graph2/y"},
                    z[] = {"graph0/z", "graph1/z", "graph2/z"};
  std::vector<std::thread> clients;
  std::atomic<int> wrong{0};
  for (size_t t = 0; t < calls.size(); t++)
    clients.emplace_back([&, t] {
      std::mt19937 rng(static_cast<unsigned>(t));
      for (size_t i = 0; i < 200; i++) {
        Call& c = calls[t].emplace_back(static_cast<float>(1000 * t + i));
        const size_t graph = rng() % 3;
        c.in[0].name = x[graph];
        c.out[0].name = y[graph];
        c.out[1].name = z[graph];
        c.request = runner.execute_async(c.in, c.out, counted(c));
        if (i % 7 == 0) c.request->cancel();
      }
      for (Call& c : calls[t]) {
        c.request->wait();
        if (c.request->code() != ErrorCode::cancelled &&
            (c.request->code() != ErrorCode::ok || !c.right()))
          wrong++;
      }
    });
  for (auto& c : clients) c.join();
  EXPECT_EQ(wrong, 0);
  const RunnerStatistics s = runner.statistics();
  EXPECT_EQ(s.completed + s.cancelled, 600u);
  EXPECT_GT(s.completed, 300u);
}

TEST(Pipeline, AVariantThatThereIsNotIsAnError) {
  RunnerConfig config;
  config.validate_io_params = false;
  ModelRunner runner(fuse_models(std::vector{chain(2, true), chain(2, true)}), config);
  const uint32_t index = 2;
  Call c(1);
  const InputBinding in[] = {{"graph0/x", 0, c.x.data(), c.x.size() * 4}, {"index", 0, &index, 4}};
  const OutputBinding out[] = {{"graph0/y", 0, c.y.data(), c.y.size() * 4}};
  try {
    runner.execute(in, out);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("'index' is 2"), std::string::npos) << e.what();
  }
}

TEST(Pipeline, WithoutAThreadForEachStageThereIsOneLine) {
  ModelRunner runner(chain(3, true), {});
  Call c(1);
  for (uint64_t threads = 0; threads < 5; threads++) {
    const test::FewThreads few(threads);
    try {
      runner.execute_async(c.in, c.out);
      ADD_FAILURE() << threads;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::resource_exhausted) << e.what();
    }
  }
  runner.execute(c.in, c.out);
  EXPECT_TRUE(c.right());
}

// A row is a part of the batch that the device computes.
TEST(Pipeline, RowsShareABatch) {
  RunnerConfig config;
  config.batching_dim = 0;
  config.timeout = 200us;
  ModelRunner runner(chain(2, true, 4), config);
  std::deque<Call> calls;
  for (int i = 0; i < 200; i++) {
    Call& c = calls.emplace_back(static_cast<float>(i), 1 + i % 7);
    c.request = runner.execute_async(c.in, c.out);
  }
  for (Call& c : calls) {
    c.request->wait();
    EXPECT_EQ(c.request->code(), ErrorCode::ok);
    EXPECT_TRUE(c.right());
  }
}

// Faults, cancellations, time limits and stops at any moment.
TEST(Pipeline, EachRequestIsAnsweredOnce) {
  const auto model = chain(3, true);
  std::mt19937 rng(1);
  uint64_t answered = 0, ok = 0;
  for (int round = 0; round < 12; round++) {
    RunnerConfig config;
    config.auto_reset = true;
    config.replication_factor = 1 + round % 2;
    config.queue_depth = 64;
    config.faults = std::make_shared<FaultInjector>();
    config.faults->add_random(static_cast<unsigned>(round), 5000,
                              {DeviceErrorClass::application_runtime_error, {}});
    auto runner = std::make_shared<ModelRunner>(model, config);
    std::deque<Call> calls;
    std::thread stopper;
    for (int i = 0; i < 500; i++) {
      Call& c = calls.emplace_back(static_cast<float>(i));
      RequestOptions options;
      if (rng() % 8 == 0) options.timeout = std::chrono::microseconds(rng() % 100);
      try {
        c.request = runner->execute_async(c.in, c.out, counted(c), options);
      } catch (const Error& e) {
        EXPECT_TRUE(e.code() == ErrorCode::cancelled || e.code() == ErrorCode::deadline_exceeded);
        calls.pop_back();
        continue;
      }
      if (rng() % 8 == 0) c.request->cancel();
      if (i == 300 && round % 3 == 0) stopper = std::thread([&] { runner->stop(); });
    }
    if (stopper.joinable()) stopper.join();
    if (round % 3 == 1) runner.reset();  // waits for requests that compute
    for (Call& c : calls) {
      ASSERT_TRUE(c.request->wait(1min));
      while (c.answers == 0) std::this_thread::yield();
      EXPECT_EQ(c.answers, 1);
      answered++;
      const ErrorCode code = c.request->code();
      if (code == ErrorCode::ok) {
        ok++;
        EXPECT_TRUE(c.right());
      } else {
        EXPECT_TRUE(code == ErrorCode::cancelled || code == ErrorCode::deadline_exceeded ||
                    code == ErrorCode::aborted)
            << static_cast<int>(code);
      }
    }
  }
  EXPECT_GT(answered, 4000u);
  EXPECT_GT(ok, answered / 4);
}

TEST(Shards, RefuseContradictoryPrograms) {
  const program::Program good = chain(2, true)->program();
  const auto refused = [&](auto&& change) {
    program::Program p = good;
    change(p);
    try {
      device::Image image;
      image.program = std::make_shared<program::Program>(std::move(p));
      device::EmulatedDevice().load(image, {});
    } catch (const Error& e) {
      return e.code() == ErrorCode::data_loss;
    }
    return false;
  };
  const auto shard = [](program::Program& p, size_t nth) -> program::Instruction& {
    for (program::Instruction& in : p.main)
      if (p.kernels[in.kernel] == program::kControlShard && nth-- == 0) return in;
    throw std::logic_error("no such shard");
  };
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 0).ints.pop_back(); }));
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 0).ints[0] = -1; }));
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 1).ints[1] = 0; })) << "a stage twice";
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 1).ints[2] -= 64; })) << "memory of the first";
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 1).ints[3] += int64_t{1} << 40; }));
  EXPECT_TRUE(refused([&](auto& p) { shard(p, 1).ints[4] = 1 << 20; })) << "more state than memory";
  EXPECT_TRUE(refused([&](auto& p) { p.main[0].ints[0] = 7; })) << "a transfer from nowhere";
  EXPECT_TRUE(refused([&](auto& p) { p.main[0].ints[0] = 1; })) << "written by who reads it";
  EXPECT_TRUE(refused([&](auto& p) { p.main.pop_back(); })) << "no end";
  EXPECT_TRUE(refused([&](auto& p) { std::swap(p.main[0], p.main[1]); })) << "places out of order";
  EXPECT_TRUE(refused([&](auto& p) { p.main.push_back(p.main[3]); })) << "on no IPU";
  EXPECT_TRUE(refused([&](auto& p) { p.load.push_back(p.main[3]); }));
  EXPECT_TRUE(refused([&](auto& p) { p.kernels.resize(1 << 19, p.kernels[0]); }))
      << "a small file must not need much memory in each of many shards";
  // The programs of the shards together also run as one program.
  const program::Shards s = program::shards_of(good);
  EXPECT_EQ(s.transfers.size(), 2u);
  EXPECT_EQ(program::program_of(good, s, 1).inputs.size(), 3u);
}

}  // namespace
}  // namespace poprt::runtime
