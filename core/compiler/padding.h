// Whether the padding of inputs can reach a result.
//
// A model at several shapes computes a request in a shape that is larger, and a batch may have
// fewer samples than places. The places after the real ones are padding: no real place of a result
// may depend on them. The axis maps of the operators (ops/axes.h) tell: an axis of an input that
// every node carries to an axis of its results is kept apart from one end to the other.
//
// Worked example: x [batch, 10] -> MatMul with weights -> Softmax over axis 1. Axis 0 of x is
// carried to axis 0 of both results, so the padding of a batch reaches no real row. Axis 1 is
// reduced by MatMul, so padding along it reaches every result.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"

namespace poprt::compiler {

struct PaddedAxis {
  std::string input;
  size_t axis = 0;
};

// `bucket` and `request` are one converted model, with static types, at two sizes of the dimension
// that is all of `padded`; the size in `request` is not larger. Where both are one graph, the model
// does not depend on the size. Returns an empty text when the results of `request` are the first
// places of those of `bucket`, whatever the padding contains; otherwise the reason, which names a
// node. A constant that is computed from the size counts: it may only be longer, or be the extent
// of a result (Facts::extent_inputs).
std::string how_padding_reaches(const ir::Graph& bucket, const ir::Graph& request,
                                std::span<const PaddedAxis> padded);

// The rows of a batch: an axis has a place, or a block of places, for each row. Several requests
// may share a batch if a row of every output is computed from that row of the inputs, and in the
// same way for every row. `rows` is the number of rows, `padded` the axes of the inputs; other
// inputs are the same for all requests. Returns an empty text if this holds for a converted model
// with static types, and if the rows of each output are along axis `axis`; otherwise the reason,
// which names a node or an output.
std::string how_rows_mix(const ir::Graph& graph, int64_t rows, size_t axis,
                         std::span<const PaddedAxis> padded);

}  // namespace poprt::compiler
