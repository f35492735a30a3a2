#include "passes/common/rewrite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/float_odd.h"
#include "base/half.h"
#include "ops/op.h"

namespace poprt::passes {

using ir::Graph;
using ir::Node;
using ir::Value;

void for_each_graph(Graph& graph, const std::function<void(Graph&)>& visit) {
  for (Node* n : graph.nodes())
    ir::for_each_subgraph(*n, [&](Graph& sub) { for_each_graph(sub, visit); });
  visit(graph);
}

void for_each_node(Graph& graph, const std::function<void(Node&)>& visit) {
  for_each_graph(graph, [&](Graph& g) {
    for (Node* n : g.nodes()) visit(*n);
  });
}

bool is_used(const Value* value) {
  return !value->uses().empty() || value->graph().is_output(value);
}

Node* sole_producer_of(const Value* value, std::string_view op_type, std::string_view domain) {
  return single_use(value) ? producer_if(value, op_type, domain) : nullptr;
}

namespace {

double rounded(double x, DType half) {
  const float narrow = to_float_odd(x);
  return half == DType::f16 ? to_float(to_f16(narrow)) : to_float(to_bf16(narrow));
}

}  // namespace

bool is_close(double value, double expected, DType dtype) {
  const auto near = [&](double number) {
    return std::abs(value - number) <= 1e-6 * std::abs(number);
  };
  // A graph of f32 may have been converted from f16 or bf16.
  const auto may_be = [&](DType half) { return dtype == half || dtype == DType::f32; };
  return near(expected) || (may_be(DType::f16) && near(rounded(expected, DType::f16))) ||
         (may_be(DType::bf16) && near(rounded(expected, DType::bf16)));
}

bool is_scalar(const Value* value, double expected) {
  const auto s = const_scalar(value);
  return s && is_close(*s, expected, value->dtype());
}

std::optional<std::vector<int64_t>> ints_param(const Node& node, std::string_view attribute,
                                               size_t index) {
  if (node.find_attr(attribute)) return node.ints_attr(attribute);
  if (!node.input(index)) return std::vector<int64_t>{};
  return const_ints(node.input(index));
}

bool same_static_shape(const Value* a, const Value* b) {
  return a->type.is_static() && b->type.is_static() && a->shape() == b->shape();
}

bool is_plain_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

namespace {

template <class T>
void store(Tensor& to, std::span<const double> values) {
  const std::span<T> out = to.mutable_values<T>();
  for (size_t i = 0; i < out.size(); i++) {
    if constexpr (std::is_same_v<T, f16_t>) {
      out[i] = to_f16(to_float_odd(values[i]));
    } else if constexpr (std::is_same_v<T, bf16_t>) {
      out[i] = to_bf16(to_float_odd(values[i]));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
      constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
      out[i] = std::isnan(values[i]) ? T{0}
               : values[i] <= low    ? std::numeric_limits<T>::min()
               : values[i] >= high   ? std::numeric_limits<T>::max()
                                     : static_cast<T>(values[i]);
    } else {
      out[i] = static_cast<T>(values[i]);
    }
  }
}

}  // namespace

Tensor tensor_of(DType dtype, Shape shape, std::span<const double> values) {
  Tensor t = Tensor::zeros(dtype, std::move(shape));
  POPRT_ASSERT(static_cast<size_t>(t.count()) == values.size());
  switch (dtype) {
    case DType::f32: store<float>(t, values); break;
    case DType::f64: store<double>(t, values); break;
    case DType::f16: store<f16_t>(t, values); break;
    case DType::bf16: store<bf16_t>(t, values); break;
    case DType::s8: store<int8_t>(t, values); break;
    case DType::u8: store<uint8_t>(t, values); break;
    case DType::s16: store<int16_t>(t, values); break;
    case DType::u16: store<uint16_t>(t, values); break;
    case DType::s32: store<int32_t>(t, values); break;
    case DType::u32: store<uint32_t>(t, values); break;
    case DType::s64: store<int64_t>(t, values); break;
    case DType::u64: store<uint64_t>(t, values); break;
    case DType::boolean: store<bool>(t, values); break;
    default:
      fail(ErrorCode::internal, "a tensor of {} cannot be made from doubles", dtype_name(dtype));
  }
  return t;
}

Value* add_ints(Graph& graph, std::string name, std::span<const int64_t> values) {
  return graph.add_constant(std::move(name),
                            Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

Value* add_scalar(Graph& graph, std::string name, DType dtype, double value) {
  return graph.add_constant(std::move(name), tensor_of(dtype, {}, std::span(&value, 1)));
}

Node* insert_node(
    Node& at, std::string op_type, std::string domain, std::span<Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes,
    size_t output_count) {
  const std::string name = at.output()->name() + "_" + op_type;
  Node* n = at.graph().add_node(std::move(op_type), std::move(domain), inputs, output_count, &at,
                                std::span(&name, 1));
  n->name = at.name;
  for (const auto& [key, value] : attributes) n->attributes.emplace(key, value);
  ops::infer(*n);
  return n;
}

Node* insert_node(
    Node& at, std::string op_type, std::string domain, std::initializer_list<Value*> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> attributes,
    size_t output_count) {
  return insert_node(at, std::move(op_type), std::move(domain),
                     std::span<Value* const>(inputs.begin(), inputs.size()), attributes,
                     output_count);
}

void erase_if_dead(Node* node) {
  // A worklist is used instead of recursion because chains can be long.
  std::vector<Node*> work{node};
  while (!work.empty()) {
    Node* n = work.back();
    work.pop_back();
    bool used = false;
    for (const Value* v : n->outputs()) used |= is_used(v);
    if (used) continue;
    const std::vector<Value*> reads(n->inputs().begin(), n->inputs().end());
    n->graph().erase_node(n);
    std::vector<Value*> unique;
    for (Value* v : reads)
      if (v && std::find(unique.begin(), unique.end(), v) == unique.end()) unique.push_back(v);
    for (Value* v : unique) {
      if (is_used(v)) continue;
      if (v->producer()) {
        if (std::find(work.begin(), work.end(), v->producer()) == work.end())
          work.push_back(v->producer());
      } else if (v->is_constant() && !v->graph().is_input(v)) {
        v->graph().erase_value(v);
      }
    }
  }
}

void replace_node(Node& node, Value* by) {
  Graph& graph = node.graph();
  Value* old = node.output();
  POPRT_ASSERT(by->producer() && &by->graph() == &graph);
  const std::string name = old->name();
  const bool was_output = graph.is_output(old);
  if (!is_used(old)) {  // then `by` is unused, too; it may be erased with the node that reads it
    erase_if_dead(&node);
    return;
  }
  graph.replace_all_uses(old, by);
  erase_if_dead(&node);
  if (!was_output && !graph.is_output(by)) graph.rename(by, name);
}

bool can_bypass(const Value* value, const Value* by) {
  return !value->uses().empty() || (value->graph().is_output(value) && ir::can_replace(value, by));
}

void redirect(Value* value, Value* by) {
  if (!by->type.has_shape && value->type.has_shape) by->type = value->type;
  if (ir::can_replace(value, by)) {
    value->graph().replace_all_uses(value, by);
  } else {
    const std::vector<ir::Use> uses = value->uses();
    for (const ir::Use& u : uses) u.node->set_input(u.input, by);
  }
}

void bypass(Value* value, Value* by) {
  redirect(value, by);
  if (value->producer()) erase_if_dead(value->producer());
}

namespace {

// The products of a pattern have few factors. The limit keeps the time linear if a pass calls
// factors_of() for each node of a long chain.
constexpr size_t kMostProducts = 64;

Product collect_factors(Value* product, bool root) {
  Product out;
  std::vector<Value*> open{product};  // the last one is the next factor from the left
  for (size_t products = 0; !open.empty();) {
    Value* value = open.back();
    open.pop_back();
    if (const auto s = const_scalar(value)) {
      out.scale *= *s;
      continue;
    }
    const Node* n = (root && value == product) || single_use(value) ? value->producer() : nullptr;
    if (n && products < kMostProducts) {
      if (n->is("Mul")) {
        products++;
        open.push_back(n->input(1));
        open.push_back(n->input(0));
        continue;
      }
      if (const auto divisor = n->is("Div") ? const_scalar(n->input(1)) : std::nullopt;
          divisor && *divisor != 0) {
        products++;
        out.scale /= *divisor;
        open.push_back(n->input(0));
        continue;
      }
    }
    out.factors.push_back(value);
  }
  return out;
}

}  // namespace

Product factors_of(Node& mul) { return collect_factors(mul.output(), true); }

Product factors_of(Value* value) { return collect_factors(value, false); }

}  // namespace poprt::passes
