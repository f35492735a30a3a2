#include "base/checked.h"
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/movement.h"
#include "ops/common/whole_numbers.h"

namespace poprt::ops::tile_op {
namespace {

// Returns one factor for each axis. Opset 1 has inputs tiles and axis; later versions have a list.
template <class Context>
std::optional<std::vector<int64_t>> repeats_of(const Context& ctx, size_t rank) {
  const bool one_axis = ctx.opset() < 6;
  // In opset 1 the inputs have the type of the data.
  const auto ints = [&](size_t i) -> std::optional<std::vector<int64_t>> {
    if (!one_axis) return ctx.ints(i);
    const Tensor* t = ctx.constant(i);
    return t ? std::optional(whole_numbers(ctx.node, *t)) : std::nullopt;
  };
  const auto first = ints(1);
  if (!first) return std::nullopt;
  std::vector<int64_t> repeats = *first;
  if (one_axis) {
    const auto axis = ints(2);
    if (!axis) return std::nullopt;
    if (first->size() != 1 || axis->size() != 1)
      fail(ErrorCode::invalid_argument, "{}: tiles and axis should be one number, found {} and {}",
           ctx.node.describe(), first->size(), axis->size());
    repeats.assign(rank, 1);
    repeats[static_cast<size_t>(normalize_axis((*axis)[0], static_cast<int64_t>(rank)))] =
        (*first)[0];
  }
  if (repeats.size() != rank)
    fail(ErrorCode::invalid_argument, "{}: {} repeats for a rank of {}", ctx.node.describe(),
         repeats.size(), rank);
  for (const int64_t r : repeats)
    if (r < 0)
      fail(ErrorCode::invalid_argument, "{}: repeat {} is negative", ctx.node.describe(), r);
  return repeats;
}

void infer(InferContext& ctx) {
  const ir::ValueType& in = ctx.in(0);
  if (!in.has_shape) return ctx.out_dtype(0, in.dtype);
  const auto repeats = repeats_of(ctx, in.shape.size());
  Shape out(in.shape.size(), kUnknownDim);
  if (repeats)
    for (size_t i = 0; i < out.size(); i++)
      if (in.shape[i] >= 0) out[i] = checked_mul(in.shape[i], (*repeats)[i], "shape");
  ctx.out(0, in.dtype, std::move(out));
}

void lower(LowerContext& ctx) {
  const Shape& in = ctx.in_shape(0);
  const auto repeats = repeats_of(ctx, in.size());
  if (!repeats) ctx.fail_unsupported("repeats must be constant");
  const auto from = contiguous_strides(in), to = contiguous_strides(ctx.out_shape());
  StridedCopy copy;
  const auto add = [&](int64_t count, int64_t from_stride, int64_t to_stride) {
    if (count == 1) return;
    copy.dims.push_back(count);
    copy.from_strides.push_back(from_stride);
    copy.to_strides.push_back(to_stride);
  };
  for (size_t i = 0; i < in.size(); i++) {
    add((*repeats)[i], 0, in[i] * to[i]);
    add(in[i], from[i], to[i]);
  }
  emit_strided_copy(ctx, ctx.in(0), ctx.out(0), ctx.in_dtype(0), copy);
}

BoundResult bound(BoundContext& ctx) {
  Items& in = ctx.in;
  if (in.size() != 2) return ctx.refuse_sizes();  // the form before opset 6
  const Item& x = in[0];
  Shape shape = x.value->shape();
  std::vector<Extent> repeats = ctx.extents(1);
  if (repeats.size() != shape.size())
    ctx.fail_at(ErrorCode::invalid_argument, "{} repeats for rank {}", repeats.size(),
                shape.size());
  std::optional<size_t> axis;
  if (x.size) axis = x.axis;
  for (size_t k = 0; k < repeats.size(); k++) {
    if (!repeats[k].actual) continue;
    if (axis.value_or(k) != k) ctx.refuse_shape(1);
    axis = k;
  }
  if (!axis) return {};
  const size_t at = *axis;
  const Extent times = repeats[at];
  Item y = x;
  y.axis = at;
  ir::Value* length = x.size ? x.size : ctx.build.integer(shape[at]);
  ir::Value* repeat = times.actual ? times.actual : ctx.build.integer(times.most);
  if (times.least < 0) repeat = ctx.build.newest("Max", {repeat, ctx.build.integer(0)});
  ir::Value* size =
      times.actual || times.most != 1 ? ctx.build.size_of("Mul", length, repeat) : length;
  std::vector<int64_t> rest;
  for (const Extent& e : repeats) rest.push_back(e.most);
  rest[at] = 1;
  if (std::any_of(rest.begin(), rest.end(), [](int64_t r) { return r != 1; }))
    y.value = ctx.build.newest("Tile", {y.value, ctx.build.integers(rest)});
  const int64_t bound = checked_mul(shape[at], std::max<int64_t>(times.most, 0));
  if (bound <= shape[at]) return {.size = size, .axis = at, .whole = ctx.with_bound(y, bound)};
  ir::Value* place = ctx.build.newest(
      "Mod", {ctx.build.indices(bound), ctx.build.newest("Max", {length, ctx.build.integer(1)})});
  return {.size = size, .axis = at, .whole = ctx.gathered(y, place)};
}

void map_axes(AxesContext& ctx) {
  for (size_t d = 0; d < ctx.in(0).size(); d++)
    if (ctx.in(0)[d] == ctx.out()[d])
      ctx.carry(0, d, 0, d);
    else if (ctx.in(0)[d] > 0)
      ctx.link({0, d, 0, d, ctx.in(0)[d]});
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "Tile",
                   .infer = infer,
                   .lower = lower,
                   .axes = map_axes,
                   .facts = {.moves = true,
                             .narrows = true,
                             .shape_inputs = 0b10,
                             .extent_inputs = 0b10,
                             .bounds_shape = true,
                             .constant_inputs = 0b110,
                             .s64_inputs = ~0b1u,
                             .monotone = Monotone::first,
                             .trial = {"T[4,4]; s64[2] = [2, 1]"}},
                   .bound = bound};

}  // namespace poprt::ops::tile_op
