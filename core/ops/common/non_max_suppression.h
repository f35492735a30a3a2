// What NonMaxSuppression of ai.onnx and poprt.NonMaxSuppression have in common.
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// Checks the inputs and returns the most rows that the node can make: images * classes *
// max_output_boxes_per_class. Nothing where shapes or that limit are not known.
std::optional<int64_t> most_boxes(InferContext& ctx);

// How many rows the node makes of constant inputs; `most` is the bound. Nothing where an input is
// not constant.
std::optional<int64_t> count_boxes(const InferContext& ctx, int64_t most);

// Output 0 has a static shape [rows, 3], with room for every box or as many rows as there are. Rows
// after the last box are -1.
void lower_non_max_suppression(LowerContext& ctx);

}  // namespace poprt::ops
