// The length depends on the values, so start, limit and delta must be constant.
#include <array>
#include <cmath>

#include "kernels/calls/copy.h"
#include "ops/common/flops.h"
#include "ops/common/scalar.h"
#include "ops/op.h"

namespace poprt::ops::range_op {
namespace {

struct Bounds {
  double start, limit, delta;
};

template <class Context>
std::optional<Bounds> bounds_of(const Context& ctx) {
  std::array<double, 3> v{};
  for (size_t i = 0; i < 3; i++) {
    const Tensor* t = ctx.constant(i);
    if (!t) return std::nullopt;
    if (t->count() != 1)
      fail(ErrorCode::invalid_argument, "{}: input {} should be one number", ctx.node.describe(),
           i);
    v[i] = t->to_doubles()[0];
  }
  return Bounds{v[0], v[1], v[2]};
}

void infer(InferContext& ctx) {
  const DType dtype = ctx.in(0).dtype;
  const auto b = bounds_of(ctx);
  if (!b) return ctx.out(0, dtype, {kUnknownDim});
  if (b->delta == 0) ctx.fail_input("delta is 0");
  const double count = std::ceil((b->limit - b->start) / b->delta);
  // The compiler makes them one by one.
  if (!(count <= 1 << 26)) ctx.fail_input("{} elements are too many", count);
  ctx.out(0, dtype, {static_cast<int64_t>(std::max(0.0, count))});
}

void lower(LowerContext& ctx) {
  if (!bounds_of(ctx)) ctx.fail_unsupported("start, limit and delta must be constant");
  const DType dtype = ctx.out_dtype();
  const int64_t n = ctx.out_shape()[0];
  Tensor t = Tensor::zeros(dtype, {n});
  if (dtype == DType::s64) {
    // Doubles would lose the low bits.
    const auto start = static_cast<uint64_t>(ctx.ints(0)->at(0)),
               delta = static_cast<uint64_t>(ctx.ints(2)->at(0));
    for (int64_t i = 0; i < n; i++)
      t.mutable_values<int64_t>()[static_cast<size_t>(i)] =
          static_cast<int64_t>(start + static_cast<uint64_t>(i) * delta);
  } else {
    const auto b = *bounds_of(ctx);
    auto* to = static_cast<std::byte*>(t.mutable_data());
    for (int64_t i = 0; i < n; i++) {
      const Tensor v = scalar_tensor(dtype, b.start + static_cast<double>(i) * b.delta);
      std::memcpy(to + static_cast<uint64_t>(i) * v.bytes(), v.data(), v.bytes());
    }
  }
  ctx.emit(calls::Copy{}, {ctx.pack(t), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Range",
                   .since = 11,
                   .infer = infer,
                   .lower = lower,
                   .facts = {.narrows = true,
                             .shape_inputs = 0b111,
                             .constant_inputs = 0b111,
                             .size_rule = SizeRule::range,
                             .flops = flops::none,
                             .trial = {"T[]; T[]; T[]"}}};

}  // namespace poprt::ops::range_op
