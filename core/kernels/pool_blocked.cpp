// pool_blocked (calls/pool_blocked.h). A task is some rows of one plane.
#include <algorithm>

#include "base/checked.h"
#include "kernels/calls/pool_blocked.h"
#include "kernels/isa/pool.h"
#include "kernels/kernel.h"

namespace poprt::kernels::pool_blocked_kernel {
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
  expect(call.operands.size() == 2, kName, "expected operands x and y");
  auto p = std::make_shared<Params>();
  const isa::PoolShape& s = p->shape = calls::decode<calls::PoolBlocked>(call).shape;
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

extern const Kernel def;
const Kernel def = {"pool_blocked", prepare};

}  // namespace poprt::kernels::pool_blocked_kernel
