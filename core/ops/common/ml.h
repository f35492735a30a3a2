// Helpers shared by the expansions of ai.onnx.ml.
#pragma once

#include "ops/common/expansion.h"
#include "ops/common/tree_ensemble.h"

namespace poprt::ops {

// Input 0 as f32 [rows, features]; a vector is one row.
ir::Value* feature_matrix(Expansion& e);
// A constant with a list of floats.
ir::Value* reals(Expansion& e, const std::vector<float>& values, const Shape& shape);
// Applies attribute post_transform to `scores` [rows, classes].
ir::Value* transformed(Expansion& e, ir::Value* scores);

// The kernel function of an SVM (kernel_type and kernel_params) as [rows, count], of x [rows,
// features] and the `count` support vectors in `vectors`.
ir::Value* svm_kernel(Expansion& e, ir::Value* x, const std::vector<float>& vectors, int64_t count);

}  // namespace poprt::ops
