// The rule of each operator (ops::SizeRule) for inputs of which only a part is real, and those that
// move or rename axes. sized.cpp has the rules that compute, sized_shapes.cpp those that make room.
//
// Gather over axis 1 of x [rows, 8] where `n` rows are real: the result has `n` real rows as well,
// {n, 0}. Gather over axis 0 with real indices: nothing of the result is padding, {}.
#include <algorithm>
#include <limits>

#include "base/onnx_dtype.h"
#include "compiler/flow/specializer.h"
#include "ops/common/scalar.h"
#include "ops/facts.h"

namespace poprt::compiler {

using ir::Node;
using ir::Value;
using ops::SizeRule;

namespace {

size_t axis_attr(const Node& n, const Item& x, int64_t fallback) {
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  return static_cast<size_t>(normalize_axis(n.int_attr("axis", fallback), rank));
}

// These read what decides their shape; others are refused when it depends on data.
bool reads_shape(SizeRule rule) {
  switch (rule) {
    case SizeRule::constant_of_shape:
    case SizeRule::range:
    case SizeRule::expand:
    case SizeRule::tile:
    case SizeRule::reshape:
    case SizeRule::slice:
    case SizeRule::top_k: return true;
    default: return false;
  }
}

}  // namespace

Specializer::Rule Specializer::rule_of(SizeRule rule) {
  switch (rule) {
    case SizeRule::none:
    case SizeRule::unique: return &Specializer::follow_unruled;
    case SizeRule::arg_max:
    case SizeRule::arg_min: return &Specializer::follow_arg;
    case SizeRule::compress: return &Specializer::follow_compress;
    case SizeRule::concat: return &Specializer::follow_concat;
    case SizeRule::constant_of_shape: return &Specializer::follow_constant_of_shape;
    case SizeRule::cumulative_product:
    case SizeRule::cumulative_sum: return &Specializer::follow_cumulative;
    case SizeRule::expand: return &Specializer::follow_expand;
    case SizeRule::flatten: return &Specializer::follow_flatten;
    case SizeRule::gather: return &Specializer::follow_gather;
    case SizeRule::gather_elements: return &Specializer::follow_gather_elements;
    case SizeRule::gather_nd: return &Specializer::follow_gather_nd;
    case SizeRule::grid_sample: return &Specializer::follow_grid_sample;
    case SizeRule::lp_normalization:
    case SizeRule::normalization: return &Specializer::follow_normalization;
    case SizeRule::non_max_suppression: return &Specializer::follow_non_max_suppression;
    case SizeRule::non_zero: return &Specializer::follow_non_zero;
    case SizeRule::one_hot: return &Specializer::follow_one_hot;
    case SizeRule::pad: return &Specializer::follow_pad;
    case SizeRule::product: return &Specializer::follow_matmul;
    case SizeRule::range: return &Specializer::follow_range;
    case SizeRule::reduce_from_least:
    case SizeRule::reduce_from_most:
    case SizeRule::reduce_from_one:
    case SizeRule::reduce_from_zero: return &Specializer::follow_reduction;
    case SizeRule::reduce_mean: return &Specializer::follow_reduce_mean;
    case SizeRule::reshape: return &Specializer::follow_reshape_node;
    case SizeRule::roi_align: return &Specializer::follow_roi_align;
    case SizeRule::scatter:
    case SizeRule::scatter_nd: return &Specializer::follow_scatter;
    case SizeRule::slice: return &Specializer::follow_slice;
    case SizeRule::softmax: return &Specializer::follow_softmax;
    case SizeRule::split: return &Specializer::follow_split;
    case SizeRule::squeeze: return &Specializer::follow_squeeze;
    case SizeRule::tile: return &Specializer::follow_tile;
    case SizeRule::top_k: return &Specializer::follow_top;
    case SizeRule::transpose: return &Specializer::follow_transpose;
    case SizeRule::unsqueeze: return &Specializer::follow_unsqueeze;
  }
  return nullptr;
}

Specializer::SizedResult Specializer::follow(const Node& n, Items& in) {
  if (!is_standard(n) || in.empty()) return refuse_sizes(n, in);
  const SizeRule rule = ops::facts_of(n).size_rule;
  for (size_t i = 0; i < in.size() && !reads_shape(rule); i++)
    if (in[i].actual && decides_shape(n, i)) refuse_shape(n, in[i]);
  return (this->*rule_of(rule))(n, in);
}

// Throws when an input has a size, else all of the result is real.
Specializer::SizedResult Specializer::refuse_sizes(const Node& n, const Items& in,
                                                   size_t from) const {
  for (size_t i = from; i < in.size(); i++)
    if (in[i].size) refuse_size(n, in[i]);
  return {};
}

Specializer::SizedResult Specializer::follow_unruled(const Node& n, Items& in) {
  const ops::Facts& facts = ops::facts_of(n);
  if (facts.per_element) return follow_elementwise(n, in);
  refuse_sizes(n, in, 1);
  if (facts.per_sample && in[0].axis == 0 && !n.int_attr("training_mode", 0))
    return {in[0].size, 0};
  return refuse_sizes(n, in);
}

// Boxes that are not real have the least score, and no box with that is taken.
Specializer::SizedResult Specializer::follow_non_max_suppression(const Node& n, Items& in) {
  if (in.size() < 2 || !in[1].size || in[1].axis != 2 || (in[0].size && in[0].axis != 1))
    refuse_size(n, in[0].size ? in[0] : in[1]);
  in[1].value = filled(in[1], extreme(in[1].value->dtype(), false));
  in.resize(5);
  if (in[4].kind == Item::Kind::none)
    in[4] = Item::of(constant(Tensor::of<float>({1}, {std::numeric_limits<float>::lowest()})));
  return {};
}

Specializer::SizedResult Specializer::follow_transpose(const Node& n, Items& in) {
  const std::vector<int64_t> perm = n.ints_attr("perm");
  const size_t rank = in[0].value->shape().size();
  for (size_t d = 0; d < rank; d++)
    if ((perm.empty() ? rank - 1 - d : static_cast<size_t>(perm[d])) == in[0].axis)
      return {in[0].size, d};
  return refuse_sizes(n, in);
}

Specializer::SizedResult Specializer::follow_squeeze(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  std::vector<int64_t> axes = axes_of(n, in, 1, shape.size());
  if (axes.empty())
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d] == 1) axes.push_back(static_cast<int64_t>(d));
  size_t axis = x.axis;
  for (const int64_t a : axes) {
    if (a == static_cast<int64_t>(x.axis)) {  // one element, and it must be real
      in[0].value = with_bound(x, 1);
      return {};
    }
    axis -= a < static_cast<int64_t>(x.axis);
  }
  return {x.size, axis};
}

