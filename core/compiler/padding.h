// Decides whether the padding of inputs can affect a result.
//
// A model at several shapes computes a request at a larger shape, and a batch may have fewer
// samples than places. The places after the real ones are padding, and no real place of a result
// may depend on them. The axis maps of the operators (ops/axes.h) prove this: if every node carries
// an axis of the input to an axis of its results, places along this axis are independent.
//
// Example: x [batch, 10] -> MatMul with weights -> Softmax over axis 1. Axis 0 of x is carried to
// axis 0 of both results, so the padding of a batch affects no real row. MatMul reduces axis 1, so
// padding along axis 1 affects every result.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

struct PaddedAxis {
  std::string input;
  size_t axis = 0;
};

// `bucket` and `request` are one converted model with static types at two sizes of the padded
// dimension. The size in `request` is not larger. If both are the same graph, the model does not
// depend on the size. Returns an empty text if the results of `request` are the first places of the
// results of `bucket` for any contents of the padding. Otherwise returns the reason, which names a
// node or an output unless the two graphs have other inputs or nodes. Constants that are computed
// from the size count, too: they may only be longer, or be the extent of a result
// (Facts::extent_inputs).
std::string why_padding_reaches(const ir::Graph& bucket, const ir::Graph& request,
                                std::span<const PaddedAxis> padded);

// The rows of a batch: an axis has a place, or a block of places, for each row. Several requests
// may share a batch if a row of every output is computed from that row of the inputs, and in the
// same way for every row. `rows` is the number of rows, `padded` the axes of the inputs; other
// inputs are the same for all requests. Returns an empty text if this holds for a converted model
// with static types, and if the rows of each output are along axis `axis`; otherwise the reason,
// which names a node or an output.
std::string why_rows_mix(const ir::Graph& graph, int64_t rows, size_t axis,
                         std::span<const PaddedAxis> padded);

}  // namespace poprt::compiler
