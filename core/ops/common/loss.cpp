#include "ops/common/loss.h"

#include "ir/types_agree.h"
#include "kernels/calls/nll_loss.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/check_numbers.h"
#include "ops/common/movement.h"

namespace poprt::ops {
namespace {

// Checks that there is a label for each place of x [N, C, ...]. A constant label must be a class or
// the ignored label.
void check_labels(const InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &target = ctx.in(1);
  if (x.has_shape && target.has_shape) {
    Shape places = x.shape;
    places.erase(places.begin() + 1);
    if (!ir::shapes_agree(target.shape, places))
      ctx.fail_input("labels {} do not fit {}", shape_string(target.shape), shape_string(x.shape));
  }
  const auto labels = ctx.ints(1);
  if (!labels || !x.has_shape || x.shape[1] < 0) return;
  const bool ignores = ctx.node.find_attr("ignore_index") != nullptr;
  const int64_t ignored = ctx.node.int_attr("ignore_index", 0);
  for (const int64_t label : *labels)
    if ((label < 0 || label >= x.shape[1]) && !(ignores && label == ignored))
      ctx.fail_input("label {} is outside [0, {})", label, x.shape[1]);
}

}  // namespace

void infer_loss(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &target = ctx.in(1);
  check_index_dtype(ctx, 1);
  const std::string reduction = ctx.node.string_attr("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    ctx.fail_input("reduction is '{}', expected none, sum or mean", reduction);
  if (x.has_shape && x.shape.size() < 2)
    ctx.fail_input("input {} must have at least two dimensions", shape_string(x.shape));
  check_labels(ctx);
  if (reduction != "none")
    ctx.out(0, x.dtype, {});
  else
    ctx.out(0, ir::ValueType{x.dtype, target.has_shape, target.shape, target.symbols});
  ctx.out(1, x);
}

void lower_loss(LowerContext& ctx, program::BufferId x) {
  const Shape& shape = ctx.in_shape(0);
  const int64_t rest = partial_product(shape, 2, shape.size());
  if (element_count(ctx.in_shape(1)) != shape[0] * rest)
    ctx.fail_unsupported("labels {} do not fit {}", shape_string(ctx.in_shape(1)),
                         shape_string(shape));
  const std::string reduction = ctx.node.string_attr("reduction", "mean");
  const DType t = real_type(ctx);
  const auto y = out_as(ctx, 0, t);
  if (y == LowerContext::kNone) return;
  const bool ignores = ctx.node.find_attr("ignore_index") != nullptr;
  const int64_t ignored = ctx.node.int_attr("ignore_index", 0);
  if (ctx.checks(1))
    ctx.emit(calls::CheckNumbers{.count = shape[0] * rest,
                                 .end = shape[1],
                                 .what = calls::Number::label,
                                 .has_ignored = ignores,
                                 .ignored = ignored},
             {ctx.in(1)});
  ctx.emit(calls::NllLoss{.n = shape[0],
                          .c = shape[1],
                          .d = rest,
                          .reduction = reduction == "none"  ? calls::LossReduction::none
                                       : reduction == "sum" ? calls::LossReduction::sum
                                                            : calls::LossReduction::mean,
                          .has_ignored = ignores,
                          .ignored = ignored},
           {x, ctx.in(1), in_as(ctx, 2, t), y});
  finish_as(ctx, 0, y, t);
}

// Without a reduction each place has a loss. Output 1 contains the log probabilities.
void axes_of_loss(AxesContext& ctx) {
  const Shape& x = ctx.in(0);
  if (ctx.makes(0) && ctx.out().size() == ctx.in(1).size()) {
    ctx.carry(0, 0, 0, 0);
    axes::range(ctx, 0, 2, x.size(), 0, 1);
    axes::same(ctx, 1, 0);
  }
  const size_t classes[] = {1};
  axes::same(ctx, 0, 1, classes);
  for (const size_t i : {1, 2}) ctx.independent(i, 1);
}

}  // namespace poprt::ops
