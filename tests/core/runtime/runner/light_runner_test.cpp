#include "runtime/runner/light_runner.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device_manager.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

// y = x and v = w, where w is part of the model.
struct Weights {
  Weights() {
    const auto x = b.add_input({"x", DType::f32, {4}}), w = b.add_input({"w", DType::f32, {4}});
    const auto y = b.add_output({"y", DType::f32, {4}}), v = b.add_output({"v", DType::f32, {4}});
    const auto copy = [&](uint32_t from, uint32_t to) {
      const program::BufferId operands[] = {b.input(from, 0, 16, DType::f32, {4}),
                                            b.output(to, 0, 16, DType::f32, {4})};
      b.emit("copy", operands, {}, {}, "copy");
    };
    copy(x, y);
    copy(w, v);
    Model m = *make_model("m", {std::make_shared<program::Program>(b.program()), {}, {}});
    m.input_data = {{}, std::as_bytes(std::span(first))};
    model = std::make_shared<Model>(std::move(m));
  }
  program::Builder b;
  std::vector<float> first{1, 2, 3, 4}, second{5, 6, 7, 8};
  std::shared_ptr<const Model> model;
};

std::vector<float> run(LightRunner& runner) {
  const std::vector<float> x{9, 9, 9, 9};
  std::vector<float> y(4), v(4);
  runner.execute(InputMemoryView{{"x", {x.data(), 16}}},
                 OutputMemoryView{{"y", {y.data(), 16}}, {"v", {v.data(), 16}}});
  EXPECT_EQ(x, y);
  return v;
}

TEST(LightRunner, NewWeightsHoldFromUpdateWeightsOn) {
  Weights w;
  LightRunner runner(w.model);
  EXPECT_EQ(run(runner), w.first);
  runner.set_input_anchor("w", {w.second.data(), 16});
  EXPECT_EQ(run(runner), w.first);
  runner.update_weights();
  EXPECT_EQ(run(runner), w.second);
}

TEST(LightRunner, RefusesAnIndexBeyondTheInputsOfRequests) {
  Weights w;
  LightRunner runner(w.model);
  const std::vector<float> x{9, 9, 9, 9};
  std::vector<float> y(4), v(4);
  const std::vector<OutputBinding> out = {{"y", 0, y.data(), 16}, {"v", 0, v.data(), 16}};
  for (const size_t index : {size_t{1}, size_t{2}, SIZE_MAX}) {
    const std::vector<InputBinding> in = {{{}, index, x.data(), 16}};
    try {
      runner.execute(in, out);
      ADD_FAILURE() << index;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::not_found);
    }
    EXPECT_THROW(runner.execute_async(in, out), Error);
  }
}

TEST(LightRunner, ListsWeightsAmongModelInputsOnly) {
  Weights w;
  LightRunner runner(w.model);
  ASSERT_EQ(runner.model_inputs().size(), 2u);
  EXPECT_FALSE(runner.model_inputs()[0].popef_contains_tensor_data);
  EXPECT_TRUE(runner.model_inputs()[1].popef_contains_tensor_data);
  ASSERT_EQ(runner.execute_inputs().size(), 1u);
  EXPECT_EQ(runner.execute_inputs()[0].anchor.name, "x");
}

TEST(LightRunner, StopFreesTheDeviceAndReloadTakesOneAgain) {
  Weights w;
  const device::DeviceManager manager(1);
  LightRunnerConfig config;
  config.session.device = manager.get_device();
  LightRunner runner(w.model, std::move(config));
  runner.set_input_anchor("w", {w.second.data(), 16});
  runner.update_weights();
  EXPECT_THROW(manager.get_device(), Error);
  runner.stop();
  runner.stop();
  EXPECT_TRUE(runner.stopped());
  try {
    run(runner);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::cancelled);
  }
  {
    LightRunnerConfig other;
    other.session.device = manager.get_device();  // another one may attach
    LightRunner second(w.model, std::move(other));
    EXPECT_EQ(run(second), w.first);
  }
  runner.reload();
  runner.reload();
  EXPECT_EQ(run(runner), w.second);  // the weights of the last update
}

