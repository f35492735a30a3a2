// FusedMatMul and its older name TransposeMatMul.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// With `batch`, moves axis 0 in front of the last axis; then, with `swap`, swaps the last two axes.
inline ir::Value* transposed_operand(Expansion& e, ir::Value* v, bool swap, bool batch) {
  const size_t rank = e.shape_of(v).size();
  if (rank < 2) return v;
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; d++) perm[d] = static_cast<int64_t>(d);
  // As in ONNX Runtime, axis 0 contains the rows: [R, b1, b2, K] is a batch [b1, b2] of matrices
  // [R, K].
  if (batch) {
    for (size_t d = 0; d + 2 < rank; d++) perm[d] = static_cast<int64_t>(d + 1);
    perm[rank - 2] = 0;
  }
  if (swap) std::swap(perm[rank - 1], perm[rank - 2]);
  bool same = true;
  for (size_t d = 0; d < rank; d++) same = same && perm[d] == static_cast<int64_t>(d);
  return same ? v : e.transpose(v, perm);
}

inline void expand_fused_matmul(Expansion& e) {
  const ir::Node& n = e.node;
  ir::Value* a = transposed_operand(e, e.in(0), n.int_attr("transA", 0) != 0,
                                    n.int_attr("transBatchA", 0) != 0);
  ir::Value* b = transposed_operand(e, e.in(1), n.int_attr("transB", 0) != 0,
                                    n.int_attr("transBatchB", 0) != 0);
  e.out(0, e.scaled(e.add("MatMul", {a, b}), static_cast<double>(n.float_attr("alpha", 1))));
}

}  // namespace poprt::ops
