#include "ops/common/expansion.h"

#include <algorithm>

#include "base/checked.h"
#include "base/onnx_dtype.h"
#include "ir/newest.h"
#include "ops/common/op_types.h"
#include "ops/common/scalar.h"

namespace poprt::ops {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

// The opset of nodes in decompositions if the model imports no ai.onnx.
constexpr int64_t kDefaultOpset = 21;

Graph& root_of(Graph& graph) {
  Graph* g = &graph;
  while (g->parent) g = g->parent;
  return *g;
}

int64_t opset_of_onnx(Graph& graph) {
  const auto& opsets = root_of(graph).opsets;
  const auto it = opsets.find("");
  return it != opsets.end() ? it->second : opsets.at("ai.onnx");
}

}  // namespace

Expansion::Expansion(Node& n) : node(n), node_(n), graph_(n.graph()) {
  Graph& root = root_of(graph_);
  if (!root.opsets.contains("ai.onnx")) root.opsets.emplace("", kDefaultOpset);
}

Value* Expansion::in(size_t i) const {
  Value* v = node.input(i);
  if (!v) fail_input("input {} is required and was not given", i);
  return v;
}

const Tensor& Expansion::constant(size_t i) const {
  const Value* v = in(i);
  if (!v->is_constant())
    fail(ErrorCode::failed_precondition, "{}: input {} ('{}') must be a constant", node.describe(),
         i, v->name());
  return v->constant();
}

const Shape& Expansion::shape_of(const Value* v) const {
  check(v != nullptr, "an input is missing that the other inputs require");
  if (!v->type.is_static())
    fail(ErrorCode::failed_precondition, "{}: the shape of '{}' is unknown: {}", node.describe(),
         v->name(), ir::type_string(v->type));
  return v->shape();
}

Node* Expansion::add_node(std::string_view op, std::string_view domain,
                          std::span<Value* const> inputs, Attributes attributes, size_t outputs) {
  std::vector<std::string> names(outputs, node.output(0)->name() + "_" + std::string(op));
  Node* n = graph_.add_node(std::string(op), std::string(domain), inputs, outputs, &node_, names);
  n->name = node.name;
  for (const auto& [key, value] : attributes) n->attributes[std::string(key)] = value;
  infer(*n);
  return n;
}

Node* Expansion::add_node(std::string_view op, std::string_view domain,
                          std::initializer_list<Value*> inputs, Attributes attributes,
                          size_t outputs) {
  return add_node(op, domain, std::span<Value* const>(inputs.begin(), inputs.size()), attributes,
                  outputs);
}

Value* Expansion::add(std::string_view op, std::initializer_list<Value*> inputs,
                      Attributes attributes) {
  const bool known = find_op("", op, opset_of_onnx(graph_)) != nullptr;
  return add_node(op, known ? "" : ir::kNewestDomain, inputs, attributes, 1)->output();
}

Value* Expansion::add_like(std::string_view op, std::initializer_list<Value*> inputs,
                           std::initializer_list<std::string_view> without) {
  const bool known = find_op("", op, opset_of_onnx(graph_)) != nullptr;
  const std::string name = node.output(0)->name() + "_" + std::string(op);
  Node* n = graph_.add_node(std::string(op), known ? "" : std::string(ir::kNewestDomain),
                            std::span<Value* const>(inputs.begin(), inputs.size()), 1, &node_,
                            std::span(&name, 1));
  n->name = node.name;
  for (const auto& [key, value] : node.attributes)
    if (std::find(without.begin(), without.end(), key) == without.end()) n->attributes[key] = value;
  infer(*n);
  return n->output();
}

Value* Expansion::newest(std::string_view op, std::span<Value* const> inputs,
                         Attributes attributes) {
  return add_node(op, ir::kNewestDomain, inputs, attributes, 1)->output();
}

Value* Expansion::newest(std::string_view op, std::initializer_list<Value*> inputs,
                         Attributes attributes) {
  return newest(op, std::span<Value* const>(inputs.begin(), inputs.size()), attributes);
}

