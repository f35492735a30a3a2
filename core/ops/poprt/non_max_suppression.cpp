// poprt.NonMaxSuppression: NonMaxSuppression at run time, with room for every box that may be
// selected. Rows after the last selected box contain -1. The limits must be constant.
#include "ops/common/non_max_suppression.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::poprt_non_max_suppression_op {
namespace {

void infer(InferContext& ctx) {
  if (const auto most = most_boxes(ctx)) ctx.out(0, DType::s64, {*most, 3});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonMaxSuppression",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower_non_max_suppression,
                   .axes = axes::none,
                   .cost = cost::non_max_suppression,
                   .facts = {.shape_inputs = 0b100,
                             .constant_inputs = 0b11100,
                             .trial = {"T[1,4,4]; T[1,1,4]; s64[] = 2"}}};

}  // namespace poprt::ops::poprt_non_max_suppression_op
