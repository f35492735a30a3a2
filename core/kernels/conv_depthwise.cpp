// conv_depthwise (calls/conv_depthwise.h).
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/conv_depthwise.h"
#include "kernels/common/conv.h"

namespace poprt::kernels::conv_depthwise_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  const isa::ConvTable* table;
  int64_t task_rows;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->depthwise(p.shape, p.task_rows, data[0], static_cast<const float*>(data[1]),
                     static_cast<const float*>(data[2]), data[3], data[4], begin, end,
                     reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  const ConvCall c = read_conv("conv_depthwise", calls::decode<calls::ConvDepthwise>(call).conv,
                               call.operands, {}, false, ConvTypes::bf16_or_f32);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  const int64_t taps = checked_mul(s.kh, s.kw);
  expect_stored("conv_depthwise", call.operands, 0, c.x_elements);
  expect(s.bf16_x == s.bf16_y && (!call.operands[3].present || s.bf16_residual == s.bf16_y),
         "conv_depthwise", "activations must have one type");
  expect_f32("conv_depthwise", call.operands, 1, checked_mul(taps, s.groups * 16));
  p->table = &POPRT_SELECT_ISA(conv);
  p->task_rows = std::clamp<int64_t>(2048 / s.ow, 1, s.oh);
  Plan plan;
  plan.run = run;
  plan.tasks =
      checked_mul(checked_mul(s.batch, s.groups), (s.oh + p->task_rows - 1) / p->task_rows);
  plan.work = conv_ns(c, c.flops / 16 * 1.5);
  if (s.bf16_x) plan.scratch_bytes = static_cast<size_t>(checked_mul(s.ow, int64_t{64}));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_depthwise", prepare};

}  // namespace poprt::kernels::conv_depthwise_kernel
