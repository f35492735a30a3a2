// conv: convolution of channel-blocked f32 (kernels/common/conv.h). weights are packed by
// pack_conv(); x is [N, groups * ceil(C/16), H, W, 16], C a multiple of 16 when groups > 1.
#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "kernels/common/conv.h"

namespace poprt::kernels {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::ConvBlocking blocking;
  const isa::ConvTable* table;
  std::vector<int32_t> offset;  // of (channel block, tap) in copied rows; empty: the other way
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  if (!p.offset.empty())
    return p.table->rows(p.shape, p.blocking, p.offset.data(), static_cast<const float*>(data[0]),
                         static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                         static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin,
                         end, reinterpret_cast<float*>(scratch));
  p.table->blocked(p.shape, p.blocking, static_cast<const float*>(data[0]),
                   static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                   static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
                   reinterpret_cast<float*>(scratch));
}

// Windows larger than a pixel either copy whole rows once (cheaper, but tiles end with each row) or
// gather every tap of every pixel. Output rows per task when rows win, else 0.
int64_t rows_per_task(const isa::ConvShape& s) {
  if (s.ow < 12 || s.c_blocks * s.kh * s.kw > 4096) return 0;
  int64_t rows = 0;
  for (int64_t r = 1; r <= std::max<int64_t>(1, (s.oh + 7) / 8); r++) {
    const isa::RowsLayout l = isa::rows_layout(s, r);
    if (l.rows > 4096 || l.phases > 64 || l.width > 65536) break;
    if (l.elements(s.c_blocks) * 64 > 320 << 10) break;
    rows = r;
  }
  return rows;
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
  b.segments = in_place ? segments : std::clamp<int64_t>(5120 / b.pixels, 1, segments);
  b.segments = ceil_div(segments, ceil_div(segments, b.segments));
  const int64_t rows = in_place ? 0 : rows_per_task(s);
  if (rows) b.pixels = rows;
  b.vectors = p->table->best_vectors(rows ? s.ow : b.pixels, s.oc_blocks);
  // The weights of a task stay in the L2 cache while its pixels, and those of the next task, pass.
  b.oc_blocks = std::max<int64_t>(6144 / k, in_place ? 1 : 8);
  b.pixel_tasks = rows ? ceil_div(s.oh, rows) : ceil_div(pixels, b.pixels);
  const int64_t others = s.batch * s.groups * b.pixel_tasks;
  if (others < 8) b.oc_blocks = std::min(b.oc_blocks, ceil_div(s.oc_blocks, ceil_div(8, others)));
  b.oc_blocks = ceil_div(std::min(b.oc_blocks, s.oc_blocks), b.vectors) * b.vectors;
  b.oc_tasks = ceil_div(s.oc_blocks, b.oc_blocks);

  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(others, b.oc_tasks);
  plan.work = conv_ns(c, c.flops);
  if (rows) {
    const isa::RowsLayout l = isa::rows_layout(s, rows);
    p->offset = tap_offsets(s, s.c_blocks, l, 16);
    plan.scratch_bytes = static_cast<size_t>(l.elements(s.c_blocks)) * 64;
  } else if (!in_place)
    plan.scratch_bytes = static_cast<size_t>(checked_mul(b.segments * b.pixels, int64_t{64}));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel conv_kernel;
const Kernel conv_kernel = {"conv", prepare};

}  // namespace poprt::kernels
