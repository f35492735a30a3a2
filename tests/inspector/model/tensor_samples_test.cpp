#include "model/tensor_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include "base/error.h"
#include "model/tensor_compare.h"

namespace poprt::inspector {
namespace {

Tensor noise(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  for (float& v : t.mutable_values<float>()) v = normal(random);
  return t;
}

// Every sample is the pixel at its place, relative to the range of the whole first picture.
TEST(TensorSamples, APictureIsSampledOverItsWholeRange) {
  constexpr int kMost = 16;
  for (const Shape& shape :
       {Shape{40, 300}, Shape{2, 3, 40, 300}, Shape{2, 40, 300, 3}, Shape{9, 10}}) {
    const Tensor t = noise(shape, 7);
    const PictureShape p = picture_shape(t);
    const auto values =
        t.values<float>().first(static_cast<size_t>(p.height * p.width * p.channels));
    const auto [least, most] = std::ranges::minmax(values);
    const PictureSamples samples = picture_samples(t, kMost);
    EXPECT_EQ(samples.rows, std::min<int64_t>(kMost, p.height));
    EXPECT_EQ(samples.columns, std::min<int64_t>(kMost, p.width));
    for (int row = 0; row < samples.rows; row++)
      for (int column = 0; column < samples.columns; column++)
        for (int64_t c = 0; c < p.channels; c++) {
          const int64_t y = row * p.height / samples.rows, x = column * p.width / samples.columns;
          const int64_t i = p.channels_last ? (y * p.width + x) * p.channels + c
                                            : (c * p.height + y) * p.width + x;
          const double part = static_cast<double>(values[static_cast<size_t>(i)] - least) /
                              static_cast<double>(most - least);
          EXPECT_NEAR(samples.byte(row, column, c, p.channels), part * 255, 0.51);
        }
  }
}

TEST(TensorSamples, PixelsThatAreNotFiniteAreWhite) {
  Tensor t = Tensor::zeros(DType::f32, {8, 8});
  t.mutable_values<float>()[9] = NAN;
  t.mutable_values<float>()[10] = -INFINITY;
  t.mutable_values<float>()[11] = 4;
  const PictureSamples samples = picture_samples(t, 128);
  EXPECT_EQ(samples.bytes[9], 255);
  EXPECT_EQ(samples.bytes[10], 255);
  EXPECT_EQ(samples.bytes[11], 255);
  EXPECT_EQ(samples.bytes[12], 0);
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(picture_samples(t, 128, &cancel), Error);
}

// A point for each element, or the largest magnitude of each few elements.
TEST(TensorSamples, ARowKeepsItsPeaks) {
  const Tensor t = noise({3, 50000}, 8);
  const auto row = t.values<float>().subspan(2 * 50000, 50000);
  for (const int64_t most : {int64_t{50000}, int64_t{100}}) {
    const RowSamples samples = row_samples(t, 2, most, 4);
    const int64_t step = 50000 / most;
    ASSERT_EQ(static_cast<int64_t>(samples.points.size()), most);
    for (int64_t p = 0; p < most; p++) {
      const auto& [i, v] = samples.points[static_cast<size_t>(p)];
      EXPECT_EQ(i / step, p);
      EXPECT_EQ(v, static_cast<double>(row[static_cast<size_t>(i)]));
      for (int64_t k = p * step; k < (p + 1) * step; k++)
        EXPECT_LE(std::abs(row[static_cast<size_t>(k)]), std::abs(static_cast<float>(v)));
    }
    EXPECT_EQ(samples.most, static_cast<double>(std::ranges::max(row)));
    EXPECT_EQ(samples.least, static_cast<double>(std::ranges::min(row)));
    EXPECT_EQ(samples.top, top_elements(t, 2, 4));
    EXPECT_EQ(samples.softmax, softmax_of(t, 2, samples.top));
  }
}

TEST(TensorSamples, ARowOmitsElementsThatAreNotFinite) {
  const RowSamples samples =
      row_samples(Tensor::of<float>({5}, {NAN, -3, INFINITY, 2, 1}), 0, 100, 2);
  EXPECT_EQ(samples.points, (std::vector<std::pair<int64_t, double>>{{1, -3}, {3, 2}, {4, 1}}));
  EXPECT_EQ(samples.least, -3);
  EXPECT_EQ(samples.most, 2);
  EXPECT_EQ(samples.top, (std::vector<int64_t>{2, 3}));
}

}  // namespace
}  // namespace poprt::inspector
