// Compares kernels `conv_integer`, and `interleave_bytes` with `conv_vnni`, with loops over windows
// in one to three dimensions. All integers are equal.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/kernels/run_call.h"
#include "kernels/calls/conv_integer.h"
#include "kernels/calls/conv_vnni.h"
#include "kernels/calls/interleave_bytes.h"
#include "kernels/common/pack_vnni.h"
#include "kernels/isa/vnni.h"

namespace poprt::kernels {
namespace {

// Random sizes and operands, and the expected sums.
struct IntegerCase {
  calls::PlainConv conv;
  std::vector<int64_t> end;  // padding at the end of each axis
  bool x_signed, w_signed, w_filters, x_zeros, w_zeros;
  int64_t in = 1, out = 1, taps = 1;
  Tensor x, w, x_zero, w_zero, bias;
  std::vector<int32_t> sums;

  explicit IntegerCase(std::mt19937& rng)
      : x_signed(rng() % 2),
        w_signed(rng() % 2),
        w_filters(rng() % 2),
        x_zeros(rng() % 4),
        w_zeros(rng() % 4) {
    conv.n = test::one_of(rng, {1, 2});
    conv.groups = test::one_of(rng, {1, 1, 2, 3});
    conv.c = test::one_of(rng, {1, 1, 2, 4, 5, 8});
    conv.m = test::one_of(rng, {1, 2, 5, 8, 17});
    conv.axes.resize(1 + rng() % 3);
    for (calls::WindowAxis& a : conv.axes) {
      a = {.in = test::one_of(rng, {1, 3, 6}),
           .kernel = test::one_of(rng, {1, 2, 3}),
           .stride = test::one_of(rng, {1, 1, 2, 3}),
           .pad = test::one_of(rng, {0, 0, 1, 2}),
           .dilation = test::one_of(rng, {1, 1, 2})};
      if (&a == &conv.axes.back() && rng() % 2) a.in = test::one_of(rng, {15, 16, 17, 70});
      end.push_back(test::one_of(rng, {0, 1, 2}));
      const int64_t reach = (a.kernel - 1) * a.dilation + 1;
      end.back() = std::max(end.back(), reach - a.in - a.pad);
      a.out = (a.in + a.pad + end.back() - reach) / a.stride + 1;
      in *= a.in, out *= a.out, taps *= a.kernel;
    }
    const int64_t filters = conv.groups * conv.m;
    x = bytes(x_signed, conv.n * conv.groups * conv.c * in, rng);
    w = bytes(w_signed, filters * conv.c * taps, rng);
    if (x_zeros) x_zero = bytes(x_signed, 1, rng);
    if (w_zeros) w_zero = bytes(w_signed, w_filters ? filters : 1, rng);
    if (rng() % 2) {
      bias = Tensor::zeros(DType::s32, {filters});
      for (int32_t& b : bias.mutable_values<int32_t>())
        b = static_cast<int32_t>(rng() % 2000) - 1000;
    }
    add_up();
  }

  static Tensor bytes(bool is_signed, int64_t count, std::mt19937& rng) {
    Tensor t = Tensor::zeros(is_signed ? DType::s8 : DType::u8, {count});
    auto* to = static_cast<uint8_t*>(t.mutable_data());
    for (int64_t i = 0; i < count; i++) to[i] = static_cast<uint8_t>(rng());
    return t;
  }

  void add_up() {
    const std::vector<double> vx = x.to_doubles(), vw = w.to_doubles(),
                              zx = x_zeros ? x_zero.to_doubles() : std::vector<double>{0},
                              zw = w_zeros ? w_zero.to_doubles() : std::vector<double>{0},
                              b = bias.defined() ? bias.to_doubles() : std::vector<double>();
    const int64_t filters = conv.groups * conv.m;
    for (int64_t i = 0; i < conv.n * filters * out; i++) {
      const int64_t filter = i / out % filters, image = i / out / filters;
      double sum = b.empty() ? 0 : b[static_cast<size_t>(filter)];
      for (int64_t k = 0; k < conv.c * taps; k++) {
        int64_t tap = k % taps, window = i % out, at = 0, scale = 1;
        bool inside = true;
        for (size_t d = conv.axes.size(); d-- > 0;) {
          const calls::WindowAxis& a = conv.axes[d];
          const int64_t p = window % a.out * a.stride - a.pad + tap % a.kernel * a.dilation;
          inside = inside && p >= 0 && p < a.in;
          at += p * scale;
          scale *= a.in, window /= a.out, tap /= a.kernel;
        }
        if (!inside) continue;
        const int64_t plane = (image * conv.groups + filter / conv.m) * conv.c + k / taps;
        sum += (vx[static_cast<size_t>(plane * in + at)] - zx[0]) *
               (vw[static_cast<size_t>(filter * conv.c * taps + k)] -
                zw[zw.size() > 1 ? static_cast<size_t>(filter) : 0]);
      }
      sums.push_back(static_cast<int32_t>(sum));
    }
  }

  Tensor result(DType type) const {
    return Tensor::zeros(type, {static_cast<int64_t>(sums.size())});
  }

