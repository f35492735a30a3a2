// expert_rows (calls/expert_rows.h). A task is a block of columns of one expert, for all rows that
// chose it.
#include <algorithm>
#include <array>

#include "kernels/calls/expert_rows.h"
#include "kernels/common/operands.h"
#include "kernels/isa/expert_rows.h"

namespace poprt::kernels::expert_rows_kernel {
namespace {

constexpr int64_t kBlock = 64;  // columns of a task

struct Params : calls::ExpertRows {
  const isa::ExpertRowsTable* table = nullptr;
  int64_t blocks = 1;
  bool half = false;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* x = static_cast<const float*>(data[0]);
  const auto* weights = static_cast<const std::byte*>(data[1]);
  const auto* chosen = static_cast<const int64_t*>(data[2]);
  auto* y = static_cast<float*>(data[3]);
  const int64_t bytes = p.half ? 2 : 4;
  for (int64_t task = begin; task < end; task++) {
    const int64_t expert = task / p.blocks, first = task % p.blocks * kBlock;
    const int64_t columns = std::min(kBlock, p.columns - first);
    const std::byte* w = weights + (expert * p.columns + first) * p.depth * bytes;
    std::array<const float*, isa::kExpertRows> from;
    std::array<float*, isa::kExpertRows> to;
    size_t count = 0;
    const auto flush = [&] {
      p.table->product[p.half](from.data(), static_cast<int64_t>(count), w, columns, p.depth,
                               to.data());
      count = 0;
    };
    for (int64_t r = 0; r < p.rows; r++) {
      float* row = y + r * p.columns + first;
      if (chosen[r] == expert) {
        from[count] = x + r / p.share * p.depth;
        to[count++] = row;
        if (count == from.size()) flush();
      } else if (expert == 0 && (chosen[r] < 0 || chosen[r] >= p.experts)) {
        std::fill(row, row + columns, 0.0f);
      }
    }
    if (count) flush();
  }
}

Plan prepare(const Call& call) {
  const Operands r("expert_rows", call, 4);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::ExpertRows>(call)});
  r.check(r.has(1), "an operand is missing");
  p->half = r.dtype(1) == DType::f16;
  r.needs(0, DType::f32, {p->rows / p->share, p->depth});
  r.needs(1, p->half ? DType::f16 : DType::f32, {p->experts, p->columns, p->depth});
  r.needs(2, DType::s64, {p->rows});
  r.needs(3, DType::f32, {p->rows, p->columns});
  // If the depth is 0, the weights have no elements and do not limit `experts`. One expert is
  // enough, because all results are 0.
  if (p->depth == 0) p->experts = 1;
  p->table = &POPRT_SELECT_ISA(expert_rows);
  p->blocks = (p->columns + kBlock - 1) / kBlock;
  Plan plan;
  plan.run = run;
  plan.tasks = p->rows ? p->experts * p->blocks : 0;
  plan.work = static_cast<double>(p->rows) * static_cast<double>(p->columns) *
              static_cast<double>(p->depth) / 4;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"expert_rows", prepare};

}  // namespace poprt::kernels::expert_rows_kernel
