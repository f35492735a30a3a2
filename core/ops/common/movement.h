// Helpers of operators that only move elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// to[to_offset + sum(i * to_strides)] = from[from_offset + sum(i * from_strides)] for all i inside
// dims. All numbers are in elements.
struct StridedCopy {
  Shape dims;
  std::vector<int64_t> from_strides, to_strides;
  int64_t from_offset = 0, to_offset = 0;
};

// Emits kernel strided_copy, or kernel copy if both sides are complete and contiguous. Elements
// smaller than a byte are moved as bytes if the copy writes all of `to` contiguously. Throws
// unimplemented if it does not.
void emit_strided_copy(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                       const StridedCopy& copy);

// The bytes of an element; fails as unsupported if elements are smaller than a byte.
int64_t element_bytes(const LowerContext& ctx, DType dtype);

// Emits one pass over `from`. Index o along axis a of the result reads index maps[a][o]; if any
// maps[a][o] is -1, the element is `value` (a buffer of one element; kNoBuffer means zero). An
// empty map leaves the axis unchanged.
void emit_map_axes(LowerContext& ctx, program::BufferId from, program::BufferId value,
                   program::BufferId to, DType dtype, const Shape& from_shape,
                   const std::vector<std::vector<int64_t>>& maps);

// Checks that an index input is s32 or s64, the types that kernels read.
void check_index_dtype(const InferContext& ctx, size_t i);

// Checks that constant indices are inside [-size, size). The kernels check indices that are
// computed at run time.
void check_indices(const InferContext& ctx, size_t input, int64_t size, size_t axis);
// The same for tuples of indices along the last dimension, which address the dimensions of `data`
// from `first` on.
void check_index_tuples(const InferContext& ctx, size_t input, const Shape& data, size_t first);

// Product of dims[from, to), or kUnknownDim if one of them is unknown and none is zero.
int64_t partial_product(const Shape& dims, size_t from, size_t to);

// normalize_axis with an error message that names the node.
int64_t axis_of(const InferContext& ctx, int64_t axis, int64_t rank);

// Axes from input `input` or attribute `key`, whichever the node has; nullopt if it has neither.
// `known` is false if the input is given but not constant.
std::optional<std::vector<int64_t>> axes_of(const InferContext& ctx, size_t input,
                                            std::string_view key, bool& known);

}  // namespace poprt::ops
