#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/common/scalar.h"
#include "ops/op.h"

namespace poprt::ops::eye_like_op {
namespace {

// The attribute is a TensorProto.DataType number.
DType dtype_of_attr(const InferContext& ctx, DType fallback) {
  if (!ctx.node.find_attr("dtype")) return fallback;
  const int64_t number = ctx.node.int_attr("dtype", 0);
  switch (number) {
    case 1: return DType::f32;
    case 2: return DType::u8;
    case 3: return DType::s8;
    case 4: return DType::u16;
    case 5: return DType::s16;
    case 6: return DType::s32;
    case 7: return DType::s64;
    case 9: return DType::boolean;
    case 10: return DType::f16;
    case 11: return DType::f64;
    case 12: return DType::u32;
    case 13: return DType::u64;
    case 16: return DType::bf16;
    default: ctx.fail_unsupported("dtype {}", number);
  }
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  const DType dtype = dtype_of_attr(ctx, in.dtype);
  if (!in.has_shape) return ctx.out(0, dtype, {kUnknownDim, kUnknownDim});
  if (in.shape.size() != 2) ctx.fail_input("expected rank 2, found {}", shape_string(in.shape));
  // The compiler creates the values, so their number is limited.
  constexpr int64_t kMost = 1 << 26;
  if (is_static(in.shape) && element_count(in.shape) > kMost)
    ctx.fail_input("{} has more than {} elements", shape_string(in.shape), kMost);
  ctx.out(0, dtype, in.shape);
}

void lower(LowerContext& ctx) {
  const Shape& shape = ctx.out_shape();
  Tensor t = Tensor::zeros(ctx.out_dtype(), shape);
  const Tensor one = scalar_tensor(ctx.out_dtype(), 1);
  const int64_t k = ctx.node.int_attr("k", 0);
  auto* to = static_cast<std::byte*>(t.mutable_data());
  for (int64_t r = 0; r < shape[0]; r++) {
    int64_t c;
    if (__builtin_add_overflow(r, k, &c) || c < 0 || c >= shape[1]) continue;
    std::memcpy(to + static_cast<uint64_t>(r * shape[1] + c) * one.bytes(), one.data(),
                one.bytes());
  }
  ctx.emit(calls::Copy{}, {ctx.pack(t), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "EyeLike",
                   .since = 9,
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::by_place,
                   .facts = {.moves = true, .trial = {"T[4,4]"}}};

}  // namespace poprt::ops::eye_like_op
