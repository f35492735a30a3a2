// Slice without steps. Inputs: data, starts, ends, axes?.
#include "ops/common/early_onnx.h"

namespace poprt::ops::dynamic_slice_op {
namespace {

void expand(Expansion& e) { e.out(0, e.newest("Slice", e.node.inputs())); }

}  // namespace
}  // namespace poprt::ops::dynamic_slice_op

POPRT_EARLY_ONNX_OP(dynamic_slice_op, "DynamicSlice", expand,
                    .trial = {"T[4,4]; s64[1] = [1]; s64[1] = [3]"})
