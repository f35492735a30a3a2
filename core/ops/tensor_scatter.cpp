// past_cache, update, write_indices? to present_cache.
#include "ops/common/codes.h"
#include "ops/common/movement.h"

namespace poprt::ops {
namespace {

void lower(LowerContext& ctx) {
  const Shape &cache = ctx.in_shape(0), &update = ctx.in_shape(1);
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -2), static_cast<int64_t>(cache.size())));
  Shape expected = cache;
  if (update.size() == cache.size()) expected[axis] = update[axis];
  if (axis == 0 || update != expected || update[axis] > cache[axis])
    ctx.fail_unsupported("update {} does not fit cache {} on axis {}", shape_string(update),
                         shape_string(cache), axis);
  const std::string mode = ctx.node.string_attr("mode", "linear");
  if (mode != "linear" && mode != "circular") ctx.fail_unsupported("mode '{}'", mode);
  const DType dtype = ctx.in_dtype(0);
  const bool packed = dtype_bits(dtype) < 8;
  auto from = packed ? unpack_codes(ctx, ctx.in(1), dtype, update) : ctx.in(1);
  const auto to = packed ? unpack_codes(ctx, ctx.in(0), dtype, cache) : ctx.out(0);
  if (!packed && ctx.in_place(1)) {
    const auto apart = ctx.temporary(dtype, update);
    ctx.emit("copy", {from, apart});
    from = apart;
  }
  if (!packed && !ctx.in_place(0)) ctx.emit("copy", {ctx.in(0), to});
  ctx.emit(
      "tensor_scatter", {from, ctx.has(2) ? ctx.in(2) : LowerContext::kNone, to},
      {cache[0], partial_product(cache, 1, axis), cache[axis], update[axis],
       partial_product(cache, axis + 1, cache.size()) * (packed ? 1 : element_bytes(ctx, dtype)),
       mode == "circular"});
  if (packed) pack_codes(ctx, to, ctx.out(0), dtype, cache);
}

}  // namespace

extern const OpDef tensor_scatter_op;
const OpDef tensor_scatter_op = {.name = "TensorScatter",
                                 .since = 24,
                                 .infer = [](InferContext& c) { c.out(0, c.in(0)); },
                                 .lower = lower,
                                 .sharing = {.in_place = 1}};

}  // namespace poprt::ops