  std::string text() const {
    std::string t = fmt::format("x {} w {} filters {}:", x_signed, w_signed, w_filters);
    for (const int64_t i : calls::encode(calls::ConvInteger{w_filters, conv}).ints)
      t += " " + std::to_string(i);
    return t;
  }
};

TEST(IntegerConv, PlainSumsAreExact) {
  std::mt19937 rng(1);
  for (int round = 0; round < 150 && !testing::Test::HasFailure(); round++) {
    const IntegerCase c(rng);
    SCOPED_TRACE(c.text());
    const calls::ConvInteger call = {c.w_filters, c.conv};
    std::vector<Tensor> o = {c.x, c.w, c.x_zero, c.w_zero, c.bias, c.result(DType::s32)};
    test::expect_needs_every_element(call, o);
    test::run_call(call, o);
    const auto y = o[5].values<int32_t>();
    ASSERT_TRUE(std::equal(y.begin(), y.end(), c.sums.begin()));
  }
}

// x as the padded quads that conv_vnni reads.
Tensor interleaved(const IntegerCase& c, calls::ConvVnni& vnni) {
  calls::InterleaveBytes call = {.groups = c.conv.n * c.conv.groups, .c = c.conv.c, .axes = {}};
  int64_t padded = 1;
  for (size_t d = 0; d < c.conv.axes.size(); d++) {
    const calls::WindowAxis& a = c.conv.axes[d];
    call.axes.push_back({.in = a.in, .pad = a.pad, .padded = a.in + a.pad + c.end[d]});
    padded *= call.axes.back().padded;
    vnni.axes.push_back({call.axes.back().padded, a.out, a.kernel, a.stride, a.dilation});
  }
  const int64_t quads = (c.conv.c + 3) / 4;
  std::vector<Tensor> o = {
      c.x, c.x_zero,
      Tensor::zeros(DType::u8, {call.groups * quads * padded * 4 + isa::kVnniBytes})};
  test::expect_needs_every_element(call, o);
  test::run_call(call, o);
  return o[2];
}

void expect_vnni(const IntegerCase& c, bool scaled, std::mt19937& rng) {
  calls::ConvVnni call = {.n = c.conv.n,
                          .groups = c.conv.groups,
                          .c = c.conv.c,
                          .m = c.conv.m,
                          .x_signed = c.x_signed,
                          .w_signed = c.w_signed,
                          .w_filters = c.w_filters};
  const int64_t filters = call.groups * call.m, each = call.c * c.taps;
  const Tensor quads = interleaved(c, call);
  Tensor w = Tensor::zeros(DType::s8, {filters * ((call.c + 3) / 4) * c.taps * 4}),
         w_sums = Tensor::zeros(DType::s32, {filters});
  const std::span<const std::byte> given = {static_cast<const std::byte*>(c.w.data()),
                                            static_cast<size_t>(c.w.bytes())};
  pack_vnni_rows(given, c.w_signed, filters, call.c, c.taps,
                 {static_cast<std::byte*>(w.mutable_data()), static_cast<size_t>(w.bytes())});
  sum_vnni_rows(given, c.w_signed, filters, each, w_sums.mutable_values<int32_t>());
  std::vector<Tensor> o = {quads, w, w_sums, c.x_zero, c.w_zero, c.bias};
  if (!scaled) {
    o.push_back(c.result(DType::s32));
    test::expect_needs_every_element(call, o);
    test::run_call(call, o);
    const auto y = o[6].values<int32_t>();
    ASSERT_TRUE(std::equal(y.begin(), y.end(), c.sums.begin()));
    return;
  }
  // Powers of two, so that every product is exact.
  const bool is_signed = rng() % 2, of_filters = rng() % 2;
  const DType type = is_signed ? DType::s8 : DType::u8,
              scales = std::array{DType::f32, DType::f16, DType::bf16}[rng() % 3];
  const auto powers = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& f : v) f = std::ldexp(1.0f, -static_cast<int>(rng() % 5));
    return v;
  };
  const auto tensor = [&](const std::vector<float>& v) {
    Tensor t = Tensor::zeros(scales, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); i++) {
      if (scales == DType::f32) t.mutable_values<float>()[i] = v[i];
      if (scales == DType::f16) t.mutable_values<f16_t>()[i] = to_f16(v[i]);
      if (scales == DType::bf16) t.mutable_values<bf16_t>()[i] = to_bf16(v[i]);
    }
    return t;
  };
  const auto x_scale = powers(1), w_scale = powers(of_filters ? filters : 1);
  const std::vector<float> y_scale = {16};
  const Tensor y_zero = IntegerCase::bytes(is_signed, 1, rng);
  o.insert(o.end(), {tensor(x_scale), tensor(w_scale), tensor(y_scale), y_zero, c.result(type)});
  test::expect_needs_every_element(call, o);
  test::run_call(call, o);
  const std::vector<double> y = o[10].to_doubles();
  for (size_t i = 0; i < y.size(); i++) {
    const size_t filter = i / static_cast<size_t>(c.out) % static_cast<size_t>(filters);
    const float scale = x_scale[0] * w_scale[of_filters ? filter : 0] / 16;
    const double whole =
        static_cast<double>(std::nearbyint(static_cast<float>(c.sums[i]) * scale)) +
        y_zero.to_doubles()[0];
    ASSERT_EQ(y[i], std::clamp(whole, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0)) << i;
  }
}

TEST(IntegerConv, SumsOfQuadsAreExact) {
  std::mt19937 rng(2);
  for (int round = 0; round < 100 && !testing::Test::HasFailure(); round++) {
    const IntegerCase c(rng);
    SCOPED_TRACE(c.text());
    expect_vnni(c, false, rng);
    expect_vnni(c, true, rng);
  }
}

}  // namespace
}  // namespace poprt::kernels
