// Input: costs [M,N] or [1,M,N]. The output s32 [2,n] contains the rows and columns of the cheapest
// path from the first to the last element.
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::microsoft_dynamic_time_warping_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (x.is_static()) {
    const size_t rank = x.shape.size();
    if (element_count(x.shape) == 0 || (rank != 2 && (rank != 3 || x.shape[0] != 1)))
      ctx.fail_input("input {} must be [M,N] or [1,M,N] and not empty", shape_string(x.shape));
  }
  ctx.out(0, DType::s32, {2, kUnknownDim});
}

BoundResult bound(BoundContext& ctx) {
  if (ctx.in[0].size) return ctx.refuse_sizes();
  Shape x = ctx.shape();
  if (x.size() == 3) x.erase(x.begin());
  ir::Node* n = ctx.build.target().add_node("DynamicTimeWarping", "poprt",
                                            {ctx.build.reshape(ctx.in[0].value, x)}, 2);
  ops::infer(*n);
  Item path = Item::of(n->output(0));
  path.sized(n->output(1), 1);
  return {.results = {path}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "DynamicTimeWarping",
                   .domain = "com.microsoft",
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .cost = cost::dynamic_time_warping,
                   .facts = {.data_sized = true, .trial = {"T[4,4]"}},
                   .bound = bound};

}  // namespace poprt::ops::microsoft_dynamic_time_warping_op
