// A tensor filled with one value. Attribute dtype is a TensorProto.DataType number, f32 by default.
#include "base/onnx_dtype.h"
#include "ops/common/early_onnx.h"

namespace poprt::ops::constant_fill_op {
namespace {

void expand(Expansion& e) {
  const auto type = dtype_from_onnx(e.node.int_attr("dtype", 1));
  e.check(type.has_value(), "dtype is not the number of an element type");
  ir::Value* value = e.number(*type, static_cast<double>(e.node.float_attr("value", 0)));
  e.out(0, e.expand(value, filled_shape(e)));
}

}  // namespace
}  // namespace poprt::ops::constant_fill_op

POPRT_EARLY_ONNX_OP(constant_fill_op, "ConstantFill", expand,
                    .trial = {"", "shape = [2, 2], value = 1.0"})
