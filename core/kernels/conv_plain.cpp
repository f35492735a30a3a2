// conv_plain (calls/conv_plain.h).
#include "kernels/calls/conv_plain.h"
#include "base/checked.h"
#include "kernels/common/conv_rows.h"

namespace poprt::kernels::conv_plain_kernel {
namespace {

struct Params : ConvRowsParams {
  int64_t filters = 0;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  p.table->plain(p.shape, p.blocking, p.filters, p.offset.data(),
                 static_cast<const float*>(data[0]), static_cast<const float*>(data[1]),
                 static_cast<const float*>(data[2]), static_cast<float*>(data[4]), begin, end,
                 reinterpret_cast<float*>(scratch));
}

Plan prepare(const Call& call) {
  const auto plain = calls::decode<calls::ConvPlain>(call);
  const ConvCall c = read_conv("conv_plain", plain.conv, call.operands, plain.depth, true);
  const isa::ConvShape& s = c.shape;
  auto p = std::make_shared<Params>();
  const int64_t k = checked_mul(checked_mul(checked_mul(s.c, s.kd), s.kh), s.kw);
  p->filters = plain.conv.m;
  expect_f32("conv_plain", call.operands, 1, checked_mul(k, p->filters));
  expect(!call.operands[3].present, "conv_plain", "a residual is not supported");
  Plan plan = plan_conv_rows("conv_plain", call.operands, c, *p);
  plan.run = run;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_plain", prepare};

}  // namespace poprt::kernels::conv_plain_kernel
