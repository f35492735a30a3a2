// Runs the casting and quantising kernels, and deform_conv, on NaN, infinities and the largest
// values, with every instruction set. UBSan reports conversions of numbers that the result cannot
// represent.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "base/denormals.h"
#include "base/half.h"
#include "base/quarter.h"
#include "core/kernels/every_isa.h"
#include "core/kernels/run_call.h"
#include "kernels/calls/cast.h"
#include "kernels/calls/deform_conv.h"
#include "kernels/calls/dequantize.h"
#include "kernels/calls/dynamic_quantize.h"
#include "kernels/calls/quantize.h"
#include "kernels/calls/requantize.h"

namespace poprt::kernels::extreme_values {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A number is more than once in the list, so that vector code and the rest of a row compute it.
std::vector<double> extremes() {
  std::vector<double> some = {kNaN, -kNaN, kInfinity, -kInfinity, 0.0, -0.0, 0.5, -0.5, 1.5, -1.0};
  for (const double power : {7, 8, 15, 16, 31, 32, 63, 64, 127, 1000})
    for (const double sign : {1.0, -1.0})
      for (const double near : {-1.0, 0.0, 1.0}) some.push_back(sign * (std::exp2(power) + near));
  for (const double largest :
       {1.7976931348623157e308, 3.4028234663852886e38, 65504.0, 3.3895313892515355e38, 57344.0,
        448.0, 240.0, 6.0, 5e-324, 1.401298464324817e-45, 5.960464477539063e-08})
    some.insert(some.end(), {largest, -largest});
  std::vector<double> all;
  for (int i = 0; i < 3; i++) all.insert(all.end(), some.begin(), some.end());
  return all;
}

Tensor tensor_of(DType dtype, const std::vector<double>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  Tensor t = Tensor::zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); i++) {
    const auto f = static_cast<float>(values[i]);
    switch (dtype) {
      case DType::f64: t.mutable_values<double>()[i] = values[i]; break;
      case DType::f32: t.mutable_values<float>()[i] = f; break;
      case DType::f16: t.mutable_values<f16_t>()[i] = to_f16(f); break;
      default: t.mutable_values<bf16_t>()[i] = to_bf16(f); break;
    }
  }
  return t;
}

// The rule of calls/cast.h.
int64_t cast_to_integer(double v, DType to) {
  const bool wide = to == DType::s64 || to == DType::u64 || to == DType::u32;
  const double limit = std::exp2(wide ? 63 : 31), whole = std::trunc(v);
  if (to == DType::u64 && whole >= limit && whole < 2 * limit)
    return static_cast<int64_t>(static_cast<uint64_t>(whole));
  if (!(whole >= -limit && whole < limit))
    return wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  return static_cast<int64_t>(whole);
}

int64_t low_bits(int64_t v, DType t) {
  const int bits = dtype_bits(t);
  if (bits == 64) return v;
  const auto low = static_cast<int64_t>(static_cast<uint64_t>(v) & ((uint64_t{1} << bits) - 1));
  const bool is_signed =
      t == DType::s2 || t == DType::s4 || t == DType::s8 || t == DType::s16 || t == DType::s32;
  return is_signed && low >> (bits - 1) != 0 ? low - (int64_t{1} << bits) : low;
}

Tensor cast(const Tensor& from, DType to) {
  std::vector<Tensor> operands = {from, Tensor::zeros(to, from.shape())};
  test::run_call(calls::Cast{}, operands);
  return operands[1];
}

constexpr DType kReals[] = {DType::f64, DType::f32, DType::f16, DType::bf16};
constexpr DType kIntegers[] = {DType::s2,  DType::u2,  DType::s4,  DType::u4,
                               DType::s8,  DType::u8,  DType::s16, DType::u16,
                               DType::s32, DType::u32, DType::s64, DType::u64};

