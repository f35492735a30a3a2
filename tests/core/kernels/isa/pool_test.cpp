// Compares pools of channel-blocked floats, and blocking itself, of every instruction set that this
// CPU has, with plain loops.
#include "kernels/isa/pool.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels {
namespace {

using test::pick;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Random sixteenths, whose sums are exact.
std::vector<float> numbers(int64_t count, std::mt19937& rng) {
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = static_cast<float>(static_cast<int>(rng() % 65) - 32) / 16;
  return v;
}

// Lane `lane` of window (oy, ox) of the plane at x.
float wanted(const isa::PoolShape& s, const float* x, int64_t oy, int64_t ox, int64_t lane) {
  float most = -std::numeric_limits<float>::infinity(), sum = 0;
  int64_t seen = 0, padded = 0;
  for (int64_t ky = 0; ky < s.kh; ky++)
    for (int64_t kx = 0; kx < s.kw; kx++) {
      const int64_t iy = oy * s.stride_h - s.pad_h + ky * s.dilation_h,
                    ix = ox * s.stride_w - s.pad_w + kx * s.dilation_w;
      padded += iy < s.h + s.pad_h_end && ix < s.w + s.pad_w_end;
      if (iy < 0 || iy >= s.h || ix < 0 || ix >= s.w) continue;
      const float v = x[(iy * s.w + ix) * 16 + lane];
      seen++;
      sum += v;
      if (!(most >= v)) most = std::isnan(most) ? most : v;
    }
  if (!s.average) return most;
  return sum / static_cast<float>(std::max<int64_t>(1, s.count_padding ? padded : seen));
}

TEST(PoolBlocked, AnyWindowAndSplitIntoTasks) {
  std::mt19937 rng(1);
  for (const isa::PoolTable* t : test::POPRT_BUILDS(pool))
    for (int round = 0; round < 120; round++) {
      isa::PoolShape s{};
      s.planes = pick(rng, 0, 3);
      s.h = pick(rng, 1, 7), s.w = pick(rng, 1, 7);
      s.oh = pick(rng, 1, 5), s.ow = pick(rng, 1, 5);
      s.kh = pick(rng, 1, 4), s.kw = pick(rng, 1, 4);
      s.stride_h = pick(rng, 1, 3), s.stride_w = pick(rng, 1, 3);
      s.pad_h = pick(rng, 0, 4), s.pad_w = pick(rng, 0, 4);
      s.pad_h_end = pick(rng, 0, 3), s.pad_w_end = pick(rng, 0, 3);
      s.dilation_h = pick(rng, 1, 2), s.dilation_w = pick(rng, 1, 2);
      s.average = rng() % 2;
      s.count_padding = rng() % 2;
      auto x = numbers(s.planes * s.h * s.w * 16, rng);
      if (!s.average && !x.empty() && round % 3 == 0) x[rng() % x.size()] = kNan;
      std::vector<float> y(static_cast<size_t>(s.planes * s.oh * s.ow * 16), 77),
          scratch(static_cast<size_t>(s.w * 16), kNan);
      const int64_t rows = pick(rng, 1, s.oh), tasks = (s.oh + rows - 1) / rows * s.planes;
      for (int64_t task = tasks; task-- > 0;)
        t->pool(s, rows, x.data(), y.data(), task, task + 1, scratch.data());
      for (int64_t i = 0; i < static_cast<int64_t>(y.size()); i++) {
        const int64_t ox = i / 16 % s.ow, oy = i / 16 / s.ow % s.oh, plane = i / 16 / s.ow / s.oh;
        const float want = wanted(s, x.data() + plane * s.h * s.w * 16, oy, ox, i % 16),
                    got = y[static_cast<size_t>(i)];
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
            << "round " << round << " window " << oy << " " << ox << ": " << got << ", " << want;
      }
    }
}

TEST(PoolBlocked, GlobalAverages) {
  std::mt19937 rng(2);
  for (const isa::PoolTable* t : test::POPRT_BUILDS(pool))
    for (const int64_t channels : {1, 15, 16, 17, 40})
      for (int64_t pixels = 1; pixels < 11; pixels++) {
        constexpr int64_t kImages = 2;
        const int64_t blocks = (channels + 15) / 16;
        const auto x = numbers(kImages * blocks * pixels * 16, rng);
        std::vector<float> y(static_cast<size_t>(kImages * channels + 1), 77);
        for (int64_t task = kImages * blocks; task-- > 0;)
          t->global_average(pixels, channels, blocks, x.data(), y.data(), task, task + 1);
        EXPECT_EQ(y.back(), 77);
        for (int64_t i = 0; i < kImages * channels; i++) {
          const int64_t plane = i / channels * blocks + i % channels / 16;
          double sum = 0;
          for (int64_t p = 0; p < pixels; p++)
            sum += static_cast<double>(
                x[static_cast<size_t>((plane * pixels + p) * 16 + i % channels % 16)]);
          ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(i)]),
                      sum / static_cast<double>(pixels), 1e-6)
              << i << " of " << channels << ", " << pixels << " pixels";
        }
      }
}

// Converts planes to blocks and back; lanes past the last channel are zero.
TEST(PoolBlocked, BlocksAndPlanes) {
  std::mt19937 rng(3);
  for (const isa::PoolTable* t : test::POPRT_BUILDS(pool))
    for (int64_t count = 1; count <= 16; count++)
      for (const int64_t pixels : {1, 2, 15, 16, 17, 31, 32, 35})
        for (const int64_t gap : {0, 3}) {
          const int64_t plane = pixels + gap;
          const auto x = numbers(count * plane, rng);
          std::vector<float> y(static_cast<size_t>(pixels * 16 + 1), 77),
              back(static_cast<size_t>(count * plane), 77);
          t->block(x.data(), plane, count, pixels, y.data());
          for (int64_t i = 0; i < pixels * 16; i++)
            ASSERT_EQ(y[static_cast<size_t>(i)],
                      i % 16 < count ? x[static_cast<size_t>(i % 16 * plane + i / 16)] : 0)
                << count << " planes of " << pixels << ": " << i;
          EXPECT_EQ(y.back(), 77);
          y.pop_back();
          t->unblock(y.data(), plane, count, pixels, back.data());
          for (int64_t i = 0; i < count * plane; i++)
            ASSERT_EQ(back[static_cast<size_t>(i)],
                      i % plane < pixels ? x[static_cast<size_t>(i)] : 77)
                << count << " planes of " << pixels << ": " << i;
        }
}

}  // namespace
}  // namespace poprt::kernels
