// Runners with many requests: replicas, cancellation, and destruction.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>

#include "core/runtime/runner/replica_support.h"
#include "device/device_manager.h"
#include "program/builder.h"
#include "runtime/session/variants.h"
#include "support/few_threads.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using namespace replica_test;

TEST(RingBufferMultiplier, BoundsRequestsInFlight) {
  Gate gate;
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const*, void* const*) { gate.wait(); }));
  config.batching_dim = 0;
  config.ring_buffer_size_multiplier = 3;
  {
    ModelRunner runner(add_one_model({50}), config);
    EXPECT_EQ(runner.statistics().queue_capacity, 150u);  // 3 x the batch
  }
  config.queue_depth = 5;  // has priority over the size of the ring
  ModelRunner runner(add_one_model({1}), config);
  Rows k(1);
  std::atomic<int> submitted{0};
  std::vector<RequestPtr> requests(8);
  std::thread client([&] {
    for (auto& r : requests) {
      r = runner.execute_async(k.in, k.out);
      submitted++;
    }
  });
  ASSERT_TRUE(eventually([&] { return submitted == 5; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(submitted, 5);  // the sixth is blocked
  gate.open();
  client.join();
  for (const auto& r : requests) EXPECT_TRUE(r->wait(60s));
}

TEST(Replication, SpreadsRequestsOverDevices) {
  Gate gate;
  std::atomic<int> entered{0};
  std::vector<std::shared_ptr<FunctionDevice>> devices;
  RunnerConfig config;
  config.replication_factor = 3;
  const auto plus = add_one(4);
  for (int i = 0; i < 3; i++) {
    devices.push_back(std::make_shared<FunctionDevice>(
        [&, plus](const void* const* in, void* const* out) {
          entered++;
          gate.wait();
          plus(in, out);
        },
        i));
    config.replica_id_to_device[i] = devices.back();
  }
  ModelRunner runner(add_one_model({4}), config);
  EXPECT_EQ(runner.replicas(), 3u);
  std::vector<std::unique_ptr<Rows>> memory;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 6; i++) {
    memory.push_back(std::make_unique<Rows>(4, static_cast<float>(i)));
    requests.push_back(runner.execute_async(memory.back()->in, memory.back()->out));
  }
  EXPECT_TRUE(eventually([&] { return entered == 3; }));  // all three at the same time
  gate.open();
  for (size_t i = 0; i < 6; i++) {
    ASSERT_TRUE(requests[i]->wait(60s));
    EXPECT_TRUE(memory[i]->right());
  }
  for (size_t r = 0; r < 3; r++) EXPECT_EQ(runner.statistics(r).completed, 2u) << r;
  EXPECT_THROW(runner.statistics(3), Error);
}

// y = x of the run before.
std::shared_ptr<const Model> memory_model() {
  program::Builder b;
  const Shape shape{4};
  const auto x = b.input(b.add_input({"x", DType::f32, shape}), 0, 16, DType::f32, shape);
  const auto y = b.output(b.add_output({"y", DType::f32, shape}), 0, 16, DType::f32, shape);
  const auto kept = b.arena(0, 16, DType::f32, shape);
  const program::BufferId first[] = {kept, y}, second[] = {x, kept};
  b.emit("copy", first, {}, {}, "give");
  b.emit("copy", second, {}, {}, "keep");
  b.program().arena_bytes = b.program().state_bytes = 64;
  device::Image image;
  image.program = std::make_shared<program::Program>(std::move(b.program()));
  return make_model("memory", std::move(image));
}

TEST(Replication, ARequestUsesTheStateOfTheNamedReplica) {
  RunnerConfig config;
  config.replication_factor = 3;
  ModelRunner runner(memory_model(), config);
  const auto run = [&](int64_t replica, float value) {
    Rows k(4, value);
    RequestOptions options;
    options.replica = replica;
    const RequestPtr request = runner.execute_async(k.in, k.out, {}, options);
    request->wait();
    request->check();
    return k.y[1];
  };
  for (const int64_t r : {0, 1, 2}) EXPECT_EQ(run(r, 10.f * static_cast<float>(r + 1)), 0) << r;
  for (const int64_t r : {2, 0, 1, 1, 0, 2}) {
    const float before = run(r, 7);
    EXPECT_TRUE(before == 7 || before == 10.f * static_cast<float>(r + 1)) << r;
    EXPECT_EQ(run(r, 10.f * static_cast<float>(r + 1)), 7) << r;
  }
  EXPECT_EQ(runner.statistics(1).completed, 5u);
  EXPECT_EQ(code_of([&] { run(3, 0); }), ErrorCode::not_found);
}

TEST(Replication, SharesDevicesThroughTheNamedFolder) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("poprt_replicas_{}", ::getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  device::ManagerConfig shared{2, folder.string(), {}};
  {
    RunnerConfig config;
    config.replication_factor = 2;
    config.shared_devices = folder.string();
    ModelRunner runner(memory_model(), config);
    EXPECT_EQ(code_of([&] { device::DeviceManager(shared).get_device(); }), ErrorCode::unavailable);
    EXPECT_NO_THROW(device::DeviceManager(device::ManagerConfig{2, "0", {}}).get_device());
  }
  EXPECT_NO_THROW(device::DeviceManager(shared).get_device());
  std::filesystem::remove_all(folder);
}

TEST(Replication, PinsReplicasToDevices) {
  const auto plus = add_one(4);
  std::atomic<int> a_runs{0}, b_runs{0};
  const auto counted = [&](std::atomic<int>& n) {
    return std::make_shared<FunctionDevice>([&n, plus](const void* const* in, void* const* out) {
      n++;
      plus(in, out);
    });
  };
  RunnerConfig config;
  config.replication_factor = 2;
  config.replica_id_to_device = {{0, counted(a_runs)}, {1, counted(b_runs)}};
  ModelRunner runner(add_one_model({4}), config);
  for (int i = 0; i < 10; i++) {
    Rows k(4);
    runner.execute(k.in, k.out);
    EXPECT_TRUE(k.right());
  }
  EXPECT_EQ(a_runs + b_runs, 10);
  EXPECT_EQ(static_cast<uint64_t>(a_runs), runner.statistics(0).batches);
  config.replica_id_to_device = {{2, nullptr}};
  EXPECT_EQ(code_of([&] { ModelRunner(add_one_model({4}), config); }), ErrorCode::not_found);
}

TEST(Replication, RunsOfIncompleteBatchesAlternate) {
  RunnerConfig config;
  config.replication_factor = 2;
  for (int i = 0; i < 2; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(add_one(4), i);
  config.batching_dim = 0;
  config.timeout = 1us;
  ModelRunner runner(add_one_model({4}), config);
  for (int i = 0; i < 10; i++) {
    Rows k(1);
    runner.execute(k.in, k.out);
    EXPECT_TRUE(k.right());
  }
  EXPECT_EQ(runner.statistics(0).completed, 5u);
  EXPECT_EQ(runner.statistics(1).completed, 5u);
}

TEST(Replication, CompiledInReplicasGetTheirSlice) {
  std::vector<std::pair<int, float>> seen;
  RunnerConfig config;
  const auto plus = add_one(2);
  for (int i = 0; i < 3; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(
        [&seen, i, plus](const void* const* in, void* const* out) {
          seen.emplace_back(i, *static_cast<const float*>(in[0]));
          plus(in, out);
        },
        i);
  const auto model = add_one_model({2});
  model->replication_factor = 3;
  ModelRunner runner(model, config);
  EXPECT_EQ(runner.replicas(), 1u);
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{3, 2}));
  EXPECT_EQ(runner.execute_inputs()[0].size_in_bytes, 24u);
  Rows k(6);
  runner.execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  EXPECT_EQ(seen, (std::vector<std::pair<int, float>>{{0, 0.f}, {1, 2.f}, {2, 4.f}}));
  Rows twice(12), wrong(8);
  const RequestPtr r = runner.execute_async(twice.in, twice.out);
  ASSERT_TRUE(r->wait(60s));
  EXPECT_TRUE(twice.right());
  EXPECT_EQ(code_of([&] { runner.execute(wrong.in, wrong.out); }), ErrorCode::invalid_argument);
}

TEST(Replication, OnlyReplicasThatThereAreCanBeNamed) {
  RunnerConfig config;
  config.replication_factor = 2;
  for (int i = 0; i < 2; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(add_one(4), i);
  ModelRunner runner(add_one_model({4}), config);
  Rows k(4);
  const auto message_for = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  const std::string none = "there is no replica 2: the runner has 2, counted from 0";
  RequestOptions options;
  options.replica = 2;
  EXPECT_EQ(message_for([&] { runner.execute_async(k.in, k.out, {}, options); }), none);
  EXPECT_EQ(message_for([&] { static_cast<void>(runner.statistics(2)); }), none);
  for (const int64_t r : {1, 1, 0}) {
    options.replica = r;
    runner.execute_async(k.in, k.out, {}, options)->wait();
  }
  EXPECT_EQ(runner.statistics(0).completed, 1u);
  EXPECT_EQ(runner.statistics(1).completed, 2u);
}

// Callbacks of both replicas stop the runner at the same time.
TEST(Replication, CallbacksOfSeveralReplicasMayStop) {
  RunnerConfig config;
  config.replication_factor = 2;
  for (int i = 0; i < 2; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(add_one(4));
  struct Context {
    std::unique_ptr<ModelRunner> runner;
    std::atomic<int> begun{0}, ended{0};
  } context;
  context.runner = std::make_unique<ModelRunner>(add_one_model({4}), config);
  RequestCallback callback;
  callback.context = &context;
  callback.call = [](void* c, ErrorCode) noexcept {
    auto& own = *static_cast<Context*>(c);
    own.begun++;
    while (own.begun < 2) std::this_thread::yield();
    own.runner->stop();
    own.ended++;
  };
  Rows a(4), b(4);
  for (Rows* rows : {&a, &b}) {
    RequestOptions options;
    options.replica = rows == &a ? 0 : 1;
    context.runner->execute_async(rows->in, rows->out, callback, options);
  }
  ASSERT_TRUE(eventually([&] { return context.ended == 2; }));
  context.runner->stop();
  EXPECT_TRUE(a.right() && b.right());
}

TEST(Replication, RequestsHaveNoDimensionOfCompiledInReplicas) {
  const auto rows_of = [](uint32_t replicas, uint32_t dim) {
    RunnerConfig config;
    for (uint32_t i = 0; i < replicas; i++)
      config.replica_id_to_device[static_cast<int>(i)] =
          std::make_shared<FunctionDevice>(add_one(4));
    config.batching_dim = dim;
    const auto model = add_one_model({2, 2});
    model->replication_factor = replicas;
    const RequestRows r = ModelRunner(model, config).request_rows();
    return std::tuple(r.kind, r.dim, r.left_out);
  };
  EXPECT_EQ(rows_of(1, UINT32_MAX), std::tuple(RequestRows::batches, 0u, 0u));
  EXPECT_EQ(rows_of(2, UINT32_MAX), std::tuple(RequestRows::batches, 0u, 0u));
  EXPECT_EQ(rows_of(1, 1), std::tuple(RequestRows::along, 1u, 0u));
  EXPECT_EQ(rows_of(2, 0), std::tuple(RequestRows::along, 0u, 1u));
}

// --- memory of anchors that a request does not name, and of many anchors

// The addresses that the device receives for the outputs of a request without outputs.
std::vector<std::ptrdiff_t> places_of_dropped(const std::shared_ptr<Model>& model) {
  std::vector<std::byte*> at(model->outputs().size());
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const*, void* const* out) {
        for (size_t i = 0; i < at.size(); i++) at[i] = static_cast<std::byte*>(out[i]);
      }));
  config.validate_io_params = false;
  ModelRunner runner(model, config);
  uint32_t index = 1;
  const InputBinding in[] = {{"index", 0, &index, 4}};
  runner.execute(in, std::span<const OutputBinding>());
  std::vector<std::ptrdiff_t> places;
  for (const std::byte* p : at) places.push_back(p - at[0]);
  return places;
}

