// Compares kernels `conv_generic` and `conv_transpose_generic` with loops over pairs of a window
// and a tap: any window, padding of both signs, groups, and results that cover a part of the input.
#include "kernels/calls/conv_generic.h"

#include "core/kernels/run_call.h"
#include "kernels/calls/conv_transpose_generic.h"

namespace poprt::kernels {
namespace {

using calls::PlainConv;
using calls::WindowAxis;

Shape spatial(const PlainConv& c, int64_t WindowAxis::* size) {
  Shape s;
  for (const WindowAxis& a : c.axes) s.push_back(a.*size);
  return s;
}

Shape shape_of(int64_t a, int64_t b, const Shape& rest) {
  Shape s = {a, b};
  s.insert(s.end(), rest.begin(), rest.end());
  return s;
}

// Returns the element of the input that a window reads at a tap, or -1 in the padding.
int64_t element_at_tap(const PlainConv& c, int64_t window, int64_t tap, bool transposed) {
  int64_t at = 0, scale = 1;
  for (size_t d = c.axes.size(); d-- > 0;) {
    const WindowAxis& a = c.axes[d];
    const int64_t windows = transposed ? a.in : a.out, places = transposed ? a.out : a.in;
    const int64_t i = window % windows * a.stride - a.pad + tap % a.kernel * a.dilation;
    if (i < 0 || i >= places) return -1;
    at += i * scale;
    scale *= places;
    window /= windows;
    tap /= a.kernel;
  }
  return at;
}

// The elements of x, y and the filter that one tap inside the input combines.
struct Pair {
  int64_t from, to, tap;
};

std::vector<double> naive(const PlainConv& c, const std::vector<Tensor>& operands,
                          bool transposed) {
  const auto x = operands[0].to_doubles(), w = operands[1].to_doubles();
  const int64_t in = element_count(spatial(c, &WindowAxis::in)),
                out = element_count(spatial(c, &WindowAxis::out)),
                taps = element_count(spatial(c, &WindowAxis::kernel));
  std::vector<Pair> pairs;
  for (int64_t window = 0; window < (transposed ? in : out); window++)
    for (int64_t tap = 0; tap < taps; tap++)
      if (const int64_t other = element_at_tap(c, window, tap, transposed); other >= 0)
        pairs.push_back(transposed ? Pair{window, other, tap} : Pair{other, window, tap});
  const auto bias = operands[2].defined() ? operands[2].to_doubles() : std::vector<double>();
  std::vector<double> y(static_cast<size_t>(c.n * c.groups * c.m * out));
  for (int64_t plane = 0; plane < c.n * c.groups; plane++)
    for (int64_t m = 0; m < c.m; m++) {
      const int64_t filter = plane % c.groups * c.m + m;
      double* to = y.data() + (plane * c.m + m) * out;
      if (!bias.empty()) std::fill_n(to, out, bias[static_cast<size_t>(filter)]);
      for (int64_t k = 0; k < c.c; k++) {
        const double* from = x.data() + (plane * c.c + k) * in;
        const int64_t row = transposed ? (plane % c.groups * c.c + k) * c.m + m : filter * c.c + k;
        const double* weights = w.data() + row * taps;
        for (const Pair& p : pairs) to[p.to] += from[p.from] * weights[p.tap];
      }
    }
  return y;
}

template <class C>
void check(const C& call, DType type, bool bias, std::mt19937& rng) {
  constexpr bool kTransposed = std::is_same_v<C, calls::ConvTransposeGeneric>;
  const PlainConv& c = call.conv;
  std::string trace(dtype_name(type));
  for (const int64_t i : calls::encode(call).ints) trace += " " + std::to_string(i);
  SCOPED_TRACE(trace);
  const Shape kernel = spatial(c, &WindowAxis::kernel);
  std::vector<Tensor> operands = {
      test::random_numbers(type, shape_of(c.n, c.groups * c.c, spatial(c, &WindowAxis::in)), rng),
      test::random_numbers(type,
                           kTransposed ? shape_of(c.groups * c.c, c.m, kernel)
                                       : shape_of(c.groups * c.m, c.c, kernel),
                           rng),
      bias ? test::random_numbers(type, {c.groups * c.m}, rng) : Tensor(),
      Tensor::zeros(type, shape_of(c.n, c.groups * c.m, spatial(c, &WindowAxis::out)))};
  test::expect_needs_every_element(call, operands);
  test::run_call(call, operands);
  const std::vector<double> got = operands[3].to_doubles(), want = naive(c, operands, kTransposed);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) ASSERT_EQ(got[i], test::stored(type, want[i])) << i;
}

template <class C>
C random_call(std::mt19937& rng, bool transposed) {
  C call;
  PlainConv& c = call.conv;
  c.n = test::one_of(rng, {1, 2});
  c.groups = test::one_of(rng, {1, 1, 2, 3});
  c.c = test::one_of(rng, {1, 2, 5});
  c.m = test::one_of(rng, {1, 3, 17});
  c.axes.resize(1 + rng() % 3);
  for (WindowAxis& a : c.axes) {
    a = {.in = test::one_of(rng, {1, 3, 4, 6}),
         .out = test::one_of(rng, {1, 2, 5}),
         .kernel = test::one_of(rng, {1, 2, 3}),
         .stride = test::one_of(rng, {1, 1, 2, 3}),
         .pad = test::one_of(rng, {0, 1, 2, -1}),
         .dilation = test::one_of(rng, {1, 1, 2})};
  }
  if (c.axes.size() == 1 || (c.axes.size() == 2 && rng() % 2))  // rows longer than a panel
    (transposed ? c.axes.back().in : c.axes.back().out) = test::one_of(rng, {48, 50, 61});
  return call;
}

TEST(ConvGeneric, MatchesLoopsForAnyWindowAndType) {
  std::mt19937 rng(6);
  for (const DType type : {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16})
    for (int i = 0; i < 25; i++)
      check(random_call<calls::ConvGeneric>(rng, false), type, rng() % 2, rng);
}

TEST(ConvGeneric, SumsOfManyChannelsAreMadeInPieces) {
  std::mt19937 rng(7);
  for (const int64_t channels : {171, 172, 350}) {  // 513, 516 and 1050 terms
    calls::ConvGeneric call;
    call.conv.c = channels;
    call.conv.m = 2;
    call.conv.axes = {{.in = 9, .out = 9, .kernel = 3, .pad = 1}};
    check(call, DType::f32, channels % 2, rng);
  }
}

TEST(ConvTransposeGeneric, MatchesLoopsForAnyWindowAndType) {
  std::mt19937 rng(8);
  for (const DType type : {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16})
    for (int i = 0; i < 25; i++)
      check(random_call<calls::ConvTransposeGeneric>(rng, true), type, rng() % 2, rng);
}

TEST(ConvTransposeGeneric, SumsOfManyChannelsAreMadeInPieces) {
  std::mt19937 rng(9);
  for (const int64_t channels : {512, 515}) {
    calls::ConvTransposeGeneric call;
    call.conv.c = channels;
    call.conv.m = 2;
    call.conv.axes = {{.in = 50, .out = 99, .kernel = 3, .stride = 2, .pad = 1}};
    check(call, DType::f32, channels % 2, rng);
  }
}

TEST(ConvGeneric, RefusesOtherTypesThanFloats) {
  for (const DType type : {DType::s32, DType::s8}) {
    const std::vector<Tensor> operands = {Tensor::zeros(type, {1, 1, 4}),
                                          Tensor::zeros(type, {1, 1, 1}), Tensor(),
                                          Tensor::zeros(type, {1, 1, 4})};
    const PlainConv conv{.n = 1, .groups = 1, .c = 1, .m = 1, .axes = {{.in = 4, .out = 4}}};
    EXPECT_THROW(test::prepare_call(calls::ConvGeneric{conv}, operands), Error);
    EXPECT_THROW(test::prepare_call(calls::ConvTransposeGeneric{conv}, operands), Error);
  }
}

}  // namespace
}  // namespace poprt::kernels
