// How many boxes are kept depends on the values, so the number of rows is unknown unless boxes,
// scores and limits are constant. The compiler replaces the node by poprt.NonMaxSuppression, which
// has room for the most.
#include "ops/common/non_max_suppression.h"

namespace poprt::ops::non_max_suppression_op {
namespace {

void infer(InferContext& ctx) {
  ctx.out(0, DType::s64, {kUnknownDim, 3});
  const auto most = most_boxes(ctx);
  if (!most || ctx.node.output(0)->type.is_static()) return;
  if (const auto rows = count_boxes(ctx, *most)) ctx.out(0, DType::s64, {*rows, 3});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonMaxSuppression",
                   .since = 10,
                   .infer = infer,
                   .lower = lower_non_max_suppression,
                   .facts = {.data_sized = true,
                             .shape_inputs = 0b100,
                             .constant_inputs = 0b11100,
                             .size_rule = SizeRule::non_max_suppression,
                             .trial = {"T[1,4,4]; T[1,1,4]; s64[] = 2"}}};

}  // namespace poprt::ops::non_max_suppression_op
