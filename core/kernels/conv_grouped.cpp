// conv_grouped (calls/conv_grouped.h).
#include "kernels/calls/conv_grouped.h"
#include "kernels/isa/conv_grouped.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/common/conv.h"

namespace poprt::kernels::conv_grouped_kernel {
namespace {

struct Params {
  isa::ConvShape shape;
  isa::GroupedBlocking blocking;
  const isa::ConvGroupedTable* table;
};

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_grouped";
  const auto named = calls::decode<calls::ConvGrouped>(call);
  const ConvCall c = read_conv(kName, named.conv, call.operands);
  auto p = std::make_shared<Params>();
  const isa::ConvShape& s = p->shape = c.shape;
  isa::GroupedBlocking& b = p->blocking;
  b.size = named.size;
  const int64_t taps = checked_mul(s.kh, s.kw);
  expect_f32(kName, call.operands, 0, c.x_elements);
  expect_f32(kName, call.operands, 1, checked_mul(checked_mul(taps, b.size), s.groups * 16));
  p->table = &POPRT_SELECT_ISA(conv_grouped);

  const int64_t columns = isa::grouped_columns(s);
  b.in_place = s.pad_w == 0 && columns <= s.w;
  // The padded rows of a task take about 256 KiB, a quarter of an L2 cache of 1 MiB.
  const int64_t row_floats = checked_mul(columns, int64_t{16} * s.stride_h);
  b.rows = std::clamp<int64_t>(65536 / row_floats, 1, s.oh);
  b.row_tasks = (s.oh + b.rows - 1) / b.rows;
  b.rows = (s.oh + b.row_tasks - 1) / b.row_tasks;

  Plan plan;
  plan.run = run_conv<Params>;
  plan.tasks = checked_mul(checked_mul(s.batch, s.groups), b.row_tasks);
  plan.work = conv_ns(c, c.flops * static_cast<double>(b.size) / 16 * 1.2);
  if (!b.in_place)
    plan.scratch_bytes = static_cast<size_t>(
        checked_mul(checked_mul(isa::grouped_rows(s, b.rows), columns), int64_t{64}));
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_grouped", prepare};

}  // namespace poprt::kernels::conv_grouped_kernel
