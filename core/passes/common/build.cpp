#include "passes/common/build.h"

#include <algorithm>
#include <cstring>

#include "base/onnx_dtype.h"
#include "ops/op.h"

namespace poprt::passes {

using ir::Graph;
using ir::Node;
using ir::Value;

Graph& root_of(Graph& graph) {
  Graph* g = &graph;
  while (g->parent) g = g->parent;
  return *g;
}

Node* insert_graphcore(
    Node& at, std::string op_type, std::span<Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes,
    size_t output_count) {
  root_of(at.graph()).opsets.emplace(kGraphcore, 1);
  return insert_node(at, std::move(op_type), std::string(kGraphcore), inputs, attributes,
                     output_count);
}

void replace_with_graphcore(
    Node& node, std::string op_type, std::span<Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes) {
  replace_node(node, insert_graphcore(node, std::move(op_type), inputs, attributes)->output());
}

Node* insert_like(Node& at, const Node& of, std::span<Value* const> inputs) {
  const std::string name = at.output()->name() + "_" + of.op_type;
  Node* n = at.graph().add_node(of.op_type, of.domain, inputs, of.outputs().size(), &at,
                                std::span(&name, 1));
  n->name = of.name;
  n->attributes = of.attributes;
  ops::infer(*n);
  return n;
}

void replace_each_with_graphcore(Graph& graph, PassContext& context, std::string_view op_type,
                                 const std::string& graphcore_type) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is(op_type) || !context.allow()) return;
    root_of(n.graph()).opsets.emplace(kGraphcore, 1);
    Node* by = n.graph().add_node(graphcore_type, std::string(kGraphcore), n.inputs(), 1, &n);
    by->attributes = n.attributes;
    by->name = n.name;
    ops::infer(*by);
    replace_node(n, by->output());
  });
}

Value* cast_to(Node& at, Value* v, DType dtype) {
  if (v->dtype() == dtype) return v;
  const auto number = onnx_from_dtype(dtype);
  if (!number) fail(ErrorCode::unimplemented, "ONNX has no type {}", dtype_name(dtype));
  return insert_node(at, "Cast", "", {v}, {{"to", int64_t{*number}}})->output();
}

Value* transposed(Node& at, Value* v, std::vector<int64_t> perm) {
  bool same = true;
  for (size_t i = 0; i < perm.size(); i++) same &= perm[i] == static_cast<int64_t>(i);
  if (same) return v;
  return insert_node(at, "Transpose", "", {v}, {{"perm", std::move(perm)}})->output();
}

namespace {

constexpr int64_t kSliceInputs = 10, kSplitInput = 13, kPadInputs = 11, kReshapeToNothing = 14,
                  kSumInput = 13;

int64_t opset_of(const Node& at) {
  const auto& opsets = root_of(at.graph()).opsets;
  for (const char* domain : {"", "ai.onnx"})
    if (const auto found = opsets.find(domain); found != opsets.end()) return found->second;
  return 0;
}

}  // namespace

Value* reshaped(Node& at, Value* v, const Shape& shape) {
  if (v->type.is_static() && v->shape() == shape) return v;
  const std::array inputs{v, add_ints(at.graph(), v->name() + "_shape", shape)};
  // A 0 in the shape would keep the input's dimension. `allowzero`, since opset 14, makes it an
  // empty dimension.
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (empty && opset_of(at) >= kReshapeToNothing)
    return insert_node(at, "Reshape", "", inputs, {{"allowzero", int64_t{1}}})->output();
  return insert_node(at, "Reshape", "", inputs)->output();
}

Value* sliced(Node& at, Value* v, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  if (opset_of(at) < kSliceInputs) {
    if (step != 1)
      fail(ErrorCode::unimplemented,
           "Slice of opset {} has no steps; convert the model to opset 10 or later "
           "(`convert_version`)",
           opset_of(at));
    return insert_node(at, "Slice", "", {v},
                       {{"starts", std::vector<int64_t>{begin}},
                        {"ends", std::vector<int64_t>{end}},
                        {"axes", std::vector<int64_t>{axis}}})
        ->output();
  }
  Graph& g = at.graph();
  const auto number = [&](const char* what, int64_t value) {
    return add_ints(g, v->name() + what, std::span(&value, 1));
  };
  std::vector<Value*> inputs{v, number("_starts", begin), number("_ends", end),
                             number("_axes", axis)};
  if (step != 1) inputs.push_back(number("_steps", step));
  return insert_node(at, "Slice", "", inputs)->output();
}

std::vector<Value*> split_into(Node& at, Value* v, std::span<const int64_t> sizes, int64_t axis) {
  const std::vector<int64_t> list(sizes.begin(), sizes.end());
  const Node* split =
      opset_of(at) < kSplitInput
          ? insert_node(at, "Split", "", {v}, {{"axis", axis}, {"split", list}}, list.size())
          : insert_node(at, "Split", "", {v, add_ints(at.graph(), v->name() + "_split", list)},
                        {{"axis", axis}}, list.size());
  return {split->outputs().begin(), split->outputs().end()};
}

Value* joined(Node& at, std::span<Value* const> parts, int64_t axis) {
  return insert_node(at, "Concat", "", parts, {{"axis", axis}})->output();
}

