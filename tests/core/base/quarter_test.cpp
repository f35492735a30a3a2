#include "base/quarter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"

namespace poprt {
namespace {

// The formats as their specifications describe them, decoded independently in double.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits, bias;
  enum { ieee, only_all_ones_is_nan, minus_zero_is_nan, no_special } special;
  double largest;
};

const Format kFormats[] = {
    {DType::f8e4m3fn, 4, 3, 7, Format::only_all_ones_is_nan, 448},
    {DType::f8e4m3fnuz, 4, 3, 8, Format::minus_zero_is_nan, 240},
    {DType::f8e5m2, 5, 2, 15, Format::ieee, 57344},
    {DType::f8e5m2fnuz, 5, 2, 16, Format::minus_zero_is_nan, 57344},
    {DType::f8_143, 4, 3, 8, Format::minus_zero_is_nan, 240},
    {DType::f8_152, 5, 2, 16, Format::minus_zero_is_nan, 57344},
    {DType::f4e2m1, 2, 1, 1, Format::no_special, 6},
};

double value_of(const Format& f, int code) {
  const int bits = f.exponent_bits + f.mantissa_bits;
  const double sign = (code >> bits) & 1 ? -1 : 1;
  const int exponent = (code >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const int mantissa = code & ((1 << f.mantissa_bits) - 1);
  const bool ones = exponent == (1 << f.exponent_bits) - 1;
  if (f.special == Format::ieee && ones) return mantissa ? std::nan("") : sign * INFINITY;
  if (f.special == Format::only_all_ones_is_nan && ones && mantissa == (1 << f.mantissa_bits) - 1)
    return std::nan("");
  if (f.special == Format::minus_zero_is_nan && code == 1 << bits) return std::nan("");
  const double fraction = mantissa / std::pow(2.0, f.mantissa_bits);
  return exponent ? sign * (1 + fraction) * std::pow(2.0, exponent - f.bias)
                  : sign * fraction * std::pow(2.0, 1 - f.bias);
}

int codes(const Format& f) { return 2 << (f.exponent_bits + f.mantissa_bits); }

// Returns the value that is nearest to `value`, by a search through all finite codes.
double nearest(const Format& f, double value) {
  double best = 0, best_distance = INFINITY;
  int best_code = 0;
  for (int code = 0; code < codes(f); code++) {
    const double v = value_of(f, code);
    if (!std::isfinite(v)) continue;
    const double distance = std::fabs(v - value);
    if (distance < best_distance || (distance == best_distance && (best_code & 1) && !(code & 1))) {
      best = v;
      best_distance = distance;
      best_code = code;
    }
  }
  return best;
}

TEST(Quarter, EveryCodeHasItsDefinedValue) {
  for (const Format& f : kFormats) {
    double largest = 0;
    for (int code = 0; code < codes(f); code++) {
      const float got = quarter_to_float(f.dtype, static_cast<uint8_t>(code));
      const double expected = value_of(f, code);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << dtype_name(f.dtype) << " " << code;
      else
        EXPECT_EQ(got, expected) << dtype_name(f.dtype) << " " << code;
      if (std::isfinite(expected)) largest = std::max(largest, expected);
    }
    EXPECT_EQ(largest, f.largest) << dtype_name(f.dtype);
  }
}

TEST(Quarter, EveryCodeRoundTrips) {
  for (const Format& f : kFormats)
    for (int code = 0; code < codes(f); code++) {
      const float value = quarter_to_float(f.dtype, static_cast<uint8_t>(code));
      for (const bool saturate : {false, true}) {
        if (std::isinf(value) && saturate) continue;  // becomes the largest finite value
        const uint8_t back = float_to_quarter(f.dtype, value, saturate);
        if (std::isnan(value))
          EXPECT_TRUE(std::isnan(quarter_to_float(f.dtype, back)));
        else
          EXPECT_EQ(back, code) << dtype_name(f.dtype);
      }
    }
}

TEST(Quarters, TensorsRoundAsTheTableStates) {
  std::mt19937 random(11);
  for (const Format& f : kFormats) {
    if (f.dtype != DType::f8_143 && f.dtype != DType::f8_152) continue;
    std::vector<float> values = {0.0f, -0.0f, 1e9f, -1e9f, 1e-30f, -1e-30f, 1e-42f};
    for (int code = 0; code < 128; code++) {
      const double low = value_of(f, code);
      values.push_back(static_cast<float>(low));
      values.push_back(static_cast<float>(-low));
      if (code == 127) break;
      const double high = value_of(f, code + 1), middle = (low + high) / 2;
      // Numbers half way between two codes, and their neighbours.
      for (const double v : {middle, middle * (1 + 1e-6), middle * (1 - 1e-6)}) {
        values.push_back(static_cast<float>(v));
        values.push_back(static_cast<float>(-v));
      }
    }
    std::uniform_real_distribution<double> exponent(-20, std::log2(f.largest));
    for (int i = 0; i < 3000; i++)
      values.push_back(static_cast<float>(std::pow(2.0, exponent(random)) * (i % 2 ? 1 : -1)));
    for (const int scale : {-32, -3, 0, 7, 31}) {
      std::vector<float> scaled;
      for (const float v : values) scaled.push_back(std::ldexp(v, scale));
      std::vector<uint8_t> bytes(scaled.size());
      encode_quarters(f.dtype, scale, scaled, bytes);
      std::vector<float> back(scaled.size());
      decode_quarters(f.dtype, scale, bytes, back);
      for (size_t i = 0; i < scaled.size(); i++) {
        const double wanted = nearest(f, std::ldexp(static_cast<double>(scaled[i]), -scale));
        ASSERT_EQ(static_cast<double>(back[i]), std::ldexp(wanted, scale))
            << scaled[i] << " " << scale;
        ASSERT_EQ(value_of(f, bytes[i]), wanted) << scaled[i] << " " << scale;
        ASSERT_NE(bytes[i], 0x80) << "there is no negative zero";
      }
    }
    const float none[] = {std::nanf("")};
    uint8_t code = 0;
    encode_quarters(f.dtype, 0, none, std::span(&code, 1));
    EXPECT_EQ(code, 0x80);
  }
}

TEST(Quarter, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (const Format& f : kFormats) {
    std::vector<float> values;
    std::uniform_real_distribution<double> exponent(-20, std::log2(f.largest));
    for (int i = 0; i < 3000; i++)
      values.push_back(static_cast<float>(std::pow(2.0, exponent(random)) * (i % 2 ? 1 : -1)));
    // All middles between neighbours.
    for (int code = 0; code + 1 < codes(f) / 2; code++) {
      const double low = value_of(f, code), high = value_of(f, code + 1);
      if (std::isfinite(low) && std::isfinite(high))
        values.push_back(static_cast<float>((low + high) / 2));
    }
    for (const float value : values)
      for (const bool saturate : {false, true})
        ASSERT_EQ(quarter_to_float(f.dtype, float_to_quarter(f.dtype, value, saturate)),
                  nearest(f, value))
            << dtype_name(f.dtype) << " of " << value;
  }
}

TEST(Quarter, OverflowSaturatesOnlyOnRequest) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Format& f : kFormats)
    for (const float value : {1e9f, infinity, std::numeric_limits<float>::max()})
      for (const float sign : {1.0f, -1.0f}) {
        const auto decode = [&](bool saturate) {
          return quarter_to_float(f.dtype, float_to_quarter(f.dtype, sign * value, saturate));
        };
        EXPECT_EQ(decode(true), sign * f.largest) << dtype_name(f.dtype);
        if (f.special == Format::ieee)
          EXPECT_EQ(decode(false), sign * infinity);
        else if (f.special == Format::no_special)
          EXPECT_EQ(decode(false), sign * f.largest) << "there is no code for overflow";
        else
          EXPECT_TRUE(std::isnan(decode(false))) << dtype_name(f.dtype);
      }
}

