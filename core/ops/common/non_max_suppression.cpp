#include "ops/common/non_max_suppression.h"

#include <limits>

#include "base/checked.h"
#include "kernels/calls/non_max_suppression.h"
#include "ops/common/as_f32.h"
#include "ops/common/evaluate.h"

namespace poprt::ops {
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

// The number of rows for constant inputs, found by evaluating the node with the bound.
int64_t rows_of(const ir::Node& node, int64_t bound) {
  // The type is restored if the evaluation throws, too.
  struct Restored {
    ir::Value* y;
    ir::ValueType before = y->type;
    ~Restored() { y->type = std::move(before); }
  };
  const Restored restored{node.output(0)};
  restored.y->type = ir::ValueType::of(DType::s64, {bound, 3});
  std::vector<Tensor> inputs;
  for (const ir::Value* v : node.inputs()) inputs.push_back(v ? v->constant() : Tensor());
  const Tensor rows = evaluate(node, inputs)[0];
  const auto values = rows.values<int64_t>();
  int64_t count = 0;
  while (count < bound && values[static_cast<size_t>(count) * 3] >= 0) count++;
  return count;
}

}  // namespace

std::optional<int64_t> most_boxes(InferContext& ctx) {
  const ir::ValueType &boxes = ctx.in(0), &scores = ctx.in(1);
  if (const auto overlap = limit_of(ctx.node, 3); overlap && !(*overlap >= 0 && *overlap <= 1))
    ctx.fail_input("iou_threshold is {}, expected 0 to 1", *overlap);
  if (!scores.is_static() || !boxes.is_static()) return std::nullopt;
  if (scores.shape.size() != 3 || boxes.shape != Shape{scores.shape[0], scores.shape[2], 4})
    ctx.fail_input("boxes {} and scores {} do not fit", shape_string(boxes.shape),
                   shape_string(scores.shape));
  const auto limit = limit_of(ctx.node, 2);
  if (!limit) return std::nullopt;
  return checked_mul(checked_mul(scores.shape[0], scores.shape[1]),
                     most_of(*limit, scores.shape[2]));
}

std::optional<int64_t> count_boxes(const InferContext& ctx, int64_t most) {
  if (!ctx.constant(0) || !ctx.constant(1) || !limit_of(ctx.node, 3) || !limit_of(ctx.node, 4))
    return std::nullopt;
  return rows_of(ctx.node, most);
}

void lower_non_max_suppression(LowerContext& ctx) {
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

}  // namespace poprt::ops
