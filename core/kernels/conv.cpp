// conv: convolution of channel-blocked f32 (kernels/common/conv.h). weights are packed by
// pack_conv(); x is [N, groups * ceil(C/16), H, W, 16], C a multiple of 16 when groups > 1.
#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"

namespace poprt::kernels {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->blocked(p.shape, p.blocking, static_cast<const float*>(data[0]),
                   static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                   static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
                   reinterpret_cast<float*>(scratch));
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

Plan prepare(const Call& call) {
  const ConvCall c = read_conv("conv", call);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect(s.groups == 1 || s.c % 16 == 0, "conv", "groups need multiples of 16 channels");
  const int64_t taps = checked_mul(s.kh, s.kw), k = checked_mul(s.c, taps);
  expect_f32("conv", call, 0, c.x_elements);
  expect_f32("conv", call, 1, checked_mul(checked_mul(k, s.oc_blocks), s.groups * 16));
  p->table = &POPRT_SELECT_ISA(conv);

  const bool in_place = taps == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_h == 0 &&
                        s.pad_w == 0 && s.oh == s.h && s.ow == s.w;
  const int64_t pixels = s.oh * s.ow, segments = s.c_blocks * taps;
  isa::ConvBlocking& b = p->blocking;
  // Pixels and the input values they need fill a quarter of a 1 MiB L2 cache; some eight tasks.
  b.pixels = std::clamp<int64_t>(65536 / k, 56, 1024);
  if (pixels / 8 >= 56) b.pixels = std::min(b.pixels, ceil_div(pixels, 8));
  b.pixels = ceil_div(pixels, ceil_div(pixels, b.pixels));
  b.segments = std::clamp<int64_t>(
      in_place ? isa::kSummedSegments : std::min(5120 / b.pixels, isa::kSummedSegments), 1,
      segments);
  b.segments = ceil_div(segments, ceil_div(segments, b.segments));
  b.vectors = p->table->best_vectors(b.pixels, s.oc_blocks);
  // The weights of a task stay in the L2 cache while its pixels, and those of the next task, pass.
  b.oc_blocks = std::max<int64_t>(6144 / k, in_place ? 1 : 8);
  b.pixel_tasks = ceil_div(pixels, b.pixels);
  const int64_t others = s.batch * s.groups * b.pixel_tasks;
  if (others < 8) b.oc_blocks = std::min(b.oc_blocks, ceil_div(s.oc_blocks, ceil_div(8, others)));
  b.oc_blocks = ceil_div(std::min(b.oc_blocks, s.oc_blocks), b.vectors) * b.vectors;
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);

  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(others, b.oc_tasks);
  plan.work = conv_ns(c, c.flops);
  if (!in_place)
    plan.scratch_bytes = static_cast<size_t>(checked_mul(b.segments * b.pixels, int64_t{64}));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel conv_kernel;
const Kernel conv_kernel = {"conv", prepare};

}  // namespace poprt::kernels
