#include "base/half.h"
#include "core/ops/built_node.h"

namespace poprt::ops {
namespace {

Tensor block(const Tensor& x) {
  const Shape& s = x.shape();
  const int64_t cb = (s[1] + 15) / 16, plane = s[2] * s[3];
  Tensor y = Tensor::zeros(DType::f32, {s[0], cb, s[2], s[3], 16});
  for (int64_t n = 0; n < s[0]; n++)
    for (int64_t c = 0; c < s[1]; c++)
      for (int64_t p = 0; p < plane; p++)
        y.mutable_values<float>()[static_cast<size_t>(((n * cb + c / 16) * plane + p) * 16 +
                                                      c % 16)] =
            x.values<float>()[static_cast<size_t>((n * s[1] + c) * plane + p)];
  return y;
}

std::vector<float> unblock(const Tensor& x, int64_t channels) {
  const Shape& s = x.shape();
  const int64_t plane = s[2] * s[3];
  std::vector<float> y;
  for (int64_t n = 0; n < s[0]; n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t p = 0; p < plane; p++)
        y.push_back(x.values<float>()[static_cast<size_t>(((n * s[1] + c / 16) * plane + p) * 16 +
                                                          c % 16)]);
  return y;
}

struct ConvCase {
  int64_t n = 1, c = 16, h = 8, w = 8, m = 16, kh = 3, kw = 3, group = 1;
  std::vector<int64_t> strides = {1, 1}, pads = {0, 0, 0, 0}, dilations = {1, 1};
  int64_t winograd = -1;
  bool transformed = false;  // whether Winograd's weights are stored transformed
  std::string activation;
  bool bias = true, residual = false, after = false;
  // Products of bf16, with x, the residual and y as bf16.
  bool bf16 = false, bf16_x = false, bf16_residual = false, bf16_y = false;
};

Tensor as_bf16(const Tensor& t) {
  Tensor to = Tensor::zeros(DType::bf16, t.shape());
  std::ranges::transform(t.values<float>(), to.mutable_values<bf16_t>().begin(),
                         [](float v) { return to_bf16(v); });
  return to;
}

Tensor as_f32(const Tensor& t) {
  if (t.dtype() == DType::f32) return t;
  Tensor to = Tensor::zeros(DType::f32, t.shape());
  std::ranges::transform(t.values<bf16_t>(), to.mutable_values<float>().begin(),
                         [](bf16_t v) { return to_float(v); });
  return to;
}

void check_form(const ConvCase& t) {
  SCOPED_TRACE(testing::Message() << t.n << "," << t.c << "," << t.h << "," << t.w << " -> " << t.m
                                  << " k" << t.kh << "x" << t.kw << " g" << t.group << " s"
                                  << t.strides[0] << t.strides[1] << " p" << t.pads[0] << t.pads[1]
                                  << t.pads[2] << t.pads[3] << " d" << t.dilations[0]
                                  << " winograd " << t.winograd
                                  << (t.transformed ? " transformed " : " ") << t.activation
                                  << t.residual << t.after);
  std::mt19937 rng(7);
  const int64_t oh =
      (t.h + t.pads[0] + t.pads[2] - (t.kh - 1) * t.dilations[0] - 1) / t.strides[0] + 1;
  const int64_t ow =
      (t.w + t.pads[1] + t.pads[3] - (t.kw - 1) * t.dilations[1] - 1) / t.strides[1] + 1;
  const int64_t cg = t.c / t.group, mg = t.m / t.group;
  const Tensor x = random_tensor({t.n, t.c, t.h, t.w}, rng),
               w = random_tensor({t.m, cg, t.kh, t.kw}, rng);
  const Tensor bias = t.bias ? random_tensor({t.m}, rng) : Tensor();
  const Tensor residual = t.residual ? random_tensor({t.n, t.m, oh, ow}, rng) : Tensor();
  BuiltNode node("Conv", "poprt",
                 {{t.c < 16   ? x
                   : t.bf16_x ? as_bf16(block(x))
                              : block(x),
                   false},
                  {w, true},
                  {bias, true},
                  {!t.residual       ? Tensor()
                   : t.bf16_residual ? as_bf16(block(residual))
                                     : block(residual),
                   false}},
                 {{"kernel_shape", std::vector<int64_t>{t.kh, t.kw}},
                  {"strides", t.strides},
                  {"pads", t.pads},
                  {"dilations", t.dilations},
                  {"group", t.group},
                  {"channels", t.c},
                  {"activation", t.activation},
                  {"alpha", -0.3f},
                  {"beta", 0.8f},
                  {"residual_after_activation", int64_t{t.after}}});
  if (t.activation == "silu") node.node->attributes["alpha"] = 1.0f;
  if (t.winograd >= 0) node.node->attributes["winograd_tile"] = t.winograd;
  node.node->attributes["transformed_weights"] = int64_t{t.transformed};
  if (t.bf16) node.node->attributes["products"] = std::string("bf16");
  if (t.bf16_y) node.node->attributes["result_type"] = std::string("bf16");
  const Tensor stored = node.run()[0], got = as_f32(stored);
  EXPECT_EQ(stored.dtype(), t.bf16_y ? DType::bf16 : DType::f32);
  ASSERT_EQ(got.shape(), (Shape{t.n, (t.m + 15) / 16, oh, ow, 16}));
  std::vector<double> want, magnitude;
  for (int64_t n = 0; n < t.n; n++)
    for (int64_t o = 0; o < t.m; o++)
      for (int64_t y = 0; y < oh; y++)
        for (int64_t xx = 0; xx < ow; xx++) {
          double v = 0, s = 3;
          for (int64_t c = 0; c < cg; c++)
            for (int64_t ky = 0; ky < t.kh; ky++)
              for (int64_t kx = 0; kx < t.kw; kx++) {
                const int64_t iy = y * t.strides[0] - t.pads[0] + ky * t.dilations[0],
                              ix = xx * t.strides[1] - t.pads[1] + kx * t.dilations[1];
                if (iy < 0 || ix < 0 || iy >= t.h || ix >= t.w) continue;
                const double p = static_cast<double>(x.values<float>()[static_cast<size_t>(
                                     ((n * t.c + o / mg * cg + c) * t.h + iy) * t.w + ix)]) *
                                 static_cast<double>(w.values<float>()[static_cast<size_t>(
                                     ((o * cg + c) * t.kh + ky) * t.kw + kx)]);
                v += p;
                s += std::abs(p);
              }
          if (t.bias) v += static_cast<double>(bias.values<float>()[static_cast<size_t>(o)]);
          const double r = t.residual
                               ? static_cast<double>(residual.values<float>()[static_cast<size_t>(
                                     ((n * t.m + o) * oh + y) * ow + xx)])
                               : 0;
          if (!t.after) v += r;
          if (t.activation == "relu") v = std::max(v, 0.0);
          if (t.activation == "clip")
            v = std::min(std::max(v, static_cast<double>(-0.3f)), static_cast<double>(0.8f));
          if (t.activation == "silu") v = v / (1 + std::exp(-v));
          if (t.after) v += r;
          want.push_back(v);
          magnitude.push_back(s);
        }
  // Both factors of a product, the residual and y are each rounded by at most 2^-8.
  const int roundings = (t.bf16 ? 2 : t.bf16_x ? 1 : 0) + t.bf16_residual + t.bf16_y;
  expect_close(unblock(got, t.m), want, magnitude,
               (t.winograd == 4 ? 2e-5 : 3e-6) + roundings * 0.00391);
}

void check(ConvCase t) {
  check_form(t);
  t.transformed = true;
  if (t.winograd > 0) check_form(t);
}

// The error of each way to compute a 3x3 convolution, as a part of the root mean square of the
// exact sums of random numbers. docs/decisions/convolution-accuracy.md states these bounds.
struct Rounding {
  double rms, largest;
};

Rounding rounding_of(int64_t channels, int64_t tile, bool transformed) {
  std::mt19937 rng(5);
  constexpr int64_t kSize = 12, kOut = 32;
  const Tensor x = random_tensor({1, channels, kSize + 2, kSize + 2}, rng),
               w = random_tensor({kOut, channels, 3, 3}, rng);
  BuiltNode node("Conv", "poprt", {{block(x), false}, {w, true}},
                 {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"channels", channels}});
  node.node->attributes["winograd_tile"] = tile;
  node.node->attributes["transformed_weights"] = int64_t{transformed};
  const auto got = unblock(node.run()[0], kOut);
  double squares = 0, errors = 0, largest = 0;
  for (int64_t o = 0, at = 0; o < kOut; o++)
    for (int64_t y = 0; y < kSize; y++)
      for (int64_t xx = 0; xx < kSize; xx++, at++) {
        double v = 0;
        for (int64_t c = 0; c < channels; c++)
          for (int64_t t = 0; t < 9; t++)
            v += static_cast<double>(x.values<float>()[static_cast<size_t>(
                     (c * (kSize + 2) + y + t / 3) * (kSize + 2) + xx + t % 3)]) *
                 static_cast<double>(
                     w.values<float>()[static_cast<size_t>((o * channels + c) * 9 + t)]);
        const double error = std::abs(static_cast<double>(got[static_cast<size_t>(at)]) - v);
        squares += v * v;
        errors += error * error;
        largest = std::max(largest, error);
      }
  const double count = kOut * kSize * kSize;
  return {std::sqrt(errors / squares), largest / std::sqrt(squares / count)};
}

TEST(BlockedConv, RoundingErrorOfEachAlgorithmIsBounded) {
  for (const auto& [tile, rms, largest] :
       {std::tuple<int64_t, double, double>{0, 5e-7, 3e-6}, {2, 1e-6, 5e-6}, {4, 2e-6, 1.5e-5}})
    for (const int64_t channels : {16, 64, 256, 512})
      for (const bool transformed : {false, true}) {
        SCOPED_TRACE(testing::Message() << "tile " << tile << ", " << channels << " channels"
                                        << (transformed ? ", transformed" : ""));
        const Rounding r = rounding_of(channels, tile, transformed);
        EXPECT_LE(r.rms, rms);
        EXPECT_LE(r.largest, largest);
      }
}

TEST(BlockedConv, PointwiseMatchesNaiveLoopsForAnyTail) {
  for (const int64_t c : {16, 24, 33, 130})
    for (const int64_t m : {1, 16, 24, 40, 64, 80, 112})
      check({.c = c, .h = 5, .w = 7, .m = m, .kh = 1, .kw = 1});
  for (int64_t w = 1; w < 60; w += 3) check({.c = 16, .h = 1, .w = w, .m = 48, .kh = 1, .kw = 1});
  check({.n = 3, .c = 40, .h = 31, .w = 33, .m = 70, .kh = 1, .kw = 1});
}

TEST(BlockedConv, EveryWindowMatchesNaiveLoops) {
  check({.c = 16, .h = 9, .w = 11, .m = 32, .pads = {1, 1, 1, 1}, .winograd = 0});
  check({.n = 2, .c = 40, .h = 13, .w = 10, .m = 24, .strides = {2, 2}, .pads = {1, 1, 1, 1}});
  check({.c = 20,
         .h = 13,
         .w = 17,
         .m = 16,
         .kh = 5,
         .kw = 3,
         .strides = {2, 3},
         .pads = {2, 0, 1, 4}});
  check({.c = 32, .h = 20, .w = 20, .m = 17, .pads = {2, 2, 2, 2}, .dilations = {2, 2}});
  check({.c = 32, .h = 3, .w = 3, .m = 16, .kh = 3, .kw = 3, .pads = {5, 5, 5, 5}, .winograd = 0});
  check({.c = 64, .h = 14, .w = 14, .m = 32, .kh = 1, .kw = 1, .strides = {2, 2}});
  check({.c = 64, .h = 6, .w = 6, .m = 32, .kh = 1, .kw = 1, .pads = {1, 1, 1, 1}});
  check({.c = 512, .h = 9, .w = 9, .m = 32, .winograd = 0});  // K in pieces
  check({.c = 520, .h = 9, .w = 9, .m = 32, .strides = {2, 1}, .winograd = 0});
}

TEST(BlockedConv, FewChannelsComeFromPlainInput) {
  check({.c = 3,
         .h = 32,
         .w = 30,
         .m = 64,
         .kh = 7,
         .kw = 7,
         .strides = {2, 2},
         .pads = {3, 3, 3, 3}});
  check({.n = 2, .c = 3, .h = 21, .w = 33, .m = 32, .strides = {2, 2}, .pads = {1, 1, 1, 1}});
  check({.c = 3,
         .h = 20,
         .w = 20,
         .m = 16,
         .kh = 6,
         .kw = 6,
         .strides = {2, 2},
         .pads = {2, 2, 2, 2}});
  check({.c = 1,
         .h = 28,
         .w = 28,
         .m = 20,
         .kh = 5,
         .kw = 5,
         .pads = {2, 2, 2, 2},
         .activation = "silu"});
  check({.c = 15, .h = 7, .w = 9, .m = 40, .kh = 1, .kw = 1});
  check({.c = 4,
         .h = 17,
         .w = 19,
         .m = 8,
         .strides = {3, 3},
         .pads = {0, 1, 2, 3},
         .dilations = {2, 2}});
  check({.c = 2, .h = 3, .w = 3, .m = 8, .kh = 3, .kw = 3, .pads = {4, 6, 4, 6}});
}

TEST(BlockedConv, WinogradMatchesNaiveLoops) {
  for (const int64_t tile : {2, 4}) {
    check({.c = 16, .h = 8, .w = 8, .m = 16, .pads = {1, 1, 1, 1}, .winograd = tile});
    check({.n = 2, .c = 24, .h = 13, .w = 15, .m = 40, .pads = {1, 1, 1, 1}, .winograd = tile});
    check({.c = 64,
           .h = 7,
           .w = 7,
           .m = 96,
           .pads = {0, 2, 1, 0},
           .winograd = tile,
           .activation = "silu",
           .residual = true,
           .after = true});
    check({.c = 33,
           .h = 30,
           .w = 28,
           .m = 16,
           .pads = {1, 1, 1, 1},
           .winograd = tile,
           .activation = "relu",
           .residual = true});
    check({.c = 256, .h = 14, .w = 14, .m = 32, .pads = {1, 1, 1, 1}, .winograd = tile});
    // The tiles of a task are of several images; the input channels have two parts and a rest.
    check({.n = 5, .c = 300, .h = 7, .w = 5, .m = 48, .pads = {1, 1, 1, 1}, .winograd = tile});
    check({.n = 3, .c = 16, .h = 40, .w = 42, .m = 17, .winograd = tile, .residual = true});
    check(
        {.c = 16, .h = 3, .w = 3, .m = 16, .winograd = tile, .activation = "clip", .bias = false});
  }
}

// A convolution of three dimensions, with equal pads on both sides.
struct SliceCase {
  int64_t n = 1, c = 16, d = 4, h = 6, w = 7, m = 16;
  std::array<int64_t, 3> kernel = {3, 3, 3}, pads = {1, 1, 1}, strides = {1, 1, 1},
                         dilations = {1, 1, 1};
  int64_t winograd = -1;
  bool residual = false;

