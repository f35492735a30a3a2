// Checks that matmul_dynamic and matmul_generic share: operands [a, b, c?, y] and a batch of
// products.
#pragma once

#include <vector>

#include "kernels/calls/common/strided_product.h"
#include "kernels/kernel.h"

namespace poprt::kernels {

struct StridedMatmul {
  int64_t m = 0, n = 0, k = 0, a_row = 0, a_k = 0, b_k = 0, b_n = 0, c_row = 0, c_n = 0, y_row = 0;
  std::vector<int64_t> a_offset, b_offset, y_offset;  // of each product
  float alpha = 1, beta = 1;
  DType dtype = DType::undefined;
  bool has_c = false;
};

// Checks that every access is inside its operand. Throws invalid_argument naming the kernel, or
// out_of_range if a size overflows.
StridedMatmul read_strided_matmul(std::string_view kernel, const calls::StridedProduct& product,
                                  std::span<const Operand> operands);

}  // namespace poprt::kernels
