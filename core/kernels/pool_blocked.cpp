// pool_blocked: max or average pooling of channel-blocked f32; operands [x, y], ints [planes, H, W,
// OH, OW, kh, kw, stride_h, stride_w, pad_h, pad_w, pad_h_end, pad_w_end, dilation_h, dilation_w,
// average, count_include_pad] with planes = N * blocks.
#include <algorithm>

#include "base/checked.h"
#include "kernels/isa/pool.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace {

struct Params {
  isa::PoolShape shape;
  const isa::PoolTable* table;
  int64_t task_rows;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->pool(p.shape, p.task_rows, static_cast<const float*>(data[0]),
                static_cast<float*>(data[1]), begin, end, reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "pool_blocked";
  expect(call.operands.size() == 2 && call.ints.size() == 17, kName,
         "expected 2 operands, 17 integers");
  auto p = std::make_shared<Params>();
  isa::PoolShape& s = p->shape;
  int64_t* const fields[] = {&s.planes, &s.h,         &s.w,         &s.oh,         &s.ow,
                             &s.kh,     &s.kw,        &s.stride_h,  &s.stride_w,   &s.pad_h,
                             &s.pad_w,  &s.pad_h_end, &s.pad_w_end, &s.dilation_h, &s.dilation_w};
  for (size_t i = 0; i < std::size(fields); i++) {
    const bool pad = i >= 9 && i <= 12;
    expect(call.ints[i] >= (pad || i == 0 ? 0 : 1) && call.ints[i] < (int64_t{1} << 31), kName,
           "a size is out of range");
    *fields[i] = call.ints[i];
  }
  s.average = call.ints[15] != 0;
  s.count_padding = call.ints[16] != 0;
  const int64_t x = checked_mul(checked_mul(s.planes, s.h * s.w), int64_t{16});
  const int64_t y = checked_mul(checked_mul(s.planes, s.oh * s.ow), int64_t{16});
  for (size_t i = 0; i < 2; i++)
    expect(call.operands[i].present && call.operands[i].dtype == DType::f32 &&
               call.operands[i].bytes / 4 >= static_cast<uint64_t>(i ? y : x),
           kName, "an operand is missing, too small or not f32");
  p->table = &POPRT_SELECT_ISA(pool);
  p->task_rows = std::clamp<int64_t>(1024 / s.ow, 1, s.oh);
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(s.planes, (s.oh + p->task_rows - 1) / p->task_rows);
  plan.work = static_cast<double>(s.planes) * static_cast<double>(s.oh) *
              (static_cast<double>(s.w * s.kh) + static_cast<double>(s.ow * s.kw)) * 0.8;
  plan.scratch_bytes = static_cast<size_t>(s.w) * 64;
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel pool_blocked_kernel;
const Kernel pool_blocked_kernel = {"pool_blocked", prepare};

}  // namespace poprt::kernels
