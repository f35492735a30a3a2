#include "kernels/calls/grid_sample.h"
#include "ops/bound.h"
#include "ops/common/as_real.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/common/value_since.h"

namespace poprt::ops::grid_sample_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType &x = ctx.in(0), &grid = ctx.in(1);
  check_value_since(ctx.node, ctx.opset(), "mode", ctx.node.string_attr("mode", "bilinear"),
                    {"linear", "cubic"}, 20);
  if (!x.has_shape || !grid.has_shape) return ctx.out_dtype(0, x.dtype);
  const size_t rank = x.shape.size();
  if (rank < 3 || grid.shape.size() != rank ||
      (grid.shape.back() >= 0 && grid.shape.back() != static_cast<int64_t>(rank) - 2))
    ctx.fail_input("grid {} does not fit input {}", shape_string(grid.shape),
                   shape_string(x.shape));
  Shape y = {x.shape[0], x.shape[1]};
  y.insert(y.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  ctx.out(0, x.dtype, std::move(y));
}

void lower(LowerContext& ctx) {
  const Shape &x = ctx.in_shape(0), &y = ctx.out_shape();
  using calls::SampleMode, calls::SamplePadding;
  const auto one_of = [&]<class E>(std::string_view key, std::string_view fallback,
                                   std::initializer_list<std::pair<std::string_view, E>> names) {
    const std::string value = ctx.node.string_attr(key, fallback);
    for (const auto& [name, number] : names)
      if (value == name) return number;
    ctx.fail_unsupported("{} '{}'", key, value);
  };
  const auto mode = one_of.operator()<SampleMode>("mode", "linear",
                                                  {{"linear", SampleMode::linear},
                                                   {"bilinear", SampleMode::linear},
                                                   {"nearest", SampleMode::nearest},
                                                   {"cubic", SampleMode::cubic},
                                                   {"bicubic", SampleMode::cubic}});
  const auto padding =
      one_of.operator()<SamplePadding>("padding_mode", "zeros",
                                       {{"zeros", SamplePadding::zeros},
                                        {"border", SamplePadding::border},
                                        {"reflection", SamplePadding::reflection}});
  if (x.size() > 5) ctx.fail_unsupported("more than three spatial dimensions");
  if (element_count(y) == 0) return;
  // Places are computed with the precision of the wider of image and grid.
  const DType t = ctx.in_dtype(1) == DType::f64 ? DType::f64 : real_type(ctx);
  const auto place = out_as(ctx, 0, t);
  ctx.emit(calls::GridSample{.n = x[0],
                             .c = x[1],
                             .points = element_count(std::span(y).subspan(2)),
                             .mode = mode,
                             .padding = padding,
                             .align_corners = ctx.node.int_attr("align_corners", 0) != 0,
                             .size = {x.begin() + 2, x.end()}},
           {in_as(ctx, 0, t), in_as(ctx, 1, t), place});
  finish_as(ctx, 0, place, t);
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  if ((in[0].size && in[0].axis != 0) || (in[1].size && in[1].axis != 0)) return ctx.refuse_sizes();
  return {in[0].size ? in[0].size : in[1].size, 0};
}

void map_axes(AxesContext& ctx) {
  axes::range(ctx, 0, 0, 2, 0, 0);
  ctx.carry(1, 0, 0, 0);
  axes::range(ctx, 1, 1, ctx.in(1).size() - 1, 0, 2);
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "GridSample",
                   .since = 16,
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .cost = cost::gather_elements,
                   .facts = {.trial = {"T[1,4,4,4]; T[1,2,2,2]"}},
                   .bound = bound};

}  // namespace poprt::ops::grid_sample_op