TEST(LightRunner, RefusesUnknownAnchorsAndWrongSizes) {
  Weights w;
  LightRunner runner(w.model);
  const auto code = [&](const char* name, uint64_t bytes) {
    try {
      runner.set_input_anchor(name, {w.second.data(), bytes});
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code("z", 16), ErrorCode::not_found);
  EXPECT_EQ(code("w", 12), ErrorCode::invalid_argument);
  EXPECT_EQ(code("x", 16), ErrorCode::failed_precondition);
}

TEST(LightRunner, TheRandomSeedCannotBeSet) {
  Weights w;
  popef::Metadata metadata = make_metadata("m", w.b.program());
  metadata.setSeedHandle("h2d_x");
  Model m = *make_model("m", {std::make_shared<program::Program>(w.b.program()), {}, {}}, {}, {},
                        metadata);
  m.input_data = {{}, std::as_bytes(std::span(w.first))};
  LightRunner runner(std::make_shared<Model>(std::move(m)));
  try {
    runner.set_input_anchor("x", {w.second.data(), 16});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_STREQ(e.what(), "input 'x' is the random seed: every run gets a new one");
  }
  runner.set_input_anchor("w", {w.second.data(), 16});
  EXPECT_NO_THROW(runner.update_weights());
}

TEST(LightRunner, ExecutesAsynchronously) {
  Weights w;
  LightRunner runner(w.model);
  std::vector<float> x{1, 1, 1, 1}, y(4), v(4);
  const InputBinding in[] = {{{}, 0, x.data(), 16}};
  const OutputBinding out[] = {{"y", 0, y.data(), 16}, {"v", 0, v.data(), 16}};
  const RequestPtr r = runner.execute_async(in, out);
  EXPECT_TRUE(r->wait(std::chrono::seconds(60)));
  EXPECT_EQ(v, w.first);
}

// v = w and y = x; w is part of the model and the first input.
struct WeightsFirst {
  WeightsFirst() {
    const auto w = b.add_input({"w", DType::f32, {4}}), x = b.add_input({"x", DType::f32, {4}}),
               z = b.add_input({"z", DType::f32, {4}});
    for (const auto& [from, name] : {std::pair{w, "v"}, {x, "y"}, {z, "u"}}) {
      const program::BufferId operands[] = {
          b.input(from, 0, 16, DType::f32, {4}),
          b.output(b.add_output({name, DType::f32, {4}}), 0, 16, DType::f32, {4})};
      b.emit("copy", operands, {}, {}, "copy");
    }
    Model m = *make_model("m", {std::make_shared<program::Program>(b.program()), {}, {}});
    m.input_data = {std::as_bytes(std::span(data)), {}, {}};
    model = std::make_shared<Model>(std::move(m));
  }
  program::Builder b;
  std::vector<float> data{1, 2, 3, 4};
  std::shared_ptr<const Model> model;
};

TEST(LightRunner, PositionsCountOnlyInputsOfRequests) {
  WeightsFirst w;
  LightRunner runner(w.model);
  const std::vector<float> x{5, 6, 7, 8}, z{9, 10, 11, 12};
  for (const bool async : {false, true}) {
    std::vector<float> y(4), v(4), u(4);
    const InputBinding in[] = {{{}, 0, x.data(), 16}, {{}, 1, z.data(), 16}};
    const OutputBinding out[] = {
        {{}, 0, v.data(), 16}, {{}, 1, y.data(), 16}, {{}, 2, u.data(), 16}};
    if (async)
      EXPECT_TRUE(runner.execute_async(in, out)->wait(std::chrono::seconds(60)));
    else
      runner.execute(in, out);
    EXPECT_EQ(v, w.data);
    EXPECT_EQ(y, x);
    EXPECT_EQ(u, z);
  }
}

TEST(LightRunner, StoppedRunnerHasNoStatisticsAndKeepsUpdates) {
  Weights w;
  LightRunner runner(w.model);
  run(runner);
  EXPECT_GT(runner.statistics().completed, 0u);
  runner.stop();
  EXPECT_EQ(runner.statistics().completed, 0u);
  EXPECT_TRUE(runner.tracepoints().empty());
  runner.set_input_anchor("w", {w.second.data(), 16});
  runner.update_weights();
  runner.reload();
  EXPECT_EQ(run(runner), w.second);
}

TEST(LightRunner, ANullPointerToDataIsRefused) {
  Weights w;
  LightRunner runner(w.model);
  try {
    runner.set_input_anchor("w", {nullptr, 16});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(e.message().find("the pointer is null"), std::string::npos);
  }
}

}  // namespace
}  // namespace poprt::runtime
