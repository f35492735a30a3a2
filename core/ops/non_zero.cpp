// The length depends on the values, so the input must be constant.
#include "ops/op.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const int64_t rank = in.has_shape ? static_cast<int64_t>(in.shape.size()) : kUnknownDim;
  const Tensor* t = ctx.constant(0);
  if (!t) return ctx.out(0, DType::s64, {rank, kUnknownDim});
  int64_t count = 0;
  for (const double v : t->to_doubles()) count += v != 0;
  ctx.out(0, DType::s64, {rank, count});
}

void lower(LowerContext& ctx) {
  const Tensor* in = ctx.constant(0);
  if (!in) ctx.fail_unsupported("the input must be constant");
  Tensor t = Tensor::zeros(DType::s64, ctx.out_shape());
  const auto values = in->to_doubles();
  const auto to = t.mutable_values<int64_t>();
  const auto count = static_cast<size_t>(ctx.out_shape()[1]);
  size_t next = 0;
  for (size_t i = 0; i < values.size(); i++) {
    if (values[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (size_t d = in->shape().size(); d-- > 0;) {
      to[d * count + next] = rest % in->shape()[d];
      rest /= in->shape()[d];
    }
    next++;
  }
  ctx.emit("copy", {ctx.pack(t), ctx.out(0)});
}

}  // namespace

extern const OpDef non_zero_op;
const OpDef non_zero_op = {.name = "NonZero", .since = 9, .infer = infer, .lower = lower};

}  // namespace poprt::ops
