#include "kernels/calls/copy.h"
#include "ops/common/axes.h"
#include "ops/common/elementwise.h"

namespace poprt::ops::identity_op {
namespace {

void infer(InferContext& ctx) { ctx.out(0, ctx.in(0)); }

void lower(LowerContext& ctx) { ctx.emit(calls::Copy{}, {ctx.in(0), ctx.out(0)}); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Identity",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::elementwise,
                   .sharing = {.view = true},
                   .facts = {.per_element = true,
                             .moves = true,
                             .narrows = true,
                             .source = ElementSource::itself,
                             .text_form = TextForm::passes_on,
                             .text_inputs = 0b1,
                             .elementwise = {append_step<ElementwiseOp::copy>, 1, 1}}};

}  // namespace poprt::ops::identity_op
