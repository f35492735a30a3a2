// tensor_scatter (calls/tensor_scatter.h). A task is a row of slots.
#include <cstring>

#include "kernels/calls/tensor_scatter.h"
#include "kernels/common/operands.h"
#include "kernels/common/outside.h"

namespace poprt::kernels::tensor_scatter_kernel {
namespace {

struct Params : calls::TensorScatter {
  Outside outside{"write index", false};
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t task = begin; task < end; task++) {
    const int64_t first = data[1] ? static_cast<const int64_t*>(data[1])[task / p.outer] : 0;
    if (first < 0 || (!p.circular && first > p.slots - p.count)) [[unlikely]]
      p.outside.found(task / p.outer, first, p.slots - p.count + 1);
    for (int64_t i = 0; i < p.count; i++) {
      int64_t slot;
      if (__builtin_add_overflow(first, i, &slot)) continue;
      if (p.circular) slot = (slot % p.slots + p.slots) % p.slots;
      if (slot < 0 || slot >= p.slots) continue;
      std::memcpy(static_cast<std::byte*>(data[2]) + (task * p.slots + slot) * p.bytes,
                  static_cast<const std::byte*>(data[0]) + (task * p.count + i) * p.bytes,
                  static_cast<size_t>(p.bytes));
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("tensor_scatter", call, 3);
  auto p = std::make_shared<Params>(calls::decode<calls::TensorScatter>(call));
  p->outside.wanted = p->checked;
  const int64_t rows = Operands::product({p->batch, p->outer});
  r.check(call.operands[0].present && call.operands[2].present &&
              static_cast<uint64_t>(Operands::product({rows, p->count, p->bytes})) <=
                  call.operands[0].bytes &&
              static_cast<uint64_t>(Operands::product({rows, p->slots, p->bytes})) <=
                  call.operands[2].bytes,
          "an operand is missing or too small");
  r.needs_if_present(1, DType::s64, {p->batch});
  Plan plan;
  plan.run = run;
  plan.tasks = p->slots && p->count && p->bytes ? rows : 0;
  plan.work = static_cast<double>(rows) * static_cast<double>(p->count * p->bytes) / 8;
  if (p->checked) plan.take_failure = Outside::take_of<Params>;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"tensor_scatter", prepare};

}  // namespace poprt::kernels::tensor_scatter_kernel
