// conv_stem: convolution of plain f32 [N, C, H, W] with few channels into channel blocks
// (kernels/common/conv.h; groups = 1). weights are packed by pack_conv_stem().
#include <algorithm>
#include <limits>
#include <vector>

#include "base/checked.h"
#include "kernels/common/conv.h"

namespace poprt::kernels {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
  std::vector<int32_t> offset;  // of (c, ky, kx) in the copied rows
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->stem(p.shape, p.blocking, p.offset.data(), static_cast<const float*>(data[0]),
                static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
                reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  const ConvCall c = read_conv("conv_stem", call);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  expect(s.groups == 1 && s.c <= 64, "conv_stem", "one group and at most 64 channels");
  const int64_t k = checked_mul(checked_mul(s.c, s.kh), s.kw);
  expect_f32("conv_stem", call, 0, checked_mul(s.batch * s.c, s.h * s.w));
  expect_f32("conv_stem", call, 1, checked_mul(k, s.oc_blocks * 16));
  p->table = &POPRT_SELECT_ISA(conv);

  isa::ConvBlocking& b = p->blocking;
  const int64_t row_floats = s.c * s.stride_h * s.stride_w * isa::rows_layout(s, 1).width;
  b.pixels = std::clamp<int64_t>(16384 / row_floats, 1, (s.oh + 7) / 8);
  b.pixel_tasks = (s.oh + b.pixels - 1) / b.pixels;
  b.vectors = p->table->best_vectors(s.ow, s.oc_blocks);
  const isa::RowsLayout l = isa::rows_layout(s, b.pixels);
  const int64_t floats = checked_mul(checked_mul(s.c, l.rows), checked_mul(l.phases, l.width));
  expect(floats < std::numeric_limits<int32_t>::max(), "conv_stem", "rows are too large");
  p->offset = tap_offsets(s, s.c, l, 1);
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(s.batch, b.pixel_tasks);
  plan.work = conv_ns(c, c.flops * 1.1);
  plan.scratch_bytes = static_cast<size_t>(floats) * 4;
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel conv_stem_kernel;
const Kernel conv_stem_kernel = {"conv_stem", prepare};

}  // namespace poprt::kernels
