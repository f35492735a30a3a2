// byte_map (calls/byte_map.h).
#include <algorithm>

#include "kernels/calls/byte_map.h"
#include "kernels/common/integer_panel.h"
#include "kernels/common/operands.h"
#include "kernels/isa/quantize.h"

namespace poprt::kernels::byte_map_kernel {
namespace {

constexpr int64_t kTask = 32 << 10;

struct Params {
  const isa::QuantizeTable* table;
  bool vbmi;
  int64_t count;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const int64_t first = begin * kTask, last = std::min(end * kTask, p.count);
  p.table->map(p.vbmi, static_cast<const uint8_t*>(data[1]),
               static_cast<const uint8_t*>(data[0]) + first, static_cast<uint8_t*>(data[2]) + first,
               last - first);
}

Plan prepare(const Call& call) {
  const Operands r("byte_map", call, 3);
  auto p = std::make_shared<Params>();
  p->count = calls::decode<calls::ByteMap>(call).count;
  p->table = &POPRT_SELECT_ISA(quantize);
  p->vbmi = can_use_vbmi();
  r.check(is_byte(r.dtype(0)) && is_byte(r.dtype(2)), "only u8 and s8 are looked up");
  r.needs(0, r.dtype(0), {p->count});
  r.needs(1, r.dtype(2), {256});
  r.needs(2, r.dtype(2), {p->count});
  Plan plan;
  plan.run = run;
  plan.tasks = (p->count + kTask - 1) / kTask;
  plan.work = static_cast<double>(p->count) * (p->vbmi ? 0.03 : 0.4);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"byte_map", prepare};

}  // namespace poprt::kernels::byte_map_kernel
