// sum_bytes: operands [x, y]: y[o, i] = the sum of x[o, :, i]; x is u8 or s8 [outer, n, inner], y
// s32. ints: [outer, n, inner]. A task is one of outer.
#include <algorithm>

#include "kernels/common/call_reader.h"
#include "kernels/common/integer_panel.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels {
namespace {

constexpr int64_t kMost = 1 << 23;  // bytes whose sum is sure to fit

struct Params {
  const isa::QuantizeTable* table;
  bool is_signed;
  int64_t n, inner;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t o = begin; o < end; o++)
    p.table->sum(p.is_signed, static_cast<const uint8_t*>(data[0]) + o * p.n * p.inner, p.n,
                 p.inner, static_cast<int32_t*>(data[1]) + o * p.inner);
}

Plan prepare(const Call& call) {
  const CallReader r("sum_bytes", call, 2, 3);
  auto p = std::make_shared<Params>();
  const int64_t outer = r.size(0);
  p->n = r.size(1);
  p->inner = r.size(2);
  p->table = &POPRT_SELECT_ISA(quantize);
  p->is_signed = r.dtype(0) == DType::s8;
  r.check(is_byte(r.dtype(0)) && p->n <= kMost, "expected u8 or s8, at most 2^23 to a sum");
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

extern const Kernel sum_bytes_kernel;
const Kernel sum_bytes_kernel = {"sum_bytes", prepare};

}  // namespace poprt::kernels
