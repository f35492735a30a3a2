// BatchNormalization for inference. Opset 1 and 6 had is_test, 7 and 8 `spatial`, 14 training_mode.
#include <array>

#include "base/checked.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

void infer(InferContext& ctx) {
  ctx.out(0, ctx.in(0));
  // Statistics, which lower() refuses where they are read.
  for (size_t i = 1; i < ctx.node.outputs().size(); i++) ctx.out(i, ctx.in(3));
}

void lower(LowerContext& ctx) {
  if (ctx.node.int_attr("training_mode", 0) ||
      (ctx.opset() < 7 && !ctx.node.int_attr("is_test", 0)))
    ctx.fail_unsupported("only inference is supported, the node trains ({})",
                         ctx.opset() < 7 ? "is_test = 0" : "training_mode = 1");
  for (size_t i = 1; i < ctx.node.outputs().size(); i++)
    if (!ctx.node.output(i)->uses().empty())
      ctx.fail_unsupported("output {} (statistics) exists in training only", i);
  const Shape& x = ctx.in_shape(0);
  if (x.empty()) ctx.fail_unsupported("a scalar has no channels");
  // Without `spatial` every element of an image has its own mean and variance.
  const bool spatial = ctx.opset() >= 9 || ctx.node.int_attr("spatial", 1) != 0;
  const int64_t rest = element_count(std::span(x).subspan(std::min<size_t>(x.size(), 2)));
  const int64_t channels = x.size() < 2 ? 1 : x[1];
  if (element_count(x) == 0) return;
  const std::array<program::BufferId, 6> operands = {ctx.in(0), ctx.in(1), ctx.in(2),
                                                     ctx.in(3), ctx.in(4), ctx.out(0)};
  const std::array<int64_t, 3> ints = {x[0], spatial ? channels : checked_mul(channels, rest),
                                       spatial ? rest : 1};
  ctx.emit("batch_normalization", operands, ints,
           std::array<float, 1>{ctx.node.float_attr("epsilon", 1e-5f)});
}

}  // namespace

extern const OpDef batch_normalization_op;
const OpDef batch_normalization_op = {
    .name = "BatchNormalization", .infer = infer, .lower = lower, .sharing = {.in_place = 1}};

}  // namespace poprt::ops