TEST(Unconnected, OutputsHaveSeparateMemoryWithinAGraph) {
  const auto model =
      test::anchors_only({{"index", DType::u32, {1}}}, {{"graph0/a", DType::u8, {20}},
                                                        {"graph0/b", DType::u8, {64}},
                                                        {"graph1/c", DType::u8, {300}},
                                                        {"graph1/d", DType::u8, {1}}});
  EXPECT_EQ(places_of_dropped(model), (std::vector<std::ptrdiff_t>{0, 64, 128, 448}));
  auto variants = std::make_shared<Variants>();
  variants->count = 2;
  variants->names = {"m", "n"};
  model->variants = variants;
  EXPECT_EQ(places_of_dropped(model), (std::vector<std::ptrdiff_t>{0, 64, 0, 320}));
}

TEST(Unconnected, InputsAreZerosOfTheLargest) {
  std::vector<std::vector<uint8_t>> seen;
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([&](const void* const* in, void* const*) {
        for (const auto& [i, n] : {std::pair(0, 3), std::pair(1, 500), std::pair(2, 7)}) {
          const auto* from = static_cast<const uint8_t*>(in[i]);
          seen.emplace_back(from, from + n);
        }
      }));
  config.validate_io_params = false;
  ModelRunner runner(
      test::anchors_only({{"a", DType::u8, {3}}, {"b", DType::u8, {500}}, {"c", DType::u8, {7}}},
                         {{"y", DType::u8, {1}}}),
      config);
  const std::vector<uint8_t> a = {1, 2, 3};
  const InputBinding in[] = {{"a", 0, a.data(), 3}};
  runner.execute(in, std::span<const OutputBinding>());
  EXPECT_EQ(seen, (std::vector<std::vector<uint8_t>>{a, std::vector<uint8_t>(500),
                                                     std::vector<uint8_t>(7)}));
}

