#include "kernels/common/conv_blocked.h"

#include <algorithm>

#include "base/checked.h"

namespace poprt::kernels {
namespace {

// Whether the taps of a row of the filter read one copy of the row, instead of one for each tap.
// The register tiles then end with a row of results, so rows must not be short.
bool reads_rows(const isa::ConvShape& s) {
  constexpr int64_t kLeastColumns = 14;
  return s.stride_w == 1 && s.kw <= isa::kSummedSegments && s.ow >= kLeastColumns &&
         (s.kw - 1) * s.dilation_w <= s.ow;
}

// A task has whole rows of results, or an equal part of one. Its copies take at most as much room
// as those of single taps.
void plan_rows(const isa::ConvShape& s, int64_t segments, isa::ConvBlocking& b) {
  b.pixels = b.pixels >= s.ow ? b.pixels / s.ow * s.ow : ceil_div(s.ow, ceil_div(s.ow, b.pixels));
  const int64_t rows = segments / s.kw;
  const int64_t most =
      std::clamp<int64_t>(std::min(5120 / b.pixels, isa::kSummedSegments / s.kw), 1, rows);
  b.segments = ceil_div(rows, ceil_div(rows, most)) * s.kw;
}

}  // namespace

Plan plan_blocked_conv(std::string_view kernel, const calls::BlockedConv& conv,
                       const std::optional<calls::ConvDepth>& depth,
                       std::span<const Operand> operands, bool prologue,
                       ConvBlockedParams& params) {
  const ConvCall c = read_conv(kernel, conv, operands, depth);
  const isa::ConvShape& s = params.shape = c.shape;
  expect(s.groups == 1 || s.c % 16 == 0, kernel, "groups require multiples of 16 channels");
  const int64_t taps = checked_mul(checked_mul(s.kd, s.kh), s.kw), k = checked_mul(s.c, taps);
  expect_f32(kernel, operands, 0, c.x_elements);
  expect_f32(kernel, operands, 1, checked_mul(checked_mul(k, s.oc_blocks), s.groups * 16));
  params.table = &POPRT_SELECT_ISA(conv);

  const bool in_place = s.is_pointwise() && !prologue;
  const int64_t pixels = s.out_pixels(), segments = s.c_blocks * taps;
  isa::ConvBlocking& b = params.blocking;
  // Pixels and their input values fill a quarter of an L2 cache of 1 MiB; there are about eight
  // tasks.
  b.pixels = std::clamp<int64_t>(65536 / k, 56, 1024);
  if (pixels / 8 >= 56) b.pixels = std::min(b.pixels, ceil_div(pixels, 8));
  b.pixels = ceil_div(pixels, ceil_div(pixels, b.pixels));
  b.segments = std::clamp<int64_t>(
      in_place ? isa::kSummedSegments : std::min(5120 / b.pixels, isa::kSummedSegments), 1,
      segments);
  b.segments = ceil_div(segments, ceil_div(segments, b.segments));
  b.by_rows = !in_place && !prologue && reads_rows(s);
  if (b.by_rows) plan_rows(s, segments, b);
  b.vectors =
      params.table->best_vectors(b.by_rows ? std::min(b.pixels, s.ow) : b.pixels, s.oc_blocks);
  // The weights of a task stay in the L2 cache while its pixels, and those of the next task, are
  // read.
  b.oc_blocks = std::max<int64_t>(6144 / k, in_place ? 1 : 8);
  b.pixel_tasks = ceil_div(pixels, b.pixels);
  const int64_t others = s.batch * s.groups * b.pixel_tasks;
  if (others < 8) b.oc_blocks = std::min(b.oc_blocks, ceil_div(s.oc_blocks, ceil_div(8, others)));
  b.oc_blocks = ceil_div(std::min(b.oc_blocks, s.oc_blocks), b.vectors) * b.vectors;
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);

  Plan plan;
  plan.tasks = checked_mul(others, b.oc_tasks);
  plan.work = conv_ns(c, c.flops);
  if (!in_place)
    plan.scratch_bytes =
        static_cast<size_t>(checked_mul(isa::input_floats(s, b), int64_t{sizeof(float)}));
  return plan;
}

}  // namespace poprt::kernels
