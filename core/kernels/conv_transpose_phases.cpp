// conv_transpose_phases (calls/conv_transpose_phases.h). A task is some pixels of one phase.
#include "kernels/calls/conv_transpose_phases.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"
#include "kernels/common/transposed_phases.h"

namespace poprt::kernels::conv_transpose_phases_kernel {
namespace {

constexpr std::string_view kName = "conv_transpose_phases";

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  std::vector<isa::ConvPhase> phases;
  int64_t merged_channels = 0;
  const isa::ConvTable* table;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->phases(p.shape, p.blocking, p.phases.data(), static_cast<int64_t>(p.phases.size()),
                  p.merged_channels, static_cast<const float*>(data[0]),
                  static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                  static_cast<float*>(data[4]), begin, end, reinterpret_cast<float*>(scratch));
}

// Appends the phase, whose weights follow those of the phases before it.
void add_phase(Params& p, const AxisPhase& y, const AxisPhase& x, int64_t& weights) {
  isa::ConvPhase phase{p.shape, weights, y.first, x.first};
  isa::ConvShape& s = phase.shape;
  s.oh = y.out;
  s.ow = x.out;
  s.kh = y.taps;
  s.kw = x.taps;
  s.stride_h = s.stride_w = 1;
  s.pad_h = y.pad;
  s.pad_w = x.pad;
  s.dilation_h = y.dilation;
  s.dilation_w = x.dilation;
  if (p.merged_channels)
    s.oc_blocks = ceil_div(p.shape.stride_h * p.shape.stride_w * p.merged_channels, int64_t{16});
  weights = checked_add(weights, checked_mul(checked_mul(s.kh * s.kw, s.c),
                                             checked_mul(s.groups * s.oc_blocks, int64_t{16})));
  p.phases.push_back(phase);
}

void plan_blocking(Params& p) {
  int64_t pixels = 1, taps = 1;
  for (const isa::ConvPhase& phase : p.phases) {
    pixels = std::max(pixels, phase.shape.out_pixels());
    taps = std::max(taps, phase.shape.taps());
  }
  const isa::ConvShape& s = p.phases[0].shape;
  const int64_t k = checked_mul(s.c, taps), segments = checked_mul(s.c_blocks, taps);
  isa::ConvBlocking& b = p.blocking;
  // Chosen as in plan_blocked_conv(), but the sums of all blocks of a task also fit in the L2
  // cache.
  b.pixels = std::clamp<int64_t>(65536 / k, 56, 256);
  b.pixels = ceil_div(pixels, ceil_div(pixels, b.pixels));
  b.segments = std::clamp<int64_t>(std::min(5120 / b.pixels, isa::kSummedSegments), 1, segments);
  b.segments = ceil_div(segments, ceil_div(segments, b.segments));
  b.vectors = p.table->best_vectors(b.pixels, s.oc_blocks);
  b.oc_blocks = p.merged_channels ? s.oc_blocks : std::min<int64_t>(16, s.oc_blocks);
  b.oc_blocks = ceil_div(b.oc_blocks, b.vectors) * b.vectors;
  b.pixel_tasks = ceil_div(pixels, b.pixels);
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);
}

Plan prepare(const Call& call) {
  const auto named = calls::decode<calls::ConvTransposePhases>(call);
  const calls::BlockedConv& conv = named.conv;
  const ConvCall c = read_conv(kName, conv, call.operands);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect(!call.operands[3].present, kName, "a residual is not supported");
  expect(s.groups == 1 || s.c % 16 == 0, kName, "groups require multiples of 16 channels");
  expect(std::max(s.stride_h, s.stride_w) <= kMostPhases, kName, "a stride is too large");
  expect_f32(kName, call.operands, 0, c.x_elements);
  const TransposedAxis h{s.h, s.oh, s.kh, s.stride_h, s.dilation_h, s.pad_h};
  const TransposedAxis w{s.w, s.ow, s.kw, s.stride_w, s.dilation_w, s.pad_w};
  int64_t weights = 0;
  if (named.merged) {
    expect(conv.m < 16, kName, "merged phases require fewer than 16 channels");
    p->merged_channels = conv.m;
    add_phase(*p, merged_phase(h), merged_phase(w), weights);
    if (call.operands[2].present)
      expect_f32(kName, call.operands, 2, p->phases[0].shape.oc_blocks * 16);
  } else {
    for (const AxisPhase& y : axis_phases(h))
      for (const AxisPhase& x : axis_phases(w)) add_phase(*p, y, x, weights);
  }
  expect_f32(kName, call.operands, 1, weights);
  p->table = &POPRT_SELECT_ISA(conv);
  plan_blocking(*p);
  const isa::ConvBlocking& b = p->blocking;
  Plan plan;
  plan.run = run;
  plan.tasks =
      checked_mul(checked_mul(s.batch, s.groups),
                  checked_mul(b.pixel_tasks * b.oc_tasks, static_cast<int64_t>(p->phases.size())));
  plan.work = conv_ns(c, c.flops / static_cast<double>(s.stride_h * s.stride_w));
  plan.scratch_bytes =
      static_cast<size_t>(checked_mul((b.segments + b.oc_blocks) * b.pixels, int64_t{64}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_transpose_phases", prepare};

}  // namespace poprt::kernels::conv_transpose_phases_kernel
