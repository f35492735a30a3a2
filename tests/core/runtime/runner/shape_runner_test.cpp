#include "runtime/runner/shape_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.h"
#include "core/runtime/runner/refused_requests.h"
#include "core/runtime/runner/shape_runner_support.h"
#include "runtime/session/fault_injection.h"
#include "support/sanitized.h"

namespace poprt::runtime {
namespace {

using namespace shape_test;

TEST(ShapeRunner, CompilesAShapeWhenItsFirstRequestArrives) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  EXPECT_EQ(compiler.calls, 0);
  EXPECT_EQ(runner.sizes(), (std::vector<std::string>{"batch", "length"}));
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{kOpen, kOpen}));
  EXPECT_EQ(runner.execute_inputs()[0].size_in_bytes, 0u);
  EXPECT_EQ(runner.execute_inputs()[1].size_in_bytes, 12u);
  for (int repeat = 0; repeat < 3; repeat++)
    for (const auto& [batch, length] : {std::pair(1, 4), std::pair(4, 1), std::pair(3, 5)}) {
      ShapedRequest sync(batch, length, 10.0f * static_cast<float>(repeat)),
          async(batch, length, 7);
      runner.execute(sync.in, sync.out);
      sync.expect_right();
      EXPECT_EQ(sync.f[2], 3);
      const RequestPtr r = runner.execute_async(async.in, async.out);
      r->wait();
      r->check();
      async.expect_right();
    }
  EXPECT_EQ(compiler.calls, 3);
  const ShapesStatistics s = runner.shapes();
  EXPECT_EQ(s.compiled, 3u);
  ASSERT_EQ(s.shapes.size(), 3u);
  EXPECT_EQ(s.shapes[0].sizes, (std::vector<int64_t>{3, 5}));  // the most recently used one
  for (const ShapeStatistics& one : s.shapes) EXPECT_EQ(one.requests, 6u);
  EXPECT_EQ(runner.statistics().completed, 18u);
}

TEST(ShapeRunner, ARequestWithoutRowsHasEmptyResults) {
  // Lives longer than the runner: a waiting thread may wake up before the callback is called.
  std::atomic<int> called{0};
  CountingCompiler compiler(true);
  ShapeRunner runner(open_rows(), compiler.function(), nullptr, {});
  ShapedRequest none(0, 4, 1, true);
  EXPECT_EQ(runner.output_shapes(none.in), (std::vector<Shape>{{0, 4}}));
  runner.execute(none.in, none.out);
  RequestCallback callback;
  callback.context = &called;
  callback.full = [](void* context, const auto& request) noexcept {
    if (request.code() == ErrorCode::ok) static_cast<std::atomic<int>*>(context)->fetch_add(1);
  };
  const RequestPtr request = runner.execute_async(none.in, none.out, callback);
  request->wait();
  request->check();
  EXPECT_TRUE(eventually([&] { return called == 1; }));
  runner.stop();
  EXPECT_EQ(compiler.calls, 0);
  EXPECT_EQ(runner.statistics().completed, 1u);
  EXPECT_EQ(runner.statistics().in_flight, 0u);
}

TEST(ShapeRunner, ARequestWithoutRowsIsChecked) {
  CountingCompiler compiler(true);
  ShapeRunner rows(open_rows(), compiler.function(), nullptr, {});
  const auto message = [](ShapeRunner& runner, const ShapedRequest& r) {
    return shaped_error([&] { runner.execute(r.in, r.out); }).message();
  };
  ShapedRequest wrong(0, 4, 1, true);
  wrong.in[0].bytes = wrong.out[0].bytes = 4;
  EXPECT_EQ(message(rows, wrong), "input 'x': expected 0 bytes (f32 [0,4]), given 4 bytes");
  wrong.in[0].bytes = 0;
  EXPECT_EQ(message(rows, wrong), "output 'y': expected 0 bytes (f32 [0,4]), given 4 bytes");
  wrong.in[0].shape = nullptr;
  EXPECT_EQ(message(rows, wrong),
            "input 'x': 0 bytes do not determine its shape: give the shape, too");
  EXPECT_EQ(shaped_error([&] { rows.warm_up({{"x", {0, 4}}}); }).message(),
            "dimension 'batch' is 0: expected 1 or more");
  ShapeRunner whole(open_copies(), compiler.function(), nullptr, {});
  EXPECT_EQ(message(whole, ShapedRequest(0, 4)), "dimension 'batch' is 0: expected 1 or more");
  EXPECT_EQ(compiler.calls, 0);
}

