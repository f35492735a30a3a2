// Compares kernel `pool_generic` with loops over windows, for each of its algorithms.
#include "kernels/calls/pool_generic.h"

#include <cmath>
#include <limits>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using calls::Pooling;
using calls::PoolingAxis;

struct Wanted {
  double value;
  int64_t index;  // in the plane, -1 where the window is empty
};

// One window of a plane.
Wanted wanted(const calls::PoolGeneric& c, const double* plane, int64_t window, double lowest) {
  const size_t rank = c.axes.size();
  std::vector<int64_t> out(rank), tap(rank, 0);
  int64_t taps = 1;
  for (size_t d = rank; d-- > 0; window /= c.axes[d].out) {
    out[d] = window % c.axes[d].out;
    taps *= c.axes[d].kernel;
  }
  Wanted w{c.kind == Pooling::max ? lowest : 0, -1};
  int64_t seen = 0, padded = 0;
  for (int64_t t = 0; t < taps; t++) {
    int64_t rest = t, at = 0, swapped = 0, scale = 1;
    bool inside = true, counted = true;
    for (size_t d = rank; d-- > 0;) {
      const PoolingAxis& a = c.axes[d];
      const int64_t i = out[d] * a.stride - a.pad + rest % a.kernel * a.dilation;
      rest /= a.kernel;
      inside = inside && i >= 0 && i < a.in;
      counted = counted && i < a.in + a.pad_end;
      at += i * scale;
      scale *= a.in;
      tap[d] = i;
    }
    padded += counted;
    if (!inside) continue;
    for (size_t d = rank; d-- > 0;) swapped = swapped * c.axes[d].in + tap[d];
    const double v = plane[at];
    seen++;
    switch (c.kind) {
      case Pooling::max:
        if (w.index < 0 || v > w.value) w = {v, c.column_major ? swapped : at};
        break;
      case Pooling::average: w.value += v; break;
      case Pooling::lp: w.value += std::pow(std::fabs(v), static_cast<double>(c.p));
    }
  }
  if (c.kind == Pooling::average)
    w.value /= static_cast<double>(std::max<int64_t>(1, c.count_padding ? padded : seen));
  if (c.kind == Pooling::lp) w.value = std::pow(w.value, 1 / static_cast<double>(c.p));
  return w;
}

calls::PoolGeneric random_call(std::mt19937& rng, bool reals) {
  calls::PoolGeneric c;
  c.kind = reals ? static_cast<Pooling>(rng() % 3) : Pooling::max;
  c.count_padding = rng() % 2;
  c.p = test::one_of(rng, {1, 2, 3});
  c.column_major = rng() % 2;
  c.planes = test::one_of(rng, {1, 3});
  c.axes.resize(1 + rng() % 3);
  const bool whole = rng() % 3 == 0;  // windows as large as the plane, or nearly
  for (PoolingAxis& a : c.axes) {
    a = {.in = test::one_of(rng, {2, 3, 5}), .out = test::one_of(rng, {1, 2, 3})};
    if (&a == &c.axes.back() && rng() % 2) a.in = 40, a.out = test::one_of(rng, {18, 21, 37});
    a.kernel = test::one_of(rng, {1, 2, 3, 5});
    a.stride = test::one_of(rng, {1, 1, 2, 3});
    a.pad = test::one_of(rng, {0, 1, 2});
    a.pad_end = test::one_of(rng, {0, 1, 3});
    a.dilation = test::one_of(rng, {1, 1, 2});
    if (whole) a = {.in = a.in, .out = 1, .kernel = a.in};
  }
  PoolingAxis& a = c.axes[rng() % c.axes.size()];
  if (whole) switch (rng() % 6) {
      case 0: a.kernel--; break;
      case 1: a.dilation = 2; break;
      case 2: a.pad = 1; break;
      case 3: a.out = 2; break;
      default: break;
    }
  return c;
}

void expect_right(const calls::PoolGeneric& c, DType type, bool with_indices, std::mt19937& rng) {
  std::string trace(dtype_name(type));
  for (const int64_t i : calls::encode(c).ints) trace += " " + std::to_string(i);
  SCOPED_TRACE(trace);
  int64_t in = 1, out = 1;
  for (const PoolingAxis& a : c.axes) in *= a.in, out *= a.out;
  std::vector<Tensor> operands = {
      test::random_numbers(type, {c.planes, in}, rng), Tensor::zeros(type, {c.planes, out}),
      with_indices ? Tensor::zeros(DType::s64, {c.planes, out}) : Tensor()};
  test::expect_needs_every_element(c, operands);
  test::run_call(c, operands);
  const std::vector<double> x = operands[0].to_doubles(), y = operands[1].to_doubles();
  const double lowest =
      is_float(type) ? -std::numeric_limits<double>::infinity() : (type == DType::s8 ? -128 : 0);
  const double tolerance = type == DType::f16 ? 2e-3 : type == DType::bf16 ? 2e-2 : 1e-5;
  for (int64_t i = 0; i < c.planes * out; i++) {
    const Wanted w = wanted(c, x.data() + i / out * in, i % out, lowest);
    const double got = y[static_cast<size_t>(i)];
    if (std::isinf(w.value))
      ASSERT_EQ(got, w.value) << i;
    else
      ASSERT_NEAR(got, w.value, tolerance * (1 + std::fabs(w.value))) << i;
    if (with_indices && w.index >= 0)
      ASSERT_EQ(operands[2].values<int64_t>()[static_cast<size_t>(i)], i / out * in + w.index) << i;
  }
}

