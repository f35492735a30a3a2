// global_average_blocked (calls/global_average_blocked.h). A task is a block of channels.
#include "kernels/calls/global_average_blocked.h"
#include "base/checked.h"
#include "kernels/isa/pool.h"
#include "kernels/kernel.h"

namespace poprt::kernels::global_average_blocked_kernel {
namespace {

struct Params {
  const isa::PoolTable* table;
  int64_t pixels, channels, blocks;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->global_average(p.pixels, p.channels, p.blocks, static_cast<const float*>(data[0]),
                          static_cast<float*>(data[1]), begin, end);
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "global_average_blocked";
  const auto [n, c, pixels] = calls::decode<calls::GlobalAverageBlocked>(call);
  expect(call.operands.size() == 2, kName, "expected operands x and y");
  auto p = std::make_shared<Params>();
  *p = {&POPRT_SELECT_ISA(pool), pixels, c, (c + 15) / 16};
  const int64_t planes = checked_mul(n, p->blocks),
                x = checked_mul(planes, checked_mul(pixels, int64_t{16}));
  for (size_t i = 0; i < 2; i++)
    expect(call.operands[i].present && call.operands[i].dtype == DType::f32 &&
               call.operands[i].bytes / 4 >= static_cast<uint64_t>(i ? checked_mul(n, c) : x),
           kName, "an operand is missing, too small or not f32");
  Plan plan;
  plan.run = run;
  plan.tasks = planes;
  plan.work = static_cast<double>(x) / 10.0;
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"global_average_blocked", prepare};

}  // namespace poprt::kernels::global_average_blocked_kernel
