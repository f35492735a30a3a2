#include <algorithm>

#include "base/onnx_dtype.h"
#include "opsets/rules.h"

namespace poprt::opsets {
namespace {

// The type in which statistics are computed: attribute stash_type, by default f32, or the type of x
// if stash_type does not have more bits.
DType stash_type(const Rewriter& r) {
  const auto dtype = dtype_from_onnx(r.at.int_attr("stash_type", 1));
  const DType x = r.in(0)->dtype();
  return dtype && dtype_bits(*dtype) > dtype_bits(x) ? *dtype : x;
}

std::vector<int64_t> axes_from(const Rewriter& r, int64_t axis) {
  const int64_t rank = r.rank(0);
  if (axis < 0) axis += rank;
  std::vector<int64_t> axes;
  for (int64_t a = axis; a < rank; a++) axes.push_back(a);
  return axes;
}

Value* mean(Rewriter& r, Value* x, const std::vector<int64_t>& axes) {
  return r.newest("ReduceMean", {x, r.ints(axes)}, {{"keepdims", int64_t{1}}});
}

// Reshapes one value per channel so that it broadcasts to the positions that follow the channel.
Value* per_channel(Rewriter& r, Value* v) {
  Shape shape(static_cast<size_t>(r.rank(0) - 1), 1);
  shape[0] = v->type.has_shape && v->shape().size() == 1 && v->shape()[0] > 0 ? v->shape()[0] : -1;
  if (v->is_constant()) return r.constant(v->constant().reshaped(shape));
  return r.newest("Reshape", {v, r.ints(shape)});
}

int64_t groups_of(const Rewriter& r) {
  const int64_t groups = r.at.int_attr("num_groups", 0);
  const Shape& shape = r.shape(0);
  if (groups < 1 || shape.size() < 3 || shape[1] % groups)
    r.reject("{} groups do not divide the channels of {}", groups, shape_string(shape));
  return groups;
}

}  // namespace

void batch_norm_spatial(Rewriter& r) {
  const bool spatial = r.at.int_attr("spatial", 1) != 0;
  r.drop("spatial");
  if (spatial) return;
  // With spatial = 0, each position of a channel has its own mean, variance, scale and bias.
  const DType dtype = r.dtype(0);
  const auto epsilon = static_cast<double>(r.at.float_attr("epsilon", 1e-5f));
  Value* root = r.newest("Sqrt", {r.newest("Add", {r.in(4), r.number(dtype, epsilon)})});
  Value* normal = r.newest("Div", {r.newest("Sub", {r.in(0), r.in(3)}), root});
  r.result(0, r.newest("Add", {r.newest("Mul", {normal, r.in(1)}), r.in(2)}));
}

void batch_norm_for_inference(Rewriter& r) {
  for (size_t i = 1; i < r.at.outputs().size(); i++)
    if (r.wants(i)) r.reject("output {} exists while a model is trained only", i);
  if (r.at.outputs().size() == 1) return;
  const std::vector<Value*> inputs(r.at.inputs().begin(), r.at.inputs().end());
  ir::Node* n = r.add_node("BatchNormalization", ir::kNewestDomain, inputs, {}, 1);
  for (const auto& [key, value] : r.at.attributes) n->attributes[key] = value;
  r.result(0, n->output());
}

void batch_norm_without_training(Rewriter& r) {
  const bool training = r.at.int_attr("training_mode", 0) != 0;
  r.drop("training_mode");
  if (!training) return;
  const DType dtype = r.dtype(0);
  const auto number = [&](double value) { return r.number(dtype, value); };
  std::vector<int64_t> axes = {0};
  for (int64_t a = 2; a < r.rank(0); a++) axes.push_back(a);
  Value* average = mean(r, r.in(0), axes);
  Value* centered = r.newest("Sub", {r.in(0), average});
  Value* variance = mean(r, r.newest("Mul", {centered, centered}), axes);
  const auto epsilon = static_cast<double>(r.at.float_attr("epsilon", 1e-5f));
  Value* normal =
      r.newest("Div", {centered, r.newest("Sqrt", {r.newest("Add", {variance, number(epsilon)})})});
  Value* scaled = r.newest("Mul", {normal, per_channel(r, r.in(1))});
  r.result(0, r.newest("Add", {scaled, per_channel(r, r.in(2))}));
  const auto keep = static_cast<double>(r.at.float_attr("momentum", 0.9f));
  for (size_t i = 1; i < 3; i++) {
    if (!r.wants(i)) continue;
    Value* now = r.newest("Reshape", {i == 1 ? average : variance, r.ints({-1})});
    r.result(i, r.newest("Add", {r.newest("Mul", {r.in(i + 2), number(keep)}),
                                 r.newest("Mul", {now, number(1 - keep)})}));
  }
}

// Writes the form that exporters write and that pass layer_norm_pattern recognises.
void layer_norm_to_parts(Rewriter& r) {
  const DType dtype = r.dtype(0), stash = stash_type(r);
  const auto axes = axes_from(r, r.at.int_attr("axis", -1));
  Value* x = r.cast(r.in(0), stash);
  Value* average = mean(r, x, axes);
  Value* centered = r.newest("Sub", {x, average});
  Value* variance = mean(r, r.newest("Mul", {centered, centered}), axes);
  const auto epsilon = static_cast<double>(r.at.float_attr("epsilon", 1e-5f));
  Value* root = r.newest("Sqrt", {r.newest("Add", {variance, r.number(stash, epsilon)})});
  Value* y = r.cast(r.newest("Div", {centered, root}), dtype);
  y = r.newest("Mul", {y, r.in(1)});
  r.result(0, r.has(2) ? r.newest("Add", {y, r.in(2)}) : y);
  if (r.wants(1)) r.result(1, average);
  if (r.wants(2)) r.result(2, r.newest("Reciprocal", {root}));
}

void rms_norm_to_parts(Rewriter& r) {
  r.slower("it is several operators there");
  const DType dtype = r.dtype(0), stash = stash_type(r);
  Value* x = r.cast(r.in(0), stash);
  Value* square = mean(r, r.newest("Mul", {x, x}), axes_from(r, r.at.int_attr("axis", -1)));
  const auto epsilon = static_cast<double>(r.at.float_attr("epsilon", 1e-5f));
  Value* root = r.newest("Sqrt", {r.newest("Add", {square, r.number(stash, epsilon)})});
  r.result(0, r.newest("Mul", {r.cast(r.newest("Div", {x, root}), dtype), r.in(1)}));
}

// Opset 18 has one scale and bias per group, opset 21 one per channel: repeats those of each group
// for its channels.
void group_norm_to_channels(Rewriter& r) {
  const int64_t groups = groups_of(r), channels = r.shape(0)[1];
  r.drop("stash_type");
  for (size_t i = 1; i < 3; i++) {
    if (channels == groups) continue;
    Value* v = r.newest("Reshape", {r.in(i), r.ints({groups, 1})});
    v = r.newest("Expand", {v, r.ints({groups, channels / groups})});
    r.at.set_input(i, r.newest("Reshape", {v, r.ints({channels})}));
  }
}

// Writes the form that exporters used before the operator existed: InstanceNormalization in which
// each group is a channel.
void group_norm_to_parts(Rewriter& r) {
  const int64_t groups = groups_of(r);
  const Shape& shape = r.shape(0);
  const DType dtype = r.dtype(0),
              stash = r.at.opset() >= 21 || r.at.find_attr("stash_type") ? stash_type(r) : dtype;
  Value* x = r.cast(r.in(0), stash);
  x = r.newest("Reshape", {x, r.ints({shape[0], groups, -1})});
  const std::vector<float> one(static_cast<size_t>(groups), 1.0f), zero(one.size(), 0.0f);
  const auto constant = [&](const std::vector<float>& values) {
    return r.cast(r.constant(Tensor::of<float>({groups}, std::span<const float>(values))), stash);
  };
  Value* normal = r.newest("InstanceNormalization", {x, constant(one), constant(zero)},
                           {{"epsilon", r.at.float_attr("epsilon", 1e-5f)}});
  Value* y = r.cast(r.newest("Reshape", {normal, r.ints(shape)}), dtype);
  const auto parameter = [&](size_t i) {
    Value* v = r.in(i);
    if (element_count(r.shape(i)) == shape[1]) return per_channel(r, v);
    v = r.newest("Reshape", {v, r.ints({groups, 1})});
    v = r.newest("Expand", {v, r.ints({groups, shape[1] / groups})});
    return per_channel(r, r.newest("Reshape", {v, r.ints({shape[1]})}));
  };
  y = r.newest("Mul", {y, parameter(1)});
  r.result(0, r.newest("Add", {y, parameter(2)}));
}

// Opset 18 has one scale and bias per group. A node with several channels per group, which may have
// different scales, is decomposed instead, and so is every node if the target is older than opset
// 18.
void group_norm_to_groups(Rewriter& r) {
  if (r.target() < 18 || r.shape(0)[1] != groups_of(r)) return group_norm_to_parts(r);
  r.drop("stash_type");
}

}  // namespace poprt::opsets
