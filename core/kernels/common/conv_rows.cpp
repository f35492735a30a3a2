#include "kernels/common/conv_rows.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace poprt::kernels {

Plan plan_conv_rows(std::string_view kernel, std::span<const Operand> operands,
                    const ConvCall& conv, ConvRowsParams& params) {
  const isa::ConvShape& s = params.shape = conv.shape;
  expect(s.groups == 1 && s.c <= 64, kernel, "expected one group and at most 64 channels");
  const int64_t planes = checked_mul(s.c, s.kd);
  expect_f32(kernel, operands, 0, checked_mul(checked_mul(s.batch * s.c, s.d), s.h * s.w));
  params.table = &POPRT_SELECT_ISA(conv);

  isa::ConvBlocking& b = params.blocking;
  // If there are few rows, they are split into columns, to get about eight tasks.
  const int64_t slices = checked_mul(s.batch, s.od);
  const int64_t wanted = std::clamp<int64_t>(8 / checked_mul(slices, s.oh), 1, 8);
  b.columns = std::min(s.ow, std::max<int64_t>(128, ceil_div(s.ow, wanted)));
  b.column_tasks = ceil_div(s.ow, b.columns);
  const int64_t row_floats = checked_mul(
      planes, checked_mul(s.stride_h * s.stride_w, isa::rows_layout(s, 1, b.columns).width));
  const int64_t eighth = ceil_div(checked_mul(s.oh, slices), 8);
  b.pixels = std::clamp<int64_t>(16384 / row_floats, 1, std::min(s.oh, eighth));
  b.pixel_tasks = ceil_div(s.oh, b.pixels);
  b.vectors = params.table->best_vectors(b.columns, s.oc_blocks);
  const isa::RowsLayout l = isa::rows_layout(s, b.pixels, b.columns);
  const int64_t floats = checked_mul(checked_mul(planes, l.rows), checked_mul(l.phases, l.width));
  expect(floats < std::numeric_limits<int32_t>::max(), kernel, "rows are too large");
  params.offset = tap_offsets(s, planes, l, 1);
  Plan plan;
  plan.tasks = checked_mul(checked_mul(slices, b.pixel_tasks), b.column_tasks);
  plan.work = conv_ns(conv, conv.flops * 1.1);
  plan.scratch_bytes = static_cast<size_t>(floats + isa::kPlainOverread) * 4;
  return plan;
}

}  // namespace poprt::kernels
