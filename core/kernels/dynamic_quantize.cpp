// dynamic_quantize (calls/dynamic_quantize.h). One task.
#include "kernels/calls/dynamic_quantize.h"
#include "kernels/common/dynamic_grid.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::dynamic_quantize_kernel {
namespace {

struct Params {
  int64_t count;
};

void run(const void* params, void* const* data, int64_t, int64_t, std::byte*) noexcept {
  const int64_t count = static_cast<const Params*>(params)->count;
  const auto* x = static_cast<const float*>(data[0]);
  const isa::QuantizeTable& table = POPRT_SELECT_ISA(quantize);
  const auto [scale, zero] = dynamic_grid(table, x, count);
  if (data[1]) table.quantize(isa::Whole::u8, data[1], x, &scale, &zero, false, count);
  if (data[2]) *static_cast<float*>(data[2]) = scale;
  if (data[3]) *static_cast<uint8_t*>(data[3]) = static_cast<uint8_t>(zero);
}

Plan prepare(const Call& call) {
  calls::decode<calls::DynamicQuantize>(call);
  const Operands r("dynamic_quantize", call, 4);
  const int64_t count = element_count(call.operands[0].shape);
  r.needs(0, DType::f32, {count});
  r.needs_if_present(1, DType::u8, {count});
  r.needs_if_present(2, DType::f32, {1});
  r.needs_if_present(3, DType::u8, {1});
  Plan plan;
  plan.outputs = 3;
  plan.run = run;
  plan.work = static_cast<double>(count) * 0.2;
  plan.params = std::make_shared<Params>(Params{count});
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"dynamic_quantize", prepare};

}  // namespace poprt::kernels::dynamic_quantize_kernel