// A number that exceeds the largest value by less than half a step is rounded down to it.
TEST(Quarter, OverflowStartsAtHalfAStep) {
  for (const Format& f : kFormats) {
    if (f.special == Format::no_special) continue;
    const auto largest = static_cast<float>(f.largest);
    const uint8_t code = float_to_quarter(f.dtype, largest, false);
    const float step = largest - quarter_to_float(f.dtype, static_cast<uint8_t>(code - 1));
    const float middle = largest + step / 2;
    EXPECT_EQ(float_to_quarter(f.dtype, std::nextafter(middle, 0.0f), false), code);
    const float above =
        quarter_to_float(f.dtype, float_to_quarter(f.dtype, std::nextafter(middle, 1e9f), false));
    EXPECT_FALSE(std::isfinite(above)) << dtype_name(f.dtype);
    const float at = quarter_to_float(f.dtype, float_to_quarter(f.dtype, middle, false));
    EXPECT_EQ(std::isfinite(at), (code & 1) == 0) << dtype_name(f.dtype);
  }
}

TEST(Quarter, NanAndMinusZero) {
  const float nan = std::nanf("");
  for (const Format& f : kFormats) {
    const float minus_zero = quarter_to_float(f.dtype, float_to_quarter(f.dtype, -0.0f, true));
    EXPECT_EQ(minus_zero, 0.0f);
    EXPECT_EQ(std::signbit(minus_zero), f.special != Format::minus_zero_is_nan);
    if (f.special == Format::no_special) continue;
    EXPECT_TRUE(std::isnan(quarter_to_float(f.dtype, float_to_quarter(f.dtype, nan, true))));
  }
}

