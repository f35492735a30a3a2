#include "ops/common/constant_result.h"

#include "kernels/calls/copy.h"
#include "ops/common/scalar.h"

namespace poprt::ops {

void emit_constant(LowerContext& ctx, size_t i, std::span<const double> values) {
  if (ctx.out(i) == LowerContext::kNone) return;
  Tensor t = Tensor::zeros(ctx.out_dtype(i), ctx.out_shape(i));
  auto* to = static_cast<std::byte*>(t.mutable_data());
  for (const double value : values) {
    const Tensor v = scalar_tensor(t.dtype(), value);
    std::memcpy(to, v.data(), v.bytes());
    to += v.bytes();
  }
  ctx.emit(calls::Copy{}, {ctx.pack(t), ctx.out(i)});
}

}  // namespace poprt::ops
