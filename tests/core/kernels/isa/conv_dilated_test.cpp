// Compares convolution tap by tap of every instruction set that this CPU has, on random shapes,
// with loops in double.
#include "kernels/isa/conv_dilated.h"

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels::test {
namespace {

void check(std::mt19937& rng, ConvCase c) {
  c.finish(rng, pick(rng, 0, 12));
  SCOPED_TRACE(c.text());
  const isa::ConvShape s = c.shape(c.groups, c.c, c.m);
  std::vector<float> w(static_cast<size_t>(c.groups * s.oc_blocks * 16 * c.c * s.kh * s.kw));
  pack_conv(c.weights(), w);
  const auto x = c.blocked(c.x, c.channels(), s.h * s.w, 1e20f);
  const auto residual = c.blocked(c.residual, c.filters(), s.oh * s.ow);
  for (const auto* table : POPRT_BUILDS(conv_dilated)) {
    isa::DilatedBlocking b{};
    b.vectors = table->best_vectors(s);
    b.oc_tasks = (s.oc_blocks + b.vectors - 1) / b.vectors;
    b.segments = pick(rng, 1, 5);
    b.rows = pick(rng, 1, s.oh);
    b.row_tasks = (s.oh + b.rows - 1) / b.rows;
    std::vector<float> y(residual.size(), -1);
    table->run(s, b, x.data(), w.data(), c.bias.data(), residual.data(), y.data(), 0,
               c.n * c.groups * b.oc_tasks * b.row_tasks);
    c.expect(y);
  }
}

TEST(ConvDilated, MatchesDoubleLoopsHoweverMuchIsPadding) {
  std::mt19937 rng(3);
  for (int i = 0; i < 60; i++) {
    ConvCase c;
    c.n = pick(rng, 1, 2);
    c.groups = i % 4 ? 1 : 2;
    c.c = c.groups > 1 ? 32 : pick(rng, 1, 70);
    c.m = c.groups > 1 ? 16 : pick(rng, 1, 100);
    c.window.h = pick(rng, 1, 12);
    c.window.w = pick(rng, 1, 25);
    c.window.kh = pick(rng, 1, 4);
    c.window.kw = pick(rng, 1, 4);
    c.window.stride_h = c.window.stride_w = 1;
    c.window.pad_h = pick(rng, 0, 14);
    c.window.pad_w = pick(rng, 0, 30);
    c.window.dilation_h = pick(rng, 1, 12);
    c.window.dilation_w = pick(rng, 1, 14);
    check(rng, c);
  }
}

}  // namespace
}  // namespace poprt::kernels::test
