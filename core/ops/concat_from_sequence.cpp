// The compiler resolves this operator because sequences exist at compile time only.
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/resolve.h"

namespace poprt::ops::concat_from_sequence_op {

namespace {

// The item with a new axis of size one in front of axis `axis`.
Item with_axis(ResolveContext& ctx, const Item& item, int64_t axis) {
  if (!item.value->type.is_static())
    return Item::of(
        ctx.build.newest("Unsqueeze", {item.value, ctx.build.integers(std::array{axis})}));
  Shape shape = item.value->shape();
  const auto at = static_cast<size_t>(axis);
  shape.insert(shape.begin() + axis, 1);
  Item out = Item::of(ctx.build.reshape(item.value, shape));
  const auto moved = [&](size_t d) { return d + (d >= at); };
  if (item.size)
    out.sized(item.size, moved(item.axis),
              item.twin ? std::optional(moved(*item.twin)) : std::nullopt);
  return out;
}

void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const bool fresh = n.int_attr("new_axis", 0) != 0;
  int64_t axis = n.int_attr("axis", 0);
  if (ctx.reads_kept(0)) {
    ir::ValueType type = ctx.in[0].element;
    if (type.has_shape && fresh) type.shape.insert(type.shape.begin(), kUnknownDim);
    type.shape.assign(type.shape.size(), kUnknownDim);
    return ctx.keep(type);
  }
  const bool is_sequence = !ctx.in.empty() && ctx.in[0].kind == Item::Kind::sequence;
  Items elements = is_sequence ? ctx.counted_sequence(0).elements : Items();
  if (elements.empty())
    ctx.fail_at(ErrorCode::invalid_argument, "input 0 should be a sequence with elements");
  const ir::ValueType& first = elements[0].value->type;
  if (first.has_shape)
    axis = normalize_axis(axis, static_cast<int64_t>(first.shape.size()) + fresh);
  else if (!ctx.keeps_onnx() || (fresh && axis < 0))
    ctx.static_tensor(elements[0], "an element");
  for (Item& item : elements) {
    if (!ctx.keeps_onnx() && !item.size) ctx.static_tensor(item, "an element");
    if (fresh) item = with_axis(ctx, item, axis);
  }
  Item all = ctx.apply("Concat", elements, {{"axis", axis}});
  if (ctx.in[0].size) {
    // The real elements are the first ones. All have the same extent along the axis.
    const auto along = static_cast<size_t>(axis);
    if (all.size) ctx.refuse_count();
    const int64_t extent = all.value->shape()[along] / std::ssize(elements);
    all.sized(ctx.build.size_of("Mul", ctx.in[0].size, ctx.build.integer(extent)), along);
  }
  ctx.set_output(0, std::move(all));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "ConcatFromSequence",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .resolve = resolve};

}  // namespace poprt::ops::concat_from_sequence_op