TEST(Anchors, ThereMayBeMany) {
  for (const size_t n : {16, 17, 40}) {
    std::vector<program::Anchor> in, out;
    for (size_t i = 0; i < n; i++) {
      in.push_back({fmt::format("x{}", i), DType::s32, {1}});
      out.push_back({fmt::format("y{}", i), DType::s32, {1}});
    }
    ModelRunner runner(
        test::anchors_only(in, out),
        on(std::make_shared<FunctionDevice>([n](const void* const* from, void* const* to) {
          for (size_t i = 0; i < n; i++)
            *static_cast<int32_t*>(to[n - 1 - i]) = *static_cast<const int32_t*>(from[i]) + 1;
        })));
    std::vector<int32_t> x(n), y(n, -1);
    std::vector<InputBinding> inputs;
    std::vector<OutputBinding> outputs;
    for (size_t i = 0; i < n; i++) {
      x[i] = static_cast<int32_t>(10 * i);
      inputs.push_back({in[i].name, 0, &x[i], 4});
      outputs.push_back({out[i].name, 0, &y[i], 4});
    }
    runner.execute(inputs, outputs);
    for (size_t i = 0; i < n; i++) EXPECT_EQ(y[n - 1 - i], x[i] + 1) << i << " of " << n;
  }
}

