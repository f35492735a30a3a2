// sum_bytes (calls/sum_bytes.h). A task is one index of outer.
#include <algorithm>

#include "kernels/calls/sum_bytes.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels::sum_bytes_kernel {
namespace {

struct Params : calls::SumBytes {
  const isa::QuantizeTable* table = &POPRT_SELECT_ISA(quantize);
  bool is_signed = false;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t o = begin; o < end; o++)
    p.table->sum(p.is_signed, static_cast<const uint8_t*>(data[0]) + o * p.n * p.inner, p.n,
                 p.inner, static_cast<int32_t*>(data[1]) + o * p.inner);
}

Plan prepare(const Call& call) {
  const Operands r("sum_bytes", call, 2);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::SumBytes>(call)});
  const int64_t outer = p->outer;
  p->is_signed = r.dtype(0) == DType::s8;
  r.check(is_byte(r.dtype(0)), "x must be u8 or s8");
  r.needs(0, r.dtype(0), {outer, p->n, p->inner});
  r.needs(1, DType::s32, {outer, p->inner});
  Plan plan;
  plan.run = run;
  plan.tasks = p->inner ? outer : 0;
  plan.work = static_cast<double>(outer) *
              (static_cast<double>(p->n) * static_cast<double>(p->inner) * 0.05 + 10);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"sum_bytes", prepare};

}  // namespace poprt::kernels::sum_bytes_kernel
