// Compares the blocked and the stem convolution of every instruction set that this CPU has, in two
// and three dimensions on random shapes, with loops in double.
#include "kernels/isa/conv.h"

#include <optional>

#include "core/kernels/isa/conv_case.h"
#include "kernels/common/conv.h"
#include "support/uniform.h"

namespace poprt::kernels::test {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

ConvCase random_case(std::mt19937& rng, bool deep) {
  ConvCase c;
  isa::ConvShape& s = c.window;
  s.h = pick(rng, 1, 9);
  s.w = pick(rng, 1, 4) == 1 ? pick(rng, 60, 200) : pick(rng, 1, 30);
  s.kh = pick(rng, 1, 4);
  s.kw = pick(rng, 1, 5);
  s.stride_h = pick(rng, 1, 3);
  s.stride_w = pick(rng, 1, 3);
  s.pad_h = pick(rng, 0, 3);
  s.pad_w = pick(rng, 0, 5);
  s.dilation_h = pick(rng, 1, 3);
  s.dilation_w = pick(rng, 1, 3);
  if (deep) {
    s.d = pick(rng, 1, 6);
    s.kd = pick(rng, 1, 3);
    s.stride_d = pick(rng, 1, 2);
    s.pad_d = pick(rng, 0, 2);
    s.dilation_d = pick(rng, 1, 2);
  }
  c.n = pick(rng, 1, 2);
  return c;
}

// A prologue, and the inputs of a case after it.
struct Prologue {
  std::vector<float> scale, shift;
  isa::ConvPrologue p{};

  Prologue(std::mt19937& rng, ConvCase& c, bool of_image) {
    const int64_t lanes = (c.channels() + 15) / 16 * 16, pixels = c.window.in_pixels();
    const poprt::test::Uniform d{-1, 1};
    for (int64_t i = 0; i < (of_image ? c.n : 1) * lanes; i++) scale.push_back(d(rng));
    for (int64_t i = 0; i < lanes; i++) shift.push_back(d(rng));
    p = {scale.data(), of_image ? nullptr : shift.data(), of_image, of_image ? -1e30f : 0.0f};
    for (size_t i = 0; i < c.x.size(); i++) {
      const auto plane = static_cast<int64_t>(i) / pixels;
      const auto channel = static_cast<size_t>(plane % c.channels());
      const auto at =
          of_image ? static_cast<size_t>(plane / c.channels() * lanes) + channel : channel;
      c.x[i] = std::max(p.low, c.x[i] * scale[at] + (p.shift ? shift[channel] : 0.0f));
    }
  }
};

void check_blocked(std::mt19937& rng, bool deep, bool prologue = false) {
  ConvCase c = random_case(rng, deep);
  c.groups = pick(rng, 1, 2);
  c.c = c.groups > 1 ? 32 : pick(rng, 1, 40);
  c.m = c.groups > 1 ? 16 : pick(rng, 1, 100);
  c.finish(rng, pick(rng, 0, 2));
  SCOPED_TRACE(c.text());
  const isa::ConvShape s = c.shape(c.groups, c.c, c.m);
  std::vector<float> w(static_cast<size_t>(c.groups * s.oc_blocks * 16 * c.c * s.taps()));
  pack_conv(c.weights(), w);
  const auto x = c.blocked(c.x, c.channels(), s.in_pixels(), 1e20f);
  std::optional<Prologue> before;
  if (prologue) before.emplace(rng, c, pick(rng, 0, 1) == 1);
  const auto residual = c.blocked(c.residual, c.filters(), s.out_pixels());
  for (const auto* table : POPRT_BUILDS(conv)) {
    isa::ConvBlocking b{};
    b.pixels = pick(rng, 1, s.out_pixels());
    b.pixel_tasks = ceil_div(s.out_pixels(), b.pixels);
    b.segments = pick(rng, 1, s.c_blocks * s.taps());
    b.by_rows = !prologue && s.stride_w == 1 && pick(rng, 0, 2) > 0;
    if (b.by_rows)
      b.segments =
          pick(rng, 1, std::min(s.c_blocks * s.taps(), isa::kSummedSegments) / s.kw) * s.kw;
    b.vectors = table->best_vectors(b.pixels, s.oc_blocks);
    b.oc_blocks = ceil_div(pick(rng, 1, s.oc_blocks), b.vectors) * b.vectors;
    b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);
    std::vector<float> y(residual.size(), -1);
    std::vector<float> scratch(static_cast<size_t>(isa::input_floats(s, b)));
    table->blocked(s, b, before ? &before->p : nullptr, x.data(), w.data(), c.bias.data(),
                   residual.data(), y.data(), 0, c.n * c.groups * b.oc_tasks * b.pixel_tasks,
                   scratch.data());
    c.expect(y);
  }
}

