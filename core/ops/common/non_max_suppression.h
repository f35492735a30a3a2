// Helpers shared by NonMaxSuppression of ai.onnx and poprt.NonMaxSuppression.
#pragma once

#include <optional>

#include "ops/op.h"

namespace poprt::ops {

// Checks the inputs and returns the largest number of rows of the result: images * classes *
// max_output_boxes_per_class. Returns nothing if shapes or that limit are unknown.
std::optional<int64_t> most_boxes(InferContext& ctx);

// The number of rows for constant inputs; `most` is the bound. Returns nothing if an input is not
// constant.
std::optional<int64_t> count_boxes(const InferContext& ctx, int64_t most);

// Output 0 has a static shape [rows, 3], with room for every box or with the exact number of rows.
// Rows after the last box contain -1.
void lower_non_max_suppression(LowerContext& ctx);

}  // namespace poprt::ops
