// conv_stem (calls/conv_stem.h).
#include "kernels/calls/conv_stem.h"
#include "base/checked.h"
#include "kernels/common/conv_rows.h"

namespace poprt::kernels::conv_stem_kernel {
namespace {

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const ConvRowsParams*>(params);
  p.table->stem(p.shape, p.blocking, p.offset.data(), static_cast<const float*>(data[0]),
                static_cast<const float*>(data[1]), static_cast<const float*>(data[2]),
                static_cast<const float*>(data[3]), static_cast<float*>(data[4]), begin, end,
                reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  const auto stem = calls::decode<calls::ConvStem>(call);
  const ConvCall c = read_conv("conv_stem", stem.conv, call.operands, stem.depth);
  const isa::ConvShape& s = c.shape;
  auto p = std::make_shared<ConvRowsParams>();
  const int64_t k = checked_mul(checked_mul(checked_mul(s.c, s.kd), s.kh), s.kw);
  expect_f32("conv_stem", call.operands, 1, checked_mul(k, s.oc_blocks * 16));
  Plan plan = plan_conv_rows("conv_stem", call.operands, c, *p);
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_stem", prepare};

}  // namespace poprt::kernels::conv_stem_kernel
