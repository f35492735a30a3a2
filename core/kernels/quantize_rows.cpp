// quantize_rows (calls/quantize_rows.h). A task is a block of rows.
#include <algorithm>

#include "kernels/calls/quantize_rows.h"
#include "kernels/common/operands.h"
#include "kernels/isa/attention.h"

namespace poprt::kernels::quantize_rows_kernel {
namespace {

constexpr int64_t kBlock = 64;

struct Params : calls::QuantizeRows {
  const isa::AttentionTable* table = &POPRT_SELECT_ISA(attention);
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * kBlock, last = std::min(end * kBlock, p.rows),
                stride = p.size + isa::kRowScaleBytes;
  p.table->quantize_rows(static_cast<const float*>(data[0]) + first * p.size, last - first, p.size,
                         static_cast<int8_t*>(data[1]) + first * stride, stride);
}

Plan prepare(const Call& call) {
  const Operands r("quantize_rows", call, 2);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::QuantizeRows>(call)});
  r.needs(0, DType::f32, {p->rows, p->size});
  r.needs(1, DType::s8, {p->rows, checked_add(p->size, isa::kRowScaleBytes)});
  Plan plan;
  plan.run = run;
  plan.tasks = (p->rows + kBlock - 1) / kBlock;
  plan.work = static_cast<double>(p->rows) * (static_cast<double>(p->size) * 0.2 + 4);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"quantize_rows", prepare};

}  // namespace poprt::kernels::quantize_rows_kernel
