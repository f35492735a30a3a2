// conv (calls/conv.h).
#include "kernels/calls/conv.h"
#include "kernels/common/conv_blocked.h"

namespace poprt::kernels::conv_kernel {
namespace {

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const ConvBlockedParams*>(params);
  p.table->blocked(p.shape, p.blocking, nullptr, static_cast<const float*>(data[0]),
                   static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                   static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
                   reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  const auto c = calls::decode<calls::Conv>(call);
  auto p = std::make_shared<ConvBlockedParams>();
  Plan plan = plan_blocked_conv("conv", c.conv, c.depth, call.operands, false, *p);
  p->shape.pair_c = c.pair_c;
  p->shape.pair_m = c.pair_m;
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv", prepare};

}  // namespace poprt::kernels::conv_kernel