TEST(ShapeRunner, UsesTheShapeThatWasCompiledAhead) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({2, 4}), {});
  ASSERT_NE(runner.ahead(), nullptr);
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{2, 4}));
  ShapedRequest known(2, 4);
  runner.execute(known.in, known.out);
  known.expect_right();
  EXPECT_EQ(compiler.calls, 0);
  EXPECT_TRUE(runner.shapes().shapes.at(0).ahead);
  // Without shapes, 32 bytes are the shape that was compiled ahead, and others are ambiguous.
  known.in[0].shape = nullptr;
  runner.execute(known.in, known.out);
  ShapedRequest other(2, 5);
  other.in[0].shape = nullptr;
  const Error e = shaped_error([&] { runner.execute(other.in, other.out); });
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(e.what(), "input 'x': 40 bytes do not determine its shape: give the shape, too");
  EXPECT_EQ(compiler.calls, 0);
}

TEST(ShapeRunner, RemovesTheLeastRecentlyUsedShape) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({9, 9}), limited_to(2));
  const auto run = [&](int64_t length) {
    ShapedRequest r(1, length);
    runner.execute(r.in, r.out);
    r.expect_right();
  };
  for (const int64_t length : {1, 2, 1, 3}) run(length);  // removes 2
  EXPECT_EQ(compiler.calls, 3);
  run(1);
  EXPECT_EQ(compiler.calls, 3);
  run(2);  // removes 3
  EXPECT_EQ(compiler.calls, 4);
  ShapedRequest ahead(9, 9);
  runner.execute(ahead.in, ahead.out);
  EXPECT_EQ(compiler.calls, 4);
  EXPECT_EQ(runner.shapes().removed, 2u);
  EXPECT_EQ(runner.shapes().shapes.size(), 3u);  // with the one that was compiled ahead
  EXPECT_EQ(runner.statistics().completed, 7u) << "with those of shapes that were removed";
}

TEST(ShapeRunner, AShapeThatNeedsTooMuchMemoryIsRefused) {
  program::OpenShapes unknown = open_copies();
  unknown.outputs[0].names = {"batch", ""};
  for (const bool known : {true, false}) {
    CountingCompiler compiler;
    ShapeRunnerConfig config;
    config.max_memory = 200;
    ShapeRunner runner(known ? open_copies() : unknown, compiler.function(), shaped_copies({9, 9}),
                       config);
    ShapedRequest small(1, 4), large(5, 5), ahead(9, 9);
    runner.execute(small.in, small.out);
    small.expect_right();
    for (const auto& refused :
         {shaped_error([&] { runner.execute(large.in, large.out); }),
          shaped_error([&] { runner.output_shapes(large.in); }),
          shaped_error([&] { runner.warm_up({{"x", {5, 5}}, {"fixed", {3}}}); })}) {
      EXPECT_EQ(refused.code(), ErrorCode::invalid_argument);
      EXPECT_STREQ(refused.what(),
                   "batch 5, length 5: one run needs 224 bytes of memory, and `max_shape_memory` "
                   "allows 200");
    }
    EXPECT_EQ(compiler.calls, known ? 1 : 4) << "without names, outputs are known afterwards";
    runner.execute(ahead.in, ahead.out);
    EXPECT_EQ(runner.output_shapes(ahead.in)[0], (Shape{9, 9}));
    ahead.expect_right();
  }
}

TEST(ShapeRunner, ShapesAreRemovedToStayWithinTheMemory) {
  CountingCompiler compiler;
  ShapeRunnerConfig config;
  config.max_memory = 200;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, config);
  for (const int64_t length : {1, 2, 3, 16, 1}) {  // 32, 40, 48, 152 and 32 bytes
    ShapedRequest r(1, length);
    runner.execute(r.in, r.out);
    r.expect_right();
  }
  const ShapesStatistics s = runner.shapes();
  EXPECT_EQ(s.removed, 3u);
  ASSERT_EQ(s.shapes.size(), 2u);
  EXPECT_EQ(s.shapes[1].sizes, (std::vector<int64_t>{1, 16}));
}

TEST(ShapeRunner, RefusesNewShapesIfTooManyWait) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  compiler.hold(true);
  std::vector<std::unique_ptr<ShapedRequest>> made;
  Error last(ErrorCode::ok, "");
  constexpr int64_t kEnough = ShapeRunner::kMostWaiting + 2;  // one of them may be compiled
  for (int64_t length = 1; length <= kEnough && last.code() == ErrorCode::ok; length++) {
    made.push_back(std::make_unique<ShapedRequest>(1, length));
    last = shaped_error([&] { runner.execute_async(made.back()->in, made.back()->out); });
  }
  EXPECT_EQ(last.code(), ErrorCode::resource_exhausted) << last.what();
  runner.stop();
  compiler.hold(false);
}