// Updated inputs keep their values after a reset of the device.
TEST(UpdatedInputs, SurviveAReset) {
  const auto model =
      test::anchors_only({{"x", DType::f32, {1}}, {"w", DType::f32, {1}}, {"f", DType::f32, {1}}},
                         {{"y", DType::f32, {3}}});
  const float w[] = {1}, f[] = {2};
  model->input_data[1] = std::as_bytes(std::span(w));
  RunnerConfig config =
      on(std::make_shared<FunctionDevice>([](const void* const* in, void* const* out) {
        for (int i = 0; i < 3; i++)
          static_cast<float*>(out[0])[i] = *static_cast<const float*>(in[i]);
      }));
  config.frozen_inputs["f"] = {f, 4};
  config.auto_reset = true;
  config.faults = std::make_shared<FaultInjector>("application_runtime_error@2");
  ModelRunner runner(model, config);
  const auto run = [&] {
    const float x = 9;
    std::vector<float> y(3);
    const InputBinding in[] = {{"x", 0, &x, 4}};
    const OutputBinding out[] = {{"y", 0, y.data(), 12}};
    runner.execute(in, out);
    return y;
  };
  const auto update = [&](const char* name, float value) {
    runner.update_inputs({{name, {&value, 4}}});
  };
  update("w", 5);
  update("w", 6);
  update("f", 7);
  EXPECT_EQ(run(), (std::vector<float>{9, 6, 7}));
  EXPECT_EQ(code_of([&] { run(); }), ErrorCode::aborted);
  EXPECT_EQ(run(), (std::vector<float>{9, 6, 7}));
  EXPECT_EQ(runner.statistics().resets, 1u);
  const auto message_for = [&](const char* name, ConstTensorMemoryView value) -> std::string {
    try {
      runner.update_inputs({{name, value}});
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for("w", {nullptr, 4}), "input 'w': the pointer is null");
  EXPECT_EQ(message_for("w", {w, 8}), "input 'w': expected 4 bytes (f32 [1]), given 8 bytes");
  EXPECT_EQ(run(), (std::vector<float>{9, 6, 7}));
}

// --- cancellation, timeouts of requests, the end

struct BlockedRunner {  // a runner whose first run waits for the gate
  explicit BlockedRunner(bool overlap = false, size_t batch = 1) {
    RunnerConfig config =
        on(std::make_shared<FunctionDevice>([this](const void* const*, void* const*) {
          runs++;
          gate.wait();
        }));
    config.overlap_io = overlap;
    if (batch > 1) config.batching_dim = 0;
    runner = std::make_unique<ModelRunner>(add_one_model({static_cast<int64_t>(batch)}), config);
  }
  Gate gate;
  std::atomic<int> runs{0};
  std::unique_ptr<ModelRunner> runner;
};

struct Calls {
  std::atomic<int> n{0}, code{-1};
  static void call(void* c, ErrorCode code) noexcept {
    auto& self = *static_cast<Calls*>(c);
    self.code = static_cast<int>(code);
    self.n++;
  }
};

TEST(Cancellation, ARequestThatWaitsIsCancelledOnce) {
  BlockedRunner b;
  Rows x(1), y(1);
  Calls calls;
  const RequestPtr running = b.runner->execute_async(x.in, x.out);
  ASSERT_TRUE(eventually([&] { return b.runs == 1; }));
  const RequestPtr waiting = b.runner->execute_async(y.in, y.out, {Calls::call, &calls});
  EXPECT_FALSE(running->cancel());
  EXPECT_TRUE(waiting->cancel());
  EXPECT_FALSE(waiting->cancel());
  EXPECT_TRUE(waiting->done());
  EXPECT_EQ(calls.n, 1);
  EXPECT_EQ(code_of([&] { waiting->check(); }), ErrorCode::cancelled);
  b.gate.open();
  EXPECT_TRUE(running->wait(60s));
  b.runner->stop();
  EXPECT_EQ(b.runs, 1);
  EXPECT_EQ(calls.n, 1);
  EXPECT_EQ(b.runner->statistics().cancelled, 1u);
  EXPECT_EQ(b.runner->statistics().in_flight, 0u);
}

TEST(Cancellation, ARequestLeavesAnOpenBatch) {
  const auto plus = add_one(4);
  RunnerConfig config = on(std::make_shared<FunctionDevice>(plus));
  config.batching_dim = 0;
  config.timeout = 0ns;
  ModelRunner runner(add_one_model({4}), config);
  Rows a(2, 1), b(2, 2), c(2, 3);
  const RequestPtr ra = runner.execute_async(a.in, a.out);
  EXPECT_TRUE(ra->cancel());
  const RequestPtr rb = runner.execute_async(b.in, b.out);
  EXPECT_FALSE(rb->wait(20ms));  // a's rows do not count
  const RequestPtr rc = runner.execute_async(c.in, c.out);
  ASSERT_TRUE(rb->wait(60s) && rc->wait(60s));
  EXPECT_TRUE(b.right() && c.right());
  EXPECT_EQ(a.y, std::vector<float>(4, -7.f));
}

TEST(RequestTimeout, FailsRequestsThatDoNotStartInTime) {
  BlockedRunner b;
  Rows x(1), y(1);
  RequestPtr running;  // one that has begun in time, however busy this machine is
  ASSERT_TRUE(eventually([&] {
    if (!running || running->done()) running = b.runner->execute_async(x.in, x.out, {}, {1ms});
    return b.runs == 1;
  }));
  const RequestPtr late = b.runner->execute_async(y.in, y.out, {}, {1ms});
  EXPECT_TRUE(late->wait(60s));  // although the device is busy
  EXPECT_EQ(late->code(), ErrorCode::deadline_exceeded);
  EXPECT_EQ(code_of([&] { late->check(); }), ErrorCode::deadline_exceeded);
  b.gate.open();
  EXPECT_TRUE(running->wait(60s));
  b.runner->stop();
  EXPECT_GE(b.runner->statistics().timed_out, 1u);
}

TEST(RequestTimeout, OpenBatchesAreWatched) {
  RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
  config.batching_dim = 0;
  config.timeout = 0ns;
  ModelRunner runner(add_one_model({4}), config);
  Rows k(1);
  Calls calls;
  runner.execute_async(k.in, k.out, {Calls::call, &calls}, {1ms});
  EXPECT_TRUE(eventually([&] { return calls.n == 1; }));  // no thread waits for the request
  EXPECT_EQ(calls.code, static_cast<int>(ErrorCode::deadline_exceeded));
}

TEST(Threads, RunnerWithoutEnoughThreadsFailsAndCanRetry) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config = on(std::make_shared<FunctionDevice>(add_one(4)));
    config.overlap_io = overlap;
    ModelRunner runner(add_one_model({4}), config);
    Rows rows(4);
    for (uint64_t threads = 0; threads < (overlap ? 3u : 1u); threads++) {
      const test::FewThreads few(threads);
      EXPECT_EQ(code_of([&] { runner.execute_async(rows.in, rows.out); }),
                ErrorCode::resource_exhausted)
          << threads;
    }
    runner.execute_async(rows.in, rows.out)->wait();
    EXPECT_TRUE(rows.right());
  }
}

