// Runners that compute as the chip does, on the model that an executable keeps: it must have what
// the program has. Blobs of the caller's take the place of the one that the compiler makes.
#include <gtest/gtest.h>
#include <poprt/poprt.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::string said(poprt_error* error) {
  if (!error) return "ok";
  std::string text = std::string(poprt_error_code_name(poprt_error_get_code(error))) + ": " +
                     poprt_error_message(error);
  poprt_error_free(error);
  return text;
}

// ONNX in bytes: messages and numbers of fields, all shorter than 128.
std::string number(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}

struct Tensor {
  std::string name;
  int type;  // ONNX's: 1 f32, 10 f16
  std::vector<int> shape;
};

struct Node {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};

std::string onnx(const std::vector<Node>& nodes, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs) {
  const auto value = [](const Tensor& t) {
    std::string dims;
    for (const int d : t.shape) dims += field(1, number(1, d));
    return field(1, t.name) + field(2, field(1, number(1, t.type) + field(2, dims)));
  };
  std::string graph;
  for (const Node& n : nodes) {
    std::string node;
    for (const std::string& i : n.inputs) node += field(1, i);
    graph += field(1, node + field(2, n.output) + field(4, n.op));
  }
  graph += field(2, "g");
  for (const Tensor& t : inputs) graph += field(11, value(t));
  for (const Tensor& t : outputs) graph += field(12, value(t));
  // The graph may be longer than one byte says.
  std::string model = number(1, 8) + "\x3a";
  model += static_cast<char>(graph.size() % 128 | 128);
  model += static_cast<char>(graph.size() / 128);
  return model + graph + field(8, field(1, "") + number(2, 17));
}

std::string identity(const Tensor& x, const Tensor& y) {
  return onnx({{"Identity", {x.name}, y.name}}, {x}, {y});
}

class FaithfulRunner : public testing::Test {
 protected:
  ~FaithfulRunner() override {
    poprt_runner_free(runner);
    poprt_executable_free(executable);
  }

  // Compiles `model`, which keeps `kept` (null: what the compiler keeps), and makes a runner.
  std::string open(const std::string& model, const std::string* kept, const char* numerics) {
    poprt_runner_free(runner);
    poprt_executable_free(executable);
    runner = nullptr;
    executable = nullptr;
    poprt_compile_options options = {};
    options.struct_size = sizeof options;
    const poprt_option faithful = {"numerics", "faithful"};
    options.options = &faithful;
    options.option_count = 1;
    poprt_opaque_blob blob = {};
    if (kept) {
      blob = {"poprt.faithful", kept->data(), kept->size()};
      options.opaque_blobs = &blob;
      options.opaque_blob_count = 1;
    }
    poprt_compiler* compiler = nullptr;
    std::string text = said(poprt_compiler_create(&options, &compiler));
    if (text == "ok")
      text = said(
          poprt_compiler_compile_bytes(compiler, model.data(), model.size(), nullptr, &executable));
    poprt_compiler_free(compiler);
    if (text != "ok") return "compile: " + text;
    poprt_runner_options run = {};
    run.struct_size = sizeof run;
    run.numerics = numerics;
    return said(poprt_runner_create(executable, &run, &runner));
  }

  poprt_executable* executable = nullptr;
  poprt_runner* runner = nullptr;
};

const Tensor kX = {"x", 1, {2, 3}}, kY = {"y", 1, {2, 3}};
constexpr const char* kSuch = ": such a model has no faithful numerics";

