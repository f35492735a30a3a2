// poprt.Unique: Unique at run time, with room for every item. Places after the last item contain 0.
#include "base/checked.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops::poprt_unique_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  if (!x.is_static()) return;
  int64_t items = element_count(x.shape);
  Shape y = {items};
  if (ctx.node.find_attr("axis")) {
    y = x.shape;
    items = y[static_cast<size_t>(
        normalize_axis(ctx.node.int_attr("axis", 0), static_cast<int64_t>(y.size())))];
  }
  ctx.out(0, x.dtype, std::move(y));
  for (size_t o = 1; o < ctx.node.outputs().size(); o++) ctx.out(o, DType::s64, {items});
}

void lower(LowerContext& ctx) { find_op("", "Unique", 11)->lower(ctx); }

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Unique",
                   .domain = "poprt",
                   .infer = infer,
                   .lower = lower,
                   .axes = axes::none,
                   .cost = cost::unique,
                   .facts = {.trial = {"T[4]", "sorted = 1", 4}}};

}  // namespace poprt::ops::poprt_unique_op