void check_stem(std::mt19937& rng, bool deep, bool plain_result) {
  ConvCase c = random_case(rng, deep);
  c.c = pick(rng, 1, 5);
  c.m = pick(rng, 1, 40);
  c.finish(rng, pick(rng, 0, 2));
  if (plain_result) std::fill(c.residual.begin(), c.residual.end(), 0.0f);
  SCOPED_TRACE(c.text());
  const isa::ConvShape s = c.shape(1, c.c, c.m);
  ConvWeights packing = c.weights();
  packing.c = c.c * s.taps();
  packing.kh = packing.kw = 1;
  std::vector<float> w(static_cast<size_t>(s.oc_blocks * 16 * packing.c));
  pack_conv(packing, w);
  const auto residual = c.blocked(c.residual, c.filters(), s.out_pixels());
  for (const auto* table : POPRT_BUILDS(conv)) {
    isa::ConvBlocking b{};
    b.pixels = pick(rng, 1, s.oh);
    b.pixel_tasks = ceil_div(s.oh, b.pixels);
    b.columns = pick(rng, 1, s.ow);
    b.column_tasks = ceil_div(s.ow, b.columns);
    b.vectors = table->best_vectors(b.columns, s.oc_blocks);
    const isa::RowsLayout l = isa::rows_layout(s, b.pixels, b.columns);
    const auto offset = tap_offsets(s, c.c * s.kd, l, 1);
    std::vector<float> y(plain_result ? c.residual.size() : residual.size(), -1);
    std::vector<float> scratch(static_cast<size_t>(l.elements(c.c * s.kd)) + isa::kPlainOverread);
    const int64_t tasks = c.n * s.od * b.pixel_tasks * b.column_tasks;
    if (plain_result)
      table->plain(s, b, c.m, offset.data(), c.x.data(), c.w.data(), c.bias.data(), y.data(), 0,
                   tasks, scratch.data());
    else
      table->stem(s, b, offset.data(), c.x.data(), w.data(), c.bias.data(), residual.data(),
                  y.data(), 0, tasks, scratch.data());
    c.expect(plain_result ? c.blocked(y, c.m, s.out_pixels()) : y);
  }
}

TEST(Conv, BlockedMatchesDoubleLoops) {
  std::mt19937 rng(4);
  for (int i = 0; i < 40; i++) check_blocked(rng, false);
}

TEST(Conv, BlockedAfterAPrologueMatchesDoubleLoops) {
  std::mt19937 rng(8);
  for (int i = 0; i < 40; i++) check_blocked(rng, i % 3 == 0, true);
}

TEST(Conv, BlockedInThreeDimensionsMatchesDoubleLoops) {
  std::mt19937 rng(5);
  for (int i = 0; i < 30; i++) check_blocked(rng, true);
}

TEST(Conv, StemMatchesDoubleLoops) {
  std::mt19937 rng(6);
  for (int i = 0; i < 60; i++) check_stem(rng, false, i % 2);
}

TEST(Conv, StemInThreeDimensionsMatchesDoubleLoops) {
  std::mt19937 rng(7);
  for (int i = 0; i < 40; i++) check_stem(rng, true, i % 2);
}

}  // namespace
}  // namespace poprt::kernels::test
