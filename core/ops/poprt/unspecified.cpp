// poprt.Unspecified () {dtype, shape}: a value that is never read. A branch of If creates it for a
// result that it does not produce; readers then use the result of the other branch, without a copy.
#include "base/onnx_dtype.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/cost.h"

namespace poprt::ops::poprt_unspecified_op {
namespace {

void infer(InferContext& ctx) {
  ctx.out(0, dtype_from_onnx(ctx.node.int_attr("dtype", 0)).value_or(DType::undefined),
          ctx.node.ints_attr("shape"));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Unspecified",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .cost = cost::none,
                   .pure = false,
                   .facts = {.marker = Marker::unspecified}};

}  // namespace poprt::ops::poprt_unspecified_op
