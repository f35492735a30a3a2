// Compares kernel `max_pool_bytes` with loops over windows.
#include "kernels/calls/max_pool_bytes.h"

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

void expect_right(const calls::MaxPoolBytes& c, DType type, std::mt19937& rng) {
  std::string trace(dtype_name(type));
  for (const int64_t i : calls::encode(c).ints) trace += " " + std::to_string(i);
  SCOPED_TRACE(trace);
  int64_t in = c.c, out = 1;
  for (const calls::WindowAxis& a : c.axes) in *= a.in, out *= a.out;
  std::vector<Tensor> o = {Tensor::zeros(type, {c.n * in}), Tensor::zeros(type, {c.n * out * c.c})};
  const bool is_signed = type == DType::s8;
  const auto value = [&](uint8_t byte) { return is_signed ? static_cast<int8_t>(byte) : byte; };
  auto* x = static_cast<uint8_t*>(o[0].mutable_data());
  for (int64_t i = 0; i < c.n * in; i++) x[i] = static_cast<uint8_t>(rng());
  test::expect_needs_every_element(c, o);
  test::run_call(c, o);
  const auto* y = static_cast<const uint8_t*>(o[1].data());
  for (int64_t i = 0; i < c.n * out * c.c; i++) {
    int want = is_signed ? -128 : 0;
    int64_t taps = 1;
    for (const calls::WindowAxis& a : c.axes) taps *= a.kernel;
    for (int64_t t = 0; t < taps; t++) {
      int64_t rest = t, window = i / c.c, at = 0, scale = 1;
      bool inside = true;
      for (size_t d = c.axes.size(); d-- > 0;) {
        const calls::WindowAxis& a = c.axes[d];
        const int64_t k = window % a.out * a.stride - a.pad + rest % a.kernel * a.dilation;
        inside = inside && k >= 0 && k < a.in;
        at += k * scale;
        scale *= a.in, rest /= a.kernel, window /= a.out;
      }
      if (inside) want = std::max(want, int{value(x[(window * scale + at) * c.c + i % c.c])});
    }
    ASSERT_EQ(value(y[i]), want) << "byte " << i;
  }
}

TEST(MaxPoolBytes, AnyWindow) {
  std::mt19937 rng(1);
  for (int round = 0; round < 120; round++) {
    calls::MaxPoolBytes c;
    c.n = test::one_of(rng, {1, 2});
    c.c = test::one_of(rng, {1, 3, 16, 17, 31, 32, 33, 64, 70});
    c.axes.resize(1 + rng() % 3);
    for (calls::WindowAxis& a : c.axes)
      a = {.in = test::one_of(rng, {1, 2, 5}),
           .out = test::one_of(rng, {1, 2, 4}),
           .kernel = test::one_of(rng, {1, 2, 3}),
           .stride = test::one_of(rng, {1, 2}),
           .pad = test::one_of(rng, {0, 0, 1, 2}),
           .dilation = test::one_of(rng, {1, 1, 2})};
    expect_right(c, rng() % 2 ? DType::s8 : DType::u8, rng);
  }
}

// Windows have about as many lines, and pixels, as are joined at once (32), or twice as many.
TEST(MaxPoolBytes, WindowsOfManyPieces) {
  std::mt19937 rng(2);
  for (const int64_t kernel : {31, 32, 33, 64, 65})
    for (const DType type : {DType::s8, DType::u8}) {
      expect_right({1, 3, {{.in = 66, .out = 2, .kernel = kernel}, {.in = 3, .out = 3}}}, type,
                   rng);
      expect_right({1, 3, {{.in = 66, .out = 2, .kernel = kernel}}}, type, rng);
    }
}

TEST(MaxPoolBytes, AcceptsZeroImagesChannelsAndWindows) {
  std::mt19937 rng(3);
  const calls::WindowAxis some = {.in = 3, .out = 2, .kernel = 2}, none = {.in = 3, .out = 0},
                          empty = {.in = 0, .out = 0};
  expect_right({0, 3, {some, some}}, DType::u8, rng);
  expect_right({2, 0, {some, some}}, DType::u8, rng);
  for (const calls::WindowAxis& a : {none, empty}) {
    expect_right({2, 3, {some, a}}, DType::s8, rng);
    expect_right({2, 3, {a, some}}, DType::s8, rng);
    expect_right({2, 3, {a}}, DType::s8, rng);
  }
}

TEST(MaxPoolBytes, RefusesWindowsOfAnEmptyInput) {
  const calls::MaxPoolBytes c = {1, 1, {{.in = 0, .out = 1}}};
  const std::vector<Tensor> o = {Tensor::zeros(DType::u8, {0}), Tensor::zeros(DType::u8, {1})};
  EXPECT_THROW(test::prepare_call(c, o), Error);
}

}  // namespace
}  // namespace poprt::kernels
