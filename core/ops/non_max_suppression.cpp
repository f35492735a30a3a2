// The number of selected boxes depends on the values, so the number of rows is unknown unless
// boxes, scores and limits are constant. The compiler replaces the node by poprt.NonMaxSuppression,
// whose result has room for the maximum.
#include <limits>

#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/non_max_suppression.h"

namespace poprt::ops::non_max_suppression_op {
namespace {

void infer(InferContext& ctx) {
  ctx.out(0, DType::s64, {kUnknownDim, 3});
  const auto most = most_boxes(ctx);
  if (!most || ctx.node.output(0)->type.is_static()) return;
  if (const auto rows = count_boxes(ctx, *most)) ctx.out(0, DType::s64, {*rows, 3});
}

// Boxes that are padding receive the lowest score, and a box with that score is never selected.
void leave_padding_out(BoundContext& ctx) {
  Items& in = ctx.in;
  if (!in[0].size && !in[1].size) return;
  if (in.size() < 2 || !in[1].size || in[1].axis != 2 || (in[0].size && in[0].axis != 1))
    ctx.refuse_size(in[0].size ? in[0] : in[1]);
  in[1].value = ctx.filled(in[1], extreme(in[1].value->dtype(), false));
  in.resize(5);
  if (in[4].kind == Item::Kind::none)
    in[4] = Item::of(
        ctx.build.constant(Tensor::of<float>({1}, {std::numeric_limits<float>::lowest()})));
}

BoundResult bound(BoundContext& ctx) {
  leave_padding_out(ctx);
  std::vector<ir::Value*> inputs;
  bool constants = true;
  for (const Item& item : ctx.in) {
    inputs.push_back(item.value);
    constants &= !item.value || item.value->is_constant();
  }
  if (constants) return {};
  ir::Node* made = ctx.build.target().add_node("NonMaxSuppression", "poprt", inputs);
  made->attributes = ctx.node.attributes;
  ops::infer(*made);
  Item rows = Item::of(made->output());
  if (!rows.value->type.is_static())
    ctx.fail_at(ErrorCode::unimplemented, "limits and thresholds must be constant");
  // Rows after the last selected box contain -1.
  ir::Value* images = ctx.build.slice_at(rows.value, ctx.build.integer(0), 1);
  rows.sized(ctx.build.find_or_make("Count", "poprt",
                                    {ctx.build.make1("Add", {images, ctx.build.integer(1)})}),
             0);
  return {.results = {rows}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonMaxSuppression",
                   .since = 10,
                   .infer = infer,
                   .lower = lower_non_max_suppression,
                   .axes = axes::none,
                   .cost = cost::non_max_suppression,
                   .facts = {.data_sized = true,
                             .shape_inputs = 0b100,
                             .constant_inputs = 0b11100,
                             .trial = {"T[1,4,4]; T[1,1,4]; s64[] = 2"}},
                   .bound = bound};

}  // namespace poprt::ops::non_max_suppression_op
