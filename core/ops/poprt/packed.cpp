// poprt.Packed: reinterprets bytes [.., n] as numbers of type `to` (DType u2, u4, s2 or s4), 8 /
// bits in each byte, low bits first: [.., n * 8 / bits].
#include "base/checked.h"
#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::ops::poprt_packed_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const auto to = static_cast<DType>(ctx.node.int_attr("to", 0));
  if (to != DType::u2 && to != DType::u4 && to != DType::s2 && to != DType::s4)
    ctx.fail_unsupported("to = {}", static_cast<int>(to));
  if (x.dtype != DType::undefined && x.dtype != DType::u8)
    ctx.fail_input("input 0 is {}, expected bytes", dtype_name(x.dtype));
  if (!x.has_shape) return ctx.out_dtype(0, to);
  Shape y = x.shape;
  if (y.empty()) ctx.fail_input("a scalar has no last dimension");
  if (y.back() != kUnknownDim) y.back() = checked_mul(y.back(), int64_t{8 / dtype_bits(to)});
  ctx.out(0, to, std::move(y));
}

void lower(LowerContext& ctx) {
  ctx.emit(calls::Copy{}, {ctx.in(0), ctx.view(ctx.out(0), 0, DType::u8, ctx.in_shape(0))});
}

void map_axes(AxesContext& ctx) {
  const size_t last = ctx.in(0).size() - 1;
  axes::range(ctx, 0, 0, last, 0, 0);
  if (const int64_t bytes = ctx.in(0)[last])
    ctx.link({0, last, 0, last, kNoRepeat, 1, ctx.out()[last] / bytes});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Packed",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .sharing = {.view = true},
                   .facts = {.trial = {"T[4,4]", "to = 21"}}};

}  // namespace poprt::ops::poprt_packed_op
