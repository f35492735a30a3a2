#include "core/ops/built_node.h"

#include "base/error.h"
#include "ops/common/scalar.h"

namespace poprt::ops {
namespace {

TEST(BatchNormalization, NormalisesEachChannel) {
  const Tensor x = Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  const auto p = [](float a, float b) { return Tensor::of<float>({2}, {a, b}); };
  for (const int64_t opset : {1, 6, 7, 9, 14, 15}) {
    BuiltNode c("BatchNormalization", "",
                {{x, false}, {p(2, 3), true}, {p(1, -1), true}, {p(0, 3), true}, {p(1, 4), true}},
                {{"epsilon", 0.0f}}, opset);
    EXPECT_TRUE(c.run()[0].same_as(Tensor::of<float>({1, 2, 1, 2}, {3, 5, -1, 0.5})));
  }
}

Tensor random_as(DType type, Shape shape, std::mt19937& rng, double low) {
  Tensor t = Tensor::zeros(type, std::move(shape));
  std::uniform_real_distribution<double> d(low, 2);
  for (int64_t i = 0; i < t.count(); i++)
    std::memcpy(static_cast<std::byte*>(t.mutable_data()) + i * dtype_bits(type) / 8,
                scalar_tensor(type, d(rng)).data(), static_cast<size_t>(dtype_bits(type) / 8));
  return t;
}

TEST(BatchNormalization, TrainingModeNormalisesByTheBatchAndMovesTheRunningStatistics) {
  std::mt19937 rng(3);
  for (const DType type : {DType::f32, DType::f64, DType::f16})
    for (const Shape& shape : {Shape{4, 3, 5, 7}, Shape{6, 3}, Shape{1, 3, 9}}) {
      const Tensor x = random_as(type, shape, rng, -2), scale = random_as(type, {3}, rng, -2),
                   bias = random_as(type, {3}, rng, -2), mean = random_as(type, {3}, rng, -2),
                   variance = random_as(type, {3}, rng, 0.1);
      BuiltNode c("BatchNormalization", "",
                  {{x, false}, {scale, false}, {bias, false}, {mean, false}, {variance, false}},
                  {{"training_mode", int64_t{1}}, {"momentum", 0.75f}, {"epsilon", 0.125f}}, 15, 3);
      for (ir::Value* v : c.node->outputs()) c.graph.add_output(v);
      const auto got = c.run();
      const auto in = x.to_doubles();
      const size_t pixels = in.size() / static_cast<size_t>(shape[0] * 3);
      const double tolerance = type == DType::f64 ? 1e-12 : type == DType::f32 ? 1e-5 : 1e-2;
      for (size_t k = 0; k < 3; k++) {
        std::vector<size_t> places;
        for (size_t i = 0; i < in.size(); i++)
          if (i / pixels % 3 == k) places.push_back(i);
        double m = 0, v = 0;
        const auto n = static_cast<double>(places.size());
        for (const size_t i : places) m += in[i] / n;
        for (const size_t i : places) v += (in[i] - m) * (in[i] - m) / n;
        for (const size_t i : places)
          ASSERT_NEAR(
              got[0].to_doubles()[i],
              (in[i] - m) / std::sqrt(v + 0.125) * scale.to_doubles()[k] + bias.to_doubles()[k],
              tolerance * 4)
              << dtype_name(type) << shape_string(shape) << " element " << i;
        EXPECT_NEAR(got[1].to_doubles()[k], mean.to_doubles()[k] * 0.75 + m * 0.25, tolerance);
        EXPECT_NEAR(got[2].to_doubles()[k], variance.to_doubles()[k] * 0.75 + v * 0.25, tolerance);
      }
    }
}

TEST(BatchNormalization, TrainingWithoutRunningStatisticsGivesTheSameResult) {
  std::mt19937 rng(4);
  const Tensor x = random_tensor({2, 2, 6}, rng), one = random_tensor({2}, rng);
  const auto result = [&](size_t outputs) {
    BuiltNode c("BatchNormalization", "",
                {{x, false}, {one, false}, {one, false}, {one, false}, {one, false}},
                {{"training_mode", int64_t{1}}}, 15, outputs);
    return c.run()[0];
  };
  EXPECT_TRUE(result(1).same_as(result(3)));
}

TEST(BatchNormalization, ParametersThatAreNotOneForEachChannelAreRefused) {
  std::mt19937 rng(6);
  for (const int64_t training : {0, 1})
    for (const size_t wrong : {1, 2, 3, 4}) {
      std::vector<std::pair<Tensor, bool>> inputs = {{random_tensor({2, 3, 4}, rng), false}};
      for (size_t i = 1; i < 5; i++)
        inputs.emplace_back(random_tensor({i == wrong ? 1 : 3}, rng), false);
      BuiltNode c("BatchNormalization", "", inputs, {{"training_mode", training}}, 15);
      try {
        c.run();
        FAIL() << "input " << wrong;
      } catch (const Error& e) {
        EXPECT_NE(e.message().find(fmt::format("input {} is [1], expected [3]", wrong)),
                  std::string::npos)
            << e.message();
      }
    }
}

TEST(BatchNormalization, RefusesTrainingBeforeOpset7AndOnEmptyTensors) {
  std::mt19937 rng(5);
  const auto expect_refused = [&](Shape shape, int64_t opset, const char* key, const char* why) {
    const Tensor one = random_tensor({2}, rng);
    BuiltNode c("BatchNormalization", "",
                {{random_tensor(std::move(shape), rng), false},
                 {one, false},
                 {one, false},
                 {one, false},
                 {one, false}},
                {{key, int64_t{opset >= 14}}}, opset, 5);
    try {
      c.run();
      FAIL() << "opset " << opset;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(why), std::string::npos) << e.message();
    }
  };
  expect_refused({2, 2, 3}, 6, "is_test", "is_test = 0");
  expect_refused({0, 2, 3}, 15, "training_mode", "empty batch");
}

// Outputs 1 to 4 are statistics. None is computed without training, and only the first two are
// computed with training.
TEST(BatchNormalization, StatisticsThatDoNotExistAreRefusedIfTheyAreRead) {
  const auto p = [] { return std::pair(Tensor::of<float>({2}, {1, 1}), true); };
  const auto outcome = [&](int64_t opset, size_t read, int64_t training) {
    BuiltNode c("BatchNormalization", "",
                {{Tensor::zeros(DType::f32, {1, 2, 3}), false}, p(), p(), p(), p()},
                {{"training_mode", training}}, opset, 5);
    c.graph.add_output(c.node->output(read));
    try {
      c.run();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  for (const int64_t opset : {7, 9, 14, 15}) {
    EXPECT_EQ(outcome(opset, 0, 0), ErrorCode::ok);
    for (const size_t read : {1, 2, 3, 4})
      EXPECT_EQ(outcome(opset, read, 0), ErrorCode::unimplemented) << opset << " " << read;
  }
  EXPECT_EQ(outcome(15, 2, 1), ErrorCode::ok);
  EXPECT_EQ(outcome(15, 3, 1), ErrorCode::unimplemented);
}

}  // namespace
}  // namespace poprt::ops
