#include "model/tensor_compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace poprt::inspector {
namespace {

TEST(TensorCompare, CountsAndSortsWhatDiffers) {
  const Tensor left = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, NAN});
  const Tensor right = Tensor::of<float>({2, 3}, {1, 2.5f, 3, 4, 4, NAN});
  const TensorDifference d = compare_tensors("y", left, right, {});
  EXPECT_EQ(d.elements, 6u);
  EXPECT_EQ(d.differing, 2u);
  EXPECT_FALSE(d.agrees());
  ASSERT_EQ(d.worst.size(), 2u);
  EXPECT_EQ(d.worst[0].index, 4);
  EXPECT_EQ(d.worst[1].index, 1);
  EXPECT_DOUBLE_EQ(d.largest, 1);
  EXPECT_DOUBLE_EQ(d.largest_relative, 0.25);
  EXPECT_NEAR(d.rms, std::sqrt(1.25 / 6), 1e-12);
  uint64_t marked = 0;
  for (const uint64_t n : d.where) marked += n;
  EXPECT_EQ(marked, 2u);
}

TEST(TensorCompare, ToleranceIsAbsoluteAndRelative) {
  const Tensor left = Tensor::of<double>({2}, {1000.5, 0.00005}),
               right = Tensor::of<double>({2}, {1000, 0});
  EXPECT_TRUE(compare_tensors("y", left, right, {1e-3, 1e-4}).agrees());
  EXPECT_EQ(compare_tensors("y", left, right, {1e-4, 1e-4}).differing, 1u);
  EXPECT_EQ(compare_tensors("y", left, right, {1e-3, 1e-6}).differing, 1u);
}

TEST(TensorCompare, NotANumberDiffersFromANumber) {
  const TensorDifference d = compare_tensors("y", Tensor::of<float>({2}, {NAN, INFINITY}),
                                             Tensor::of<float>({2}, {1, 1}), {});
  EXPECT_EQ(d.differing, 2u);
}

TEST(TensorCompare, ShapesThatDifferAreAProblem) {
  const TensorDifference d =
      compare_tensors("y", Tensor::zeros(DType::f32, {2}), Tensor::zeros(DType::f32, {3}), {});
  EXPECT_FALSE(d.agrees());
  EXPECT_EQ(d.problem, "left is f32 2, right is f32 3");
}

TEST(TensorCompare, KeepsTheLargestOfMany) {
  std::vector<float> a(100000);
  for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>((i * 7919) % a.size());
  const Tensor left = Tensor::of<float>({100000}, std::span<const float>(a));
  const TensorDifference d =
      compare_tensors("y", left, Tensor::zeros(DType::f32, {100000}), {}, 10);
  EXPECT_EQ(d.differing, 99999u);
  ASSERT_EQ(d.worst.size(), 10u);
  for (size_t i = 0; i < 10; i++)
    EXPECT_DOUBLE_EQ(d.worst[i].left, 99999.0 - static_cast<double>(i));
}

TEST(TensorCompare, OutputsMeetByNameElseByPosition) {
  const NamedTensor a{"a", Tensor::scalar<float>(1)}, b{"b", Tensor::scalar<float>(2)};
  const NamedTensor other{"c", Tensor::scalar<float>(1)};
  EXPECT_TRUE(compare_outputs({a, b}, {b, a}, {})[0].agrees());
  EXPECT_TRUE(compare_outputs({a}, {other}, {})[0].agrees());
  EXPECT_EQ(compare_outputs({a, b}, {a}, {})[1].problem, "the other one has no such output");
}

TEST(TensorCompare, SoftmaxOfARow) {
  const Tensor t = Tensor::of<float>({2, 3}, {9, 9, 9, 1000, 1001, 1002});
  const int64_t order[] = {2, 0};
  const auto parts = softmax_of(t, 1, order);
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(parts[0], 1 / sum, 1e-12);
  EXPECT_NEAR(parts[1], std::exp(-2.0) / sum, 1e-12);
  EXPECT_TRUE(softmax_of(t, 0, {}).empty());
}

TEST(TensorCompare, CoordinatesAndLargest) {
  EXPECT_EQ(coordinates_text({2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(coordinates_text({}, 0), "[]");
  const Tensor t = Tensor::of<float>({2, 4}, {0, 9, NAN, 3, 5, 5, 6, -1});
  EXPECT_EQ(top_elements(t, 0, 2), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(top_elements(t, 1, 3), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(top_elements(t, 0, 10).size(), 3u);
  EXPECT_TRUE(top_elements(t, 2, 10).empty());
  EXPECT_EQ(row_count(t), 2);
}

}  // namespace
}  // namespace poprt::inspector
