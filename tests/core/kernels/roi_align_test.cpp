#include "kernels/calls/roi_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

// One channel of one region, bin by bin, in double.
class Reference {
 public:
  Reference(const calls::RoiAlign& call, const double* plane, const double* roi)
      : c_(call), plane_(plane) {
    const auto scale = static_cast<double>(call.scale);
    const double shift = call.half_pixel ? 0.5 : 0;
    left_ = roi[0] * scale - shift;
    top_ = roi[1] * scale - shift;
    double width = roi[2] * scale - shift - left_, height = roi[3] * scale - shift - top_;
    if (!call.half_pixel) width = std::max(width, 1.0), height = std::max(height, 1.0);
    bin_w_ = width / static_cast<double>(call.ow);
    bin_h_ = height / static_cast<double>(call.oh);
    nx_ = samples(bin_w_);
    ny_ = samples(bin_h_);
  }

  double bin(int64_t i, int64_t j) const {
    double sum = 0, most = 0;
    bool any = false;
    for (int64_t a = 0; a < ny_; a++)
      for (int64_t b = 0; b < nx_; b++) {
        const double y = top_ + static_cast<double>(i) * bin_h_ +
                         (static_cast<double>(a) + 0.5) * bin_h_ / static_cast<double>(ny_),
                     x = left_ + static_cast<double>(j) * bin_w_ +
                         (static_cast<double>(b) + 0.5) * bin_w_ / static_cast<double>(nx_);
        const std::array<double, 4> v = corners(y, x);
        for (const double part : v) {
          sum += part;
          most = any ? std::max(most, part) : part;
          any = true;
        }
      }
    if (c_.max) return most;
    return sum / static_cast<double>(std::max<int64_t>(nx_ * ny_, 1));
  }

 private:
  int64_t samples(double bin) const {
    if (c_.ratio > 0) return c_.ratio;
    return bin > 0 ? static_cast<int64_t>(std::ceil(bin)) : 0;
  }
  // The contribution of the four pixels around a place to its value.
  std::array<double, 4> corners(double y, double x) const {
    if (y < -1 || x < -1 || y > static_cast<double>(c_.h) || x > static_cast<double>(c_.w))
      return {};
    const double last_y = static_cast<double>(c_.h - 1), last_x = static_cast<double>(c_.w - 1);
    y = std::clamp(y, 0.0, last_y);
    x = std::clamp(x, 0.0, last_x);
    const double y0 = std::floor(y), x0 = std::floor(x), fy = y - y0, fx = x - x0;
    const double y1 = std::min(y0 + 1, last_y), x1 = std::min(x0 + 1, last_x);
    const auto at = [&](double row, double column) {
      return plane_[static_cast<int64_t>(row) * c_.w + static_cast<int64_t>(column)];
    };
    return {(1 - fy) * (1 - fx) * at(y0, x0), (1 - fy) * fx * at(y0, x1),
            fy * (1 - fx) * at(y1, x0), fy * fx * at(y1, x1)};
  }

  const calls::RoiAlign& c_;
  const double* plane_;
  double left_, top_, bin_w_, bin_h_;
  int64_t nx_, ny_;
};

// Random regions, some of them outside of the image, and indices of missing images.
void expect_right(const calls::RoiAlign& c, DType dtype, std::mt19937& rng) {
  std::vector<Tensor> o = {test::random_numbers(dtype, {c.n, c.c, c.h, c.w}, rng),
                           test::random_numbers(dtype, {c.rois, 4}, rng),
                           Tensor::zeros(DType::s64, {c.rois}),
                           test::random_numbers(dtype, {c.rois, c.c, c.oh, c.ow}, rng)};
  for (int64_t& image : o[2].mutable_values<int64_t>())
    image = static_cast<int64_t>(rng() % static_cast<uint64_t>(c.n + 2)) - 1;
  const auto x = o[0].to_doubles(), rois = o[1].to_doubles(), images = o[2].to_doubles();
  test::run_call(c, o);
  const auto y = o[3].to_doubles();
  size_t at = 0;
  for (int64_t r = 0; r < c.rois; r++)
    for (int64_t k = 0; k < c.c; k++) {
      const auto image = static_cast<int64_t>(images[static_cast<size_t>(r)]);
      const bool there = image >= 0 && image < c.n;
      const Reference wanted(c, x.data() + (there ? (image * c.c + k) * c.h * c.w : 0),
                             rois.data() + 4 * r);
      for (int64_t i = 0; i < c.oh; i++)
        for (int64_t j = 0; j < c.ow; j++, at++)
          ASSERT_NEAR(y[at], there ? wanted.bin(i, j) : 0, dtype == DType::f64 ? 1e-12 : 1e-4)
              << "region " << r << " channel " << k << " bin " << i << " " << j;
    }
}

TEST(RoiAlign, IsTheAverageOrTheMostOfSamples) {
  std::mt19937 rng(4);
  for (int round = 0; round < 200; round++) {
    calls::RoiAlign c;
    c.n = test::one_of(rng, {1, 2});
    c.c = test::one_of(rng, {1, 3, 33});
    c.h = test::one_of(rng, {1, 4, 7});
    c.w = test::one_of(rng, {1, 5, 6});
    c.rois = 3;
    c.oh = test::one_of(rng, {1, 2, 3});
    c.ow = test::one_of(rng, {1, 2, 4});
    c.ratio = test::one_of(rng, {0, 0, 1, 2, 3});
    c.max = rng() % 3 == 0;
    c.half_pixel = rng() % 2;
    c.scale = rng() % 2 ? 1.0f : 3.0f;
    expect_right(c, DType::f64, rng);
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

// If there is no room for all samples or pixels, they are read one by one.
TEST(RoiAlign, LargeRegionsGiveTheSame) {
  std::mt19937 rng(5);
  for (const auto& [size, ratio, out] :
       {std::tuple<int64_t, int64_t, int64_t>{70, 0, 2}, {40, 12, 4}, {9, 7, 7}}) {
    calls::RoiAlign c;
    c.n = c.c = 2;
    c.h = c.w = size;
    c.rois = 4;
    c.oh = c.ow = out;
    c.ratio = ratio;
    c.scale = static_cast<float>(size) / 2;
    c.half_pixel = true;
    expect_right(c, DType::f64, rng);
  }
}

}  // namespace
}  // namespace poprt::kernels