TEST_F(FaithfulRunner, TheKeptModelHasTheAnchorsOfTheProgram) {
  const std::string model = identity(kX, kY);
  const auto with = [&](const std::string& kept) { return open(model, &kept, "faithful"); };
  const std::string input =
      "failed_precondition: executable 'model': input 'x' of the program is f32[2,3], the model "
      "that is kept for it ";
  const std::string output =
      "failed_precondition: executable 'model': output 'y' of the program is f32[2,3], the model "
      "that is kept for it ";
  EXPECT_EQ(open(model, nullptr, "faithful"), "ok");
  EXPECT_EQ(with(model), "ok");
  EXPECT_EQ(with(identity({"a", 1, {2, 3}}, kY)), input + "has none" + kSuch);
  EXPECT_EQ(with(identity(kX, {"b", 1, {2, 3}})), output + "has none" + kSuch);
  EXPECT_EQ(with(identity({"x", 1, {3, 3}}, {"y", 1, {3, 3}})), input + "has f32[3,3]" + kSuch);
  EXPECT_EQ(with(identity({"x", 10, {2, 3}}, {"y", 10, {2, 3}})), input + "has f16[2,3]" + kSuch);
  // Values of these names that are not what crosses the border.
  const Tensor a = {"a", 1, {2, 3}}, b = {"b", 1, {2, 3}};
  EXPECT_EQ(with(onnx({{"Neg", {"a"}, "x"}, {"Neg", {"x"}, "y"}}, {a}, {kY})),
            input + "has none" + kSuch);
  EXPECT_EQ(with(onnx({{"Neg", {"x"}, "y"}, {"Neg", {"y"}, "b"}}, {kX}, {b})),
            output + "has none" + kSuch);
  // More than the program has is no harm.
  EXPECT_EQ(with(onnx({{"Neg", {"x"}, "y"}, {"Neg", {"a"}, "b"}}, {a, kX}, {b, kY})), "ok");
  EXPECT_NE(with("no model").find("not an ONNX model"), std::string::npos);
}

TEST_F(FaithfulRunner, ComputesTheKeptModel) {
  const std::string model = identity(kX, kY);
  const std::string kept = onnx({{"Neg", {"x"}, "y"}}, {kX}, {kY});
  const float x[] = {1, -2, 3, 4, 5, -6};
  for (const char* numerics : {"fast", "faithful", "saturating"}) {
    ASSERT_EQ(open(model, &kept, numerics), "ok");
    float y[6] = {};
    const void* inputs[] = {x};
    void* outputs[] = {y};
    for (int run = 0; run < 2; run++) {
      ASSERT_EQ(said(poprt_runner_execute_indexed(runner, inputs, outputs)), "ok");
      for (int i = 0; i < 6; i++)
        EXPECT_EQ(y[i], numerics == std::string("fast") ? x[i] : -x[i]) << numerics;
    }
  }
  EXPECT_EQ(open(model, nullptr, "other"),
            "invalid_argument: numerics: expected fast, faithful or saturating, found 'other'");
  EXPECT_EQ(open(model, nullptr, ""), "ok");
}

// 60000 and 60000 are no half together: NaN on the chip, unless it saturates.
TEST_F(FaithfulRunner, OverflowIsThatOfTheNumerics) {
  const Tensor x = {"x", 10, {2}}, y = {"y", 10, {2}};
  const std::string model = onnx({{"Add", {"x", "x"}, "y"}}, {x}, {y});
  const uint16_t halves[] = {0x7b53, 0x3c00};  // 60000, 1
  for (const char* numerics : {"faithful", "saturating"}) {
    ASSERT_EQ(open(model, nullptr, numerics), "ok");
    uint16_t sums[2] = {};
    const void* inputs[] = {halves};
    void* outputs[] = {sums};
    ASSERT_EQ(said(poprt_runner_execute_indexed(runner, inputs, outputs)), "ok");
    EXPECT_EQ(sums[1], 0x4000);
    if (numerics == std::string("saturating"))
      EXPECT_EQ(sums[0], 0x7bff);
    else
      EXPECT_GT(sums[0] & 0x7fff, 0x7c00);
  }
}

// An operator that nobody computes in that way fails when it runs, and the next run fails too.
TEST_F(FaithfulRunner, WhatCannotBeComputedIsSaidByTheRun) {
  const std::string kept = onnx({{"Neg", {"x"}, "h"}, {"Nobody", {"h"}, "y"}}, {kX}, {kY});
  EXPECT_NE(open(identity(kX, kY), &kept, "faithful").find("Nobody"), std::string::npos);
}

}  // namespace