void check_casts_to_integers() {
  for (const DType from : kReals) {
    const Tensor x = tensor_of(from, extremes());
    const std::vector<double> values = x.to_doubles();
    for (const DType to : kIntegers) {
      const std::vector<int64_t> y = cast(x, to).to_int64s();
      for (size_t i = 0; i < y.size(); i++)
        EXPECT_EQ(y[i], low_bits(cast_to_integer(values[i], to), to))
            << dtype_name(from) << " " << values[i] << " to " << dtype_name(to);
    }
    const std::vector<int64_t> truths = cast(x, DType::boolean).to_int64s();
    for (size_t i = 0; i < truths.size(); i++) EXPECT_EQ(truths[i], values[i] != 0) << values[i];
  }
}

void check_casts_to_reals() {
  for (const DType from : kReals) {
    const Tensor x = tensor_of(from, extremes());
    const std::vector<double> values = x.to_doubles();
    for (const DType to : kReals) {
      const std::vector<double> y = cast(x, to).to_doubles();
      const double largest = to == DType::f64    ? 1.7976931348623157e308
                             : to == DType::f16  ? 65504
                             : to == DType::bf16 ? 3.3895313892515355e38
                                                 : 3.4028234663852886e38;
      for (size_t i = 0; i < y.size(); i++) {
        const double v = values[i];
        EXPECT_EQ(std::isnan(y[i]), std::isnan(v)) << v << " to " << dtype_name(to);
        if (std::isnan(v)) continue;
        EXPECT_EQ(std::signbit(y[i]), std::signbit(v)) << v << " to " << dtype_name(to);
        // Numbers that are much larger than the largest one become infinite, others stay near.
        if (std::fabs(v) > largest * 1.01)
          EXPECT_TRUE(std::isinf(y[i])) << v << " to " << dtype_name(to);
        else if (std::fabs(v) < largest * 0.99)
          EXPECT_NEAR(y[i], v, std::fabs(v) * 0.004 + 3e-8) << v << " to " << dtype_name(to);
      }
    }
    for (const DType to : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}) {
      const Tensor codes = cast(x, to);
      for (size_t i = 0; i < values.size(); i++) {
        const float y = quarter_to_float(to, static_cast<const uint8_t*>(codes.data())[i]);
        EXPECT_EQ(std::isnan(y), std::isnan(values[i])) << values[i] << " to " << dtype_name(to);
        if (std::fabs(values[i]) > 60000)
          EXPECT_GE(std::fabs(y), 240.0f) << values[i] << " to " << dtype_name(to);
        EXPECT_FALSE(std::isinf(y)) << values[i] << " saturates to " << dtype_name(to);
      }
    }
  }
}

// An integer is rounded once. 2^24 + 2^16 + 1 is nearest to 2^24 + 2^16 in f32, where it would be a
// tie of bf16.
void check_casts_of_integers() {
  std::mt19937_64 random(3);
  std::vector<int64_t> values = {16842753, -16842753, (int64_t{1} << 53) + (1 << 20) + 1};
  for (int i = 0; i < 2000; i++) {
    const auto bits = static_cast<int64_t>(random() >> (random() % 60 + 1));
    // A number next to a tie of a mantissa of 8 or 11 bits.
    const int width = static_cast<int>(std::bit_width(static_cast<uint64_t>(bits))),
              kept = i % 2 ? 8 : 11;
    int64_t v = bits;
    if (width > kept + 1) {
      v = (bits >> (width - kept) | 1) << (width - kept);
      v += (int64_t{1} << (width - kept - 1)) + static_cast<int64_t>(random() % 3) - 1;
    }
    values.push_back(random() % 2 ? v : -v);
  }
  for (const DType from : {DType::s64, DType::u64, DType::s32})
    for (const DType to : {DType::bf16, DType::f16}) {
      const auto n = static_cast<int64_t>(values.size());
      Tensor x = Tensor::zeros(from, {n});
      for (size_t i = 0; i < values.size(); i++) {
        if (from == DType::s32)
          x.mutable_values<int32_t>()[i] = static_cast<int32_t>(values[i]);
        else if (from == DType::s64)
          x.mutable_values<int64_t>()[i] = values[i];
        else
          x.mutable_values<uint64_t>()[i] = static_cast<uint64_t>(values[i]);
      }
      const std::vector<double> y = cast(x, to).to_doubles();
      for (size_t i = 0; i < values.size(); i++) {
        const long double v = from == DType::s32 ? x.values<int32_t>()[i]
                              : from == DType::s64
                                  ? static_cast<long double>(values[i])
                                  : static_cast<long double>(x.values<uint64_t>()[i]);
        // Rounds to `kept` bits, ties to even; long double represents 64 bits.
        const int kept = to == DType::bf16 ? 8 : 11;
        const int exponent = v == 0 ? 0 : std::ilogb(v) + 1 - kept;
        const long double wanted =
            exponent <= 0 ? v : std::ldexp(std::nearbyint(std::ldexp(v, -exponent)), exponent);
        if (to == DType::f16 && std::abs(wanted) > 65504)
          EXPECT_TRUE(std::isinf(y[i])) << static_cast<double>(v);
        else
          EXPECT_EQ(y[i], static_cast<double>(wanted))
              << dtype_name(from) << " to " << dtype_name(to) << " " << i;
      }
    }
}