  int64_t out(size_t axis, int64_t in) const {
    return (in + 2 * pads[axis] - (kernel[axis] - 1) * dilations[axis] - 1) / strides[axis] + 1;
  }
};

// The sum for each output, and the sum of magnitudes.
std::pair<std::vector<double>, std::vector<double>> slice_sums(const SliceCase& t, const Tensor& x,
                                                               const Tensor& w) {
  const std::array<int64_t, 3> in = {t.d, t.h, t.w};
  const std::array<int64_t, 3> out = {t.out(0, t.d), t.out(1, t.h), t.out(2, t.w)};
  const int64_t pixels = t.d * t.h * t.w, taps = t.kernel[0] * t.kernel[1] * t.kernel[2];
  std::vector<double> sums, magnitudes;
  for (int64_t i = 0; i < t.n * t.m * out[0] * out[1] * out[2]; i++) {
    const std::array<int64_t, 3> at = {i / out[2] / out[1] % out[0], i / out[2] % out[1],
                                       i % out[2]};
    const int64_t filter = i / out[2] / out[1] / out[0] % t.m,
                  image = i / out[2] / out[1] / out[0] / t.m;
    double sum = 0, magnitude = 3;
    for (int64_t k = 0; k < taps; k++) {
      const std::array<int64_t, 3> tap = {k / t.kernel[2] / t.kernel[1],
                                          k / t.kernel[2] % t.kernel[1], k % t.kernel[2]};
      int64_t pixel = 0;
      bool inside = true;
      for (size_t a = 0; a < 3; a++) {
        const int64_t place = at[a] * t.strides[a] - t.pads[a] + tap[a] * t.dilations[a];
        inside = inside && place >= 0 && place < in[a];
        pixel = pixel * in[a] + place;
      }
      for (int64_t c = 0; inside && c < t.c; c++) {
        const double p =
            static_cast<double>(
                x.values<float>()[static_cast<size_t>((image * t.c + c) * pixels + pixel)]) *
            static_cast<double>(
                w.values<float>()[static_cast<size_t>((filter * t.c + c) * taps + k)]);
        sum += p;
        magnitude += std::abs(p);
      }
    }
    sums.push_back(sum);
    magnitudes.push_back(magnitude);
  }
  return {sums, magnitudes};
}

void check_slices(const SliceCase& t) {
  SCOPED_TRACE(testing::Message() << t.n << "," << t.c << "," << t.d << "," << t.h << "," << t.w
                                  << " -> " << t.m << " k" << t.kernel[0] << t.kernel[1]
                                  << t.kernel[2] << " winograd " << t.winograd);
  std::mt19937 rng(9);
  const int64_t od = t.out(0, t.d), oh = t.out(1, t.h), ow = t.out(2, t.w);
  const Tensor x = random_tensor({t.n, t.c, t.d * t.h, t.w}, rng),
               w = random_tensor({t.m, t.c, t.kernel[0], t.kernel[1], t.kernel[2]}, rng),
               bias = random_tensor({t.m}, rng),
               residual = random_tensor({t.n, t.m, od * oh, ow}, rng);
  const auto list = [](const std::array<int64_t, 3>& v) {
    return std::vector<int64_t>(v.begin(), v.end());
  };
  std::vector<int64_t> pads = list(t.pads);
  pads.insert(pads.end(), t.pads.begin(), t.pads.end());
  BuiltNode node("Conv", "poprt",
                 {{block(x), false},
                  {w, true},
                  {bias, true},
                  {t.residual ? block(residual) : Tensor(), false}},
                 {{"kernel_shape", list(t.kernel)},
                  {"strides", list(t.strides)},
                  {"pads", pads},
                  {"dilations", list(t.dilations)},
                  {"channels", t.c},
                  {"depth", t.d},
                  {"activation", std::string("relu")}});
  if (t.winograd >= 0) node.node->attributes["winograd_tile"] = t.winograd;
  const Tensor got = node.run()[0];
  ASSERT_EQ(got.shape(), (Shape{t.n, (t.m + 15) / 16, od * oh, ow, 16}));
  auto [want, magnitude] = slice_sums(t, x, w);
  const int64_t pixels = od * oh * ow;
  for (size_t i = 0; i < want.size(); i++) {
    want[i] += static_cast<double>(
        bias.values<float>()[i / static_cast<size_t>(pixels) % static_cast<size_t>(t.m)]);
    if (t.residual) want[i] += static_cast<double>(residual.values<float>()[i]);
    want[i] = std::max(want[i], 0.0);
  }
  expect_close(unblock(got, t.m), want, magnitude, t.winograd == 4 ? 2e-5 : 3e-6);
}

// The taps of the depth are summed like input channels, those in the padding as zeros.
TEST(BlockedConv, WinogradOfSlicesMatchesNaiveLoops) {
  for (const int64_t tile : {2, 4}) {
    check_slices({.winograd = tile});
    check_slices({.n = 2, .c = 24, .d = 3, .h = 5, .w = 9, .m = 40, .winograd = tile});
    check_slices({.c = 33,
                  .d = 7,
                  .m = 20,
                  .kernel = {1, 3, 3},
                  .pads = {0, 1, 1},
                  .winograd = tile,
                  .residual = true});
    check_slices({.n = 3,
                  .c = 40,
                  .d = 9,
                  .h = 3,
                  .w = 4,
                  .m = 17,
                  .kernel = {3, 3, 3},
                  .pads = {2, 1, 0},
                  .strides = {2, 1, 1},
                  .dilations = {2, 1, 1},
                  .winograd = tile,
                  .residual = true});
    // More than one part of the sum: 5 taps of 7 blocks, of which the last has 8 channels.
    check_slices({.c = 104,
                  .d = 6,
                  .h = 7,
                  .w = 5,
                  .m = 33,
                  .kernel = {5, 3, 3},
                  .pads = {2, 1, 1},
                  .winograd = tile});
    check_slices({.d = 1, .m = 48, .winograd = tile});
  }
}

TEST(BlockedConv, SlicesAreRowsWithoutAWindowInThem) {
  const std::array<int64_t, 3> kernel = {3, 1, 1};
  check_slices({.kernel = kernel, .pads = {1, 0, 0}});
  check_slices({.n = 2,
                .c = 40,
                .d = 8,
                .h = 9,
                .w = 5,
                .m = 24,
                .kernel = kernel,
                .pads = {1, 0, 0},
                .residual = true});
  check_slices(
      {.c = 24, .d = 9, .m = 33, .kernel = kernel, .pads = {1, 0, 0}, .strides = {2, 1, 1}});
  check_slices({.c = 16, .d = 2, .h = 3, .w = 3, .m = 16, .kernel = kernel, .pads = {1, 0, 0}});
  check_slices(
      {.c = 20, .d = 8, .m = 16, .kernel = {5, 1, 1}, .pads = {0, 0, 0}, .dilations = {1, 1, 1}});
  check_slices({.c = 16, .d = 6, .kernel = kernel, .pads = {1, 0, 0}, .strides = {1, 2, 2}});
}

TEST(BlockedConv, GroupsOfWholeBlocks) {
  check({.c = 64, .h = 10, .w = 9, .m = 96, .group = 2, .pads = {1, 1, 1, 1}});
  check({.n = 2, .c = 64, .h = 10, .w = 9, .m = 64, .kh = 1, .kw = 1, .group = 4});
}

TEST(BlockedConv, GroupsThatShareABlock) {
  for (const int64_t size : {1, 2, 4, 8, 16})
    check({.n = 2,
           .c = 48,
           .h = 9,
           .w = 17,
           .m = 48,
           .group = 48 / size,
           .strides = {2, 1},
           .pads = {1, 1, 1, 1},
           .activation = "silu",
           .residual = true});
  check({.c = 40, .h = 7, .w = 30, .m = 40, .kh = 1, .kw = 1, .group = 5});
  check({.c = 64, .h = 8, .w = 9, .m = 64, .kh = 2, .kw = 7, .group = 64, .pads = {0, 3, 1, 3}});
}

TEST(BlockedConv, TapsInThePaddingDoNotCount) {
  for (const int64_t d : {4, 6, 9})
    check({.n = 2,
           .c = 72,
           .h = 10,
           .w = 11,
           .m = 80,
           .pads = {d, d, d, d},
           .dilations = {d, d},
           .activation = d == 4 ? "silu" : "relu",
           .residual = true,
           .after = d == 6});
  check({.c = 64, .h = 4, .w = 5, .m = 64, .group = 2, .pads = {3, 2, 0, 4}, .dilations = {2, 1}});
}

TEST(BlockedConv, DepthwiseOfEverySizeAndStride) {
  for (const int64_t k : {2, 3, 5, 7, 9})
    for (const int64_t s : {1, 2, 3})
      for (const int64_t w : {7, 19, 33})
        check({.n = 2,
               .c = 24,
               .h = 11,
               .w = w,
               .m = 24,
               .kh = k,
               .kw = k,
               .group = 24,
               .strides = {s, s},
               .pads = {1, 1, 1, 1},
               .activation = "clip"});
  for (const int64_t k : {7, 9})
    for (const int64_t size : {3, 7, 14, 21})
      check({.c = 32,
             .h = size,
             .w = size,
             .m = 32,
             .kh = k,
             .kw = k,
             .group = 32,
             .pads = {k / 2, k / 2, k / 2, k / 2},
             .activation = "silu",
             .residual = true});
  check({.c = 32,
         .h = 40,
         .w = 64,
         .m = 32,
         .group = 32,
         .activation = "silu",
         .residual = true,
         .after = true});
  check({.c = 24, .h = 6, .w = 9, .m = 24, .group = 24, .activation = "silu", .residual = true});
  check({.c = 32,
         .h = 12,
         .w = 14,
         .m = 32,
         .group = 32,
         .pads = {2, 2, 2, 2},
         .dilations = {2, 2},
         .residual = true});
}

TEST(PlainConv, PatchesMatchNaiveLoops) {
  std::mt19937 rng(11);
  struct Case {
    int64_t n, c, h, w, m, kh, kw;
  };
  for (const auto& t : std::vector<Case>{{1, 3, 32, 32, 40, 8, 8},
                                         {2, 3, 35, 30, 17, 8, 7},  // pixels at the end are unused
                                         {3, 1, 6, 64, 5, 2, 3},
                                         {1, 15, 9, 9, 50, 9, 9},
                                         {2, 4, 3, 17, 8, 1, 17}})
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << t.h << "x" << t.w << " by " << t.kh << "x" << t.kw);
      const int64_t oh = t.h / t.kh, ow = t.w / t.kw;
      const Tensor x = random_tensor({t.n, t.c, t.h, t.w}, rng),
                   w = random_tensor({t.m, t.c, t.kh, t.kw}, rng), b = random_tensor({t.m}, rng);
      const Tensor got =
          BuiltNode("Conv", "poprt", {{x, false}, {w, true}, {bias ? b : Tensor(), true}},
                    {{"kernel_shape", std::vector<int64_t>{t.kh, t.kw}},
                     {"strides", std::vector<int64_t>{t.kh, t.kw}},
                     {"channels", t.c},
                     {"plain_result", int64_t{1}}})
              .run()[0];
      ASSERT_EQ(got.shape(), (Shape{t.n, t.m, oh, ow}));
      std::vector<double> want, magnitude;
      const auto at = [](const Tensor& v, int64_t i) {
        return static_cast<double>(v.values<float>()[static_cast<size_t>(i)]);
      };
      for (int64_t i = 0; i < t.n * t.m * oh * ow; i++) {
        const int64_t ox = i % ow, oy = i / ow % oh, m = i / (ow * oh) % t.m,
                      n = i / (ow * oh * t.m);
        double v = bias ? at(b, m) : 0, s = 1;
        for (int64_t k = 0; k < t.c * t.kh * t.kw; k++) {
          const int64_t kx = k % t.kw, ky = k / t.kw % t.kh, c = k / (t.kw * t.kh);
          const double p = at(w, m * t.c * t.kh * t.kw + k) *
                           at(x, ((n * t.c + c) * t.h + oy * t.kh + ky) * t.w + ox * t.kw + kx);
          v += p;
          s += std::abs(p);
        }
        want.push_back(v);
        magnitude.push_back(s);
      }
      expect_close(got.values<float>(), want, magnitude);
    }
}

