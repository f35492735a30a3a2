// Counts floating-point operations of nodes, for poprt_exec flops and auto_shard. A multiplication
// with an addition counts as two; subgraphs of a node are not counted. Package poprt.profile of
// Python documents the counts for each operator and must compute the same numbers, which a test
// checks.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace poprt::ops {

// The count of a node whose values have static shapes, according to Facts::flops. Operators that
// only move elements have 0; operators without that fact have 1 for each element of output 0.
int64_t flops_of(const ir::Node& node);

// Rules for Facts::flops. Shapes are static.
namespace flops {

int64_t none(const ir::Node& node);
int64_t product(const ir::Node& node);  // a matrix product
int64_t gemm(const ir::Node& node);
int64_t conv(const ir::Node& node);          // weights are input 1, a bias is input 2
int64_t conv_no_bias(const ir::Node& node);  // weights are input 1
int64_t qlinear_conv(const ir::Node& node);  // weights are input 3
int64_t conv_transpose(const ir::Node& node);
int64_t recurrent(const ir::Node& node);
int64_t attention(const ir::Node& node);
int64_t einsum(const ir::Node& node);
int64_t pool(const ir::Node& node);
int64_t per_input(const ir::Node& node);            // 1 for each element of input 0
int64_t softmax(const ir::Node& node);              // 5 for each element of output 0
int64_t normalization(const ir::Node& node);        // 7 for each element of output 0
int64_t batch_normalization(const ir::Node& node);  // 2 for each element of output 0

}  // namespace flops
}  // namespace poprt::ops