Value* padded(Node& at, Value* v, int64_t axis, int64_t size) {
  const size_t rank = v->shape().size();
  const auto a = static_cast<size_t>(axis);
  if (v->shape()[a] == size) return v;
  std::vector<int64_t> pads(2 * rank);
  pads[rank + a] = size - v->shape()[a];
  if (opset_of(at) < kPadInputs) return insert_node(at, "Pad", "", {v}, {{"pads", pads}})->output();
  return insert_node(at, "Pad", "", {v, add_ints(at.graph(), v->name() + "_pads", pads)})->output();
}

Value* summed_over(Node& at, Value* v, std::span<const int64_t> axes) {
  if (opset_of(at) < kSumInput)
    return insert_node(
               at, "ReduceSum", "", {v},
               {{"axes", std::vector<int64_t>(axes.begin(), axes.end())}, {"keepdims", int64_t{0}}})
        ->output();
  return insert_node(at, "ReduceSum", "", {v, add_ints(at.graph(), v->name() + "_axes", axes)},
                     {{"keepdims", int64_t{0}}})
      ->output();
}

Value* computed(Node& at, std::string_view op_type, std::initializer_list<Value*> inputs) {
  return insert_node(at, std::string(op_type), "", inputs)->output();
}

void replace_outputs(Node& node, std::span<Value* const> by) {
  Graph& graph = node.graph();
  std::vector<std::pair<Value*, std::string>> names;
  for (size_t i = 0; i < by.size(); i++) {
    Value* old = node.output(i);
    Value* to = by[i];
    if (!to || !is_used(old)) continue;
    const bool was_output = graph.is_output(old);
    if (was_output && !ir::can_replace(old, to))
      to = insert_node(node, "Identity", "", {to})->output();
    const bool rename = !was_output && to->producer() && &to->graph() == &graph &&
                        !graph.is_output(to) && to->uses().empty();
    if (rename) names.emplace_back(to, old->name());
    graph.replace_all_uses(old, to);
  }
  erase_if_dead(&node);
  for (const auto& [value, name] : names) graph.rename(value, name);
}

namespace {

// `inner`: bytes of the elements at one index of the axis, for fixed indices of the dimensions
// before it. `outer`: the number of combinations of these indices.
struct Along {
  uint64_t inner = 1, outer = 1;
};

Along along(const Tensor& t, int64_t axis) {
  Along a;
  const Shape& s = t.shape();
  for (size_t i = 0; i < s.size(); i++) {
    if (static_cast<int64_t>(i) < axis) a.outer *= static_cast<uint64_t>(s[i]);
    if (static_cast<int64_t>(i) > axis) a.inner *= static_cast<uint64_t>(s[i]);
  }
  a.inner *= dtype_bytes(t.dtype(), 1);
  return a;
}

}  // namespace

Tensor slice_of(const Tensor& tensor, int64_t axis, int64_t begin, int64_t end) {
  const Along a = along(tensor, axis);
  Shape shape = tensor.shape();
  const auto whole = static_cast<uint64_t>(shape[static_cast<size_t>(axis)]);
  shape[static_cast<size_t>(axis)] = end - begin;
  Tensor out = Tensor::zeros(tensor.dtype(), shape);
  const uint64_t row = static_cast<uint64_t>(end - begin) * a.inner;
  const auto* from = static_cast<const char*>(tensor.data());
  auto* to = static_cast<char*>(out.mutable_data());
  for (uint64_t i = 0; i < a.outer && row; i++)
    std::memcpy(to + i * row, from + (i * whole + static_cast<uint64_t>(begin)) * a.inner, row);
  return out;
}

Tensor concat_of(std::span<const Tensor> parts, int64_t axis) {
  Shape shape = parts[0].shape();
  const auto at = static_cast<size_t>(axis);
  shape[at] = 0;
  for (const Tensor& t : parts) {
    POPRT_ASSERT(t.dtype() == parts[0].dtype() && t.shape().size() == shape.size());
    for (size_t i = 0; i < shape.size(); i++) POPRT_ASSERT(i == at || t.shape()[i] == shape[i]);
    shape[at] += t.shape()[at];
  }
  Tensor out = Tensor::zeros(parts[0].dtype(), shape);
  const Along a = along(out, axis);
  auto* to = static_cast<char*>(out.mutable_data());
  for (uint64_t i = 0; i < a.outer; i++)
    for (const Tensor& t : parts) {
      const uint64_t row = static_cast<uint64_t>(t.shape()[at]) * a.inner;
      if (row) std::memcpy(to, static_cast<const char*>(t.data()) + i * row, row);
      to += row;
    }
  return out;
}

Node& node_of(Graph& graph, std::string_view name, std::string_view op_type) {
  Node* found = nullptr;
  std::string others;
  size_t count = 0;
  for_each_node(graph, [&](Node& n) {
    if (n.name == name || (!found && n.output() && n.output()->name() == name)) found = &n;
    if (!op_type.empty() && !n.is(op_type)) return;
    const std::string& label = n.name.empty() ? n.output()->name() : n.name;
    if (count++ < 5) others += fmt::format("{}'{}'", others.empty() ? "" : ", ", label);
  });
  if (!found)
    fail(ErrorCode::not_found, "there is no node '{}'; {} are: {}{}", name,
         op_type.empty() ? std::string("nodes") : fmt::format("nodes {}", op_type),
         others.empty() ? "none" : others, count > 5 ? " ..." : "");
  if (!op_type.empty() && !found->is(op_type))
    fail(ErrorCode::invalid_argument, "node '{}' is a {}, expected {}", name, found->op_type,
         op_type);
  return *found;
}

}  // namespace poprt::passes
