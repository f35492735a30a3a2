// LabelEncoder and OneHotEncoder on tables of every form.
#include <gtest/gtest.h>

#include <limits>

#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

using Ints = std::vector<int64_t>;

std::vector<double> encoded(const Tensor& x, Ints keys, std::vector<float> values) {
  return test::run_node({.op = "LabelEncoder",
                         .attributes = {{"keys_int64s", std::move(keys)},
                                        {"values_floats", std::move(values)},
                                        {"default_float", -1.0f}},
                         .inputs = {x},
                         .runtime = {0},
                         .domain = "ai.onnx.ml"})[0]
      .to_doubles();
}

constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();

TEST(LabelEncoder, KeysCloseTogether) {
  const Tensor x = Tensor::of<int64_t>({8}, {-3, 5, 0, 6, -4, 4, kHigh, kLow});
  EXPECT_EQ(encoded(x, {5, -3, 0}, {1, 2, 3}), (std::vector<double>{2, 1, 3, -1, -1, -1, -1, -1}));
}

TEST(LabelEncoder, KeysFarApart) {
  const Tensor x = Tensor::of<int64_t>({6}, {kLow, kHigh, 0, 1, kHigh - 1, 1000000});
  EXPECT_EQ(encoded(x, {kHigh, 0, kLow, 1000000}, {1, 2, 3, 4}),
            (std::vector<double>{3, 1, 2, -1, -1, 4}));
}

TEST(LabelEncoder, OfEqualKeysTheFirstCounts) {
  const Tensor x = Tensor::of<int64_t>({2}, {7, 8});
  EXPECT_EQ(encoded(x, {7, 7, 8}, {1, 2, 3}), (std::vector<double>{1, 3}));
  const Tensor far = Tensor::of<int64_t>({2}, {7, kHigh});
  EXPECT_EQ(encoded(far, {7, 7, kHigh}, {1, 2, 3}), (std::vector<double>{1, 3}));
}

TEST(LabelEncoder, EveryWidthOfKeysAndValues) {
  const auto run = [](const Tensor& x, const Tensor& keys, const Tensor& values) {
    return test::run_node({.op = "LabelEncoder",
                           .attributes = {{"keys_tensor", keys}, {"values_tensor", values}},
                           .inputs = {x},
                           .runtime = {0},
                           .domain = "ai.onnx.ml"})[0]
        .to_doubles();
  };
  const Tensor values = Tensor::of<int16_t>({3}, {-5, 6, 7});
  EXPECT_EQ(run(Tensor::of<int32_t>({3}, {2, 9, -1}), Tensor::of<int32_t>({3}, {-1, 2, 3}), values),
            (std::vector<double>{6, 0, -5}));
  EXPECT_EQ(run(Tensor::of<int16_t>({2}, {3, 4}), Tensor::of<int16_t>({3}, {-1, 2, 3}), values),
            (std::vector<double>{7, 0}));
  EXPECT_EQ(run(Tensor::of<double>({2}, {2.5, 4}), Tensor::of<double>({3}, {-1, 2.5, 3}), values),
            (std::vector<double>{6, 0}));
}

TEST(OneHotEncoder, OfACategoryThatIsGivenTwiceTheLastCounts) {
  const auto y = test::run_node({.op = "OneHotEncoder",
                                 .attributes = {{"cats_int64s", Ints{4, 7, 4}}},
                                 .inputs = {Tensor::of<int64_t>({3}, {4, 7, 5})},
                                 .runtime = {0},
                                 .domain = "ai.onnx.ml"})[0];
  EXPECT_EQ(y.shape(), (Shape{3, 3}));
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace poprt::ops
