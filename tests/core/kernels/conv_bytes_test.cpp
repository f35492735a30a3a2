// Compares kernel `conv_bytes` with loops over windows: all bytes are equal, for each algorithm
// that addresses the pixels.
#include "kernels/calls/conv_bytes.h"

#include <cmath>

#include "core/kernels/run_call.h"
#include "kernels/common/pack_vnni.h"

namespace poprt::kernels {
namespace {

// A random call with its operands. Weights are [m][taps][c], or [c][taps] for single channels.
struct BytesCase {
  calls::ConvBytes call;
  bool x_signed = false, residual = false, residual_signed = false;
  int64_t in = 1, out = 1, taps = 1, line = 1;  // pixels, windows, taps, taps of a line
  std::vector<int8_t> w;
  std::vector<Tensor> o;

  explicit BytesCase(std::mt19937& rng) {
    calls::ConvBytes& c = call;
    c.n = test::one_of(rng, {1, 2});
    const bool channels = rng() % 3 == 0;
    c.c = channels ? test::one_of(rng, {16, 48, 64, 80}) : test::one_of(rng, {1, 2, 3, 4, 7, 8});
    c.m = channels ? c.c : test::one_of(rng, {1, 15, 16, 64, 70});
    c.groups = channels ? c.c : 1;
    x_signed = rng() % 2;
    c.is_signed = rng() % 2;
    residual = rng() % 2;
    residual_signed = rng() % 2;
    const auto zero = [&](bool is_signed) {
      return static_cast<int64_t>(rng() % 256) - 128 * is_signed;
    };
    c.x_zero = zero(x_signed);
    c.y_zero = zero(c.is_signed);
    c.residual_zero = zero(residual_signed);
    c.sum_zero = zero(c.is_signed);
    c.relu = rng() % 2;
    if (rng() % 2) {
      const int64_t a = zero(c.is_signed), b = zero(c.is_signed);
      c.range = {.least = std::min(a, b), .most = std::max(a, b)};
    }
    c.y_scale = 0.5f, c.residual_scale = 0.25f, c.sum_scale = 0.5f;
    c.axes.resize(1 + rng() % 3);
    for (calls::WindowAxis& a : c.axes) {
      a = {.in = test::one_of(rng, {1, 2, 4, 7}),
           .out = test::one_of(rng, {1, 2, 3, 7}),
           .kernel = test::one_of(rng, {1, 1, 2, 3}),
           .stride = test::one_of(rng, {1, 1, 2}),
           .pad = test::one_of(rng, {0, 0, 1, 2}),
           .dilation = test::one_of(rng, {1, 1, 2})};
      if (rng() % 4 == 0) a = {.in = a.in, .out = a.in};
      in *= a.in, out *= a.out, taps *= a.kernel;
    }
    line = c.axes.back().kernel;
    make_operands(rng);
  }

  void make_operands(std::mt19937& rng) {
    const calls::ConvBytes& c = call;
    const auto bytes = [&](bool is_signed, int64_t count) {
      Tensor t = Tensor::zeros(is_signed ? DType::s8 : DType::u8, {count});
      auto* to = static_cast<uint8_t*>(t.mutable_data());
      for (int64_t i = 0; i < count; i++) to[i] = static_cast<uint8_t>(rng());
      return t;
    };
    w.resize(static_cast<size_t>(c.m * taps * (c.groups == 1 ? c.c : 1)));
    for (int8_t& v : w) v = static_cast<int8_t>(rng());
    const int64_t columns = vnni_panels(c.m) * kPackedVnniColumns;
    o = {bytes(x_signed, c.n * in * c.c),
         c.groups == 1 ? panels() : channel_panels(),
         Tensor::zeros(DType::s32, {columns}),
         Tensor::zeros(DType::f32, {columns}),
         residual ? bytes(residual_signed, c.n * out * c.m) : Tensor(),
         bytes(c.is_signed, c.n * out * c.m)};
    for (int32_t& v : o[2].mutable_values<int32_t>()) v = static_cast<int32_t>(rng() % 4000) - 2000;
    for (float& v : o[3].mutable_values<float>())
      v = std::ldexp(1.0f, -5 - static_cast<int>(rng() % 5));
  }

  // Lines of taps are filled up to whole quads.
  Tensor panels() const {
    const int64_t c = call.c, row = (line * c + 3) / 4 * 4, k = taps / line * row;
    std::vector<std::byte> b(static_cast<size_t>(k * call.m));
    for (int64_t j = 0; j < call.m; j++)
      for (int64_t i = 0; i < taps * c; i++)
        b[static_cast<size_t>((i / (line * c) * row + i % (line * c)) * call.m + j)] =
            static_cast<std::byte>(w[static_cast<size_t>(j * taps * c + i)]);
    Tensor t = Tensor::zeros(DType::s8, {packed_vnni_bytes(k, call.m)});
    pack_vnni_columns(b, true, k, call.m,
                      {static_cast<std::byte*>(t.mutable_data()), static_cast<size_t>(t.bytes())});
    return t;
  }

