#include <algorithm>
#include <numeric>

#include "ops/common/scalar.h"
#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

void to_input(Rewriter& r, std::string_view attribute, size_t index) {
  if (const auto values = r.take_ints(attribute)) r.at.set_input(index, r.ints(*values));
}

void to_attribute(Rewriter& r, size_t index, std::string_view attribute) {
  if (r.has(index))
    r.at.attributes[std::string(attribute)] =
        r.known_ints(index, fmt::format("it is the attribute '{}' there", attribute));
  r.keep_inputs(index);
}

// Returns attribute `axis`, counted from the first dimension. Each rule passes the default of its
// opset as `fallback`, because the definition of a partly converted node cannot be looked up.
int64_t axis_of(const Rewriter& r, int64_t fallback) {
  const int64_t rank = r.rank(0);
  const int64_t axis = r.at.int_attr("axis", fallback);
  if (axis < -rank || axis >= rank) r.reject("axis {} is not one of {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

// Whether all dimensions after the axis are 1, so that flattening them does not change the result.
bool is_last_axis(const Shape& shape, int64_t axis) {
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end(),
                     [](int64_t d) { return d == 1; });
}

}  // namespace

void axes_to_input(Rewriter& r) { to_input(r, "axes", 1); }

void axes_to_attribute(Rewriter& r) {
  if (r.has(1) && r.known_ints(1, "it is the attribute 'axes' there").empty())
    return r.result(0, r.newest("Identity", {r.in(0)}));
  to_attribute(r, 1, "axes");
}

void reduce_axes_to_attribute(Rewriter& r) {
  const bool none = !r.has(1) || r.known_ints(1, "it is the attribute 'axes' there").empty();
  const bool keeps = r.at.int_attr("noop_with_empty_axes", 0) != 0;
  r.drop("noop_with_empty_axes");
  if (!none) return to_attribute(r, 1, "axes");
  r.keep_inputs(1);
  if (!keeps) return;
  // Nothing is reduced, but the operations before and after the sum still apply, for example the
  // squares of ReduceSumSquare. Reducing a new axis of size 1 has the same effect.
  Value* x = r.newest("Unsqueeze", {r.in(0), r.ints({0})});
  Value* const inputs[] = {x, r.ints({0})};
  r.result(0, r.like(inputs, {{"keepdims", int64_t{0}}})->output());
}

void split_to_input(Rewriter& r) { to_input(r, "split", 1); }
void split_to_attribute(Rewriter& r) { to_attribute(r, 1, "split"); }

void split_outputs_to_count(Rewriter& r) {
  if (!r.has(1)) r.at.attributes["num_outputs"] = static_cast<int64_t>(r.at.outputs().size());
}

void split_count_to_sizes(Rewriter& r) {
  if (!r.at.find_attr("num_outputs")) return;
  const int64_t count = r.at.int_attr("num_outputs", 0);
  const int64_t length = r.in(0)->shape()[static_cast<size_t>(axis_of(r, 0))];
  if (length < 0 || count < 1) r.reject("the length of the axis must be known");
  r.drop("num_outputs");
  if (length % count == 0) return;
  const int64_t part = (length + count - 1) / count;
  std::vector<int64_t> sizes(static_cast<size_t>(count), part);
  sizes.back() = length - part * (count - 1);
  r.at.set_input(1, r.ints(sizes));
}

void softmax_from_flattened(Rewriter& r) {
  const int64_t axis = axis_of(r, 1);
  Value* x = r.in(0);
  if (is_last_axis(x->shape(), axis)) {
    r.at.attributes["axis"] = axis;
    return;
  }
  Value* flat = r.newest("Flatten", {x}, {{"axis", axis}});
  Value* y = r.newest(r.at.op_type, {flat}, {{"axis", int64_t{1}}});
  r.result(0, x->type.is_static() ? r.newest("Reshape", {y, r.ints(x->shape())})
                                  : r.newest("Reshape", {y, r.newest("Shape", {x})}));
}