Value* Expansion::constant(Tensor tensor) {
  return graph_.add_constant(node.output(0)->name() + "_constant", std::move(tensor));
}

Value* Expansion::ints(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return constant(Tensor::of<int64_t>({n}, std::span<const int64_t>(values)));
}

Value* Expansion::number(DType dtype, double value) {
  return constant(scalar_tensor(dtype, value));
}

Value* Expansion::iota(int64_t count, int64_t first) {
  Tensor t = Tensor::zeros(DType::s64, {count});
  for (int64_t& x : t.mutable_values<int64_t>()) x = first++;
  return constant(std::move(t));
}

Value* Expansion::reshape(Value* v, const Shape& shape) {
  if (v->type.is_static() && v->shape() == shape) return v;
  const bool zeros = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (!zeros && opset_of_onnx(graph_) >= 5) return add("Reshape", {v, ints(shape)});
  return newest("Reshape", {v, ints(shape)}, {{"allowzero", int64_t{1}}});
}

Value* Expansion::transpose(Value* v, const std::vector<int64_t>& perm) {
  return add("Transpose", {v}, {{"perm", perm}});
}

Value* Expansion::swap_last_two(Value* v) {
  std::vector<int64_t> perm(shape_of(v).size());
  for (size_t d = 0; d < perm.size(); d++) perm[d] = static_cast<int64_t>(d);
  check(perm.size() >= 2, "a matrix is expected");
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(v, perm);
}

Value* Expansion::cast(Value* v, DType dtype) {
  if (v->dtype() == dtype) return v;
  if (const auto number = onnx_from_dtype(dtype))
    return add("Cast", {v}, {{"to", int64_t{*number}}});
  fail_unsupported("element type {}", dtype_name(dtype));
}

Value* Expansion::concat(std::span<Value* const> values, int64_t axis) {
  if (values.size() == 1) return values[0];
  return add_node("Concat", "", values, {{"axis", axis}}, 1)->output();
}

Value* Expansion::slice(Value* v, int64_t axis, int64_t begin, int64_t end) {
  const Shape& shape = shape_of(v);
  const int64_t a = normalize_axis(axis, static_cast<int64_t>(shape.size()));
  check(begin >= 0 && begin <= end && end <= shape[static_cast<size_t>(a)],
        "an input is shorter than the attributes require");
  if (begin == 0 && end == shape[static_cast<size_t>(a)]) return v;
  return newest("Slice", {v, ints({begin}), ints({end}), ints({a})});
}

Value* Expansion::expand(Value* v, const Shape& shape) {
  if (v->type.is_static() && v->shape() == shape) return v;
  return newest("Expand", {v, ints(shape)});
}

Value* Expansion::scaled(Value* v, double factor) {
  return factor == 1 ? v : add("Mul", {v, number(v->dtype(), factor)});
}

Value* Expansion::plus(Value* v, double addend) {
  return addend == 0 ? v : add("Add", {v, number(v->dtype(), addend)});
}

Value* Expansion::dequantize(Value* q, Value* scale, Value* zero, int64_t axis) {
  return add("DequantizeLinear", {q, scale, zero}, {{"axis", axis}});
}

Value* Expansion::quantize(Value* x, Value* scale, Value* zero, DType dtype, int64_t axis) {
  if (!zero) zero = constant(Tensor::zeros(dtype, shape_of(scale)));
  return add("QuantizeLinear", {x, scale, zero}, {{"axis", axis}});
}

bool Expansion::wants(size_t i) const {
  const Value* v = node.output(i);
  return v && (!v->uses().empty() || graph_.is_output(v));
}

void Expansion::out(size_t i, Value* value) {
  if (i < node.outputs().size()) results_[i] = value;
}

bool expands(const OpDef& op) { return op.infer == infer_by_expansion; }

void ExpandContext::fail_here() const {
  fail(ErrorCode::internal, "{}: the operator has an expansion and no instructions",
       node.describe());
}

Expansion& expansion_of(LowerContext& ctx) {
  auto* c = dynamic_cast<ExpandContext*>(&ctx);
  if (!c)
    fail(ErrorCode::failed_precondition, "{}: pass expand_operators must run before lowering",
         ctx.node.describe());
  return c->expansion;
}

