#include "compiler/quantize/format_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace poprt::compiler {
namespace {

using passes::QuarterFormat;

// Rounds by the definition of the format: to the nearest of its 255 numbers; of two, to the even
// code.
float nearest(float value, const QuarterFormat& format) {
  const int mantissa = format.dtype == DType::f8_143 ? 3 : 2;
  const int bias = format.dtype == DType::f8_143 ? 8 : 16;
  double best = 0, distance = INFINITY;
  int best_code = 0;
  for (int code = 0; code < 128; code++) {
    const int e = code >> mantissa, m = code & ((1 << mantissa) - 1);
    const double v = e == 0 ? std::ldexp(m, 1 - bias - mantissa + format.scale)
                            : std::ldexp(m + (1 << mantissa), e - bias - mantissa + format.scale);
    const double d = std::fabs(std::fabs(static_cast<double>(value)) - v);
    if (d < distance || (d == distance && code % 2 == 0 && best_code % 2 != 0)) {
      best = v;
      distance = d;
      best_code = code;
    }
  }
  return static_cast<float>(std::copysign(best, static_cast<double>(value)));
}

std::vector<float> random_values(uint32_t seed, float deviation, size_t count) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& v : values) v = normal(rng);
  return values;
}

TEST(FormatSearch, FindsTheResultOfBruteForce) {
  for (const float deviation : {1e-4f, 0.03f, 1.0f, 500.0f}) {
    const std::vector<float> values = random_values(5, deviation, 300);
    for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist}) {
      double best = INFINITY;
      for (const DType dtype : {DType::f8_143, DType::f8_152})
        for (int scale = -32; scale < 32; scale++) {
          std::vector<float> is;
          for (const float v : values) is.push_back(nearest(v, {dtype, scale}));
          best = std::min(best, loss_of(loss, values, is));
        }
      const FormatSearch search = search_format(values, loss);
      EXPECT_NEAR(search.chosen().loss, best, 1e-9 * best) << loss_name(loss) << " " << deviation;
    }
  }
}

// Signs, and numbers that are almost equal, as after pooling: no loss chooses a format that cuts
// all of them off.
TEST(FormatSearch, KeepsMagnitudesThatAreAlmostEqual) {
  std::vector<float> signs = random_values(1, 1, 200), pooled = random_values(2, 0.02f, 200);
  for (float& v : signs) v = std::copysign(0.4f, v);
  for (float& v : pooled) v += 3;
  for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist})
    for (const auto& values : {signs, pooled}) {
      const auto is = rounded(values, search_format(values, loss).chosen().format);
      EXPECT_LT(loss_of(Loss::snr, values, is), 0.005) << loss_name(loss) << " " << values[0];
    }
}

TEST(FormatSearch, RoundsAsTheFormatsAreDefined) {
  const std::vector<float> values = random_values(9, 3, 500);
  for (const DType dtype : {DType::f8_143, DType::f8_152})
    for (const int scale : {-9, -2, 0, 5}) {
      const std::vector<float> is = rounded(values, {dtype, scale});
      for (size_t i = 0; i < values.size(); i++)
        EXPECT_EQ(is[i], nearest(values[i], {dtype, scale})) << values[i];
    }
}

// The scales of each format are the one at which the greatest number fits, one above it and eight
// below.
TEST(FormatSearch, TriesScalesAroundTheOneThatFits) {
  const auto scales = [](float most, DType dtype) {
    std::vector<int> list;
    for (const FormatTrial& t :
         search_format(std::vector<float>{most, 0, -most / 3, INFINITY}, Loss::mse).trials)
      if (t.format.dtype == dtype) list.push_back(t.format.scale);
    return std::pair(list.front(), list.back());
  };
  EXPECT_EQ(scales(240, DType::f8_143), std::pair(-8, 1)) << "it just fits";
  EXPECT_EQ(scales(241, DType::f8_143), std::pair(-7, 2));
  EXPECT_EQ(scales(-120, DType::f8_143), std::pair(-9, 0));
  EXPECT_EQ(scales(57344, DType::f8_152), std::pair(-8, 1));
  EXPECT_EQ(scales(57345, DType::f8_152), std::pair(-7, 2));
  EXPECT_EQ(scales(1e30f, DType::f8_143), std::pair(31, 31)) << "the greatest that there is";
  EXPECT_EQ(scales(1e-30f, DType::f8_143), std::pair(-32, -32));
  EXPECT_EQ(scales(0, DType::f8_143), std::pair(-8, 1));
}

TEST(FormatSearch, IgnoresInfinitiesAndNaN) {
  const std::vector<float> finite = random_values(5, 1, 300);
  for (const float other : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> values = finite;
    values.insert(values.begin() + 100, other);
    for (const Loss loss : {Loss::mse, Loss::mae, Loss::snr, Loss::kld, Loss::cos_dist}) {
      const FormatSearch all = search_format(values, loss), wanted = search_format(finite, loss);
      EXPECT_EQ(all.best, wanted.best) << loss_name(loss) << " with " << other;
      EXPECT_EQ(all.chosen().loss, wanted.chosen().loss) << loss_name(loss) << " with " << other;
    }
  }
}

TEST(FormatSearch, AcceptsZerosAndEmptyTensors) {
  for (const size_t count : {size_t{0}, size_t{4}}) {
    const FormatSearch search = search_format(std::vector<float>(count), Loss::mse);
    EXPECT_EQ(search.chosen().loss, 0);
  }
}

}  // namespace
}  // namespace poprt::compiler
