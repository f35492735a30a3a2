// conv_dilated (calls/conv_dilated.h).
#include "kernels/calls/conv_dilated.h"
#include "kernels/isa/conv_dilated.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"

namespace poprt::kernels::conv_dilated_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::DilatedBlocking blocking;
  const isa::ConvDilatedTable* table;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->run(p.shape, p.blocking, static_cast<const float*>(data[0]),
               static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
               static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_dilated";
  const auto named = calls::decode<calls::ConvDilated>(call);
  const ConvCall c = read_conv(kName, named.conv, call.operands);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  const int64_t k = checked_mul(s.c, checked_mul(s.kh, s.kw));
  expect_f32(kName, call.operands, 0, c.x_elements);
  expect_f32(kName, call.operands, 1, checked_mul(checked_mul(k, s.oc_blocks), s.groups * 16));
  p->table = &POPRT_SELECT_ISA(conv_dilated);

  isa::DilatedBlocking& b = p->blocking;
  b.vectors = p->table->best_vectors(s);
  b.oc_tasks = ceil_div(s.oc_blocks, b.vectors);
  // There are about eight tasks.
  const int64_t others = checked_mul(checked_mul(s.batch, s.groups), b.oc_tasks);
  b.rows = ceil_div(s.oh, std::clamp<int64_t>(8 / others, 1, s.oh));
  b.row_tasks = ceil_div(s.oh, b.rows);
  // The inputs that all taps visit fill a third of an L2 cache of 1 MiB.
  const int64_t in_rows = std::min(s.h, b.rows + (s.kh - 1) * s.dilation_h);
  b.segments = std::clamp<int64_t>(5632 / std::max<int64_t>(1, in_rows * s.w), 4, s.c_blocks + 4);

  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(others, b.row_tasks);
  const auto inside = [](int64_t kernel, int64_t dilation, int64_t pad, int64_t in, int64_t out) {
    int64_t n = 0;
    for (int64_t t = 0; t < kernel; t++) n += isa::Inside(t * dilation - pad, in, 0, out).count();
    return static_cast<double>(n) / static_cast<double>(kernel * out);
  };
  plan.work = conv_ns(c, c.flops * inside(s.kh, s.dilation_h, s.pad_h, s.h, s.oh) *
                             inside(s.kw, s.dilation_w, s.pad_w, s.w, s.ow));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_dilated", prepare};

}  // namespace poprt::kernels::conv_dilated_kernel