TEST(BlockedConv, ProductsOfBf16) {
  for (int types = 0; types < 8; types++)
    for (const char* activation : {"", "relu", "silu"})
      for (const int64_t stride : {1, 2})
        for (const int64_t k : {1, 3, 5})
          check({.n = 2,
                 .c = 16 + 3 * (k / 2),
                 .h = 9,
                 .w = 10,
                 .m = 40,
                 .kh = k,
                 .kw = k,
                 .strides = {stride, stride},
                 .pads = {k / 2, k / 2, k / 2, k / 2},
                 .winograd = 0,
                 .activation = activation,
                 .residual = true,
                 .after = k == 3,
                 .bf16 = true,
                 .bf16_x = types % 2 == 1,
                 .bf16_residual = types / 2 % 2 == 1,
                 .bf16_y = types / 4 == 1});
  for (const int64_t c : {1, 3, 4, 15})
    check({.n = 2,
           .c = c,
           .h = 21,
           .w = 33,
           .m = 40,
           .kh = 7,
           .kw = 7,
           .strides = {2, 2},
           .pads = {3, 3, 3, 3},
           .activation = "silu",
           .residual = true,
           .bf16 = true,
           .bf16_residual = c == 3,
           .bf16_y = c < 4});
  check({.c = 64, .h = 10, .w = 9, .m = 96, .group = 2, .bf16 = true});
  check({.c = 512, .h = 9, .w = 9, .m = 32, .dilations = {2, 3}, .bf16 = true});
}