TEST(ShapeRunner, RequestsOfARemovedShapeAreDone) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, limited_to(1));
  std::vector<std::unique_ptr<ShapedRequest>> made;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 200; i++) {
    made.push_back(std::make_unique<ShapedRequest>(1 + i % 3, 8, static_cast<float>(i)));
    requests.push_back(runner.execute_async(made.back()->in, made.back()->out));
  }
  for (const RequestPtr& r : requests) {
    r->wait();
    r->check();
  }
  for (const auto& r : made) r->expect_right();
  EXPECT_EQ(runner.statistics().completed, 200u);
  expect_idle(runner);
}

TEST(ShapeRunner, OtherShapesRunWhileOneIsCompiled) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({2, 4}), {});
  ShapedRequest ready(1, 3);
  runner.execute(ready.in, ready.out);
  compiler.hold(true);
  ShapedRequest waits(5, 5), also(5, 5, 50);
  const RequestPtr first = runner.execute_async(waits.in, waits.out);
  const RequestPtr second = runner.execute_async(also.in, also.out);
  for (int i = 0; i < 10; i++) {
    ShapedRequest ahead(2, 4), other(1, 3, 9);
    runner.execute(ahead.in, ahead.out);
    const RequestPtr r = runner.execute_async(other.in, other.out);
    r->wait();
    r->check();
    ahead.expect_right();
    other.expect_right();
  }
  EXPECT_FALSE(first->done());
  EXPECT_EQ(runner.statistics().in_flight, 2u);
  compiler.hold(false);
  for (const RequestPtr& r : {first, second}) {
    r->wait();
    r->check();
  }
  waits.expect_right();
  also.expect_right();
  EXPECT_EQ(compiler.calls, 2);
  expect_idle(runner);
}

TEST(ShapeRunner, ALargerShapeComputesRowsUntilTheirShapeIsReady) {
  CountingCompiler compiler(true);
  ShapeRunner runner(open_rows(), compiler.function(), shaped_copies({8, 4}, true), {});
  compiler.hold(true);
  for (const int64_t rows : {1, 3, 7}) {
    ShapedRequest sync(rows, 4, 5, true), async(rows, 4, 9, true);
    runner.execute(sync.in, sync.out);
    sync.expect_right();
    const RequestPtr r = runner.execute_async(async.in, async.out);
    r->wait();
    r->check();
    async.expect_right();
  }
  ShapedRequest longer(3, 5, 1, true);  // no shape has this length
  const RequestPtr waits = runner.execute_async(longer.in, longer.out);
  EXPECT_EQ(runner.shapes().shapes.at(0).padded, 6u);
  compiler.hold(false);
  waits->wait();
  longer.expect_right();
  runner.warm_up({{"x", {3, 4}}});
  ShapedRequest exact(3, 4, 1, true);
  runner.execute(exact.in, exact.out);
  exact.expect_right();
  const ShapesStatistics s = runner.shapes();
  EXPECT_EQ(s.shapes.at(0).padded, 6u);
  EXPECT_EQ(s.compiled, 4u);
}

// The shapes of 2, 4 and 8 rows of length 4 are ready, and one with another length.
TEST(ShapeRunner, TheSmallestLargerShapeComputesRows) {
  CountingCompiler compiler(true);
  ShapeRunner runner(open_rows(), compiler.function(), shaped_copies({8, 4}, true), {});
  for (const auto& [rows, length] : {std::pair(4, 4), std::pair(2, 4), std::pair(5, 3)})
    runner.warm_up({{"x", {rows, length}}});
  compiler.hold(true);
  const auto padded = [&](int64_t rows) {
    for (const ShapeStatistics& s : runner.shapes().shapes)
      if (s.sizes == std::vector<int64_t>{rows, 4}) return s.padded;
    return uint64_t{100};
  };
  for (const auto& [rows, by] : {std::pair(3, 4), std::pair(1, 2), std::pair(5, 8)}) {
    ShapedRequest r(rows, 4, 1, true), wrong(rows, 4, 1, true);
    const uint64_t before = padded(by);
    r.out[0].shape = r.shape.data(), r.out[0].rank = 2;
    runner.execute(r.in, r.out);
    r.expect_right();
    EXPECT_EQ(padded(by), before + 1) << rows;
    const Shape compiled{by, 4};
    wrong.out[0].shape = compiled.data(), wrong.out[0].rank = 2;
    EXPECT_EQ(std::string(shaped_error([&] { runner.execute(wrong.in, wrong.out); }).what()),
              fmt::format("output 'y': expected f32[{},4], given [{},4]", rows, by));
  }
  EXPECT_EQ(padded(8) + padded(4) + padded(2), 3u);
  compiler.hold(false);
}

