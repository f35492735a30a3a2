// pack_conv (calls/pack_conv.h).
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/calls/pack_conv.h"
#include "kernels/common/operands.h"
#include "kernels/isa/pool.h"

namespace poprt::kernels::pack_conv_kernel {
namespace {

struct Params {
  const isa::PoolTable* table;
  int64_t m, blocks, c, taps;
};

// A task is a block of 16 filters of a group. Their rows become columns, [(c, tap)][16] in scratch,
// whose rows are then moved to (channel block, tap, channel).
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t k = p.c * p.taps;
  for (int64_t task = begin; task < end; task++) {
    const int64_t block = task % p.blocks, group = task / p.blocks;
    const float* from = static_cast<const float*>(data[0]) + (group * p.m + block * 16) * k;
    float* to = static_cast<float*>(data[1]) + task * k * 16;
    float* columns = p.taps == 1 ? to : reinterpret_cast<float*>(scratch);
    p.table->block(from, k, std::min<int64_t>(16, p.m - block * 16), k, columns);
    if (p.taps == 1) continue;
    for (int64_t c = 0; c < p.c; c++) {
      const int64_t first = c / 16 * 16, width = std::min<int64_t>(16, p.c - first);
      for (int64_t tap = 0; tap < p.taps; tap++)
        std::memcpy(to + (first * p.taps + tap * width + c - first) * 16,
                    columns + (c * p.taps + tap) * 16, 64);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("pack_conv", call, 2);
  const auto [groups, m, c, taps] = calls::decode<calls::PackConv>(call);
  const int64_t blocks = (m + 15) / 16;
  r.needs(0, DType::f32, {groups, m, c, taps});
  r.needs(1, DType::f32, {groups, blocks * 16, c, taps});
  auto p = std::make_shared<Params>();
  *p = {&POPRT_SELECT_ISA(pool), m, blocks, c, taps};
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(groups, blocks);
  const double floats = static_cast<double>(plan.tasks) * 16 * static_cast<double>(c * taps);
  plan.work = floats * 0.5;
  if (taps > 1) plan.scratch_bytes = static_cast<size_t>(checked_mul(c * taps, int64_t{64}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"pack_conv", prepare};

}  // namespace poprt::kernels::pack_conv_kernel