TEST(BlockedConv, F32KernelsOnActivationsOfBf16) {
  for (const char* activation : {"", "relu", "silu"})
    for (const bool after : {false, true})
      for (const int64_t tile : {2, 4})
        for (int types = 0; types < 8; types++)
          check({.c = 33,
                 .h = 10,
                 .w = 11,
                 .m = 40,
                 .pads = {1, 1, 1, 1},
                 .winograd = tile,
                 .activation = activation,
                 .residual = true,
                 .after = after,
                 .bf16_x = types % 2 == 1,
                 .bf16_residual = types / 2 % 2 == 1,
                 .bf16_y = types / 4 == 1});
  for (const char* activation : {"", "clip", "silu"})
    for (const int64_t k : {3, 5})
      for (const int64_t stride : {1, 2})
        for (const bool residual : {false, true})
          check({.n = 2,
                 .c = 24,
                 .h = 11,
                 .w = 19,
                 .m = 24,
                 .kh = k,
                 .kw = k,
                 .group = 24,
                 .strides = {stride, stride},
                 .pads = {1, 1, 1, 1},
                 .activation = activation,
                 .residual = residual,
                 .after = k == 3,
                 .bf16_x = true,
                 .bf16_residual = residual,
                 .bf16_y = true});
}

TEST(BlockedConv, TypesThatAKernelLacksAreRefused) {
  const auto refusal = [](int64_t group, int64_t k, bool bf16, bool x, bool y) {
    std::mt19937 rng(7);
    const Tensor input = random_tensor({1, 2, 9, 9, 16}, rng);
    BuiltNode node(
        "Conv", "poprt",
        {{x ? as_bf16(input) : input, false}, {random_tensor({32, 32 / group, k, k}, rng), true}},
        {{"kernel_shape", std::vector<int64_t>{k, k}},
         {"group", group},
         {"channels", int64_t{32}},
         {"products", std::string(bf16 ? "bf16" : "f32")},
         {"result_type", std::string(y ? "bf16" : "")}});
    try {
      node.run();
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(refusal(1, 1, true, true, true), "");
  EXPECT_NE(refusal(1, 1, false, true, false).find("conv does not support these types"),
            std::string::npos);
  EXPECT_NE(refusal(1, 1, false, false, true).find("conv does not support these types"),
            std::string::npos);
  EXPECT_NE(refusal(4, 3, true, true, false).find("conv_grouped does not support these types"),
            std::string::npos);
  EXPECT_EQ(refusal(32, 3, true, true, true), "");
  EXPECT_NE(refusal(32, 3, true, true, false).find("conv_depthwise does not support these types"),
            std::string::npos);
}

TEST(BlockedConv, EpilogueOrderOfResidualAndActivation) {
  for (const char* activation : {"", "relu", "clip", "silu"})
    for (const bool after : {false, true}) {
      check({.c = 32,
             .h = 6,
             .w = 5,
             .m = 40,
             .kh = 1,
             .kw = 1,
             .activation = activation,
             .residual = true,
             .after = after});
      check({.c = 3,
             .h = 6,
             .w = 5,
             .m = 40,
             .activation = activation,
             .residual = true,
             .after = after});
    }
}

}  // namespace
}  // namespace poprt::ops