TEST(ShapeRunner, CallbacksOfPaddedRequestsSeeTheirOutputs) {
  CountingCompiler compiler(true);
  ShapeRunner runner(open_rows(), compiler.function(), shaped_copies({8, 4}, true), {});
  compiler.hold(true);
  ShapedRequest r(3, 4, 7, true);
  struct Calls {
    const ShapedRequest& request;
    std::atomic<bool> right_before{false}, done{false};
  } calls{r, {}, {}};
  RequestCallback callback;
  callback.context = &calls;
  callback.before = [](void* context) noexcept {
    auto& own = *static_cast<Calls*>(context);
    own.right_before = own.request.y == own.request.x;
  };
  callback.call = [](void* context, ErrorCode code) noexcept {
    static_cast<Calls*>(context)->done = code == ErrorCode::ok;
  };
  const RequestPtr request = runner.execute_async(r.in, r.out, callback);
  request->wait();
  request->check();
  for (int i = 0; i < 2000 && !calls.done; i++) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(calls.right_before);
  EXPECT_TRUE(calls.done);
  compiler.hold(false);
}

// The destructor waits for a request that a larger shape computes: its memory is in use until then.
TEST(ShapeRunner, DestructionWaitsForPaddedRequests) {
  for (const bool ahead : {false, true}) {
    CountingCompiler compiler(true);
    ShapeRunnerConfig config;
    config.runner.faults = std::make_shared<FaultInjector>("slow:200000000@2");
    auto runner = std::make_unique<ShapeRunner>(
        open_rows(), compiler.function(), ahead ? shaped_copies({8, 4}, true) : nullptr, config);
    ShapedRequest whole(8, 4, 1, true), rows(3, 4, 9, true);
    runner->execute(whole.in, whole.out);
    compiler.hold(true);
    const RequestPtr r = runner->execute_async(rows.in, rows.out);
    while (config.runner.faults->runs() < 2) std::this_thread::yield();
    compiler.hold(false);
    runner.reset();
    ASSERT_TRUE(r->done());
    EXPECT_EQ(r->code(), ErrorCode::ok);
    rows.expect_right();
  }
}

TEST(ShapeRunner, RowsThatAffectEachOtherAreNotPadded) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({8, 4}), {});
  ShapedRequest r(3, 4);
  runner.execute(r.in, r.out);
  r.expect_right();
  EXPECT_EQ(compiler.calls, 1);
  EXPECT_EQ(runner.shapes().shapes.at(0).padded, 0u);
}

TEST(ShapeRunner, AShapeThatFailsFailsItsRequests) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  ShapedRequest bad(2, CountingCompiler::kBad), good(2, 3);
  for (int i = 1; i <= 2; i++) {
    const Error e = shaped_error([&] { runner.execute(bad.in, bad.out); });
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_STREQ(e.what(), "batch 2, length 99: a length of 99");
    EXPECT_EQ(compiler.calls, i) << "a later request tries again";
  }
  const RequestPtr r = runner.execute_async(bad.in, bad.out);
  r->wait();
  EXPECT_EQ(shaped_error([&] { r->check(); }).code(), ErrorCode::unimplemented);
  EXPECT_EQ(shaped_error([&] { runner.warm_up({{"x", {2, CountingCompiler::kBad}}}); }).code(),
            ErrorCode::unimplemented);
  runner.execute(good.in, good.out);
  good.expect_right();
  EXPECT_EQ(runner.shapes().failed, 4u);
  EXPECT_EQ(runner.statistics().failed, 1u);
}

TEST(ShapeRunner, RefusesWrongRequests) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  const auto message = [&](auto&& change) {
    ShapedRequest r(2, 3);
    change(r);
    return std::string(shaped_error([&] { runner.execute(r.in, r.out); }).what());
  };
  EXPECT_EQ(message([](ShapedRequest& r) { r.in[0].rank = 1; }),
            "input 'x': expected f32[?,?] (? is any size), given [2]");
  EXPECT_EQ(message([](ShapedRequest& r) { r.shape[0] = 0; }),
            "dimension 'batch' is 0: expected 1 or more");
  EXPECT_EQ(message([](ShapedRequest& r) { r.in[0].name = "z"; }),
            "there is no input 'z'; inputs are: 'x', 'fixed'");
  EXPECT_EQ(compiler.calls, 0);
  for (const auto& [change, wanted] : refused_requests<ShapedRequest>()) {
    EXPECT_EQ(message(change), wanted);
    if (std::string_view(wanted).starts_with("input 'x' is missing")) EXPECT_EQ(compiler.calls, 0);
  }
  EXPECT_NE(message([](ShapedRequest& r) { r.in[1].bytes = 8; }).find("'fixed'"),
            std::string::npos);
  ShapeRunnerConfig merging;
  merging.runner.batching_dim = 0;
  EXPECT_EQ(shaped_error([&] {
              ShapeRunner(open_copies(), compiler.function(), nullptr, merging);
            }).code(),
            ErrorCode::invalid_argument);
}

