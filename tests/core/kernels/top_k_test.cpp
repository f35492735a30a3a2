// Compares kernel `top_k` with a sort of the whole row, for each of its algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/calls/top_k.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

template <class T>
void expect_sorted(DType dtype, int64_t n, int64_t inner, int64_t k, bool largest,
                   const std::vector<T>& x) {
  const int64_t columns = static_cast<int64_t>(x.size()) / n, outer = columns / inner;
  const Shape shape = {outer, n, inner}, results = {outer, k, inner};
  const auto count = static_cast<size_t>(columns * k);
  std::vector<T> values(count);
  std::vector<int64_t> indices(count);
  const std::vector<Operand> operands = {{true, dtype, shape, x.size() * sizeof(T)},
                                         {true, dtype, results, count * sizeof(T)},
                                         {true, DType::s64, results, count * 8}};
  const calls::Encoded call = calls::encode(
      calls::TopK{.outer = outer, .n = n, .inner = inner, .k = k, .largest = largest});
  const Plan plan = find_kernel("top_k")->prepare({operands, call.ints, {}});
  std::vector<uint64_t> scratch(plan.scratch_bytes / 8 + 1);
  void* data[] = {const_cast<T*>(x.data()), values.data(), indices.data()};
  plan.run(plan.params.get(), data, 0, plan.tasks, reinterpret_cast<std::byte*>(scratch.data()));
  for (int64_t c = 0; c < columns; c++) {
    const auto at = [&](int64_t i) {
      return x[static_cast<size_t>((c / inner * n + i) * inner + c % inner)];
    };
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const bool a_nan = at(a) != at(a), b_nan = at(b) != at(b);
      if (a_nan != b_nan) return a_nan;
      if (a_nan || at(a) == at(b)) return a < b;
      return largest ? at(a) > at(b) : at(a) < at(b);
    });
    for (int64_t i = 0; i < k; i++) {
      const auto to = static_cast<size_t>((c / inner * k + i) * inner + c % inner);
      const int64_t wanted = order[static_cast<size_t>(i)];
      ASSERT_EQ(indices[to], wanted) << dtype_name(dtype) << " " << i << " of " << k << " of " << n;
      ASSERT_TRUE(values[to] == at(wanted) ||
                  (values[to] != values[to] && at(wanted) != at(wanted)));
    }
  }
}

template <class T>
void expect_all_sorted(DType dtype) {
  std::mt19937 rng(1);
  for (const int64_t n : {1, 5, 16, 40, 300})
    for (const int64_t k : {1, 4, 16, 17, 40, 300})
      for (const int64_t inner : {1, 3})
        for (const bool largest : {false, true})
          for (const uint32_t range : {4u, 100000u}) {  // with and without many equals
            if (k > n) continue;
            std::vector<T> x(static_cast<size_t>(2 * n * inner));
            for (T& v : x) v = static_cast<T>(static_cast<int64_t>(rng() % range) - range / 2);
            if constexpr (std::is_floating_point_v<T>) {
              x[0] = -0.0f;
              x[x.size() / 2] = std::numeric_limits<T>::quiet_NaN();
              x.back() = -std::numeric_limits<T>::infinity();
            }
            expect_sorted<T>(dtype, n, inner, k, largest, x);
          }
}

TEST(TopK, IsAStableSort) {
  expect_all_sorted<float>(DType::f32);
  expect_all_sorted<double>(DType::f64);
  expect_all_sorted<int8_t>(DType::s8);
  expect_all_sorted<uint8_t>(DType::u8);
  expect_all_sorted<int32_t>(DType::s32);
  expect_all_sorted<uint32_t>(DType::u32);
  expect_all_sorted<int64_t>(DType::s64);
}

}  // namespace
}  // namespace poprt::kernels