// The scale 2^-127 is subnormal in f32. The device's threads read subnormal numbers as 0.
void check_smallest_power_as_scale() {
  const FlushDenormals flush;
  const Tensor scales = Tensor::zeros(DType::f8e8m0, {1});  // code 0
  for (const DType type : {DType::s8, DType::s32, DType::f8e4m3fn}) {
    const Tensor four = cast(Tensor::of<float>({1}, {4.0f}), type);
    std::vector<Tensor> operands = {four, scales, Tensor(), Tensor::zeros(DType::f32, {1})};
    calls::Dequantize call;
    call.grid.n = 1;
    test::run_call(call, operands);
    EXPECT_EQ(operands[3].values<float>()[0], 0x1p-125f) << dtype_name(type);
  }
  for (const DType type : {DType::s8, DType::s4, DType::f8e4m3fn}) {
    std::vector<Tensor> operands = {Tensor::of<float>({1}, {0x1.8p-125f}), scales, Tensor(),
                                    Tensor::zeros(type, {1})};
    calls::Quantize call;
    call.grid.n = 1;
    test::run_call(call, operands);
    EXPECT_EQ(cast(operands[3], DType::f32).values<float>()[0], 6) << dtype_name(type);
  }
}

// Taps in the padding, and neighbours outside, are 0 whatever pixel 0 of the plane is.
void check_deformed_padding() {
  const calls::DeformConv call{
      .n = 1, .c = 1, .h = 4, .w = 4, .m = 1, .oh = 4, .ow = 4, .kh = 3, .kw = 3, .py = 1, .px = 1};
  for (const DType type : {DType::f32, DType::f64}) {
    std::vector<double> pixels(16, 1.0);
    pixels[0] = kInfinity;
    std::vector<Tensor> operands = {tensor_of(type, pixels),
                                    tensor_of(type, std::vector<double>(9, 1.0)),
                                    tensor_of(type, std::vector<double>(9 * 2 * 16, 0.0)),
                                    Tensor(),
                                    Tensor(),
                                    Tensor::zeros(type, {16})};
    test::run_call(call, operands);
    const std::vector<double> y = operands[5].to_doubles();
    for (size_t i = 0; i < 16; i++) {
      const size_t row = i / 4, column = i % 4;
      if (row < 2 && column < 2)
        EXPECT_EQ(y[i], kInfinity) << i;
      else
        EXPECT_EQ(y[i], (row == 3 ? 2 : 3) * (column == 3 ? 2 : 3) -
                            (row == 0 ? 3 - (column == 3) : 0) - (column == 0 ? 3 - (row == 3) : 0))
            << i;
    }
  }
}