// A request that waits for its shape, and one whose shape is ready.
TEST(ShapeRunner, RefusesAnOutputShapeBeforeAndAfterTheCompilation) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  for (const bool is_ready : {false, true}) {
    compiler.hold(!is_ready);
    ShapedRequest wrong(2, 3), right(2, 3);
    Shape of_wrong{3, 2}, of_right{2, 3};
    wrong.out[0].shape = of_wrong.data(), right.out[0].shape = of_right.data();
    wrong.out[0].rank = right.out[0].rank = 2;
    const RequestPtr other = runner.execute_async(right.in, right.out);
    const Error e = shaped_error([&] {
      const RequestPtr r = runner.execute_async(wrong.in, wrong.out);
      of_wrong = of_right;  // the shape need not be valid after the call
      compiler.hold(false);
      r->wait();
      r->check();
    });
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << is_ready;
    EXPECT_STREQ(e.what(), "output 'y': expected f32[2,3], given [3,2]");
    EXPECT_EQ(wrong.y, std::vector<float>(6, -1)) << "nothing is written";
    of_right = {};
    compiler.hold(false);
    other->wait();
    other->check();
    right.expect_right();
  }
  EXPECT_EQ(compiler.calls, 1);
}

// Requests that a larger shape computes, that are refused, and that are accepted.
TEST(ShapeRunner, CountsOnlyRequestsThatTheQueueAccepts) {
  CountingCompiler compiler(true);
  compiler.hold(true);
  ShapeRunnerConfig config;
  config.runner.queue_depth = 1;
  config.runner.timeout = 10s;
  ShapeRunner runner(open_rows(), compiler.function(), shaped_copies({4, 3}, true), config);
  uint64_t accepted[2] = {}, refused = 0;
  std::deque<ShapedRequest> all;
  std::vector<RequestPtr> requests;
  while (refused < 20) {
    const bool pad = all.size() % 2 != 0;
    ShapedRequest& r = all.emplace_back(pad ? 2 : 4, 3, 1.f, true);
    try {
      requests.push_back(runner.execute_async(r.in, r.out, {}, {.when_full = WhenFull::fail}));
      accepted[pad]++;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::unavailable);
      refused++;
    }
  }
  for (const RequestPtr& r : requests) r->wait();
  const ShapeStatistics ahead = runner.shapes().shapes.at(0);
  EXPECT_EQ(ahead.requests, accepted[0] + accepted[1]);
  EXPECT_EQ(ahead.padded, accepted[1]);
  compiler.hold(false);
}

TEST(ShapeRunner, AnInputOfOneShapeCanBeFrozen) {
  const float value[3] = {4, 5, 6};
  ShapeRunnerConfig config;
  config.runner.frozen_inputs = {{"fixed", {value, 12}}};
  for (const bool ahead : {false, true}) {
    CountingCompiler compiler;
    ShapeRunner runner(open_copies(), compiler.function(), ahead ? shaped_copies({2, 4}) : nullptr,
                       config);
    ASSERT_EQ(runner.execute_inputs().size(), 2u);
    EXPECT_FALSE(runner.execute_inputs()[0].popef_contains_tensor_data);
    EXPECT_TRUE(runner.execute_inputs()[1].popef_contains_tensor_data);
    for (const int64_t length : {4, 5}) {
      ShapedRequest r(2, length);
      r.in.pop_back();
      runner.execute(r.in, r.out);
      r.expect_right();
      EXPECT_TRUE(std::ranges::equal(r.f, value));
    }
  }
  CountingCompiler compiler;
  config.runner.frozen_inputs = {{"x", {value, 12}}};
  const Error e =
      shaped_error([&] { ShapeRunner(open_copies(), compiler.function(), nullptr, config); });
  EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(e.what(), "input 'x' has several shapes and cannot be frozen");
}

TEST(ShapeRunner, EachReplicaHasStatistics) {
  CountingCompiler compiler;
  ShapeRunnerConfig config;
  config.runner.replication_factor = 2;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, config);
  ASSERT_EQ(runner.replicas(), 2u);
  for (const int64_t length : {1, 2, 1}) {
    ShapedRequest r(1, length);
    runner.execute(r.in, r.out);
    r.expect_right();
  }
  expect_idle(runner);
  EXPECT_EQ(runner.statistics(0).completed + runner.statistics(1).completed, 3u);
  const Error e = shaped_error([&] { static_cast<void>(runner.statistics(2)); });
  EXPECT_EQ(e.code(), ErrorCode::not_found);
  EXPECT_STREQ(e.what(), "there is no replica 2: the runner has 2, counted from 0");
}

