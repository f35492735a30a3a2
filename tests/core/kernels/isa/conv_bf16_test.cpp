// Compares convolutions with products of bf16, of every instruction set that this CPU has, on
// random shapes with loops in double. Activations are f32 or bf16.
#include "kernels/isa/conv_bf16.h"

#include "base/half.h"
#include "core/kernels/isa/conv_case.h"
#include "kernels/common/conv.h"

namespace poprt::kernels::test {
namespace {

// The largest relative error of a number that is rounded to bf16, and of a product of two.
constexpr double kRounding = 1.0 / 256, kProduct = 2 * kRounding + kRounding * kRounding;

void round_all(std::vector<float>& values) {
  for (float& v : values) v = to_float(to_bf16(v));
}

// Values that a kernel reads or writes, as f32 or bf16.
struct Activations {
  bool bf16;
  std::vector<float> floats;
  std::vector<bf16_t> halves;
  Activations(bool is_bf16, std::vector<float> values) : bf16(is_bf16), floats(std::move(values)) {
    for (const float v : floats) halves.push_back(to_bf16(v));
  }
  void* data() {
    return bf16 ? static_cast<void*>(halves.data()) : static_cast<void*>(floats.data());
  }
  std::vector<float> values() const {
    if (!bf16) return floats;
    std::vector<float> v;
    for (const bf16_t h : halves) v.push_back(to_float(h));
    return v;
  }
};

// A convolution whose numbers are of bf16 if `exact`, so that only sums in f32 are rounded.
struct Bf16Case {
  ConvCase c;
  bool exact, x, residual, y;
  Bf16Case(std::mt19937& rng, bool stem) {
    isa::ConvShape& s = c.window;
    s.h = pick(rng, 1, 9);
    s.w = pick(rng, 1, 4) == 1 ? pick(rng, 60, 200) : pick(rng, 1, 30);
    const bool pointwise = pick(rng, 0, 2) == 0;
    s.kh = pointwise ? 1 : pick(rng, 1, 4);
    s.kw = pointwise ? 1 : pick(rng, 1, 5);
    s.stride_h = pointwise ? 1 : pick(rng, 1, 3);
    s.stride_w = pointwise ? 1 : pick(rng, 1, 3);
    s.pad_h = pointwise ? 0 : pick(rng, 0, 3);
    s.pad_w = pointwise ? 0 : pick(rng, 0, 5);
    s.dilation_h = pick(rng, 1, 3);
    s.dilation_w = stem ? 1 : pick(rng, 1, 3);
    if (!stem && pick(rng, 0, 3) == 0) {
      s.d = pick(rng, 1, 5);
      s.kd = pointwise ? 1 : pick(rng, 1, 3);
      s.pad_d = pointwise ? 0 : pick(rng, 0, 2);
    }
    c.n = pick(rng, 1, 2);
    c.groups = stem ? 1 : pick(rng, 1, 2);
    c.c = stem ? pick(rng, 1, 15) : c.groups > 1 ? 32 : pick(rng, 1, 70);
    c.m = c.groups > 1 ? 16 : pick(rng, 1, 100);
    c.finish(rng, pointwise ? 0 : pick(rng, 0, 2));
    exact = pick(rng, 0, 1) == 1;
    x = !stem && pick(rng, 0, 1) == 1;
    residual = pick(rng, 0, 1) == 1;
    y = pick(rng, 0, 1) == 1;
    if (exact || x) round_all(c.x);
    if (exact) round_all(c.w);
    if (residual) round_all(c.residual);
  }
  isa::ConvShape shape() const {
    isa::ConvShape s = c.shape(c.groups, c.c, c.m);
    s.bf16_x = x;
    s.bf16_residual = residual;
    s.bf16_y = y;
    return s;
  }
  void expect(const std::vector<float>& got) const {
    c.expect(got, exact ? 2e-6 : (x ? kRounding : kProduct) + 2e-6, y ? kRounding * 1.01 : 0);
  }
};

// The products of a table that this CPU can compute.
std::vector<bool> products_of([[maybe_unused]] const isa::ConvBf16Table* table) {
#if defined(POPRT_HAS_ISA_avx512)
  if (table == &isa::conv_bf16_avx512 && can_use_bf16()) return {false, true};
#endif
  return {false};
}

// Padding channels of x contain 1e20, which must not be used; so does y before the run.
void check_blocked(std::mt19937& rng) {
  const Bf16Case t(rng, false);
  SCOPED_TRACE(t.c.text());
  const isa::ConvShape s = t.shape();
  std::vector<bf16_t> w(
      static_cast<size_t>(s.groups * s.oc_blocks * 32 * isa::bf16_pairs(s.c, s.taps())));
  pack_conv_bf16(t.c.weights(), w);
  Activations x(t.x, t.c.blocked(t.c.x, t.c.channels(), s.in_pixels(), 1e20f));
  Activations residual(t.residual, t.c.blocked(t.c.residual, t.c.filters(), s.out_pixels()));
  for (const auto* table : POPRT_BUILDS(conv_bf16))
    for (const bool dots : products_of(table)) {
      isa::ConvBlocking b{};
      b.pixels = pick(rng, 1, s.out_pixels());
      b.pixel_tasks = (s.out_pixels() + b.pixels - 1) / b.pixels;
      b.segments = pick(rng, 1, s.c_blocks * s.taps());
      b.vectors = table->best_vectors(b.pixels, s.oc_blocks);
      b.oc_blocks = (pick(rng, 1, s.oc_blocks) + b.vectors - 1) / b.vectors * b.vectors;
      b.oc_tasks = (s.oc_blocks + b.oc_blocks - 1) / b.oc_blocks;
      Activations y(t.y, std::vector<float>(residual.floats.size(), 1e20f));
      std::vector<std::byte> scratch(
          static_cast<size_t>(isa::bf16_input_bytes(s, b) + isa::bf16_sum_bytes(b)),
          std::byte{0xff});
      table->blocked(dots, s, b, x.data(), &w.data()->bits, t.c.bias.data(), residual.data(),
                     y.data(), 0, t.c.n * s.groups * b.oc_tasks * b.pixel_tasks, scratch.data());
      t.expect(y.values());
    }
}

void check_stem(std::mt19937& rng) {
  const Bf16Case t(rng, true);
  SCOPED_TRACE(t.c.text());
  const isa::ConvShape s = t.shape();
  std::vector<bf16_t> w(static_cast<size_t>(s.oc_blocks * 32 * isa::bf16_pairs(s.c, s.taps())));
  pack_conv_stem_bf16(t.c.weights(), w);
  Activations residual(t.residual, t.c.blocked(t.c.residual, t.c.filters(), s.out_pixels()));
  for (const auto* table : POPRT_BUILDS(conv_bf16))
    for (const bool dots : products_of(table)) {
      isa::ConvBlocking b{};
      b.pixels = pick(rng, 1, s.oh);
      b.pixel_tasks = (s.oh + b.pixels - 1) / b.pixels;
      b.vectors = table->best_vectors(s.ow, s.oc_blocks);
      Activations y(t.y, std::vector<float>(residual.floats.size(), 1e20f));
      std::vector<std::byte> scratch(static_cast<size_t>(isa::bf16_rows(s, b.pixels).bytes()),
                                     std::byte{0xff});
      table->stem(dots, s, b, t.c.x.data(), &w.data()->bits, t.c.bias.data(), residual.data(),
                  y.data(), 0, t.c.n * b.pixel_tasks, scratch.data());
      t.expect(y.values());
    }
}

TEST(ConvBf16, BlockedMatchesDoubleLoops) {
  std::mt19937 rng(4);
  for (int i = 0; i < 80; i++) check_blocked(rng);
}

TEST(ConvBf16, StemMatchesDoubleLoops) {
  std::mt19937 rng(6);
  for (int i = 0; i < 60; i++) check_stem(rng);
}

// vdpbf16ps and two fused multiply-adds have the same results, so a model computes the same bits on
// every CPU with AVX2.
TEST(ConvBf16, DotsEqualFusedProducts) {
#if defined(POPRT_HAS_ISA_avx512)
  if (!can_use_bf16()) GTEST_SKIP() << "this CPU has no dots of bf16";
  std::mt19937 rng(9);
  ConvCase c;
  c.c = 37;
  c.m = 50;
  isa::ConvShape& window = c.window;
  window.h = window.w = 11;
  window.kh = window.kw = 3;
  window.stride_h = window.stride_w = window.dilation_h = window.dilation_w = 1;
  window.pad_h = window.pad_w = 1;
  c.finish(rng, 1);
  const isa::ConvShape s = c.shape(1, c.c, c.m);
  std::vector<bf16_t> w(static_cast<size_t>(s.oc_blocks * 32 * isa::bf16_pairs(s.c, s.taps())));
  pack_conv_bf16(c.weights(), w);
  const auto x = c.blocked(c.x, c.c, s.in_pixels()),
             residual = c.blocked(c.residual, c.m, s.out_pixels());
  const isa::ConvBlocking b{.vectors = 1,
                            .pixels = s.out_pixels(),
                            .columns = 0,
                            .oc_blocks = s.oc_blocks,
                            .segments = 5,
                            .pixel_tasks = 1,
                            .oc_tasks = 1,
                            .column_tasks = 0};
  const auto run = [&](const isa::ConvBf16Table& table, bool dots) {
    std::vector<float> y(residual.size());
    std::vector<std::byte> scratch(
        static_cast<size_t>(isa::bf16_input_bytes(s, b) + isa::bf16_sum_bytes(b)));
    table.blocked(dots, s, b, x.data(), &w.data()->bits, c.bias.data(), residual.data(), y.data(),
                  0, 1, scratch.data());
    return y;
  };
  const auto dots = run(isa::conv_bf16_avx512, true);
  EXPECT_EQ(dots, run(isa::conv_bf16_avx512, false));
  EXPECT_EQ(dots, run(isa::conv_bf16_avx2, false));
#endif
}

}  // namespace
}  // namespace poprt::kernels::test
