#include "kernels/calls/non_zero.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

// Columns of indices, found element by element with divisions.
std::vector<int64_t> columns_of(const Tensor& x, int64_t bound) {
  const Shape& dims = x.shape();
  std::vector<int64_t> y(dims.size() * static_cast<size_t>(bound), -1);
  const std::vector<double> values = x.to_doubles();
  int64_t column = 0;
  for (size_t i = 0; i < values.size() && column < bound; i++) {
    if (values[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d])
      y[d * static_cast<size_t>(bound) + static_cast<size_t>(column)] = rest % dims[d];
    column++;
  }
  return y;
}

void expect_found(const Tensor& x, int64_t bound) {
  const auto rank = static_cast<int64_t>(x.shape().size());
  std::vector<Tensor> operands = {x, Tensor::zeros(DType::s64, {rank, bound})};
  test::run_call(calls::NonZero{.bound = bound, .dims = x.shape()}, operands);
  EXPECT_EQ(operands[1].to_int64s(), columns_of(x, bound)) << x.count() << " to " << bound;
}

TEST(NonZeroKernel, FindsElementsOfEveryRankInOrder) {
  std::mt19937 rng(1);
  for (const Shape& shape :
       {Shape{7}, Shape{1}, Shape{3, 5}, Shape{4, 1, 3}, Shape{2, 3, 4, 5}, Shape{1, 1, 1}}) {
    const Tensor x = test::random_numbers(DType::s32, shape, rng);
    expect_found(x, x.count());
    expect_found(x, x.count() + 3);
    expect_found(x, 2);  // fewer than there are
    expect_found(x, 0);
  }
  expect_found(Tensor::zeros(DType::f32, {3, 4}), 12);
  expect_found(Tensor::zeros(DType::f32, {3, 0, 2}), 1);
}

}  // namespace
}  // namespace poprt::kernels