TEST(ShapeRunner, AModelWithOtherInputsIsRefused) {
  ShapeRunner runner(open_copies(),
                     [](const std::vector<Shape>&) { return CompiledShape{shaped_copies({7, 7})}; },
                     nullptr, {});
  ShapedRequest r(1, 1);
  EXPECT_EQ(shaped_error([&] { runner.execute(r.in, r.out); }).code(), ErrorCode::unimplemented);
}

std::shared_ptr<const Model> changed_copies(const Shape& shape,
                                            const std::function<void(program::Program&)>& change) {
  auto model = std::make_shared<Model>(*shaped_copies(shape));
  auto p = std::make_shared<program::Program>(model->program());
  change(*p);
  model->image.program = p;
  return model;
}

TEST(ShapeRunner, ACompiledModelNeedsTheInputsAndOutputsOfTheRequests) {
  using Change = std::function<void(program::Program&)>;
  const std::pair<const char*, Change> changes[] = {
      {"the name of an input", [](auto& p) { p.inputs[1].name = "z"; }},
      {"the type of an input", [](auto& p) { p.inputs[0].dtype = DType::s32; }},
      {"the shape of an input", [](auto& p) { p.inputs[0].shape = {3, 2}; }},
      {"a missing input", [](auto& p) { p.inputs.pop_back(); }},
      {"the name of an output", [](auto& p) { p.outputs[1].name = "z"; }},
      {"the type of an output", [](auto& p) { p.outputs[0].dtype = DType::s32; }},
      {"a missing output", [](auto& p) { p.outputs.pop_back(); }},
      {"another output", [](auto& p) { p.outputs.push_back(p.outputs[1]); }},
  };
  for (const auto& [what, change] : changes) {
    ShapeRunner runner(
        open_copies(),
        [&](const std::vector<Shape>& in) { return CompiledShape{changed_copies(in[0], change)}; },
        nullptr, {});
    ShapedRequest r(2, 3);
    const Error e = shaped_error([&] { runner.execute(r.in, r.out); });
    EXPECT_EQ(e.code(), ErrorCode::unimplemented) << what;
    EXPECT_NE(std::string_view(e.what()).find("has other inputs or outputs"),
              std::string_view::npos)
        << what << ": " << e.what();
  }
}

// The memory of temporary data is that of all replicas.
TEST(ShapeRunner, ReplicasNeedTheirOwnMemory) {
  const CompileShape compile = [](const std::vector<Shape>& in) {
    return CompiledShape{changed_copies(in[0], [](auto& p) { p.arena_bytes = 100; })};
  };
  ShapedRequest r(1, 1);
  ShapeRunnerConfig config;
  config.runner.replication_factor = 2;
  config.max_memory = 232;  // twice 100 bytes, and 32 bytes of inputs and outputs
  ShapeRunner fits(open_copies(), compile, nullptr, config);
  fits.execute(r.in, r.out);
  r.expect_right();
  config.max_memory = 231;
  ShapeRunner small(open_copies(), compile, nullptr, config);
  const Error e = shaped_error([&] { small.execute(r.in, r.out); });
  EXPECT_STREQ(e.what(),
               "batch 1, length 1: one run needs 232 bytes of memory, and `max_shape_memory` "
               "allows 231");
}

TEST(ShapeRunner, CountsShapesOfTheCacheSeparately) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  for (const int64_t length : {CountingCompiler::kCached, int64_t{5}}) {
    ShapedRequest r(1, length);
    runner.execute(r.in, r.out);
    r.expect_right();
  }
  const ShapesStatistics s = runner.shapes();
  EXPECT_EQ(s.compiled, 1u);
  EXPECT_EQ(s.from_cache, 1u);
  EXPECT_EQ(s.failed, 0u);
  ASSERT_EQ(s.shapes.size(), 2u);
  EXPECT_FALSE(s.shapes[0].from_cache);
  EXPECT_TRUE(s.shapes[1].from_cache);
  for (const ShapeStatistics& one : s.shapes) EXPECT_FALSE(one.ahead);
}

TEST(ShapeRunner, TracepointsAreThoseOfAllShapes) {
  CountingCompiler compiler;
  ShapeRunnerConfig config;
  config.runner.flush_on_waiting_outputs = true;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({2, 2}), config);
  for (const int64_t length : {1, 2, 3, 3}) {
    ShapedRequest r(2, length);
    const RequestPtr request = runner.execute_async(r.in, r.out);
    request->wait();
    request->check();
    r.expect_right();
  }
  expect_idle(runner);
  EXPECT_EQ(runner.tracepoints().size(), 4u);
}

