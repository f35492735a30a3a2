// Inputs: past_cache, update, write_indices?. Output: present_cache.
#include <limits>

#include "kernels/calls/copy.h"
#include "kernels/calls/tensor_scatter.h"
#include "ops/common/axes.h"
#include "ops/common/codes.h"
#include "ops/common/cost.h"
#include "ops/common/movement.h"
#include "ops/common/value_range.h"

namespace poprt::ops::tensor_scatter_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &cache = ctx.in(0), &update = ctx.in(1);
  ctx.out(0, cache);
  if (!cache.has_shape || !update.has_shape || cache.shape.size() != update.shape.size()) return;
  const auto axis = static_cast<size_t>(
      axis_of(ctx, ctx.node.int_attr("axis", -2), static_cast<int64_t>(cache.shape.size())));
  const int64_t room = cache.shape[axis], rows = update.shape[axis];
  if (room < 0 || rows < 0 || rows > room) return;
  if (ctx.node.string_attr("mode", "linear") == "linear")
    check_lengths(ctx.node, 2, room - rows, "write index");
  else
    check_lengths(ctx.node, 2, std::numeric_limits<int64_t>::max() - 1, "write index");
}

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
    ctx.emit(calls::Copy{}, {from, apart});
    from = apart;
  }
  if (!packed && !ctx.in_place(0)) ctx.emit(calls::Copy{}, {ctx.in(0), to});
  ctx.emit(calls::TensorScatter{.batch = cache[0],
                                .outer = partial_product(cache, 1, axis),
                                .slots = cache[axis],
                                .count = update[axis],
                                .bytes = partial_product(cache, axis + 1, cache.size()) *
                                         (packed ? 1 : element_bytes(ctx, dtype)),
                                .circular = mode == "circular",
                                .checked = ctx.checks(2)},
           {from, ctx.has(2) ? ctx.in(2) : LowerContext::kNone, to});
  if (packed) pack_codes(ctx, to, ctx.out(0), dtype, cache);
}

void map_axes(AxesContext& ctx) {
  const auto axis = static_cast<size_t>(
      normalize_axis(ctx.node.int_attr("axis", -2), static_cast<int64_t>(ctx.in(0).size())));
  // Places after the last one are the first ones again if the cache is circular.
  if (ctx.node.string_attr("mode", "linear") == "linear")
    axes::same(ctx, 0, 0);
  else
    axes::same(ctx, 0, 0, std::span(&axis, 1));
  ctx.number(0, axis);
  axes::same(ctx, 1, 0, std::span(&axis, 1));
  ctx.carry(2, 0, 0, 0);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "TensorScatter",
                   .since = 24,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::scatter,
                   .sharing = {.in_place = 1}};

}  // namespace poprt::ops::tensor_scatter_op