bool expand_node(Node& node) {
  const OpDef& op = op_of(node);
  if (!expands(op)) return false;
  Graph& graph = node.graph();
  const std::string description = node.describe();
  Expansion e(node);
  for (size_t i = 0; i < node.inputs().size(); i++)
    if (node.input(i)) e.shape_of(node.input(i));
  try {
    const NoExplanations of_parts;
    program::Builder unused;
    ExpandContext context(e, unused);
    op.lower(context);
  } catch (Error& error) {
    if (!error.message().starts_with(description)) error.add_context(description);
    rethrow_explained(error, node);
  }
  for (size_t i = 0; i < node.outputs().size(); i++) {
    if (!e.wants(i)) continue;
    const auto it = e.results_.find(i);
    if (it == e.results_.end()) e.fail_unsupported("output {} is not supported", i);
    Value* to = it->second;
    // A graph output must be computed by a node and must not be another graph output too.
    if (graph.is_output(node.output(i)) && (!to->producer() || graph.is_output(to)))
      to = e.add("Identity", {to});
    graph.replace_all_uses(node.output(i), to);
  }
  graph.erase_node(&node);
  return true;
}

std::unique_ptr<Graph> isolate(const Node& node) { return isolate(node, node.inputs()); }

std::unique_ptr<Graph> isolate(const Node& node, std::span<Value* const> given) {
  auto graph = std::make_unique<Graph>("isolated");
  for (const Graph* g = &node.graph(); g; g = g->parent)
    for (const auto& [domain, version] : g->opsets) graph->opsets.emplace(domain, version);
  std::map<const Value*, Value*> copies;
  std::vector<Value*> inputs;
  for (const Value* v : given) {
    if (!v) {
      inputs.push_back(nullptr);
      continue;
    }
    Value*& copy = copies[v];
    if (!copy)
      copy = v->is_constant() ? graph->add_constant(v->name(), v->constant())
                              : graph->add_input(v->name(), v->type);
    inputs.push_back(copy);
  }
  std::vector<std::string> names;
  for (const Value* v : node.outputs()) names.push_back(v->name());
  Node* n =
      graph->add_node(node.op_type, node.domain, inputs, node.outputs().size(), nullptr, names);
  n->name = node.name;
  n->attributes = node.attributes;
  for (Value* v : n->outputs()) graph->add_output(v);
  return graph;
}

namespace {

bool is_read(const Node& node, size_t output) {
  const Value* v = node.output(output);
  return output == 0 || !v->uses().empty() || v->graph().is_output(v);
}

void infer_outputs(InferContext& ctx, const std::vector<size_t>& wanted) {
  const auto graph = isolate(ctx.node);
  for (size_t i = ctx.node.outputs().size(); i-- > 0;)
    if (std::find(wanted.begin(), wanted.end(), i) == wanted.end()) graph->remove_output(i);
  try {
    expand_node(*graph->nodes().front());
  } catch (const Error& e) {
    if (e.code() == ErrorCode::failed_precondition) return;
    throw;
  }
  for (size_t k = 0; k < wanted.size(); k++) ctx.out(wanted[k], graph->outputs()[k]->type);
}

}  // namespace

void infer_by_expansion(InferContext& ctx) {
  for (const Value* v : ctx.node.inputs())
    if (v && !v->type.is_static()) return;
  std::vector<size_t> all, read;
  for (size_t i = 0; i < ctx.node.outputs().size(); i++) {
    all.push_back(i);
    if (is_read(ctx.node, i)) read.push_back(i);
  }
  // Readers may be added later, but only outputs that are read must be computable.
  try {
    return infer_outputs(ctx, all);
  } catch (const Error&) {
    if (read == all) throw;
  }
  infer_outputs(ctx, read);
  for (const size_t i : all) {
    if (std::ranges::count(read, i) > 0) continue;
    try {
      infer_outputs(ctx, {i});
    } catch (const Error&) {
      // The error is reported if the output is read.
    }
  }
}

}  // namespace poprt::ops