void check(DType type, bool with_indices, std::mt19937& rng) {
  calls::PoolGeneric c = random_call(rng, is_float(type));
  if (with_indices) c.kind = Pooling::max;
  expect_right(c, type, with_indices, rng);
}

TEST(PoolGeneric, MatchesLoopsForAnyWindowKindAndType) {
  std::mt19937 rng(2);
  for (const DType type :
       {DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16, DType::s8, DType::u8})
    for (int i = 0; i < 60; i++) {
      check(type, false, rng);
      if (i % 3 == 0) check(type, true, rng);
    }
}

// Windows have about as many rows as are joined at once, or twice as many.
TEST(PoolGeneric, WindowsOfManyRows) {
  std::mt19937 rng(3);
  for (const auto& [kz, ky] : {std::pair<int64_t, int64_t>{1, 63}, {8, 8}, {5, 13}, {2, 64}})
    for (const Pooling kind : {Pooling::max, Pooling::average, Pooling::lp})
      for (const int64_t pad : {0, 1}) {
        calls::PoolGeneric c;
        c.kind = kind;
        c.planes = 2;
        c.axes = {{.in = kz + 1, .out = 2, .kernel = kz, .pad = pad},
                  {.in = ky + 1, .out = 2, .kernel = ky, .pad = pad},
                  {.in = 19, .out = 18, .kernel = 2, .pad = pad}};
        expect_right(c, DType::f32, false, rng);
      }
}

TEST(PoolGeneric, AcceptsZeroPlanesAndWindows) {
  std::mt19937 rng(4);
  for (const Pooling kind : {Pooling::max, Pooling::average, Pooling::lp})
    for (const DType type : {DType::f32, DType::f64}) {
      calls::PoolGeneric c;
      c.kind = kind;
      c.axes = {{.in = 3, .out = 2, .kernel = 2}, {.in = 5, .out = 4, .kernel = 2}};
      expect_right(c, type, false, rng);
      c.planes = 2;
      c.axes[1].out = 0;
      expect_right(c, type, false, rng);
      // Windows of nothing.
      c.axes[1] = {.in = 0, .out = 2, .kernel = 2};
      expect_right(c, type, false, rng);
    }
}

// The maximum of a window with a NaN is NaN, in each implementation and at each position.
TEST(PoolGeneric, NoNumberIsTheMost) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const bool with_indices : {false, true})
    for (const bool whole : {false, true})
      for (size_t at = 0; at < 40; at++) {
        calls::PoolGeneric c;
        c.planes = 1;
        c.axes = {{.in = 40, .out = 20, .kernel = 2, .stride = 2}};
        if (whole) c.axes = {{.in = 40, .out = 1, .kernel = 40}};
        const int64_t out = c.axes[0].out;
        std::vector<Tensor> o = {Tensor::zeros(DType::f32, {40}), Tensor::zeros(DType::f32, {out}),
                                 with_indices ? Tensor::zeros(DType::s64, {out}) : Tensor()};
        o[0].mutable_values<float>()[at] = kNan;
        test::run_call(c, o);
        const auto y = o[1].values<float>();
        for (size_t i = 0; i < y.size(); i++)
          ASSERT_EQ(std::isnan(y[i]), whole || i == at / 2) << at << " " << i;
        if (with_indices)
          EXPECT_EQ(o[2].values<int64_t>()[whole ? 0 : at / 2], static_cast<int64_t>(at));
      }
}

TEST(PoolGeneric, RefusesIndicesOfSumsAndSumsOfIntegers) {
  calls::PoolGeneric c;
  c.planes = 1;
  c.axes = {{.in = 4, .out = 4}};
  const auto takes = [&](Pooling kind, DType type, DType indices) {
    c.kind = kind;
    const std::vector<Tensor> operands = {
        Tensor::zeros(type, {4}), Tensor::zeros(type, {4}),
        indices == DType::undefined ? Tensor() : Tensor::zeros(indices, {4})};
    try {
      test::prepare_call(c, operands);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  constexpr DType kNone = DType::undefined;
  EXPECT_TRUE(takes(Pooling::max, DType::f32, DType::s64));
  EXPECT_FALSE(takes(Pooling::max, DType::f32, DType::s32));
  for (const Pooling kind : {Pooling::average, Pooling::lp}) {
    EXPECT_TRUE(takes(kind, DType::f32, kNone));
    EXPECT_FALSE(takes(kind, DType::f32, DType::s64));
    EXPECT_FALSE(takes(kind, DType::s8, kNone));
  }
  EXPECT_TRUE(takes(Pooling::max, DType::u8, kNone));
  EXPECT_FALSE(takes(Pooling::max, DType::s32, kNone));
}

}  // namespace
}  // namespace poprt::kernels
