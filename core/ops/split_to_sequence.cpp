// The compiler resolves this operator because sequences exist at compile time only.
#include <algorithm>
#include <array>

#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/sequences.h"

namespace poprt::ops::split_to_sequence_op {

namespace {

// The type of each part of an input of type `x`. The rank is unknown if parts may lack the axis.
ir::ValueType part_type(const ir::Node& n, const ir::ValueType& x, bool has_sizes) {
  if (!x.has_shape || (has_sizes && n.int_attr("keepdims", 1) == 0))
    return {x.dtype, false, {}, {}};
  const int64_t axis = normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(x.shape.size()));
  ir::ValueType type{x.dtype, true, x.shape, {}};
  if (n.int_attr("keepdims", 1) == 0)
    type.shape.erase(type.shape.begin() + axis);
  else
    type.shape[static_cast<size_t>(axis)] = has_sizes ? kUnknownDim : 1;
  return type;
}

void resolve(ResolveContext& ctx) {
  const ir::Node& n = ctx.node;
  const Items in = ctx.actual();
  const bool has_sizes = in.size() > 1 && in[1].kind == Item::Kind::tensor;
  const bool is_known = !has_sizes || in[1].value->is_constant();
  if (ctx.keeps_onnx() && (!ctx.tensor(in.at(0), "the input")->type.is_static() || !is_known))
    return ctx.keep_sequence(part_type(n, in[0].value->type, has_sizes));
  ir::Value* x = in.at(0).size && in[0].value->type.is_static()
                     ? in[0].value
                     : ctx.static_tensor(in[0], "the input");
  const int64_t axis =
      normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(x->shape().size()));
  const int64_t size = x->shape()[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  bool keep = true;
  if (has_sizes) {
    if (!is_known)
      ctx.fail_at(ErrorCode::unimplemented, "the sizes to split into must be constant");
    const Tensor& t = in[1].value->constant();
    if (t.count() > kMaxElements)
      ctx.fail_at(ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
    sizes = t.to_int64s();
    if (t.shape().empty()) {
      const int64_t part = sizes.at(0);
      if (part <= 0) ctx.fail_at(ErrorCode::invalid_argument, "a part has {} elements", part);
      // ONNX ignores keepdims if sizes are given. ONNX Runtime does not if the size is the scalar
      // 1, and PyTorch's export of unbind() relies on that.
      if (part == 1) keep = n.int_attr("keepdims", 1) != 0;
      sizes.clear();
      if (size / part > kMaxElements)
        ctx.fail_at(ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
      for (int64_t at = 0; at < size; at += part) sizes.push_back(std::min(part, size - at));
    }
  } else {
    if (size > kMaxElements)
      ctx.fail_at(ErrorCode::resource_exhausted, "more than {} parts", kMaxElements);
    sizes.assign(static_cast<size_t>(size), 1);
    keep = n.int_attr("keepdims", 1) != 0;
  }
  // Only the first rows are real, so only the first parts are.
  const bool rows = in[0].sized_along(static_cast<size_t>(axis));
  if (in[0].twin || (rows && std::ranges::any_of(sizes, [](int64_t s) { return s != 1; })))
    ctx.fail_at(ErrorCode::unimplemented,
                "the size of the axis depends on data, so each part must have one element");
  int64_t sum = 0;
  for (const int64_t s : sizes) {
    if (s < 0 || s > size) ctx.fail_at(ErrorCode::invalid_argument, "a part has {} elements", s);
    sum += s;
  }
  if (sum != size)
    ctx.fail_at(ErrorCode::invalid_argument, "the parts have {} elements in total, the axis has {}",
                sum, size);
  std::vector<ir::Value*> parts = {x};
  if (sizes.size() > 1)
    parts = n.opset() < 13 ? ctx.build.make("Split", "", std::array{x},
                                            {{"axis", axis}, {"split", sizes}}, sizes.size())
                           : ctx.build.make("Split", "", std::array{x, ctx.build.integers(sizes)},
                                            {{"axis", axis}}, sizes.size());
  if (sizes.empty()) parts.clear();
  if (!keep)
    for (ir::Value*& v : parts) {
      Shape shape = v->shape();
      shape.erase(shape.begin() + axis);
      v = ctx.build.reshape(v, shape);
    }
  Items elements;
  for (ir::Value* v : parts) {
    elements.push_back(Item::of(v));
    if (in[0].size && !rows)
      elements.back().sized(in[0].size,
                            in[0].axis - (!keep && in[0].axis > static_cast<size_t>(axis)));
  }
  Item sequence = Item::sequence_of(std::move(elements));
  if (rows) sequence.size = in[0].size;
  ctx.set_output(0, std::move(sequence));
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "SplitToSequence",
                   .since = 11,
                   .infer = infer_nothing,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.constant_inputs = 0b10},
                   .resolve = resolve};

}  // namespace poprt::ops::split_to_sequence_op