void softmax_to_flattened(Rewriter& r) {
  const int64_t axis = axis_of(r, -1);
  Value* x = r.in(0);
  if (is_last_axis(x->shape(), axis)) {
    r.at.attributes["axis"] = axis;
    return;
  }
  std::vector<int64_t> perm(x->shape().size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  Value* moved = r.newest("Transpose", {x}, {{"perm", perm}});
  Value* y = r.newest(r.at.op_type, {moved}, {{"axis", int64_t{-1}}});
  r.result(0, r.newest("Transpose", {y}, {{"perm", perm}}));
}

void slice_to_inputs(Rewriter& r) {
  for (const auto& [name, index] :
       {std::pair("starts", size_t{1}), {"ends", size_t{2}}, {"axes", size_t{3}}})
    to_input(r, name, index);
}

void top_k_to_input(Rewriter& r) {
  r.at.set_input(1, r.ints({r.at.int_attr("k", 0)}));
  r.drop("k");
}

void pad_to_inputs(Rewriter& r) {
  to_input(r, "pads", 1);
  const float value = r.at.float_attr("value", 0);
  r.drop("value");
  const DType dtype = r.in(0)->dtype();
  if (value == 0) return;
  if (dtype == DType::undefined) r.reject("the type of '{}' must be known", r.in(0)->name());
  r.at.set_input(2, r.number(dtype, static_cast<double>(value)));
}

void pad_without_axes(Rewriter& r) {
  if (!r.has(3)) return r.keep_inputs(3);
  const auto axes = r.known_ints(3, "all axes are padded there"),
             pads = r.known_ints(1, "all axes are padded there");
  const int64_t rank = r.rank(0);
  std::vector<int64_t> all(static_cast<size_t>(2 * rank), 0);
  if (pads.size() != 2 * axes.size()) r.reject("{} pads for {} axes", pads.size(), axes.size());
  for (size_t i = 0; i < axes.size(); i++) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) r.reject("axis {} is not one of {}", axes[i], rank);
    all[static_cast<size_t>(axis)] = pads[i];
    all[static_cast<size_t>(axis + rank)] = pads[axes.size() + i];
  }
  r.keep_inputs(3);
  r.at.set_input(1, r.ints(all));
}

void clip_to_inputs(Rewriter& r) {
  const DType dtype = r.in(0)->dtype();
  for (const auto& [name, index] : {std::pair("min", size_t{1}), {"max", size_t{2}}}) {
    if (!r.at.find_attr(name)) continue;
    if (dtype == DType::undefined) r.reject("the type of '{}' must be known", r.in(0)->name());
    r.at.set_input(index, r.number(dtype, static_cast<double>(r.at.float_attr(name, 0))));
    r.drop(name);
  }
}

void dropout_to_inputs(Rewriter& r) {
  if (r.at.find_attr("ratio"))
    r.at.set_input(1, r.number(DType::f32, static_cast<double>(r.at.float_attr("ratio", 0.5f))));
  r.drop("ratio");
}

void dropout_to_attribute(Rewriter& r) {
  const Tensor* training = r.constant_or_null(2);
  if (r.has(2) && (!training || r.only_number(*training, "training_mode") != 0))
    r.reject("it may drop at random (training_mode)");
  const Tensor* ratio = r.constant_or_null(1);
  if (ratio) r.at.attributes["ratio"] = static_cast<float>(r.only_number(*ratio, "ratio"));
  r.drop("seed");
  r.keep_inputs(1);
}

void dft_axis_to_input(Rewriter& r) {
  const int64_t axis = r.at.int_attr("axis", 1);
  r.drop("axis");
  r.at.set_input(2, r.constant(Tensor::scalar(axis)));
}

void dft_axis_to_attribute(Rewriter& r) {
  int64_t axis = -2;
  if (r.has(2)) {
    const auto given = r.known_ints(2, "it is the attribute 'axis' there");
    if (given.size() != 1) r.reject("axis has {} elements, expected one", given.size());
    axis = given[0];
  }
  r.at.attributes["axis"] = axis < 0 ? axis + r.rank(0) : axis;
  r.keep_inputs(2);
}

void without_select_last_index(Rewriter& r) {
  const bool last = r.at.int_attr("select_last_index", 0) != 0;
  r.drop("select_last_index");
  if (!last) return;
  // The last extreme of an axis is the first one of the reversed axis.
  const int64_t axis = axis_of(r, 0);
  const int64_t length = r.in(0)->shape()[static_cast<size_t>(axis)];
  if (length < 0) r.reject("the length of the axis must be known for select_last_index");
  Value* reversed =
      r.newest("Slice", {r.in(0), r.ints({-1}), r.ints({INT64_MIN}), r.ints({axis}), r.ints({-1})});
  Value* const inputs[] = {reversed};
  Value* first = r.like(inputs)->output();
  r.result(0, r.newest("Sub", {r.constant(Tensor::scalar<int64_t>(length - 1)), first}));
}

}  // namespace poprt::opsets
