// Helpers of operators that only move elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/op.h"

namespace poprt::ops {

// to[to_offset + sum(i * to_strides)] = from[from_offset + sum(i * from_strides)] for i inside
// dims; everything in elements.
struct StridedCopy {
  Shape dims;
  std::vector<int64_t> from_strides, to_strides;
  int64_t from_offset = 0, to_offset = 0;
};

// Emits kernel strided_copy (or copy when both sides are whole and contiguous).
void emit_strided_copy(LowerContext& ctx, program::BufferId from, program::BufferId to, DType dtype,
                       const StridedCopy& copy);

// Bytes of an element; fails as unsupported when elements are smaller than a byte.
int64_t element_bytes(const LowerContext& ctx, DType dtype);

// Emits one pass over `from`: the result's index o along axis a reads index maps[a][o], or `value`
// (a buffer of one element; kNoBuffer: zero) where any maps[a][o] is -1. An empty map keeps the
// axis as it is.
void emit_map_axes(LowerContext& ctx, program::BufferId from, program::BufferId value,
                   program::BufferId to, DType dtype, const Shape& from_shape,
                   const std::vector<std::vector<int64_t>>& maps);

// An index input as s32 or s64 bytes that kernels read: other integer types are refused.
void check_index_dtype(const InferContext& ctx, size_t i);

// Product of dims[from, to), or kUnknownDim when one of them is unknown (and none is zero).
// Constant indices lie inside [-size, size). Those of run time that do not are harmless: see the
// kernels.
void check_indices(const InferContext& ctx, size_t input, int64_t size, size_t axis);
// Same for tuples of them along the last dimension, into the dimensions of `data` from `first` on.
void check_index_tuples(const InferContext& ctx, size_t input, const Shape& data, size_t first);

int64_t partial_product(const Shape& dims, size_t from, size_t to);

// normalize_axis with the node in front of the message.
int64_t axis_of(const InferContext& ctx, int64_t axis, int64_t rank);

// Axes from input `input` or attribute `key`, whichever the node has; nullopt when neither is
// given. `known` is false when the input is there but not constant.
std::optional<std::vector<int64_t>> axes_of(const InferContext& ctx, size_t input,
                                            std::string_view key, bool& known);

}  // namespace poprt::ops
