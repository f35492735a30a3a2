#include "kernels/calls/random.h"
#include "ops/common/random.h"

#include <bit>

#include "base/onnx_dtype.h"
#include "ops/common/as_f32.h"

namespace poprt::ops {
namespace {

DType dtype_of_attr(const InferContext& ctx, DType fallback) {
  const int64_t number = ctx.node.int_attr("dtype", 0);
  if (number == 0) return fallback;
  const auto t = dtype_from_onnx(number);
  if (!t) ctx.fail_unsupported("dtype {}", number);
  return *t;
}

}  // namespace

int64_t seed_of(const ir::Node& node) {
  if (const ir::Attribute* seed = node.find_attr("seed")) {
    if (const auto* whole = std::get_if<int64_t>(seed)) return *whole;
    return static_cast<int64_t>(std::bit_cast<uint32_t>(node.float_attr("seed", 0)));
  }
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : node.output(0)->name())
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return static_cast<int64_t>(hash);
}

void infer_random_like(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  ctx.out(0, ir::ValueType{dtype_of_attr(ctx, x.dtype), x.has_shape, x.shape, x.symbols});
}

void infer_random_shape(InferContext& ctx) {
  const auto shape = ctx.node.ints_attr("shape");
  if (!is_static(shape)) ctx.fail_input("shape {} has a negative dimension", shape_string(shape));
  ctx.out(0, dtype_of_attr(ctx, DType::f32), shape);
}

void lower_random(LowerContext& ctx, RandomKind kind) {
  const bool multinomial = kind == RandomKind::multinomial, normal = kind == RandomKind::normal;
  const bool reads = multinomial || kind == RandomKind::bernoulli;
  const auto y = multinomial ? ctx.out(0) : out_as_f32(ctx, 0);
  const int64_t count = multinomial ? ctx.in_shape(0)[0] : element_count(ctx.out_shape());
  ctx.emit(calls::Random{.kind = kind,
                         .seed = seed_of(ctx.node),
                         .count = count,
                         .classes = multinomial ? ctx.in_shape(0)[1] : 0,
                         .samples = multinomial ? ctx.out_shape()[1] : 1,
                         .a = ctx.node.float_attr(normal ? "mean" : "low", 0),
                         .b = ctx.node.float_attr(normal ? "scale" : "high", 1),
                         .varies = varies(ctx.node)},
           {reads ? in_as_f32(ctx, 0) : LowerContext::kNone, y});
  if (!multinomial) finish_f32(ctx, 0, y);
}

}  // namespace poprt::ops
