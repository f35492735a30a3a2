// elementwise_generic: operands [inputs (as many as the operation has), y], broadcast to the shape
// of y. Computes in the type of the operands: f64, s8 ... u64 and bool; `where` and `copy` take
// every type of 8, 16, 32 or 64 bits. Operations for which elementwise_gives_bool() is true return
// bool. The first input of `where` is bool.
#pragma once

#include "kernels/calls/call.h"
#include "kernels/common/elementwise.h"

namespace poprt::kernels::calls {

struct ElementwiseGeneric {
  static constexpr std::string_view kKernel = "elementwise_generic";

  ElementwiseOp op = ElementwiseOp::copy;

  void fields(Fields& f) {
    f.choice("op", op, static_cast<ElementwiseOp>(kElementwiseOpLimit - 1));
    f.require(elementwise_arity(static_cast<int64_t>(op)) > 0, "unknown operation");
  }
};

}  // namespace poprt::kernels::calls
