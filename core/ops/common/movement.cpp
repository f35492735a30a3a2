#include "ops/common/movement.h"

#include "base/checked.h"
#include "kernels/calls/copy.h"
#include "kernels/calls/map_axes.h"
#include "kernels/calls/strided_copy.h"
#include "ops/common/codes.h"

namespace poprt::ops {
namespace {

bool is_sub_byte(DType dtype) { return dtype_bits(dtype) > 0 && dtype_bits(dtype) < 8; }

}  // namespace

int64_t element_bytes(const LowerContext& ctx, DType dtype) {
  const int bits = dtype_bits(dtype);
  if (bits < 8)
    ctx.fail_unsupported("elements of type {} cannot be moved individually; cast to u8 or s8 first",
                         dtype_name(dtype));
  return bits / 8;
}

void emit_strided_copy(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                       const StridedCopy& copy) {
  const int64_t count = element_count(copy.dims);
  if (count == 0) return;
  const auto dense = contiguous_strides(copy.dims);
  const auto whole = [&](program::BufferId id) {
    return element_count(ctx.builder.buffer(id).shape) == count;
  };
  if (copy.from_strides == dense && copy.to_strides == dense && whole(from) && whole(to) &&
      copy.from_offset == 0 && copy.to_offset == 0) {
    ctx.emit(calls::Copy{}, {from, to});
    return;
  }
  if (is_sub_byte(dtype) && copy.to_strides == dense && whole(to) && copy.to_offset == 0) {
    // The shapes are copied because creating buffers moves the old ones.
    const Shape from_shape = ctx.builder.buffer(from).shape,
                to_shape = ctx.builder.buffer(to).shape;
    const auto codes = unpack_codes(ctx, from, dtype, from_shape);
    const auto moved = ctx.temporary(DType::u8, to_shape);
    emit_strided_copy(ctx, codes, moved, DType::u8, copy);
    return pack_codes(ctx, moved, to, dtype, to_shape);
  }
  ctx.emit(calls::StridedCopy{.size = element_bytes(ctx, dtype),
                              .from_offset = copy.from_offset,
                              .to_offset = copy.to_offset,
                              .dims = {copy.dims.begin(), copy.dims.end()},
                              .from_strides = {copy.from_strides.begin(), copy.from_strides.end()},
                              .to_strides = {copy.to_strides.begin(), copy.to_strides.end()}},
           {from, to});
}

void emit_map_axes(LowerContext& ctx, program::BufferId from, program::BufferId value,
                   program::BufferId to, DType dtype, const Shape& from_shape,
                   const std::vector<std::vector<int64_t>>& maps) {
  if (is_sub_byte(dtype)) {
    const Shape to_shape = ctx.builder.buffer(to).shape;
    const auto moved = ctx.temporary(DType::u8, to_shape);
    emit_map_axes(ctx, unpack_codes(ctx, from, dtype, from_shape),
                  unpack_codes(ctx, value, dtype, {}), moved, DType::u8, from_shape, maps);
    return pack_codes(ctx, moved, to, dtype, to_shape);
  }
  calls::MapAxes call{.size = element_bytes(ctx, dtype), .axes = {}};
  for (size_t a = 0; a < from_shape.size(); a++) {
    const int64_t in = from_shape[a];
    // Adjacent axes that are unchanged are merged.
    if (maps[a].empty() && !call.axes.empty() && !call.axes.back().mapped) {
      call.axes.back().in *= in;
      call.axes.back().out = call.axes.back().in;
    } else if (maps[a].empty()) {
      call.axes.push_back({.in = in, .out = in, .mapped = false, .map = {}});
    } else {
      call.axes.push_back(
          {.in = in, .out = static_cast<int64_t>(maps[a].size()), .mapped = true, .map = maps[a]});
    }
  }
  ctx.emit(std::move(call), {from, value, to});
}

void check_index_dtype(const InferContext& ctx, size_t i) {
  const DType dtype = ctx.in(i).dtype;
  if (dtype != DType::undefined && dtype != DType::s32 && dtype != DType::s64)
    ctx.fail_input("input {} contains indices: expected s32 or s64, found {}", i,
                   dtype_name(dtype));
}

void check_indices(const InferContext& ctx, size_t input, int64_t size, size_t axis) {
  if (size < 0) return;
  if (const auto at = ctx.ints(input))
    for (const int64_t i : *at)
      if (i < -size || i >= size)
        ctx.fail_input("index {} is outside [{}, {}) of axis {}", i, -size, size, axis);
}

void check_index_tuples(const InferContext& ctx, size_t input, const Shape& data, size_t first) {
  const Tensor* indices = ctx.constant(input);
  if (!indices || indices->shape().empty()) return;
  const auto depth = static_cast<size_t>(indices->shape().back());
  const std::vector<int64_t> at = indices->to_int64s();
  for (size_t i = 0; i < at.size(); i++) {
    const size_t axis = first + i % depth;
    const int64_t size = data[axis];
    if (size >= 0 && (at[i] < -size || at[i] >= size))
      ctx.fail_input("index {} is outside [{}, {}) of axis {}", at[i], -size, size, axis);
  }
}

int64_t partial_product(const Shape& dims, size_t from, size_t to) {
  int64_t product = 1;
  bool unknown = false;
  for (size_t i = from; i < to; i++) {
    if (dims[i] == 0) return 0;
    if (dims[i] < 0)
      unknown = true;
    else
      product = checked_mul(product, dims[i], "shape");
  }
  return unknown ? kUnknownDim : product;
}

int64_t axis_of(const InferContext& ctx, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    ctx.fail_input("axis {} is outside [{}, {})", axis, -rank, rank);
  return axis < 0 ? axis + rank : axis;
}

std::optional<std::vector<int64_t>> axes_of(const InferContext& ctx, size_t input,
                                            std::string_view key, bool& known) {
  known = true;
  if (ctx.has(input)) {
    auto axes = ctx.ints(input);
    known = axes.has_value();
    return axes;
  }
  if (!ctx.node.find_attr(key)) return std::nullopt;
  return ctx.node.ints_attr(key);
}

}  // namespace poprt::ops