TEST(Destruction, FailsWaitingRequestsAndFinishesRunningOnes) {
  for (const bool overlap : {false, true}) {
    BlockedRunner b(overlap);
    std::vector<std::unique_ptr<Rows>> memory;
    std::vector<RequestPtr> requests;
    Calls calls;
    for (int i = 0; i < 20; i++) {
      memory.push_back(std::make_unique<Rows>(1));
      requests.push_back(
          b.runner->execute_async(memory.back()->in, memory.back()->out, {Calls::call, &calls}));
    }
    ASSERT_TRUE(eventually([&] { return b.runs == 1; }));
    std::atomic<bool> gone{false};
    std::thread destroyer([&] {
      b.runner.reset();
      gone = true;
    });
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(gone);  // a run uses its memory
    b.gate.open();
    destroyer.join();
    int ok = 0;
    for (const auto& r : requests) {
      ASSERT_TRUE(r->done());
      ok += r->code() == ErrorCode::ok;
      EXPECT_TRUE(r->code() == ErrorCode::ok || r->code() == ErrorCode::cancelled);
    }
    EXPECT_EQ(calls.n, 20);
    EXPECT_EQ(requests[0]->code(), ErrorCode::ok);
    EXPECT_EQ(requests[19]->code(), ErrorCode::cancelled);
    EXPECT_EQ(ok, b.runs);
  }
}