Specializer::SizedResult Specializer::follow_unsqueeze(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item& x = in[0];
  const bool given = in.size() > 1 && in[1].kind == Item::Kind::tensor;
  std::vector<int64_t> axes = given ? constant_ints(n, in, 1) : n.ints_attr("axes");
  const auto rank = static_cast<int64_t>(x.value->shape().size() + axes.size());
  for (int64_t& a : axes) a = normalize_axis(a, rank);
  std::sort(axes.begin(), axes.end());
  size_t axis = x.axis;
  for (const int64_t a : axes) axis += a <= static_cast<int64_t>(axis);
  return {x.size, axis};
}

Specializer::SizedResult Specializer::follow_flatten(const Node& n, Items& in) {
  const Item& x = in[0];
  const Shape& shape = x.value->shape();
  const int64_t given = n.int_attr("axis", 1);
  const auto axis =
      static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(shape.size()) : given);
  const int64_t rows = product(shape, 0, axis);
  const int64_t columns = rows == 0 ? 0 : element_count(shape) / rows;
  const bool row = x.axis < axis;
  return follow_reshape(n, x,
                        {{rows, row ? -1 : rows, nullptr}, {columns, row ? columns : -1, nullptr}});
}

// Places along `axis` of x, where those from the end count from the end of its real part.
ir::Value* Specializer::real_places(const Item& x, size_t axis, Value* at) {
  if (!x.size || x.axis != axis) return at;
  if (at->is_constant()) {
    const std::vector<int64_t> v = at->constant().to_int64s();
    if (std::all_of(v.begin(), v.end(), [](int64_t k) { return k >= 0; })) return at;
  }
  Value* place = make1("Cast", {at}, {{"to", onnx_from_dtype(DType::s64).value()}});
  return newest("Where",
                {newest("Less", {place, integer(0)}), newest("Add", {place, x.size}), place});
}

Specializer::SizedResult Specializer::follow_gather(const Node& n, Items& in) {
  const Item x = in[0], at = in[1];
  const size_t axis = axis_attr(n, x, 0);
  in[1].value = real_places(x, axis, at.value);
  if (at.size && x.size && x.axis != axis) refuse_size(n, x);
  if (at.size) return {at.size, axis + at.axis};
  if (x.axis == axis) return {};
  return {x.size, x.axis < axis ? x.axis : x.axis + at.value->shape().size() - 1};
}