void check_quantize() {
  const Tensor x = tensor_of(DType::f32, extremes());
  const std::vector<double> values = x.to_doubles();
  const auto n = static_cast<int64_t>(values.size());
  for (const DType to : {DType::u8, DType::s8, DType::u16, DType::s16, DType::s4, DType::u4}) {
    const int bits = dtype_bits(to);
    const bool is_signed = to == DType::s8 || to == DType::s16 || to == DType::s4;
    const double low = is_signed ? -std::exp2(bits - 1) : 0, high = low + std::exp2(bits) - 1;
    for (const float scale : {0.5f, 3e38f, 1e-30f, 1e-45f}) {
      calls::Quantize call;
      call.grid.n = n;
      std::vector<Tensor> operands = {x, Tensor::of<float>({1}, {scale}), Tensor(),
                                      Tensor::zeros(to, {n})};
      test::run_call(call, operands);
      const std::vector<int64_t> y = operands[3].to_int64s();
      std::optional<int64_t> of_nan;
      for (size_t i = 0; i < y.size(); i++) {
        const float q = std::nearbyint(static_cast<float>(values[i]) / scale);
        if (std::isnan(q)) {
          EXPECT_EQ(y[i], of_nan.value_or(y[i])) << "the position does not matter";
          of_nan = y[i];
        } else {
          EXPECT_EQ(static_cast<double>(y[i]), std::clamp(static_cast<double>(q), low, high))
              << values[i] << " / " << scale << " as " << dtype_name(to);
        }
      }
    }
  }
}

void check_dynamic_quantize() {
  const auto inf = static_cast<float>(kInfinity), nan = static_cast<float>(kNaN);
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const float special : {nan, inf, -inf, kMost, -kMost})
    for (const float other : {0.0f, 1.0f, -1.0f, -kMost, -inf, nan})
      for (const size_t at : {size_t{0}, size_t{17}, size_t{38}}) {
        std::vector<float> x(39, other);
        x[at] = special;
        std::vector<Tensor> operands = {
            Tensor::of<float>({39}, std::span<const float>(x)), Tensor::zeros(DType::u8, {39}),
            Tensor::zeros(DType::f32, {1}), Tensor::zeros(DType::u8, {1})};
        test::run_call(calls::DynamicQuantize{}, operands);
        const double scale = operands[2].to_doubles()[0];
        const int64_t zero = operands[3].to_int64s()[0];
        // A range that is not finite has no position of 0.
        if (!std::isfinite(scale)) EXPECT_EQ(zero, 0) << special << " among " << other;
        if (special == kMost && other >= 0) EXPECT_EQ(operands[1].to_int64s()[at], 255);
        if (special == -kMost && other >= 0) EXPECT_EQ(operands[1].to_int64s()[at], 0);
      }
}

void check_requantize() {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min(), kHigh = 2147483647;
  std::vector<int32_t> sums;
  for (int i = 0; i < 9; i++) sums.insert(sums.end(), {kLow, kHigh, 0, 1, -1, 1 << 24});
  const auto n = static_cast<int64_t>(sums.size());
  for (const DType to : {DType::u8, DType::s8})
    for (const float scale : {1e-30f, 1.0f, 3e38f, static_cast<float>(kInfinity)}) {
      const auto one = [](float v) { return Tensor::of<float>({1}, {v}); };
      std::vector<Tensor> operands = {
          Tensor::of<int32_t>({1, 1, n}, std::span<const int32_t>(sums)),
          one(scale),
          one(1.0f),
          one(1.0f),
          Tensor::zeros(to, {1}),
          Tensor::zeros(to, {1, 1, n})};
      test::run_call(calls::Requantize{.outer = 1, .rows = 1, .columns = n}, operands);
      const std::vector<int64_t> y = operands[5].to_int64s();
      const double low = to == DType::s8 ? -128 : 0, high = low + 255;
      for (size_t i = 0; i < y.size(); i++) {
        const float v = std::nearbyint(static_cast<float>(sums[i]) * scale);
        if (!std::isnan(v))
          EXPECT_EQ(static_cast<double>(y[i]), std::clamp(static_cast<double>(v), low, high))
              << sums[i] << " * " << scale << " as " << dtype_name(to);
      }
    }
}

TEST(ExtremeValues, AreConvertedByTheRulesOnEveryInstructionSet) {
  test::expect_on_isas({"baseline", "avx2", "avx512"}, [] {
    check_casts_to_integers();
    check_casts_to_reals();
    check_casts_of_integers();
    check_quantize();
    check_smallest_power_as_scale();
    check_deformed_padding();
    check_dynamic_quantize();
    check_requantize();
  });
}

}  // namespace
}  // namespace poprt::kernels::extreme_values
