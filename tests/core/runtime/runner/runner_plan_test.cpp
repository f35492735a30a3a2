#include "runtime/runner/runner_plan.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/error.h"
#include "runtime/runner/model_runner.h"
#include "support/error_code.h"
#include "support/function_device.h"
#include "support/recorded_lines.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using test::expect_error;
using test::FunctionDevice;

TEST(RuntimeConfig, HasTheDocumentedDefaults) {
  const RunnerConfig c;
  EXPECT_TRUE(c.thread_safe);
  EXPECT_EQ(c.timeout, 10ms);
  EXPECT_TRUE(c.validate_io_params);
  EXPECT_EQ(c.batching_dim, std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(c.ring_buffer_size_multiplier, 2u);
  EXPECT_FALSE(c.auto_reset);
  EXPECT_FALSE(c.flush_on_waiting_outputs);
  EXPECT_EQ(c.batch_size_timeout.count(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(c.data_parallel_timeout.count(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(c.is_batch_size_timeout_enabled);
  EXPECT_EQ(c.request_tracepoints_buffer_size, 1000u);
  EXPECT_TRUE(c.replica_id_to_device.empty());
  EXPECT_TRUE(c.flush_by_name.inputs.empty() && c.flush_by_name.outputs.empty());
  EXPECT_EQ(c.replication_factor, 1);
  EXPECT_EQ(c.device_wait_timeout, 1s);
  EXPECT_EQ(c.device_wait_sleep, 6s);
}

TEST(RuntimeConfig, RefusesInvalidSettings) {
  const auto model = test::add_one_model({4, 2});
  const auto refuse = [&](auto change, ErrorCode code, std::string_view part) {
    RunnerConfig c;
    change(c);
    expect_error([&] { RunnerPlan(model, c); }, code, part);
  };
  const auto invalid = ErrorCode::invalid_argument;
  refuse([](auto& c) { c.replication_factor = 0; }, invalid, "replication factor");
  refuse([](auto& c) { c.ring_buffer_size_multiplier = 0; }, invalid, "multiplier");
  refuse([](auto& c) { c.replication_factor = 1025; }, invalid, "must be 1 to 1024, given 1025");
  refuse([](auto& c) { c.ring_buffer_size_multiplier = 1025; }, invalid, "1 to 1024, given 1025");
  refuse([](auto& c) { c.batches_per_step = 1'000'001; }, invalid, "batches per step");
  refuse([](auto& c) { c.batches_per_step = -1; }, invalid, "batches per step");
  refuse([](auto& c) { c.timeout = -1ns; }, invalid, "timeouts");
  refuse([](auto& c) { c.batching_dim = 2; }, ErrorCode::failed_precondition,
         "batching_dim 2: 'x' has shape [4,2]");
  refuse([](auto& c) { c.frozen_inputs["z"] = {}; }, ErrorCode::not_found, "no input 'z'");
  refuse([](auto& c) { c.frozen_inputs["x"] = {&c, 3}; }, invalid, "expected 32 bytes");
  refuse([](auto& c) { c.flush_by_name.outputs["x"] = {}; }, ErrorCode::not_found, "no output 'x'");
  refuse([](auto& c) { c.flush_by_name.inputs["x"] = {&c, 32}; }, invalid, "lacks: output 'y'");
  refuse([](auto& c) { c.flush_by_name.outputs["y"] = {&c, 32}; }, invalid, "lacks: input 'x'");
  const auto odd = test::anchors_only({{"x", DType::f32, {4}}}, {{"y", DType::f32, {3}}});
  RunnerConfig c;
  c.batching_dim = 0;
  expect_error([&] { RunnerPlan(odd, c); }, ErrorCode::failed_precondition,
               "'y' has shape [3], which is not a batch of 4");
}

// Two inputs and two outputs; the device copies "a" to "p" and "b" to "q".
struct Pair {
  explicit Pair(RunnerConfig config = {}, std::vector<float> data_of_b = {}) : b_data(data_of_b) {
    const auto model = test::anchors_only({{"a", DType::f32, {2}}, {"b", DType::f32, {2}}},
                                          {{"p", DType::f32, {2}}, {"q", DType::f32, {2}}});
    if (!b_data.empty()) {
      model->input_data.resize(2);
      model->input_data[1] = std::as_bytes(std::span(b_data));
    }
    config.session.device =
        std::make_shared<FunctionDevice>([](const void* const* in, void* const* out) {
          for (int i = 0; i < 2; i++) std::memcpy(out[i], in[i], 8);
        });
    runner = std::make_unique<ModelRunner>(model, config);
  }
  std::vector<float> b_data;
  float a[2] = {1, 2}, b[2] = {3, 4}, p[2] = {}, q[2] = {};
  InputBinding in_a{"a", 0, a, 8}, in_b{"b", 0, b, 8};
  OutputBinding out_p{"p", 0, p, 8}, out_q{"q", 0, q, 8};
  std::unique_ptr<ModelRunner> runner;
  void run(std::vector<InputBinding> in, std::vector<OutputBinding> out) {
    runner->execute(in, out);
    const RequestPtr r = runner->execute_async(in, out);
    r->wait();
    r->check();
  }
};

TEST(ValidateIoParams, WrongNamesAndSizesFailUnlessItIsOff) {
  Pair on;
  expect_error([&] { on.run({on.in_a, {"z", 0, on.b, 8}}, {on.out_p, on.out_q}); },
               ErrorCode::not_found, "there is no input 'z'; inputs are: 'a', 'b'");
  expect_error([&] { on.run({on.in_a, {"b", 0, on.b, 16}}, {on.out_p, on.out_q}); },
               ErrorCode::invalid_argument,
               "'b': 16 bytes are 2 batches of f32 [2], but 'a' has 1");
  expect_error([&] { on.run({on.in_a}, {on.out_p, on.out_q}); }, ErrorCode::invalid_argument,
               "input 'b' is missing");
  RunnerConfig config;
  config.validate_io_params = false;
  Pair off(config);
  off.run({off.in_a, {"z", 0, off.b, 8}, {"b", 0, off.b, 16}}, {off.out_p, off.out_q});
  EXPECT_EQ(off.p[1], 2);
  EXPECT_EQ(off.q[1], 4);
}

// Runs must not read or write beyond memory whose size the request states.
TEST(ValidateIoParams, MemoryThatIsTooSmallFailsAlsoIfItIsOff) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config;
    config.validate_io_params = false;
    config.overlap_io = overlap;
    Pair off(config);
    off.q[0] = -1;
    expect_error([&] { off.run({off.in_a, {"b", 0, off.b, 4}}, {off.out_p, off.out_q}); },
                 ErrorCode::invalid_argument,
                 "input 'b': expected at least 8 bytes for 1 batches, which 'a' has, given 4");
    expect_error([&] { off.run({off.in_a, off.in_b}, {off.out_p, {"q", 0, off.q, 4}}); },
                 ErrorCode::invalid_argument,
                 "output 'q': expected at least 8 bytes for 1 batches, which 'a' has, given 4");
    EXPECT_EQ(off.q[0], -1);
  }
}

// poprt defines conditional execution as follows: with validate_io_params off, a request names the
// anchors that it needs; the others are not connected.
TEST(ConditionalExecution, AnchorsThatAreNotNamedDeliverZerosOrAreDropped) {
  for (const bool overlap : {false, true}) {
    RunnerConfig config;
    config.validate_io_params = false;
    config.overlap_io = overlap;
    Pair pair(config);
    pair.q[0] = pair.q[1] = -1;
    pair.run({pair.in_a}, {pair.out_p});
    EXPECT_EQ(pair.p[0], 1);
    EXPECT_EQ(pair.q[0], -1);  // not written
    pair.run({pair.in_a}, {pair.out_q});
    EXPECT_EQ(pair.q[0], 0);  // the input was zeros
  }
}

TEST(FrozenInputs, AreGivenOnceAndLeftOutOfRequests) {
  for (const bool overlap : {false, true}) {
    std::vector<float> value{7, 8};
    RunnerConfig config;
    config.overlap_io = overlap;
    config.frozen_inputs["b"] = {value.data(), 8};
    Pair pair(config);
    value = {0, 0};  // the runner has copied it
    pair.run({pair.in_a}, {pair.out_p, pair.out_q});
    EXPECT_EQ(pair.q[0], 7);
    EXPECT_EQ(pair.q[1], 8);
    EXPECT_EQ(pair.p[0], 1);
    expect_error([&] { pair.run({pair.in_a, pair.in_b}, {pair.out_p, pair.out_q}); },
                 ErrorCode::invalid_argument, "leave it out");
    const void* inputs[] = {pair.a, nullptr};
    void* outputs[] = {pair.p, pair.q};
    pair.q[0] = 0;
    pair.runner->execute(inputs, outputs);
    EXPECT_EQ(pair.q[0], 7);
  }
}

TEST(DataDesc, MarksInputsWithDataInTheModel) {
  Pair pair({}, {5, 6});
  const auto& in = pair.runner->execute_inputs();
  ASSERT_EQ(in.size(), 2u);
  EXPECT_EQ(in[0].anchor.name, "a");
  EXPECT_EQ(in[0].size_in_bytes, 8u);
  EXPECT_EQ(in[0].anchor.shape, Shape{2});
  EXPECT_EQ(in[0].anchor.dtype, DType::f32);
  EXPECT_FALSE(in[0].popef_contains_tensor_data);
  EXPECT_TRUE(in[1].popef_contains_tensor_data);
  EXPECT_EQ(pair.runner->execute_outputs()[1].anchor.name, "q");
  pair.run({pair.in_a}, {pair.out_p, pair.out_q});
  EXPECT_EQ(pair.q[1], 6);
  // The data of b can be replaced.
  const float other[] = {9, 10};
  pair.runner->update_inputs({{"b", {other, 8}}});
  pair.run({pair.in_a}, {pair.out_p, pair.out_q});
  EXPECT_EQ(pair.q[1], 10);
  expect_error([&] { pair.runner->update_inputs({{"a", {other, 8}}}); },
               ErrorCode::failed_precondition, "given by every request");
}

TEST(FrozenInputs, WithDynamicBatchesAreUsedUnchanged) {
  const auto model = test::anchors_only({{"x", DType::f32, {4}}, {"w", DType::f32, {3}}},
                                        {{"y", DType::f32, {4}}});
  const float w[] = {10, 20, 30};
  RunnerConfig config;
  config.batching_dim = 0;
  config.timeout = 1us;
  config.frozen_inputs["w"] = {w, 12};
  config.session.device =
      std::make_shared<FunctionDevice>([](const void* const* in, void* const* out) {
        const auto *x = static_cast<const float*>(in[0]), *c = static_cast<const float*>(in[1]);
        for (int i = 0; i < 4; i++) static_cast<float*>(out[0])[i] = x[i] + c[2];
      });
  ModelRunner runner(model, config);
  const float x[] = {1, 2, 3, 4, 5, 6};
  float y[6];
  const InputBinding in[] = {{"x", 0, x, 24}};
  const OutputBinding out[] = {{"y", 0, y, 24}};
  runner.execute(in, out);
  for (int i = 0; i < 6; i++) EXPECT_EQ(y[i], x[i] + 30);
}

TEST(WholeBatches, ARequestMayHaveSeveral) {
  Pair pair;
  const float a[] = {1, 2, 3, 4, 5, 6};
  float p[6], q[6];
  pair.run({{"a", 0, a, 24}, {"b", 0, a, 24}}, {{"p", 0, p, 24}, {"q", 0, q, 24}});
  for (int i = 0; i < 6; i++) EXPECT_EQ(p[i] + q[i], 2 * a[i]);
  EXPECT_EQ(pair.runner->statistics().batches, 6u);
  expect_error([&] { pair.run({{"a", 0, a, 12}, {"b", 0, a, 12}}, {pair.out_p, pair.out_q}); },
               ErrorCode::invalid_argument, "expected 8 bytes");
}

TEST(RingBufferMultiplier, IsTheCapacityInRowsOfAStep) {
  const auto model = test::add_one_model({4, 2});
  RunnerConfig c;
  EXPECT_EQ(RunnerPlan(model, c).depth, 64u);  // the default: at least 64
  for (const size_t multiplier : {1, 3, 30}) {
    c.ring_buffer_size_multiplier = multiplier;
    c.batching_dim = UINT32_MAX;
    EXPECT_EQ(RunnerPlan(model, c).depth, multiplier);
    c.batching_dim = 0;
    EXPECT_EQ(RunnerPlan(model, c).depth, multiplier * 4);
  }
  c.ring_buffer_size_multiplier = 2;
  c.batches_per_step = 10;
  EXPECT_EQ(RunnerPlan(model, c).depth, 80u);
  c.queue_depth = 7;
  EXPECT_EQ(RunnerPlan(model, c).depth, 7u);
}

TEST(RunnerPlan, StepsAreAsCompiledWhileThereIsRoom) {
  const auto model = test::add_one_model({1024, 1024});  // 4 MB in, 4 MB out
  set_engine_options(*model, {{"batches_per_step", "1000"}});
  RunnerConfig c;
  EXPECT_EQ(RunnerPlan(model, c).step_chunks, 1000u) << "requests are used in place";
  c.overlap_io = true;
  EXPECT_EQ(RunnerPlan(model, c).step_chunks, 7u) << "64 MB of copies";
  c.batches_per_step = 20;
  EXPECT_EQ(RunnerPlan(model, c).step_chunks, 20u) << "a larger number is accepted";
  c = {};
  c.batching_dim = 0;
  EXPECT_EQ(RunnerPlan(model, c).step_chunks, 7u);
  const auto rows = test::add_one_model({1024});
  set_engine_options(*rows, {{"batches_per_step", "1000000"}});
  EXPECT_EQ(RunnerPlan(rows, c).step_rows, 1u << 19) << "the ring has 2^20 rows";
}

TEST(RunnerPlan, OverlapsWhenTheModelWasCompiledSo) {
  const auto model = test::add_one_model({4});
  EXPECT_FALSE(RunnerPlan(model, {}).config.overlap_io);
  for (const auto& [value, on] :
       {std::pair("32", true), std::pair("0", false), std::pair("x", false)}) {
    set_engine_options(*model, {{"num_io_tiles", value}});
    EXPECT_EQ(RunnerPlan(model, {}).config.overlap_io, on) << value;
    EXPECT_EQ(model->batches_per_step, 1u);
  }
}

TEST(ModelRunner, GeneratesASeedIfNoneIsGiven) {
  const auto model = test::anchors_only({{"a", DType::u64, {2}}}, {{"p", DType::u64, {2}}});
  model->metadata.setSeedHandle("h2d_a");
  RunnerConfig config;
  const auto another = [] {
    return std::make_shared<FunctionDevice>(
        [](const void* const* in, void* const* out) { std::memcpy(out[0], in[0], 16); });
  };
  config.session.device = another();
  ModelRunner runner(model, config);
  EXPECT_TRUE(runner.execute_inputs()[0].popef_contains_tensor_data);
  uint64_t first[2], second[2];
  runner.execute({}, std::vector<OutputBinding>{{"p", 0, first, 16}});
  const RequestPtr r = runner.execute_async({}, std::vector<OutputBinding>{{"p", 0, second, 16}});
  r->wait();
  r->check();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[0], second[0]);
  expect_error([&] { runner.update_inputs({{"a", {first, 16}}}); }, ErrorCode::failed_precondition,
               "is the random seed");
  const uint64_t mine[2] = {5, 6};
  config.frozen_inputs["a"] = {mine, 16};
  config.session.device = another();
  ModelRunner(model, config).execute({}, std::vector<OutputBinding>{{"p", 0, first, 16}});
  EXPECT_EQ(first[1], 6u);
}

// The device copies a to p and b to q; b is a feed.
TEST(ModelRunner, AFeedGivesEveryStepItsNextValue) {
  for (const bool synchronous : {false, true}) {
    Pair p({}, {10, 11, 20, 21, 30, 31});
    std::vector<float> seen;
    for (int i = 0; i < 4; i++) {
      float a[2] = {1, 2}, out_a[2], out_b[2];
      const InputBinding in[] = {{"a", 0, a, 8}};
      const OutputBinding out[] = {{"p", 0, out_a, 8}, {"q", 0, out_b, 8}};
      if (synchronous) {
        p.runner->execute(in, out);
      } else {
        const RequestPtr r = p.runner->execute_async(in, out);
        r->wait();
        r->check();
      }
      seen.push_back(out_b[0]);
    }
    EXPECT_EQ(seen, (std::vector<float>{10, 20, 30, 10}));
  }
}

TEST(RuntimeConfig, TakesItsLimits) {
  const auto model = test::add_one_model({4, 2});
  RunnerConfig c;
  c.replication_factor = 1024;
  EXPECT_NO_THROW(RunnerPlan(model, c));
  c = {};
  c.ring_buffer_size_multiplier = 1024;
  EXPECT_NO_THROW(RunnerPlan(model, c));
  c = {};
  c.queue_depth = 1 << 20;
  EXPECT_EQ(RunnerPlan(model, c).depth, 1u << 20);
  c.queue_depth++;
  expect_error([&] { RunnerPlan(model, c); }, ErrorCode::invalid_argument,
               "queue depth must be 1 to 1048576, given 1048577");
  c = {};
  c.ring_buffer_size_multiplier = 1;
  c.batches_per_step = 1'000'000;
  EXPECT_EQ(RunnerPlan(model, c).depth, 1'000'000u);
  c.ring_buffer_size_multiplier = 2;
  c.batches_per_step = 1 << 19;
  EXPECT_EQ(RunnerPlan(model, c).depth, 1u << 20);
  c.batches_per_step++;
  expect_error([&] { RunnerPlan(model, c); }, ErrorCode::invalid_argument,
               "a ring of 1048578 rows is too long: at most 1048576");
}

TEST(RuntimeConfig, EachTimeoutIsChecked) {
  const auto model = test::add_one_model({4, 2});
  for (const auto field : {&RunnerConfig::timeout, &RunnerConfig::batch_size_timeout,
                           &RunnerConfig::data_parallel_timeout}) {
    RunnerConfig c;
    c.*field = 0ns;
    EXPECT_NO_THROW(RunnerPlan(model, c));
    c.*field = -1ns;
    expect_error([&] { RunnerPlan(model, c); }, ErrorCode::invalid_argument,
                 "timeouts must not be negative");
  }
}

TEST(RuntimeConfig, DevicesAreOfReplicasThatThereAre) {
  const auto model = std::make_shared<Model>(*test::add_one_model({4, 2}));
  model->replication_factor = 3;
  const auto message_for = [&](int id) -> std::string {
    RunnerConfig c;
    c.replication_factor = 2;
    c.replica_id_to_device[id] = nullptr;
    try {
      RunnerPlan(model, c);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message_for(0), "");
  EXPECT_EQ(message_for(5), "");
  EXPECT_EQ(message_for(6), "there is no replica 6: ids are 0 to 5");
  EXPECT_EQ(message_for(-1), "there is no replica -1: ids are 0 to 5");
}

// A request of flush_by_name needs the same anchors as any other.
TEST(FlushByName, NeedsTheAnchorsOfARequest) {
  const auto model = test::anchors_only(
      {{"a", DType::f32, {2}}, {"b", DType::f32, {2}}, {"none", DType::f32, {0}}},
      {{"p", DType::f32, {2}}, {"q", DType::f32, {2}}, {"empty", DType::f32, {2, 0}}});
  float data[2] = {1, 2};
  const auto message_for =
      [&](std::vector<std::string> inputs, std::vector<std::string> outputs,
          const std::function<void(RunnerConfig&)>& change = {}) -> std::string {
    RunnerConfig c;
    for (const auto& name : inputs) c.flush_by_name.inputs[name] = {data, 8};
    for (const auto& name : outputs) c.flush_by_name.outputs[name] = {data, 8};
    if (change) change(c);
    try {
      RunnerPlan(model, c);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  const std::string lacks = "flush_by_name is a request like any other, but lacks: ";
  EXPECT_EQ(message_for({}, {}), "");
  EXPECT_EQ(message_for({"a", "b"}, {"p", "q"}), "");
  EXPECT_EQ(message_for({"a"}, {"p"}), lacks + "input 'b', output 'q'");
  EXPECT_EQ(message_for({"a", "b"}, {}), lacks + "output 'p', output 'q'");
  EXPECT_EQ(message_for({}, {"p", "q"}), lacks + "input 'a', input 'b'");
  EXPECT_EQ(message_for({"a"}, {"p", "q"}, [&](auto& c) { c.frozen_inputs["b"] = {data, 8}; }), "");
  EXPECT_EQ(message_for({"a"}, {}, [](auto& c) { c.validate_io_params = false; }), "");
  EXPECT_EQ(message_for({"a", "none"}, {"p", "q"}),
            "flush input 'none': expected 0 bytes (f32 [0]), given 8 bytes");
}

TEST(FrozenInputs, HaveMemoryOfTheirSize) {
  const auto model = test::anchors_only({{"a", DType::f32, {2}}, {"none", DType::f32, {0}}},
                                        {{"p", DType::f32, {2}}});
  RunnerConfig c;
  c.frozen_inputs["none"] = {nullptr, 0};
  EXPECT_TRUE(RunnerPlan(model, c).fixed[1]);
  c.frozen_inputs["a"] = {nullptr, 8};
  expect_error([&] { RunnerPlan(model, c); }, ErrorCode::invalid_argument,
               "frozen input 'a': the pointer is null");
}

// The rows, batches and steps of the plans for models, and their answers to requests of different
// sizes, recorded.
//
//   POPRT_WRITE_RECORDS=1 test_runtime --gtest_filter='RunnerPlans.*'   # then read the diff
class RunnerPlans : public ::testing::Test {
 protected:
  struct Kind {
    const char* name;
    std::vector<program::Anchor> in, out;
  };
  static std::vector<Kind> kinds() {
    constexpr DType f = DType::f32;
    return {{"rows first", {{"x", f, {2, 4}}, {"w", DType::s32, {2}}}, {{"y", f, {2, 4}}}},
            {"rows second", {{"x", f, {3, 2}}, {"w", f, {5, 2}}}, {{"y", f, {4, 2, 5}}}},
            {"several rows of a result", {{"x", f, {2}}}, {{"y", f, {6}}, {"z", f, {2, 3}}}},
            {"not as many rows", {{"x", f, {4}}, {"w", f, {6}}}, {{"y", f, {4}}}},
            {"halves of bytes", {{"x", DType::u4, {2, 3}}}, {{"y", DType::u4, {2, 4}}}},
            {"whole bytes", {{"x", DType::u4, {2, 4}}}, {{"y", DType::u2, {2, 8}}}},
            {"a number", {{"x", f, {2}}}, {{"y", f, {}}}},
            {"nothing in front", {{"x", f, {0, 4}}}, {{"y", f, {2, 4}}}},
            {"no elements", {{"x", f, {4, 0}}, {"w", f, {4}}}, {{"y", f, {4, 0}}}},
            {"no inputs", {}, {{"y", f, {2, 3}}}},
            {"large", {{"x", f, {256, 1024}}}, {{"y", f, {256, 2048}}}}};
  }
  static std::string text_of(const RunnerPlan& p) {
    const auto rows = [](const std::vector<AnchorRows>& list) {
      std::string text;
      for (const AnchorRows& r : list)
        text += fmt::format(" {}/{}/{}", r.bytes, r.outer, r.row_bytes);
      return text;
    };
    const auto descs = [](const std::vector<DataDesc>& list) {
      std::string text;
      for (const DataDesc& d : list)
        text += fmt::format(" {}{} {}{}", d.anchor.name, shape_string(d.anchor.shape),
                            d.size_in_bytes, d.popef_contains_tensor_data ? " fixed" : "");
      return text;
    };
    std::string text = fmt::format(
        "{} in a chunk, {} chunks and {} rows a step, depth {}, {}largest {}; in{} out{};{} ->{}; ",
        p.chunk_rows, p.step_chunks, p.step_rows, p.depth, p.flat ? "flat, " : "", p.largest_input,
        rows(p.inputs), rows(p.outputs), descs(p.input_descs), descs(p.output_descs));
    for (uint64_t n = 1; n <= 4; n++)
      text += fmt::format(" {}{}{}", n, p.are_whole_batches(n) ? " whole" : "",
                          p.contiguous(n) ? " contiguous" : "");
    return text;
  }
  // Returns the rows that the plan finds in a request, or its message. All anchors have `n` rows,
  // and anchor `odd` has `more` additional bytes.
  static std::string resolved_text(const RunnerPlan& p, uint64_t n, size_t odd, int64_t more) {
    const auto memory = [&](size_t i) {  // is neither read nor written
      return reinterpret_cast<void*>((i + 1) << 40);
    };
    const auto& in = p.model->inputs();
    const auto& out = p.model->outputs();
    const auto bytes = [&](const AnchorRows& r, size_t i) {
      const auto all = static_cast<int64_t>(n * r.outer * r.row_bytes);
      return static_cast<uint64_t>(i == odd ? std::max<int64_t>(0, all + more) : all);
    };
    std::vector<InputBinding> inputs;
    std::vector<OutputBinding> outputs;
    for (size_t i = 0; i < in.size(); i++)
      if (!p.fixed[i]) inputs.push_back({in[i].name, 0, memory(i), bytes(p.inputs[i], i)});
    for (size_t i = 0; i < out.size(); i++)
      outputs.push_back(
          {out[i].name, 0, memory(in.size() + i), bytes(p.outputs[i], in.size() + i)});
    std::vector<const void*> from(in.size());
    std::vector<void*> to(out.size());
    std::vector<TensorMemory> copies;
    try {
      const uint64_t rows = p.resolve(inputs, outputs, from.data(), to.data(), copies);
      std::string text = fmt::format("{} rows", rows);
      if (p.rows_of_inputs(inputs) != rows)
        text += fmt::format(", {} of inputs", p.rows_of_inputs(inputs));
      for (size_t i = 0; i < out.size(); i++) text += " " + shape_string(p.output_shape(i, rows));
      return text;
    } catch (const Error& e) {
      return e.message();
    }
  }
  void record(const std::string& heading, const std::shared_ptr<const Model>& model,
              const RunnerConfig& config) {
    auto& lines = found[heading];
    try {
      const RunnerPlan p(model, config);
      lines.insert(text_of(p));
      for (const uint64_t n : {0, 1, 2, 3, 4, 6})
        lines.insert(fmt::format("of {} rows: {}", n, resolved_text(p, n, SIZE_MAX, 0)));
      for (size_t i = 0; i < p.inputs.size() + p.outputs.size(); i++)
        for (const int64_t more : {-8, -1, 1, 8})
          lines.insert(
              fmt::format("{:+} bytes of anchor {}: {}", more, i, resolved_text(p, 2, i, more)));
    } catch (const Error& e) {
      lines.insert(e.message());
    }
  }

  test::RecordedLines found;
};

TEST_F(RunnerPlans, MatchTheRecord) {
  const std::pair<const char*, std::function<void(RunnerConfig&)>> configs[] = {
      {"", [](RunnerConfig&) {}},
      {", rows along 0", [](RunnerConfig& c) { c.batching_dim = 0; }},
      {", rows along 1", [](RunnerConfig& c) { c.batching_dim = 1; }},
      {", unchecked", [](RunnerConfig& c) { c.validate_io_params = false; }},
      {", unchecked rows along 0",
       [](RunnerConfig& c) { c.batching_dim = 0, c.validate_io_params = false; }},
      {", overlapped", [](RunnerConfig& c) { c.overlap_io = true; }},
      {", steps of 5", [](RunnerConfig& c) { c.batches_per_step = 5; }}};
  for (const Kind& kind : kinds())
    for (const uint32_t replicas : {1, 3})
      for (const auto& [what, change] : configs) {
        const auto model = std::make_shared<Model>(*test::anchors_only(kind.in, kind.out));
        model->replication_factor = replicas;
        model->batches_per_step = 1000;
        RunnerConfig config;
        change(config);
        record(fmt::format("{}{}{}", kind.name, replicas > 1 ? ", three replicas" : "", what),
               model, config);
      }
  test::expect_digests(found, POPRT_TEST_DATA "/runtime_plans.txt",
                       "How runners divide models: runner_plan_test.cpp.",
                       test::message_after_colon);
}

// Frozen inputs do not affect the division of other anchors.
TEST_F(RunnerPlans, OfFrozenInputs) {
  static const float data[1 << 18] = {};
  for (const uint32_t dim : {UINT32_MAX, 0u})
    for (const std::vector<std::string>& names :
         {std::vector<std::string>{"a"}, {"b"}, {"a", "b"}}) {
      const auto model = std::make_shared<Model>(*test::anchors_only(
          {{"a", DType::f32, {3}}, {"b", DType::f32, {1 << 18}}}, {{"p", DType::f32, {1 << 18}}}));
      model->batches_per_step = 1000;
      RunnerConfig config;
      config.batching_dim = dim;
      config.overlap_io = true;
      for (const auto& name : names)
        config.frozen_inputs[name] = {data, name == "a" ? 12u : 1u << 20};
      record(fmt::format("frozen {}{}", fmt::join(names, " and "), dim ? "" : ", rows"), model,
             config);
    }
  test::expect_digests(found, POPRT_TEST_DATA "/runtime_plans_frozen.txt",
                       "How runners divide models with frozen inputs: runner_plan_test.cpp.",
                       test::message_after_colon);
}

}  // namespace
}  // namespace poprt::runtime