Specializer::SizedResult Specializer::follow_gather_elements(const Node& n, Items& in) {
  const Item x = in[0], at = in[1];
  const size_t axis = axis_attr(n, x, 0);
  in[1].value = real_places(x, axis, at.value);
  if (at.size) return {at.size, at.axis};
  // Fewer places than the bound name rows that are real.
  const bool all = at.value->shape()[x.axis] == x.value->shape()[x.axis];
  if (x.axis != axis && all) return {x.size, x.axis};
  return {};
}

Specializer::SizedResult Specializer::follow_gather_nd(const Node& n, Items& in) {
  const Item& at = in[1];
  if (in[0].size || n.int_attr("batch_dims", 0) != 0 || at.axis + 1 >= at.value->shape().size())
    return refuse_sizes(n, in);
  return {at.size, at.axis};
}

Specializer::SizedResult Specializer::follow_compress(const Node& n, Items& in) {
  const Item& x = in[0];
  const bool flat = !n.find_attr("axis");
  const size_t axis = flat ? 0 : axis_attr(n, x, 0);
  if (x.size && (x.axis != axis || (flat && x.value->shape().size() != 1))) refuse_size(n, x);
  if (x.size && !in[1].size) in[1].sized(x.size, 0);
  in[1].value = zero_filled(in[1]);
  return {};
}

Specializer::SizedResult Specializer::follow_non_zero(const Node&, Items& in) {
  in[0].value = zero_filled(in[0]);
  return {};
}

Specializer::SizedResult Specializer::follow_softmax(const Node& n, Items& in) {
  const Item x = in[0];
  const size_t axis = axis_attr(n, x, n.opset() < 13 ? 1 : -1);
  if (x.axis == axis || (n.opset() < 13 && x.axis > axis))
    in[0].value = filled(x, extreme(x.value->dtype(), false));
  return {x.size, x.axis};
}

Specializer::SizedResult Specializer::follow_cumulative(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item x = in[0];
  const bool product = ops::facts_of(n).size_rule == SizeRule::cumulative_product;
  if (n.int_attr("reverse", 0) != 0)
    in[0].value = filled(x, ops::scalar_tensor(x.value->dtype(), product ? 1 : 0));
  return {x.size, x.axis};
}

Specializer::SizedResult Specializer::follow_normalization(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item& x = in[0];
  const size_t axis = axis_attr(n, x, -1);
  const bool one = ops::facts_of(n).size_rule == SizeRule::lp_normalization;
  if (one ? x.axis == axis : x.axis >= axis) refuse_size(n, x);
  return {x.size, x.axis};
}

// The real part stays where nothing is added before or behind it.
Specializer::SizedResult Specializer::follow_pad(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item& x = in[0];
  const size_t rank = x.value->shape().size();
  const std::vector<int64_t> pads = in.size() > 1 ? constant_ints(n, in, 1) : n.ints_attr("pads");
  std::vector<int64_t> axes = axes_of(n, in, 3, rank);
  if (in.size() < 4 || in[3].kind == Item::Kind::none) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  for (size_t k = 0; k < axes.size() && 2 * axes.size() == pads.size(); k++)
    if (axes[k] == static_cast<int64_t>(x.axis) && (pads[k] != 0 || pads[k + axes.size()] != 0))
      refuse_size(n, x);
  return {x.size, x.axis};
}

Specializer::SizedResult Specializer::follow_split(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  if (axis_attr(n, in[0], 0) == in[0].axis) refuse_size(n, in[0]);
  return {in[0].size, in[0].axis};
}

Specializer::SizedResult Specializer::follow_one_hot(const Node& n, Items& in) {
  refuse_sizes(n, in, 1);
  const Item& x = in[0];
  const auto rank = static_cast<int64_t>(x.value->shape().size());
  const int64_t at = normalize_axis(n.int_attr("axis", -1), rank + 1);
  return {x.size, x.axis + (at <= static_cast<int64_t>(x.axis) ? 1 : 0)};
}

Specializer::SizedResult Specializer::follow_roi_align(const Node& n, Items& in) {
  if (in[0].size || in[1].axis != 0) return refuse_sizes(n, in);
  // Regions of no image cost nothing.
  in[2].sized(in[1].size, 0);
  in[2].value = filled(in[2], ops::scalar_tensor(in[2].value->dtype(), -1));
  return {in[1].size, 0};
}

Specializer::SizedResult Specializer::follow_grid_sample(const Node& n, Items& in) {
  if ((in[0].size && in[0].axis != 0) || (in[1].size && in[1].axis != 0))
    return refuse_sizes(n, in);
  return {in[0].size ? in[0].size : in[1].size, 0};
}

}  // namespace poprt::compiler
