// matmul_dynamic: operands [a, b, c?, y], f32, with dense rows of a (a_k = 1). y[batch..., m, n] =
// alpha * a * b + beta * c.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/strided_product.h"

namespace poprt::kernels::calls {

struct MatmulDynamic {
  static constexpr std::string_view kKernel = "matmul_dynamic";

  StridedProduct product;

  void fields(Fields& f) { product.fields(f); }
};

}  // namespace poprt::kernels::calls
