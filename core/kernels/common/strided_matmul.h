// What matmul_dynamic and matmul_generic share: out[batch..., M, N] = alpha * a * b + beta * c with
// operands [a, b, c?, out], ints [M, N, K, a_row, a_k, b_k, b_n, c_row, c_n, rank, then rank times
// (count, a_stride, b_stride)], floats [alpha, beta]. Strides are elements and never negative.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace poprt::kernels {

struct StridedMatmul {
  int64_t m = 0, n = 0, k = 0, a_row = 0, a_k = 0, b_k = 0, b_n = 0, c_row = 0, c_n = 0;
  std::vector<int64_t> a_offset, b_offset;  // per product
  float alpha = 1, beta = 1;
  DType dtype = DType::undefined;
  bool has_c = false;
};

// Checks that every access lies inside its operand. Throws invalid_argument naming the kernel.
StridedMatmul read_strided_matmul(std::string_view kernel, const Call& call);

}  // namespace poprt::kernels