  // Quads of lines, in the order of isa/byte_pixels.h.
  Tensor channel_panels() const {
    const int64_t lines = taps / line, quads = (lines + 3) / 4;
    const int64_t panel = channel_panel_bytes(line, lines);
    Tensor t = Tensor::zeros(DType::s8, {vnni_panels(call.c) * panel});
    const auto to = t.mutable_values<int8_t>();
    for (int64_t i = 0; i < call.c * taps; i++) {
      const int64_t tap = i % taps, j = i / taps % 64, l = tap / line;
      const int64_t place = j % 16 / 4 * 16 + j / 16 * 4 + j % 4;
      to[static_cast<size_t>(i / taps / 64 * panel +
                             ((tap % line * quads + l / 4) * 64 + place) * 4 + l % 4)] =
          w[static_cast<size_t>(i)];
    }
    return t;
  }

  // The product of a window and a filter.
  int64_t sum(int64_t image, int64_t window, int64_t filter) const {
    const auto* x = static_cast<const uint8_t*>(o[0].data());
    const int64_t shift = x_signed ? 128 : 0;
    int64_t total = 0;
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t rest = tap, to = window, at = 0, scale = 1;
      bool inside = true;
      for (size_t d = call.axes.size(); d-- > 0;) {
        const calls::WindowAxis& a = call.axes[d];
        const int64_t i = to % a.out * a.stride - a.pad + rest % a.kernel * a.dilation;
        inside = inside && i >= 0 && i < a.in;
        at += i * scale;
        scale *= a.in, to /= a.out, rest /= a.kernel;
      }
      const int64_t channels = call.groups == 1 ? call.c : 1;
      for (int64_t k = 0; k < channels; k++) {
        const int64_t channel = call.groups == 1 ? k : filter;
        const uint8_t byte = inside ? x[(image * in + at) * call.c + channel] : 0;
        const int64_t value = !inside ? call.x_zero : x_signed ? static_cast<int8_t>(byte) : byte;
        total += (value + shift) * w[static_cast<size_t>((filter * taps + tap) * channels + k)];
      }
    }
    return total;
  }

  static double saturated(double v, bool is_signed) {
    return std::clamp(v, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  }

  void expect_right() {
    std::string trace = x_signed ? "s8" : "u8";
    for (const int64_t i : calls::encode(call).ints) trace += " " + std::to_string(i);
    SCOPED_TRACE(trace);
    const std::vector<double> more = residual ? o[4].to_doubles() : std::vector<double>();
    test::expect_needs_every_element(call, o);
    test::run_call(call, o);
    const std::vector<double> y = o[5].to_doubles();
    for (int64_t i = 0; i < call.n * out * call.m; i++) {
      const auto m = static_cast<size_t>(i % call.m), at = static_cast<size_t>(i);
      const int64_t exact =
          sum(i / call.m / out, i / call.m % out, i % call.m) + o[2].values<int32_t>()[m];
      const float scaled = static_cast<float>(exact) * o[3].values<float>()[m];
      double want =
          saturated(static_cast<double>(std::nearbyint(scaled)) + static_cast<double>(call.y_zero),
                    call.is_signed);
      if (call.range)
        want = std::clamp(want, static_cast<double>(call.range->least),
                          static_cast<double>(call.range->most));
      if (residual) {
        double v = (want - static_cast<double>(call.y_zero)) * 0.5 +
                   (more[at] - static_cast<double>(call.residual_zero)) * 0.25;
        if (call.relu) v = std::max(v, 0.0);
        want =
            saturated(std::nearbyint(v / 0.5) + static_cast<double>(call.sum_zero), call.is_signed);
      }
      ASSERT_EQ(y[at], want) << "byte " << i;
    }
  }
};

TEST(ConvBytes, AnyWindowChannelsAndTypes) {
  std::mt19937 rng(1);
  for (int round = 0; round < 150 && !testing::Test::HasFailure(); round++)
    BytesCase(rng).expect_right();
}

TEST(ConvBytes, AcceptsZeroImages) {
  std::mt19937 rng(2);
  for (int round = 0; round < 5; round++) {
    BytesCase c(rng);
    c.call.n = 0;
    c.make_operands(rng);
    c.expect_right();
  }
}

TEST(ConvBytes, RefusesARangeThatIsNotOneOfBytes) {
  std::mt19937 rng(4);
  BytesCase c(rng);
  const int64_t low = c.call.is_signed ? -128 : 0;
  c.call.range = {.least = low, .most = low + 255};
  EXPECT_NO_THROW(test::prepare_call(c.call, c.o));
  c.call.range = {.least = low + 2, .most = low + 1};
  EXPECT_THROW(test::prepare_call(c.call, c.o), Error);
  c.call.range = {.least = low, .most = c.call.is_signed ? 128 : 256};
  EXPECT_THROW(test::prepare_call(c.call, c.o), Error);
}

TEST(ConvBytes, RefusesGroupsOfSeveralChannels) {
  std::mt19937 rng(3);
  BytesCase c(rng);
  c.call.c = c.call.m = 32;
  c.call.groups = 16;
  EXPECT_THROW(test::prepare_call(c.call, c.o), Error);
  c.call.c = c.call.m = c.call.groups = 8;
  EXPECT_THROW(test::prepare_call(c.call, c.o), Error);
}

}  // namespace
}  // namespace poprt::kernels
