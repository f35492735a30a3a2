#include "model/tensor_compare.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"

namespace poprt::inspector {
namespace {

TEST(TensorCompare, CountsAndSortsDifferences) {
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

// Numbers at the limit of the tolerance agree, and an infinite difference is the worst.
TEST(TensorCompare, LimitsAndInfinities) {
  const auto differing = [](double left, double right, Tolerance tolerance) {
    return compare_tensors("y", Tensor::of<double>({1}, {left}), Tensor::of<double>({1}, {right}),
                           tolerance)
        .differing;
  };
  EXPECT_EQ(differing(3, 2, {0.5, 0}), 0u);
  EXPECT_EQ(differing(3, 2, {0, 1}), 0u);
  EXPECT_EQ(differing(3, -2, {0.5, 3.5}), 1u);
  EXPECT_EQ(differing(3, -2, {0.5, 4}), 0u);
  EXPECT_EQ(differing(INFINITY, INFINITY, {}), 0u);
  EXPECT_EQ(differing(1, NAN, {10, 10}), 1u);
  const TensorDifference d = compare_tensors("y", Tensor::of<double>({5}, {1, INFINITY, 7, NAN, 4}),
                                             Tensor::of<double>({5}, {3, 2, 0, 1, 4}), {});
  EXPECT_EQ(d.differing, 4u);
  std::vector<int64_t> order;
  for (const DifferingElement& e : d.worst) order.push_back(e.index);
  EXPECT_EQ(order, (std::vector<int64_t>{1, 3, 2, 0})) << "of equals the first first";
  EXPECT_TRUE(std::isinf(d.largest));
  EXPECT_EQ(d.largest_relative, INFINITY);
  EXPECT_NEAR(d.rms, std::sqrt((4 + 49) / 5.0), 1e-12) << "of those that are finite";
  EXPECT_NEAR(d.rms_right, std::sqrt((9 + 4 + 0 + 1 + 16) / 5.0), 1e-12);
}

// A tolerance relative to an infinity is infinite, but does not accept other numbers.
TEST(TensorCompare, AnInfinityIsEqualOnlyToItself) {
  const float inf = INFINITY;
  const Tensor right = Tensor::of<float>({5}, {inf, -inf, inf, -inf, inf});
  const TensorDifference d =
      compare_tensors("y", Tensor::of<float>({5}, {inf, -inf, -inf, 3, NAN}), right, {1e-3, 1e-4});
  EXPECT_EQ(d.differing, 3u);
  std::vector<int64_t> order;
  for (const DifferingElement& e : d.worst) order.push_back(e.index);
  EXPECT_EQ(order, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(d.largest, INFINITY);
  EXPECT_EQ(d.largest_relative, INFINITY);
  const Tensor finite = Tensor::of<float>({1}, {3}), infinite = Tensor::of<float>({1}, {-inf});
  for (const Tolerance tolerance : {Tolerance{0, 0}, Tolerance{1, 1e30}, Tolerance{inf, inf}}) {
    EXPECT_EQ(compare_tensors("y", finite, infinite, tolerance).differing, 1u);
    EXPECT_EQ(compare_tensors("y", infinite, finite, tolerance).differing, 1u);
  }
}

// Neighbours beyond 2^53 are the same double.
TEST(TensorCompare, ComparesIntegersOf64BitsExactly) {
  constexpr int64_t kLarge = int64_t{1} << 53;
  const TensorDifference d =
      compare_tensors("y", Tensor::of<int64_t>({3}, {kLarge, kLarge, INT64_MIN}),
                      Tensor::of<int64_t>({3}, {kLarge + 1, kLarge, INT64_MAX}), {0, 0});
  ASSERT_EQ(d.differing, 2u);
  EXPECT_EQ(d.worst[0].difference, -0x1p64);
  EXPECT_EQ(d.worst[1].difference, -1);
  EXPECT_EQ(d.worst[1].left_text, "9007199254740992");
  EXPECT_EQ(d.worst[1].right_text, "9007199254740993");
  EXPECT_EQ(compare_tensors("y", Tensor::of<uint64_t>({1}, {UINT64_MAX}),
                            Tensor::of<uint64_t>({1}, {UINT64_MAX - 1}), {0, 0})
                .largest,
            1);
}

TEST(TensorCompare, LocatesDifferencesByRunsOfTheTensor) {
  constexpr size_t kBins = TensorDifference::kBins;
  std::vector<uint8_t> values(4 * kBins);
  values[0] = values[3] = values[4] = values.back() = 1;
  const Tensor zeros = Tensor::zeros(DType::u8, {4 * kBins});
  const TensorDifference d = compare_tensors(
      "y", Tensor::of<uint8_t>({4 * kBins}, std::span<const uint8_t>(values)), zeros, {});
  EXPECT_EQ(d.where[0], 2u);
  EXPECT_EQ(d.where[1], 1u);
  EXPECT_EQ(d.where[kBins - 1], 1u);
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(compare_tensors("y", zeros, zeros, {}, 10, &cancel), Error);
  // There are more elements than one run has, and the last one differs.
  std::vector<uint8_t> many((1 << 16) + 3);
  many.back() = 1;
  const auto count = static_cast<int64_t>(many.size());
  EXPECT_EQ(compare_tensors("y", Tensor::of<uint8_t>({count}, std::span<const uint8_t>(many)),
                            Tensor::zeros(DType::u8, {count}), {})
                .worst.at(0)
                .index,
            count - 1);
  EXPECT_TRUE(
      compare_tensors("y", Tensor::zeros(DType::f32, {0}), Tensor::zeros(DType::f32, {0}), {})
          .agrees());
}

TEST(TensorCompare, TextAndComplexNumbersAreNotCompared) {
  const Tensor text = Tensor::strings({1}, {"a"}), complex = Tensor::zeros(DType::c64, {1}),
               wide = Tensor::zeros(DType::c128, {1}), number = Tensor::zeros(DType::f32, {1});
  for (const Tensor& other : {text, complex, wide}) {
    EXPECT_FALSE(compare_tensors("y", other, number, {}).agrees());
    EXPECT_FALSE(compare_tensors("y", number, other, {}).agrees());
    EXPECT_TRUE(top_elements(other, 0, 1).empty());
  }
  EXPECT_FALSE(compare_tensors("y", Tensor(), Tensor(), {}).agrees());
  EXPECT_TRUE(compare_tensors("y", number, Tensor::zeros(DType::s8, {1}), {}).agrees());
}

TEST(TensorCompare, RowsAreAlongTheLastDimension) {
  const Tensor scalar = Tensor::scalar(3.0f), none = Tensor::zeros(DType::f32, {3, 0});
  EXPECT_EQ(row_count(scalar), 1);
  EXPECT_EQ(row_length(scalar), 1);
  EXPECT_EQ(row_count(none), 0);
  EXPECT_EQ(row_count(Tensor::zeros(DType::f32, {2, 3, 4})), 6);
  EXPECT_EQ(top_elements(scalar, 0, 4), std::vector<int64_t>{0});
  EXPECT_TRUE(top_elements(scalar, -1, 4).empty());
  EXPECT_TRUE(top_elements(scalar, 1, 4).empty());
  EXPECT_EQ(coordinates_text({2, 0, 3}, 4), "[1, 0, 1]");
  EXPECT_EQ(coordinates_text({5}, 4), "[4]");
}

// If both models have an output of the same name, outputs are matched by name; otherwise by
// position, if both have the same number of outputs.
TEST(TensorCompare, OutputsOfOtherNamesHaveNoPartner) {
  const NamedTensor a{"a", Tensor::scalar(1.0f)}, b{"b", Tensor::scalar(2.0f)},
      c{"c", Tensor::scalar(1.0f)}, d{"d", Tensor::scalar(5.0f)};
  const auto list = compare_outputs({a, b}, {d, a}, {});
  EXPECT_TRUE(list[0].agrees());
  EXPECT_EQ(list[0].name, "a");
  EXPECT_EQ(list[1].name, "b");
  EXPECT_EQ(list[1].problem, "the other model has no such output");
  const auto unnamed = compare_outputs({a, b}, {c, d}, {});
  EXPECT_TRUE(unnamed[0].agrees());
  EXPECT_EQ(unnamed[1].worst.at(0).right, 5);
  for (const TensorDifference& none : compare_outputs({a, b}, {c}, {}))
    EXPECT_EQ(none.problem, "the other model has no such output");
}

TEST(TensorCompare, OutputsMeetByNameElseByPosition) {
  const NamedTensor a{"a", Tensor::scalar<float>(1)}, b{"b", Tensor::scalar<float>(2)};
  const NamedTensor other{"c", Tensor::scalar<float>(1)};
  EXPECT_TRUE(compare_outputs({a, b}, {b, a}, {})[0].agrees());
  EXPECT_TRUE(compare_outputs({a}, {other}, {})[0].agrees());
  EXPECT_EQ(compare_outputs({a, b}, {a}, {})[1].problem, "the other model has no such output");
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

TEST(TensorCompare, TheWorstElementsHaveTheLargestDifference) {
  const TensorDifference d = compare_tensors("y", Tensor::of<float>({3}, {10, 3, -8}),
                                             Tensor::of<float>({3}, {9, -3, -6}), {});
  std::vector<int64_t> order;
  for (const DifferingElement& e : d.worst) order.push_back(e.index);
  EXPECT_EQ(order, (std::vector<int64_t>{1, 2, 0}));
  const TensorDifference one = compare_tensors("y", Tensor::scalar(5.0f), Tensor::scalar(3.0f), {});
  EXPECT_EQ(one.rms, 2);
  EXPECT_EQ(one.rms_right, 3);
}

TEST(TensorCompare, AThousandElementsAreKept) {
  const Tensor zeros = Tensor::zeros(DType::s8, {1001}),
               ones = Tensor::of<int8_t>({1001}, std::vector<int8_t>(1001, 1));
  EXPECT_EQ(compare_tensors("y", ones, zeros, {}).worst.size(), 1000u);
  const auto list = compare_outputs({{"y", ones}}, {{"y", zeros}}, {});
  EXPECT_EQ(list.at(0).worst.size(), 1000u);
  EXPECT_EQ(list[0].differing, 1001u);
}

// If nothing could be compared, the result contains a problem and no numbers.
TEST(TensorCompare, WithoutAPartnerThereAreNoNumbers) {
  for (const TensorDifference& d :
       {compare_outputs({{"y", Tensor::scalar(1.0f)}}, {}, {}).at(0),
        compare_tensors("y", Tensor::scalar(1.0f), Tensor::zeros(DType::f32, {1}), {})}) {
    EXPECT_EQ(d.elements + d.differing, 0u);
    EXPECT_EQ(d.largest + d.largest_relative + d.rms + d.rms_right, 0);
    EXPECT_TRUE(d.worst.empty());
    EXPECT_FALSE(d.agrees());
  }
}

TEST(TensorCompare, ComputesSoftmaxOfTheRequestedRow) {
  const Tensor t = Tensor::of<float>({3, 2}, {0, 0, 0, 0, 1, 3});
  const int64_t order[] = {1};
  EXPECT_NEAR(softmax_of(t, 2, order).at(0), 1 / (1 + std::exp(-2.0)), 1e-12);
  EXPECT_TRUE(softmax_of(Tensor::zeros(DType::f32, {0}), 0, {}).empty());
}

// As by ONNX's Softmax.
TEST(TensorCompare, SoftmaxOfRowsThatAreNotFinite) {
  const float inf = INFINITY, nan = NAN;
  const int64_t order[] = {1, 2};
  for (const std::vector<float>& row : {std::vector<float>{nan, 1, 2},
                                        {1, nan, 2},
                                        {1, 2, nan},
                                        {1, inf, 2},
                                        {inf, 1, 2},
                                        {-inf, -inf, -inf}}) {
    const auto parts = softmax_of(Tensor::of<float>({3}, std::span<const float>(row)), 0, order);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_TRUE(std::isnan(parts[0]) && std::isnan(parts[1]));
  }
  const auto masked = softmax_of(Tensor::of<float>({3}, {-inf, 1, -inf}), 0, order);
  EXPECT_EQ(masked, (std::vector<double>{1, 0}));
}

// More elements than are converted at a time.
TEST(TensorCompare, TopElementsAndSoftmaxOfALongRow) {
  constexpr int64_t kLength = 100003;
  std::vector<float> values(2 * kLength);
  for (size_t i = 0; i < values.size(); i++)
    values[i] = static_cast<float>((i * 7919) % kLength) / 1000;
  const Tensor t = Tensor::of<float>({2, kLength}, std::span<const float>(values));
  const auto order = top_elements(t, 1, 5);
  ASSERT_EQ(order.size(), 5u);
  double sum = 0;
  for (int64_t i = 0; i < kLength; i++)
    sum += std::exp(static_cast<double>(values[static_cast<size_t>(kLength + i)]));
  const auto parts = softmax_of(t, 1, order);
  for (size_t k = 0; k < 5; k++) {
    const float v = values[static_cast<size_t>(kLength + order[k])];
    EXPECT_EQ(v, static_cast<float>(kLength - 1 - static_cast<int64_t>(k)) / 1000);
    EXPECT_NEAR(parts[k], std::exp(static_cast<double>(v)) / sum, 1e-12);
  }
}

}  // namespace
}  // namespace poprt::inspector