TEST(ShapeRunner, TheQueueOfARemovedShapeDoesNotCount) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, limited_to(1));
  uint64_t of_one = 0;
  for (const int64_t length : {1, 2, 3, 4}) {
    ShapedRequest r(1, length);
    runner.execute(r.in, r.out);
    if (length == 1) of_one = runner.statistics().queue_capacity;
  }
  EXPECT_GT(of_one, 0u);
  const auto limit = std::chrono::steady_clock::now() + 2s;
  while (runner.statistics().queue_capacity > of_one && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  EXPECT_EQ(runner.statistics().queue_capacity, of_one);
}

TEST(ShapeRunner, StopEndsShapesThatAreReady) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({2, 2}), {});
  ShapedRequest ahead(2, 2), other(1, 3);
  for (ShapedRequest* r : {&ahead, &other}) runner.execute(r->in, r->out);
  runner.stop();
  for (ShapedRequest* r : {&ahead, &other}) {
    EXPECT_EQ(shaped_error([&] { runner.execute(r->in, r->out); }).code(), ErrorCode::cancelled);
    EXPECT_EQ(shaped_error([&] { runner.execute_async(r->in, r->out); }).code(),
              ErrorCode::cancelled);
  }
  EXPECT_EQ(shaped_error([&] { runner.warm_up({{"x", {7, 7}}, {"fixed", {3}}}); }).code(),
            ErrorCode::cancelled);
}

TEST(ShapeRunner, AModelWithStateHasOneShape) {
  const auto with_state = [](const Shape& shape) {
    auto model = std::make_shared<Model>(*shaped_copies(shape));
    auto p = std::make_shared<program::Program>(model->program());
    p->arena_bytes = p->state_bytes = 64;
    model->image.program = p;
    return model;
  };
  ShapeRunner runner(
      open_copies(),
      [&](const std::vector<Shape>& inputs) { return CompiledShape{with_state(inputs[0])}; },
      with_state({2, 2}), {});
  ShapedRequest ahead(2, 2), other(1, 2);
  runner.execute(ahead.in, ahead.out);
  ahead.expect_right();
  EXPECT_EQ(shaped_error([&] { runner.execute(other.in, other.out); }).code(),
            ErrorCode::unimplemented);
}

TEST(ShapeRunner, DescribesOutputsBeforeAndAfterTheCompilation) {
  CountingCompiler compiler;
  program::OpenShapes shapes = open_copies();
  ShapeRunner by_name(shapes, compiler.function(), nullptr, {});
  ShapedRequest r(2, 6);
  EXPECT_EQ(by_name.output_shapes(r.in), (std::vector<Shape>{{2, 6}, {3}}));
  EXPECT_EQ(compiler.calls, 0);
  shapes.outputs[0].names = {"batch", ""};
  ShapeRunner unknown(shapes, compiler.function(), nullptr, {});
  EXPECT_EQ(unknown.output_shapes(r.in), (std::vector<Shape>{{2, 6}, {3}}));
  EXPECT_EQ(compiler.calls, 1);
}

TEST(ShapeRunner, WaitingRequestsCanBeCancelledAndHaveTimeLimits) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  compiler.hold(true);
  ShapedRequest a(1, 1), b(1, 1), c(1, 1);
  std::atomic<int> code{-1};
  RequestCallback callback;
  callback.context = &code;
  callback.call = [](void* context, ErrorCode value) noexcept {
    *static_cast<std::atomic<int>*>(context) = static_cast<int>(value);
  };
  const RequestPtr cancelled = runner.execute_async(a.in, a.out, callback);
  RequestOptions limited;
  limited.timeout = 1ms;
  const RequestPtr late = runner.execute_async(b.in, b.out, {}, limited);
  const RequestPtr runs = runner.execute_async(c.in, c.out);
  EXPECT_TRUE(cancelled->cancel());
  EXPECT_EQ(code, static_cast<int>(ErrorCode::cancelled));
  late->wait();
  EXPECT_EQ(late->code(), ErrorCode::deadline_exceeded);
  compiler.hold(false);
  runs->wait();
  runs->check();
  c.expect_right();
  EXPECT_EQ(a.y[0], -1);
  EXPECT_EQ(b.y[0], -1);
  const RunnerStatistics s = runner.statistics();
  EXPECT_EQ(s.cancelled, 1u);
  EXPECT_EQ(s.timed_out, 1u);
  EXPECT_EQ(s.completed, 1u);
  expect_idle(runner);
}

// The time limit is that of the submission, also after the compilation.
TEST(ShapeRunner, ARequestKeepsItsTimeLimitAfterTheCompilation) {
  CountingCompiler compiler;
  ShapeRunnerConfig config;
  config.runner.faults = std::make_shared<FaultInjector>("slow:2000000000");
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, config);
  compiler.hold(true);
  ShapedRequest a(1, 1), b(1, 1);
  RequestOptions limited;
  limited.timeout = 500ms;
  const RequestPtr runs = runner.execute_async(a.in, a.out);
  const RequestPtr late = runner.execute_async(b.in, b.out, {}, limited);
  compiler.hold(false);
  late->wait();
  EXPECT_EQ(late->code(), ErrorCode::deadline_exceeded);
  EXPECT_EQ(b.y[0], -1);
  runs->wait();
  runs->check();
}

