// Compares operators that ONNX had before opset 10 with plain loops.
#include "ops/common/early_onnx.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;
using test::ints;
using test::NodeCase;
using test::random_floats;
using test::run_node;

constexpr int64_t kOpset = 6;

std::vector<float> run_on(const std::string& op, const Tensor& x, test::Attributes attributes) {
  const Tensor y = run_node({op, kOpset, std::move(attributes), {x}})[0];
  EXPECT_EQ(y.shape(), x.shape());
  const auto v = y.values<float>();
  return {v.begin(), v.end()};
}

template <class F>
void expect_each(const std::string& op, const test::Attributes& attributes, F f) {
  const Tensor x = random_floats({2, 3, 4, 5}, 3, 2);
  const std::vector<float> got = run_on(op, x, attributes);
  for (size_t i = 0; i < got.size(); i++) {
    const double want = f(static_cast<double>(x.values<float>()[i]));
    ASSERT_NEAR(got[i], want, 1e-5 * std::max(1.0, std::abs(want))) << op << " " << i;
  }
}

TEST(EarlyOnnx, FunctionsOfOneElement) {
  expect_each("Scale", {{"scale", -3.0f}}, [](double x) { return -3 * x; });
  expect_each("ParametricSoftplus", {{"alpha", 2.0f}, {"beta", 3.0f}},
              [](double x) { return 2 * std::log(std::exp(3 * x) + 1); });
  expect_each("ScaledTanh", {{"alpha", 2.0f}, {"beta", 3.0f}},
              [](double x) { return 2 * std::tanh(3 * x); });
  expect_each("ThresholdedRelu", {}, [](double x) { return x > 1 ? x : 0; });
  expect_each("ThresholdedRelu", {{"alpha", -0.5f}}, [](double x) { return x > -0.5 ? x : 0; });
}

TEST(EarlyOnnx, ImageScalerAddsTheBiasOfTheChannel) {
  const Tensor x = random_floats({2, 3, 2, 2});
  const std::vector<float> bias = {1, -2, 3};
  const std::vector<float> got = run_on("ImageScaler", x, {{"scale", 2.0f}, {"bias", bias}});
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_NEAR(got[i], 2 * x.values<float>()[i] + bias[i / 4 % 3], 1e-6);
}

TEST(EarlyOnnx, CropTakesBordersOrAWindow) {
  const Tensor x = random_floats({1, 2, 5, 6});
  const auto at = [&](size_t c, size_t h, size_t w) {
    return x.values<float>()[c * 30 + h * 6 + w];
  };
  const auto expect_window = [&](const test::Attributes& attributes, size_t top, size_t left,
                                 Shape shape) {
    const Tensor y = run_node({"Crop", kOpset, attributes, {x}})[0];
    ASSERT_EQ(y.shape(), shape);
    const auto rows = static_cast<size_t>(shape[2]), columns = static_cast<size_t>(shape[3]);
    for (size_t i = 0; i < y.values<float>().size(); i++)
      EXPECT_EQ(y.values<float>()[i],
                at(i / (rows * columns), top + i / columns % rows, left + i % columns));
  };
  expect_window({{"border", Ints{1, 2, 3, 0}}}, 2, 1, {1, 2, 3, 2});
  expect_window({{"border", Ints{1, 2, 0, 0}}, {"scale", Ints{2, 4}}}, 2, 1, {1, 2, 2, 4});
}

TEST(EarlyOnnx, MeanVarianceNormalizationOfOneChannelOrAll) {
  const Tensor x = random_floats({2, 3, 4, 5}, 3, 2);
  const auto v = x.values<float>();
  for (const bool across : {false, true})
    for (const bool scaled : {true, false}) {
      const std::vector<float> got =
          run_on("MeanVarianceNormalization", x,
                 {{"across_channels", int64_t{across}}, {"normalize_variance", int64_t{scaled}}});
      for (size_t c = 0; c < 3; c++) {
        const auto counts = [&](size_t i) { return across || i / 20 % 3 == c; };
        double sum = 0, squares = 0, n = 0;
        for (size_t i = 0; i < v.size(); i++)
          if (counts(i)) sum += v[i], n++;
        for (size_t i = 0; i < v.size(); i++)
          if (counts(i)) squares += (v[i] - sum / n) * (v[i] - sum / n);
        for (size_t i = 0; i < v.size(); i++)
          if (i / 20 % 3 == c)
            EXPECT_NEAR(got[i], (v[i] - sum / n) / (scaled ? std::sqrt(squares / n) : 1), 1e-5);
      }
    }
}

