// conv_normalized: `conv` of x * scale + shift for each channel, and the larger of that and a
// bound: BatchNormalization and Relu, or a gate for each channel, before a convolution. Padding
// stays zero. Operands [x, weights, bias?, residual?, scale, shift?, y]; shift is [groups *
// ceil(C/16), 16], scale too, or has that for each image. Ints of `conv`, then whether scale does;
// floats of `conv`, then the bound (minus infinity for none).
#include <array>

#include "base/checked.h"
#include "kernels/common/conv_blocked.h"

namespace poprt::kernels {
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
  expect(call.operands.size() == 7 && call.floats.size() == 3 && !call.ints.empty(), kName,
         "wrong number of operands, integers or floats");
  const auto& o = call.operands;
  const std::array<Operand, 5> operands = {o[0], o[1], o[2], o[3], o[6]};
  const Call conv = {operands, call.ints.first(call.ints.size() - 1), call.floats.first(2),
                     call.threads};
  auto p = std::make_shared<ConvBlockedParams>();
  Plan plan = plan_blocked_conv(kName, conv, true, *p);
  const int64_t lanes = checked_mul(p->shape.groups * p->shape.c_blocks, int64_t{16});
  p->scale_of_image = call.ints.back() != 0;
  expect_f32(kName, call, 4, p->scale_of_image ? checked_mul(lanes, p->shape.batch) : lanes);
  if (o[5].present) expect_f32(kName, call, 5, lanes);
  p->low = call.floats[2];
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel conv_normalized_kernel;
const Kernel conv_normalized_kernel = {"conv_normalized", prepare};

}  // namespace poprt::kernels
