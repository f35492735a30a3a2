// matmul_generic: operands [a, b, c?, y] of any numeric dtype that ONNX multiplies. y[batch..., m,
// n] = alpha * a * b + beta * c. Half types are summed in float; integers wrap.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/calls/common/strided_product.h"

namespace poprt::kernels::calls {

struct MatmulGeneric {
  static constexpr std::string_view kKernel = "matmul_generic";

  StridedProduct product;

  void fields(Fields& f) { product.fields(f); }
};

}  // namespace poprt::kernels::calls