TEST(EarlyOnnx, FilledTensors) {
  const Tensor constant = run_node(
      {"ConstantFill",
       kOpset,
       {{"shape", Ints{2}}, {"extra_shape", Ints{3}}, {"value", 4.0f}, {"dtype", int64_t{7}}}})[0];
  EXPECT_EQ(constant.shape(), (Shape{2, 3}));
  EXPECT_EQ(constant.to_int64s(), std::vector<int64_t>(6, 4));
  const Tensor like =
      run_node({"ConstantFill", kOpset, {{"value", 1.5f}}, {random_floats({3, 2})}})[0];
  EXPECT_EQ(like.to_doubles(), std::vector<double>(6, 1.5));
  EXPECT_EQ(like.shape(), (Shape{3, 2}));
  const Tensor sized =
      run_node({"ConstantFill", kOpset, {{"input_as_shape", int64_t{1}}}, {ints({3, 2})}})[0];
  EXPECT_EQ(sized.shape(), (Shape{3, 2}));
  const Tensor given = run_node(
      {"GivenTensorFill", kOpset, {{"shape", Ints{2}}, {"values", std::vector<float>{3, 4}}}})[0];
  EXPECT_EQ(given.to_doubles(), (std::vector<double>{3, 4}));
}

TEST(EarlyOnnx, DynamicSliceIsASliceWithoutSteps) {
  const Tensor x = random_floats({4, 6});
  const Tensor y =
      run_node({"DynamicSlice", kOpset, {}, {x, ints({2, 1}), ints({-1, 3}), ints({1, 0})}})[0];
  ASSERT_EQ(y.shape(), (Shape{2, 3}));
  for (size_t i = 0; i < 6; i++)
    EXPECT_EQ(y.values<float>()[i], x.values<float>()[(1 + i / 3) * 6 + 2 + i % 3]);
}

TEST(EarlyOnnx, RefusesContradictoryAttributes) {
  const Tensor x = random_floats({1, 2, 4, 4});
  const auto refused = [&](const NodeCase& c, const char* fact) {
    try {
      run_node(c);
      ADD_FAILURE() << c.op;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.what();
      EXPECT_NE(e.message().find(fact), std::string::npos) << e.what();
    }
  };
  refused({"Crop", kOpset, {{"border", Ints{3, 0, 2, 0}}}, {x}}, "larger than the image");
  refused({"Crop", kOpset, {{"border", Ints{0, 0}}}, {x}}, "border");
  refused({"Crop", kOpset, {{"border", Ints{1, 1, 0, 0}}, {"scale", Ints{4, 4}}}, {x}}, "scale");
  refused({"ImageScaler", kOpset, {{"bias", std::vector<float>{1}}}, {x}}, "bias");
  refused({"ScaledTanh", kOpset, {{"alpha", 1.0f}}, {x}}, "beta is missing");
  refused({"GivenTensorFill", kOpset, {{"shape", Ints{3}}, {"values", std::vector<float>{1}}}},
          "number of values");
  refused({"ConstantFill", kOpset, {{"shape", Ints{-3}}}}, "negative");
}

TEST(EarlyOnnx, LaterOpsetsAndUndefinedExperimentsAreRefused) {
  const Tensor x = random_floats({1, 2, 4, 4});
  for (const auto& [op, opset] :
       {std::pair("ImageScaler", 10), {"Affine", 17}, {"ATen", 6}, {"GRUUnit", 6}}) {
    try {
      run_node({op, opset, {}, {x}});
      ADD_FAILURE() << op;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented);
      EXPECT_NE(e.message().find(op), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace poprt::ops
