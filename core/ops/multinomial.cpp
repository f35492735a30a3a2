// Draws sample_size classes for each row of x [batch, classes], which holds log probabilities.
#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/common/random.h"

namespace poprt::ops::multinomial_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& x = ctx.in(0);
  const int64_t number = ctx.node.int_attr("dtype", 6),
                samples = ctx.node.int_attr("sample_size", 1);
  if (number != 6 && number != 7) ctx.fail_input("dtype {} is neither s32 nor s64", number);
  if (samples < 0) ctx.fail_input("sample_size is {}", samples);
  if (x.has_shape && x.shape.size() != 2)
    ctx.fail_input("input {} must have two dimensions", shape_string(x.shape));
  ctx.out(0, number == 6 ? DType::s32 : DType::s64,
          {x.has_shape ? x.shape[0] : kUnknownDim, samples});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Multinomial",
                   .since = 7,
                   .infer = infer,
                   .lower = [](LowerContext& c) { lower_random(c, RandomKind::multinomial); },
                   .axes = axes::random_samples,
                   .cost = cost::multinomial,
                   .pure = false};

}  // namespace poprt::ops::multinomial_op