TEST(ShapeRunner, StopEndsRequestsThatWait) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  compiler.hold(true);
  ShapedRequest a(1, 1), b(1, 1);
  const RequestPtr async = runner.execute_async(a.in, a.out);
  std::atomic<ErrorCode> sync{ErrorCode::ok};
  std::thread caller([&] { sync = shaped_error([&] { runner.execute(b.in, b.out); }).code(); });
  while (compiler.calls == 0) std::this_thread::yield();
  runner.stop();
  caller.join();
  EXPECT_EQ(sync.load(), ErrorCode::cancelled);
  async->wait();
  EXPECT_EQ(async->code(), ErrorCode::cancelled);
  EXPECT_EQ(shaped_error([&] { runner.execute(a.in, a.out); }).code(), ErrorCode::cancelled);
  EXPECT_EQ(shaped_error([&] { runner.execute_async(a.in, a.out); }).code(), ErrorCode::cancelled);
  compiler.hold(false);
}

TEST(ShapeRunner, ACallbackMaySubmitButNotWait) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, {});
  ShapedRequest bad(1, CountingCompiler::kBad), next(3, 3);
  struct Context {
    ShapeRunner& runner;
    ShapedRequest& next;
    RequestPtr submitted;
    std::atomic<int> waited{-1};
    std::atomic<bool> done{false};
  } context{runner, next, {}, {}, {}};
  RequestCallback callback;
  callback.context = &context;
  callback.call = [](void* c, ErrorCode) noexcept {
    auto& own = *static_cast<Context*>(c);
    own.waited = static_cast<int>(
        shaped_error([&] { own.runner.execute(own.next.in, own.next.out); }).code());
    own.submitted = own.runner.execute_async(own.next.in, own.next.out);
    own.done = true;
  };
  const RequestPtr r = runner.execute_async(bad.in, bad.out, callback);
  r->wait();
  while (!context.done) std::this_thread::yield();
  EXPECT_EQ(context.waited, static_cast<int>(ErrorCode::resource_exhausted));
  context.submitted->wait();
  context.submitted->check();
  next.expect_right();
}

// All results of random requests over 16 shapes, of which 5 are kept, are right, from several
// threads at once.
TEST(ShapeRunner, ManyShapesOfManyThreads) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), shaped_copies({2, 2}), limited_to(5));
  constexpr int kThreads = 4, kRequests = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kRequests; i++) {
        ShapedRequest r(1 + random() % 4, 1 + random() % 4, static_cast<float>(random() % 100));
        if (random() % 2) {
          runner.execute(r.in, r.out);
        } else {
          const RequestPtr request = runner.execute_async(r.in, r.out);
          request->wait();
          request->check();
        }
        r.expect_right();
      }
    });
  for (std::thread& t : threads) t.join();
  const ShapesStatistics s = runner.shapes();
  EXPECT_LE(s.shapes.size(), 6u);
  EXPECT_GT(s.removed, 0u);
  expect_idle(runner);
}

// Threads that request a new shape at the same time share its compilation.
TEST(ShapeRunner, AShapeIsCompiledOnceForAllThreads) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, limited_to(4));
  constexpr int kThreads = 4, kShapes = 600;
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&] {
      for (int i = 1; i <= kShapes; i++) {
        arrived++;
        while (arrived < i * kThreads) std::this_thread::yield();
        runner.warm_up({{"x", {1 + i % 8, 1 + i / 8}}, {"fixed", {3}}});
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(compiler.calls, kShapes);
  EXPECT_EQ(runner.shapes().compiled, static_cast<uint64_t>(kShapes));
}

// Each request has another shape than the previous one, which is removed while callers still use
// it.
TEST(ShapeRunner, CountsTheRequestsOfShapesThatAreRemoved) {
  CountingCompiler compiler;
  ShapeRunner runner(open_copies(), compiler.function(), nullptr, limited_to(1));
  constexpr int kThreads = 4, kRequests = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRequests; i++) {
        ShapedRequest r(1 + t, 1 + i);
        runner.execute(r.in, r.out);
        r.expect_right();
      }
    });
  for (std::thread& t : threads) t.join();
  expect_idle(runner);
  EXPECT_EQ(runner.statistics().completed, static_cast<uint64_t>(kThreads * kRequests));
}

}  // namespace
}  // namespace poprt::runtime
