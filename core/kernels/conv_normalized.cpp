// conv_normalized (calls/conv_normalized.h).
#include <array>

#include "base/checked.h"
#include "kernels/calls/conv_normalized.h"
#include "kernels/common/conv_blocked.h"

namespace poprt::kernels::conv_normalized_kernel {
namespace {

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const ConvBlockedParams*>(params);
  const isa::ConvPrologue prologue = {static_cast<const float*>(data[4]),
                                      static_cast<const float*>(data[5]), p.scale_of_image, p.low};
  p.table->blocked(p.shape, p.blocking, &prologue, static_cast<const float*>(data[0]),
                   static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                   static_cast<const float*>(data[3]), static_cast<float*>(data[6]), begin, end,
                   reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "conv_normalized";
  const auto c = calls::decode<calls::ConvNormalized>(call);
  expect(call.operands.size() == 7, kName, "expected 7 operands");
  const auto& o = call.operands;
  const std::array<Operand, 5> operands = {o[0], o[1], o[2], o[3], o[6]};
  auto p = std::make_shared<ConvBlockedParams>();
  Plan plan = plan_blocked_conv(kName, c.conv, c.depth, operands, true, *p);
  const int64_t lanes = checked_mul(p->shape.groups * p->shape.c_blocks, int64_t{16});
  p->scale_of_image = c.scale_of_image;
  expect_f32(kName, o, 4, p->scale_of_image ? checked_mul(lanes, p->shape.batch) : lanes);
  if (o[5].present) expect_f32(kName, o, 5, lanes);
  p->low = c.low;
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_normalized", prepare};

}  // namespace poprt::kernels::conv_normalized_kernel