TEST(Quarter, PowersOfTwoRoundInTheRequestedMode) {
  for (int code = 0; code < 255; code++) {
    const double power = std::pow(2.0, code - 127);
    const auto exact = static_cast<float>(power);
    ASSERT_EQ(quarter_to_float(DType::f8e8m0, static_cast<uint8_t>(code)), exact);
    for (const auto rounding : {PowerRounding::up, PowerRounding::down, PowerRounding::nearest})
      for (const float sign : {1.0f, -1.0f})
        EXPECT_EQ(float_to_e8m0(sign * exact, rounding, false), code) << "the sign does not count";
    if (code == 254) continue;
    const auto between = [&](double factor, PowerRounding rounding) {
      return float_to_e8m0(static_cast<float>(power * factor), rounding, true) - code;
    };
    EXPECT_EQ(between(1.25, PowerRounding::up), 1);
    EXPECT_EQ(between(1.75, PowerRounding::down), 0);
    EXPECT_EQ(between(1.25, PowerRounding::nearest), 0);
    EXPECT_EQ(between(1.5, PowerRounding::nearest), 1) << "a tie goes up";
    EXPECT_EQ(between(1.75, PowerRounding::nearest), 1);
  }
  EXPECT_TRUE(std::isnan(quarter_to_float(DType::f8e8m0, 255)));
}

// The expected codes are those of the table in ONNX's Cast.
TEST(Quarter, PowersOfTwoSaturateOnlyOnRequest) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto rounding : {PowerRounding::up, PowerRounding::down, PowerRounding::nearest}) {
    for (const float small : {0.0f, 0x1p-128f}) {
      EXPECT_EQ(float_to_e8m0(small, rounding, true), 0);
      EXPECT_EQ(float_to_e8m0(small, rounding, false), 255);
    }
    for (const float large : {0x1.8p127f, infinity}) {
      EXPECT_EQ(float_to_e8m0(large, rounding, true), 254);
      EXPECT_EQ(float_to_e8m0(large, rounding, false), 255);
    }
    EXPECT_EQ(float_to_e8m0(std::nanf(""), rounding, true), 255);
  }
  EXPECT_EQ(float_to_quarter(DType::f8e8m0, 3, true), 129);
}

TEST(Quarter, OtherTypesAreABug) {
  EXPECT_THROW(quarter_to_float(DType::f32, 0), Error);
  EXPECT_THROW(float_to_quarter(DType::s8, 1.0f, true), Error);
}

}  // namespace
}  // namespace poprt