TEST(Destruction, OfARunnerWithAnOpenBatch) {
  BlockedRunner b(false, 4);
  Rows k(1);
  const RequestPtr r = b.runner->execute_async(k.in, k.out);
  b.gate.open();
  b.runner.reset();
  ASSERT_TRUE(r->done());
  EXPECT_TRUE(r->code() == ErrorCode::cancelled || r->code() == ErrorCode::ok);
}

TEST(Destruction, OfReplicasFirstFailsWaitingRequestsOfAll) {
  Gate gate;
  std::atomic<int> runs{0};
  RunnerConfig config;
  config.replication_factor = 2;
  for (int i = 0; i < 2; i++)
    config.replica_id_to_device[i] = std::make_shared<FunctionDevice>(
        [&](const void* const*, void* const*) {
          runs++;
          gate.wait();
        },
        i);
  auto runner = std::make_unique<ModelRunner>(add_one_model({1}), config);
  Rows k(1);
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 20; i++) requests.push_back(runner->execute_async(k.in, k.out));
  ASSERT_TRUE(eventually([&] { return runs == 2; }));
  std::thread destroyer([&] { runner.reset(); });
  std::this_thread::sleep_for(20ms);
  gate.open();
  destroyer.join();
  int ok = 0;
  for (const auto& r : requests) {
    ASSERT_TRUE(r->done());
    ok += r->code() == ErrorCode::ok;
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(ok, 2);
}

TEST(Destruction, FromACallback) {
  auto* const b = new BlockedRunner;
  b->gate.open();
  Rows k(1);
  struct Context {
    BlockedRunner* blocked;
    std::atomic<bool> gone{false};
  } context{b};
  b->runner->execute_async(k.in, k.out,
                           {[](void* c, ErrorCode) noexcept {
                              static_cast<Context*>(c)->blocked->runner.reset();
                              static_cast<Context*>(c)->gone = true;
                            },
                            &context});
  ASSERT_TRUE(eventually([&] { return context.gone.load(); }));
  std::this_thread::sleep_for(20ms);  // its thread releases the device, which refers to b
  delete b;
}

}  // namespace
}  // namespace poprt::runtime
