// How many boxes survive depends on the values, so the result has a bound: the number of rows that
// the model declares, or images * classes * max_output_boxes_per_class. Rows past the last box are
// -1. Exact when everything is constant. The limits must be constant.
#include <limits>

#include "base/checked.h"
#include "kernels/calls/non_max_suppression.h"
#include "ops/common/as_f32.h"
#include "ops/common/evaluate.h"

namespace poprt::ops::non_max_suppression_op {
namespace {

std::optional<double> limit_of(const ir::Node& node, size_t i) {
  const ir::Value* v = node.input(i);
  if (!v) return i == 4 ? -std::numeric_limits<double>::infinity() : 0.0;
  if (!v->is_constant()) return std::nullopt;
  const auto values = v->constant().to_doubles();
  if (values.size() != 1)
    fail(ErrorCode::invalid_argument, "{}: input {} should be one number", node.describe(), i);
  return values[0];
}

int64_t most_of(double limit, int64_t boxes) {
  if (!(limit > 0)) return 0;
  return limit >= static_cast<double>(boxes) ? boxes : static_cast<int64_t>(limit);
}

// Rows that constant boxes and scores leave: the node is evaluated with the bound.
int64_t rows_of(const ir::Node& node, int64_t bound) {
  ir::Value* y = node.output(0);
  const ir::ValueType before = y->type;
  y->type = ir::ValueType::of(DType::s64, {bound, 3});
  std::vector<Tensor> inputs;
  for (const ir::Value* v : node.inputs()) inputs.push_back(v ? v->constant() : Tensor());
  const Tensor rows = evaluate(node, inputs)[0];
  y->type = before;
  const auto values = rows.values<int64_t>();
  int64_t count = 0;
  while (count < bound && values[static_cast<size_t>(count) * 3] >= 0) count++;
  return count;
}

void infer(InferContext& ctx) {
  const ir::ValueType &boxes = ctx.in(0), &scores = ctx.in(1);
  ctx.out(0, DType::s64, {kUnknownDim, 3});
  if (const auto overlap = limit_of(ctx.node, 3); overlap && !(*overlap >= 0 && *overlap <= 1))
    ctx.fail_input("iou_threshold is {}, expected 0 to 1", *overlap);
  if (!scores.is_static() || !boxes.is_static()) return;
  if (scores.shape.size() != 3 || boxes.shape != Shape{scores.shape[0], scores.shape[2], 4})
    ctx.fail_input("boxes {} and scores {} do not fit", shape_string(boxes.shape),
                   shape_string(scores.shape));
  if (ctx.node.output(0)->type.is_static()) return;
  const auto limit = limit_of(ctx.node, 2);
  if (!limit) return;
  int64_t rows =
      checked_mul(checked_mul(scores.shape[0], scores.shape[1]), most_of(*limit, scores.shape[2]));
  if (ctx.constant(0) && ctx.constant(1) && limit_of(ctx.node, 3) && limit_of(ctx.node, 4))
    rows = rows_of(ctx.node, rows);
  ctx.out(0, DType::s64, {rows, 3});
}

void lower(LowerContext& ctx) {
  const auto most = limit_of(ctx.node, 2), iou = limit_of(ctx.node, 3),
             score = limit_of(ctx.node, 4);
  if (!most || !iou || !score) ctx.fail_unsupported("limits and thresholds must be constant");
  const Shape& scores = ctx.in_shape(1);
  ctx.emit(calls::NonMaxSuppression{.n = scores[0],
                                    .c = scores[1],
                                    .b = scores[2],
                                    .most = most_of(*most, scores[2]),
                                    .center = ctx.node.int_attr("center_point_box", 0) != 0,
                                    .rows = ctx.out_shape()[0],
                                    .iou = static_cast<float>(*iou),
                                    .score = static_cast<float>(*score)},
           {in_as_f32(ctx, 0), in_as_f32(ctx, 1), ctx.out(0)});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "NonMaxSuppression",
                   .since = 10,
                   .infer = infer,
                   .lower = lower,
                   .facts = {.data_sized = true,
                             .shape_inputs = 0b100,
                             .constant_inputs = 0b11100,
                             .size_rule = SizeRule::non_max_suppression,
                             .trial = {"T[1,4,4]; T[1,1,4]; s64[] = 2"}}};

}  // namespace poprt::ops::non_max_suppression_op
