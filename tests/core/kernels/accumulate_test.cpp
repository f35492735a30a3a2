#include "kernels/common/accumulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

constexpr ScatterReduction kArithmetic[] = {ScatterReduction::add, ScatterReduction::mul,
                                            ScatterReduction::min, ScatterReduction::max};

double combined(ScatterReduction reduction, double a, double b) {
  switch (reduction) {
    case ScatterReduction::add: return a + b;
    case ScatterReduction::mul: return a * b;
    case ScatterReduction::min: return std::min(a, b);
    case ScatterReduction::max: return std::max(a, b);
    case ScatterReduction::none: break;
  }
  return b;
}

// Numbers, their sums and their products are exact in every type.
TEST(Accumulate, CombinesElementByElement) {
  std::mt19937 random(1);
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::s8, DType::u8,
                           DType::s32, DType::u32, DType::s64, DType::u64})
    for (const ScatterReduction reduction :
         {ScatterReduction::none, ScatterReduction::add, ScatterReduction::mul,
          ScatterReduction::min, ScatterReduction::max}) {
      Tensor to = test::random_numbers(type, {9}, random);
      const Tensor from = test::random_numbers(type, {9}, random);
      const auto before = to.to_doubles(), with = from.to_doubles();
      const Accumulate run = find_accumulate(type, reduction);
      ASSERT_NE(run, nullptr);
      run(to.mutable_data(), from.data(), 8);
      const auto after = to.to_doubles();
      for (size_t i = 0; i < 8; i++)
        EXPECT_EQ(after[i], test::stored(type, combined(reduction, before[i], with[i])))
            << dtype_name(type) << " " << static_cast<int>(reduction) << " " << i;
      EXPECT_EQ(after[8], before[8]) << "only the given number";
    }
}

Tensor three(DType type, const std::array<float, 3>& values) {
  Tensor t = Tensor::zeros(type, {3});
  for (size_t i = 0; i < 3; i++) {
    switch (type) {
      case DType::f64: t.mutable_values<double>()[i] = static_cast<double>(values[i]); break;
      case DType::f16: t.mutable_values<f16_t>()[i] = to_f16(values[i]); break;
      case DType::bf16: t.mutable_values<bf16_t>()[i] = to_bf16(values[i]); break;
      default: t.mutable_values<float>()[i] = values[i]; break;
    }
  }
  return t;
}

// ONNX Runtime has the same rule: if either number is NaN, the result is the update.
TEST(Accumulate, OfNanAndAnUpdateIsTheUpdate) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const ScatterReduction reduction : {ScatterReduction::min, ScatterReduction::max}) {
      Tensor to = three(type, {1, kNan, kNan});
      const Tensor from = three(type, {kNan, 2, kNan});
      find_accumulate(type, reduction)(to.mutable_data(), from.data(), 3);
      const auto y = to.to_doubles();
      EXPECT_TRUE(std::isnan(y[0])) << dtype_name(type);
      EXPECT_EQ(y[1], 2) << dtype_name(type);
      EXPECT_TRUE(std::isnan(y[2])) << dtype_name(type);
    }
}

// test::random_numbers() creates no integers of 16 bits, so the first test does not cover them.
TEST(Accumulate, SmallIntegersWrap) {
  const auto run = [](DType type, ScatterReduction reduction, auto a, auto b) {
    find_accumulate(type, reduction)(&a, &b, 1);
    return a;
  };
  EXPECT_EQ(run(DType::s16, ScatterReduction::add, int16_t{32767}, int16_t{2}), -32767);
  EXPECT_EQ(run(DType::u16, ScatterReduction::mul, uint16_t{65535}, uint16_t{65535}), 1);
  EXPECT_EQ(run(DType::s16, ScatterReduction::min, int16_t{-3}, int16_t{2}), -3);
  EXPECT_EQ(run(DType::u16, ScatterReduction::max, uint16_t{3}, uint16_t{60000}), 60000);
  EXPECT_EQ(run(DType::s8, ScatterReduction::add, int8_t{127}, int8_t{1}), -128);
  EXPECT_EQ(run(DType::s64, ScatterReduction::add, INT64_MAX, int64_t{1}), INT64_MIN);
  EXPECT_EQ(run(DType::s32, ScatterReduction::mul, INT32_MIN, int32_t{-1}), INT32_MIN);
  EXPECT_EQ(run(DType::u16, ScatterReduction::none, uint16_t{3}, uint16_t{4}), 4);
}

TEST(Accumulate, TypesHaveTheOperationsTheyHave) {
  for (const DType type : {DType::boolean, DType::f8e4m3fn, DType::c64, DType::c128}) {
    EXPECT_NE(find_accumulate(type, ScatterReduction::none), nullptr) << dtype_name(type);
    for (const ScatterReduction reduction : kArithmetic)
      EXPECT_EQ(find_accumulate(type, reduction), nullptr) << dtype_name(type);
  }
  for (const DType type : {DType::s4, DType::u4, DType::u2})
    EXPECT_EQ(find_accumulate(type, ScatterReduction::none), nullptr) << dtype_name(type);
  const double from[2] = {1, 2};
  double to[2] = {};
  find_accumulate(DType::c128, ScatterReduction::none)(to, from, 1);
  EXPECT_EQ(to[0] + to[1], 3);
}

}  // namespace
}  // namespace poprt::kernels
