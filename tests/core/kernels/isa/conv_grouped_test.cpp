// Compares grouped convolution of every instruction set that this CPU has, on random shapes, with
// loops in double.
#include "kernels/isa/conv_grouped.h"

#include "core/kernels/isa/conv_case.h"

namespace poprt::kernels::test {
namespace {

void check(std::mt19937& rng, ConvCase c) {
  c.finish(rng, pick(rng, 0, 2));
  SCOPED_TRACE(c.text());
  const int64_t blocks = (c.channels() + 15) / 16;
  const isa::ConvShape s = c.shape(blocks, 16, 16);
  isa::GroupedBlocking b{};
  b.size = c.c;
  b.rows = pick(rng, 1, s.oh);
  b.row_tasks = (s.oh + b.rows - 1) / b.rows;
  b.in_place = s.pad_w == 0 && isa::grouped_columns(s) <= s.w;
  ConvWeights packing = c.weights();
  packing.groups = 1;
  packing.m = c.filters();
  std::vector<float> w(static_cast<size_t>(blocks * s.kh * s.kw * c.c * 16));
  pack_conv(packing, w);
  // Lanes past the last channel are unspecified: a large number must not show.
  const auto x = c.blocked(c.x, c.channels(), s.h * s.w, 1e20f);
  const auto residual = c.blocked(c.residual, c.filters(), s.oh * s.ow);
  for (const auto* table : POPRT_BUILDS(conv_grouped)) {
    std::vector<float> y(residual.size(), -1);
    std::vector<float> scratch(
        static_cast<size_t>(isa::grouped_rows(s, b.rows) * isa::grouped_columns(s) * 16));
    table->run(s, b, x.data(), w.data(), c.bias.data(), residual.data(), y.data(), 0,
               c.n * blocks * b.row_tasks, scratch.data());
    c.expect(y);
  }
}

TEST(ConvGrouped, MatchesDoubleLoopsForGroupsOfEverySize) {
  std::mt19937 rng(1);
  for (const int64_t size : {1, 2, 4, 8, 16})
    for (const int64_t stride : {1, 2})
      for (const int64_t width : {7, 14, 19, 33}) {
        ConvCase c;
        c.n = 2;
        c.groups = 40 / size + 1;
        c.c = c.m = size;
        c.window.h = 6;
        c.window.w = width;
        c.window.kh = c.window.kw = 3;
        c.window.stride_h = c.window.stride_w = stride;
        c.window.pad_h = c.window.pad_w = 1;
        c.window.dilation_h = c.window.dilation_w = 1;
        check(rng, c);
      }
}

TEST(ConvGrouped, MatchesDoubleLoopsForAnyWindow) {
  std::mt19937 rng(2);
  for (int i = 0; i < 60; i++) {
    ConvCase c;
    c.c = c.m = int64_t{1} << pick(rng, 0, 4);
    c.groups = pick(rng, 1, 48 / c.c + 1);
    c.window.h = pick(rng, 1, 9);
    c.window.w = pick(rng, 1, 20);
    c.window.kh = pick(rng, 1, 5);
    c.window.kw = pick(rng, 1, 7);
    c.window.stride_h = pick(rng, 1, 3);
    c.window.stride_w = pick(rng, 1, 3);
    c.window.pad_h = pick(rng, 0, 6);
    c.window.pad_w = pick(rng, 0, 8);
    c.window.dilation_h = pick(rng, 1, 3);
    c.window.dilation_w = pick(rng, 1, 3);
    check(rng, c);
  }
}

}  // namespace
}  // namespace poprt::kernels::test
