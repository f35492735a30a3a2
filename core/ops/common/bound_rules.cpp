// Rules for sizes that depend on data, shared by several operators (ops/bound.h).
//
// The real part of a tensor is always the first places along one axis. Example: Reshape [2, n, 3]
// -> [2 n, 3] with room for N rows. The real rows are 0 .. n-1 and N .. N+n-1, so they are first
// moved to the front (BoundContext::compacted).
#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "ir/match.h"
#include "ops/axes.h"
#include "ops/bound.h"
#include "ops/common/expansion.h"
#include "ops/common/movement.h"
#include "ops/facts.h"

namespace poprt::ops {

BoundResult bound_in_place(BoundContext& ctx) {
  ctx.refuse_sizes(1);
  return {ctx.in[0].size, ctx.in[0].axis};
}

namespace {

bool is_read(const ir::Value* v) { return !v->uses().empty() || v->graph().is_output(v); }

// Returns the axis of all results to which the sized axis of input 0 is carried, if each place of
// the axis is computed from the same place of input 0 and no other input has these places. Input 0
// gets `more` places in addition to its bound. Results that are not read are ignored. Only along
// axis 0 may the number of a place affect the result: there, operators count from the first sample,
// which is real. Along other axes they may count from the last place, as the causal mask of an
// attention does.
std::optional<size_t> kept_apart(const BoundContext& ctx, int64_t more) {
  std::vector<ir::Value*> values;
  for (const Item& item : ctx.in) values.push_back(item.value);
  const auto graph = isolate(ctx.node, values);
  ir::Node& node = *graph->nodes().front();
  const size_t along = ctx.in[0].axis;
  ir::ValueType type = values[0]->type;
  type.shape[along] += more;
  node.set_input(0, graph->add_input(graph->fresh_name("sized"), type));
  const AxisMap map = axis_map(node);
  std::optional<size_t> axis;
  for (size_t o = 0; o < ctx.node.outputs().size(); o++) {
    if (o > 0 && !is_read(ctx.node.output(o))) continue;
    const auto to = carried_exclusively(map, {0, along}, o);
    if (!to || axis.value_or(*to) != *to) return std::nullopt;
    if (*to != 0 && !is_uniform(map, {o, *to})) return std::nullopt;
    axis = to;
  }
  return axis;
}

// The expansion of a node.
struct Parts {
  std::unique_ptr<ir::Graph> graph;
  std::unordered_map<const ir::Value*, size_t> inputs;  // the input of the node that a value is
  std::vector<size_t> outputs;                          // by output of the graph: that of the node
};

// Returns nothing if there is no expansion with these sizes of the sized axes.
std::optional<Parts> parts_of(const BoundContext& ctx, int64_t (*size)(int64_t bound)) {
  std::vector<ir::Value*> values;
  for (const Item& item : ctx.in) values.push_back(item.value);
  Parts parts{isolate(ctx.node, values), {}, {}};
  ir::Node& node = *parts.graph->nodes().front();
  for (size_t i = 0; i < values.size(); i++) {
    if (!values[i]) continue;
    ir::ValueType type = values[i]->type;
    for (size_t d = 0; d < type.shape.size(); d++)
      if (ctx.in[i].sized_along(d)) type.shape[d] = size(type.shape[d]);
    if (ctx.in[i].size) {
      // Messages about a part name the input of the node.
      const std::string name = ctx.node.input(i)->name();
      if (ir::Value* copy = parts.graph->find(name))
        parts.graph->rename(copy, parts.graph->fresh_name(name));
      node.set_input(i, parts.graph->add_input(name, type));
    }
    parts.inputs.emplace(node.input(i), i);
  }
  for (size_t o = ctx.node.outputs().size(); o-- > 0;)
    if (o == 0 || is_read(ctx.node.output(o)))
      parts.outputs.insert(parts.outputs.begin(), o);
    else
      parts.graph->remove_output(o);
  try {
    if (expand_node(node)) return parts;
  } catch (const Error&) {
    // The caller refuses the node.
  }
  return std::nullopt;
}

// Whether two expansions of one node have the same nodes and constants.
bool same_parts(const ir::Graph& a, const ir::Graph& b) {
  const auto &from = a.nodes(), &to = b.nodes();
  std::unordered_map<const ir::Value*, const ir::Value*> twins;
  for (size_t i = 0; i < a.inputs().size(); i++) twins[a.inputs()[i]] = b.inputs()[i];
  const auto same_value = [&](const ir::Value* x, const ir::Value* y) {
    if (!x || !y) return x == y;
    if (x->is_constant() || y->is_constant())
      return x->is_constant() && y->is_constant() && x->constant().same_as(y->constant());
    return twins.at(x) == y;
  };
  auto at = to.begin();
  for (const ir::Node* n : from) {
    if (at == to.end()) return false;
    const ir::Node* m = *at++;
    if (n->op_type != m->op_type || n->domain != m->domain || !ir::same_attributes(*n, *m) ||
        n->outputs().size() != m->outputs().size() ||
        !std::ranges::equal(n->inputs(), m->inputs(), same_value))
      return false;
    for (size_t o = 0; o < n->outputs().size(); o++) twins[n->output(o)] = m->output(o);
  }
  return at == to.end() && std::ranges::equal(a.outputs(), b.outputs(), same_value);
}

// The rule for an operator whose expansion contains no size, so that the results follow from the
// rules of its nodes. Returns nothing for another operator.
std::optional<BoundResult> bound_by_parts(BoundContext& ctx) {
  const auto is_tensor = [](const Item& item) {
    return item.kind == Item::Kind::none || (item.value && item.value->type.is_static());
  };
  if (!ctx.run_part || !expands(op_of(ctx.node)) || !std::ranges::all_of(ctx.in, is_tensor))
    return std::nullopt;
  const auto parts = parts_of(ctx, [](int64_t bound) { return bound; });
  const auto longer = parts_of(ctx, [](int64_t bound) { return bound + 1; });
  const auto one = parts_of(ctx, [](int64_t) { return int64_t{1}; });
  if (!parts || !longer || !one || !same_parts(*parts->graph, *longer->graph) ||
      !same_parts(*parts->graph, *one->graph))
    return std::nullopt;
  std::unordered_map<const ir::Value*, Item> items;
  for (const auto& [value, input] : parts->inputs) items.emplace(value, ctx.in[input]);
  const auto item_of = [&](const ir::Value* v) {
    if (!v) return Item{};
    const auto known = items.find(v);
    return known != items.end() ? known->second : Item::of(ctx.build.constant(v->constant()));
  };
  for (const ir::Node* n : parts->graph->nodes()) {
    Items in;
    for (const ir::Value* v : n->inputs()) in.push_back(item_of(v));
    Items out = ctx.run_part(*n, std::move(in));
    for (size_t o = 0; o < n->outputs().size(); o++)
      items.insert_or_assign(n->output(o), std::move(out[o]));
  }
  BoundResult result{.results = Items(ctx.node.outputs().size())};
  for (size_t k = 0; k < parts->outputs.size(); k++)
    result.results[parts->outputs[k]] = item_of(parts->graph->outputs()[k]);
  return result;
}

// The axis of the results to which the sized axis of input 0 is carried. It must be carried at two
// sizes of the input, because an operator with a fixed size of its result, such as CenterCropPad,
// carries an axis that happens to have this size.
std::optional<size_t> carried_axis(const BoundContext& ctx) {
  for (size_t i = 1; i < ctx.in.size(); i++)
    if (ctx.in[i].size) return std::nullopt;
  const auto axis = kept_apart(ctx, 0);
  return axis && kept_apart(ctx, 1) == axis ? axis : std::nullopt;
}

}  // namespace

BoundResult bound_unstated(BoundContext& ctx) {
  if (facts_of(ctx.node).per_element) return bound_elementwise(ctx);
  if (std::ranges::none_of(ctx.in, [](const Item& item) { return item.size != nullptr; }))
    return {};
  if (ctx.in[0].size)
    if (const auto axis = carried_axis(ctx)) return {ctx.in[0].size, *axis};
  if (auto result = bound_by_parts(ctx)) return std::move(*result);
  ctx.refuse_sizes(1);
  return ctx.refuse_sizes();
}

// The rule for elementwise operators with an operand `twins` that is real along two axes up to one
// size. The other operands broadcast, or have that size along one or both of these axes.
BoundResult bound_twins(BoundContext& ctx, const Item& twins, size_t rank) {
  const size_t shift = rank - twins.value->shape().size();
  const size_t axes[] = {twins.axis + shift, *twins.twin + shift};
  for (const Item& item : ctx.in) {
    if (!item.size) continue;
    const Shape& shape = item.value->shape();
    if (!same_size(item.size, twins.size)) ctx.refuse_size(item);
    for (size_t d = 0; d < shape.size(); d++) {
      if (!item.sized_along(d)) continue;
      const size_t at = d + rank - shape.size();
      if (std::ranges::count(axes, at) == 0 || shape[d] != twins.value->shape()[at - shift])
        ctx.refuse_size(item);
    }
  }
  return {twins.size, axes[0], axes[1]};
}

BoundResult bound_elementwise(BoundContext& ctx) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const auto takes_part = [&](size_t i) {
    return in[i].kind == Item::Kind::tensor && in[i].value->type.is_static() &&
           !in_mask(facts_of(n).type_inputs, i);
  };
  size_t rank = 0;
  for (size_t i = 0; i < in.size(); i++)
    if (takes_part(i)) rank = std::max(rank, in[i].value->shape().size());
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].twin && takes_part(i)) return bound_twins(ctx, Item(in[i]), rank);
  std::optional<size_t> axis;
  for (size_t i = 0; i < in.size(); i++) {
    if (!in[i].size || !takes_part(i)) continue;
    const size_t at = in[i].axis + rank - in[i].value->shape().size();
    if (axis.value_or(at) != at) ctx.refuse_size(in[i]);
    axis = at;
  }
  if (!axis) return {};
  std::vector<AxisSize> all;
  for (size_t i = 0; i < in.size(); i++) {
    if (!takes_part(i)) continue;
    const Shape& shape = in[i].value->shape();
    if (shape.size() + *axis < rank) continue;
    const int64_t room = shape[*axis + shape.size() - rank];
    if (in[i].size || room != 1) all.push_back({in[i].size, room});
  }
  const AxisSize common = ctx.broadcast_size(all);
  for (size_t i = 0; i < in.size(); i++)
    if (in[i].size && takes_part(i)) in[i].value = ctx.broadcast_to(in[i], common);
  return {common.size, *axis};
}

BoundResult bound_reduced(BoundContext& ctx, std::vector<int64_t> axes, const Tensor& filling) {
  const ir::Node& n = ctx.node;
  Items& in = ctx.in;
  const Item x = in[0];
  const size_t rank = x.value->shape().size();
  if (axes.empty() && n.int_attr("noop_with_empty_axes", 0) != 0) return {x.size, x.axis};
  if (axes.empty())
    for (size_t d = 0; d < rank; d++) axes.push_back(static_cast<int64_t>(d));
  const auto at = static_cast<int64_t>(x.axis);
  if (std::find(axes.begin(), axes.end(), at) != axes.end()) {
    in[0].value = ctx.filled(x, filling);
    return {};
  }
  size_t axis = x.axis;
  if (n.int_attr("keepdims", 1) == 0)
    for (const int64_t a : axes) axis -= a < at;
  return {x.size, axis};
}

// If an element of `to` is the size of x itself, the result keeps the sized axis of x there
// (`kept`), and at most one other extent may be unknown.
BoundResult bound_reshape(BoundContext& ctx, const Item& x, std::vector<Extent> to) {
  const Shape& from = x.value->shape();
  const int64_t outer = partial_product(from, 0, x.axis), bound = from[x.axis];
  const int64_t inner = partial_product(from, x.axis + 1, from.size());
  Shape shape;
  std::vector<size_t> unknown;
  std::optional<size_t> kept;
  for (size_t k = 0; k < to.size(); k++) {
    const bool itself = to[k].actual && same_size(to[k].actual, x.size);
    if (itself && !kept && partial_product(shape, 0, k) == outer && unknown.empty()) kept = k;
    if ((to[k].actual || to[k].most == -1) && kept != k) unknown.push_back(k);
    shape.push_back(kept == k ? bound : to[k].most);
  }
  if (unknown.size() > 1) ctx.refuse_shape(1);
  const auto without = [&](size_t k) {
    return partial_product(shape, 0, k) * partial_product(shape, k + 1, shape.size());
  };
  if (kept) {
    if (unknown.empty() || bound == 0) {
      for (const size_t k : unknown) shape[k] = 0;
      return {.size = x.size, .axis = *kept, .whole = ctx.build.reshape(x.value, shape)};
    }
    const int64_t known = without(unknown[0]);
    shape[unknown[0]] = known == 0 ? 0 : element_count(from) / known;
    return {.size = x.size, .axis = *kept, .whole = ctx.build.reshape(x.value, shape)};
  }
  if (unknown.empty()) {  // the real part has exactly that many elements
    const int64_t count = element_count(shape);
    if (count > element_count(from)) ctx.refuse_size(x);
    Item flat = ctx.compacted(x);
    flat.value = ctx.build.reshape(flat.value, {element_count(from)});
    return {.whole = ctx.build.reshape(ctx.with_bound(flat, count), shape)};
  }
  const size_t k = unknown[0];
  const int64_t before = partial_product(shape, 0, k),
                after = partial_product(shape, k + 1, shape.size());
  if (before == outer && after == inner) {
    shape[k] = bound;
    return {.size = x.size, .axis = k, .whole = ctx.build.reshape(x.value, shape)};
  }
  const int64_t known = before * after, all = element_count(from);
  shape[k] = known == 0 ? 0 : all / known;
  Item rows = ctx.compacted(x);
  ir::Value* size = rows.size;
  if (known == 0)
    return {.size = ctx.build.integer(0), .axis = k, .whole = ctx.build.reshape(x.value, shape)};
  if (inner != known) {
    const int64_t common = std::gcd(inner, known);
    if (inner != common) size = ctx.build.size_of("Mul", size, ctx.build.integer(inner / common));
    if (known != common) size = ctx.build.size_of("Div", size, ctx.build.integer(known / common));
  }
  Item flat = Item::of(ctx.build.reshape(rows.value, {all}));
  flat.sized(size, 0);
  flat = Item::of(ctx.with_bound(flat, shape[k] * known));
  if (before == 1 || shape[k] == 0)
    return {.size = size, .axis = k, .whole = ctx.build.reshape(flat.value, shape)};
  // Row (o, j) of the result is row o * size + j of the real part.
  ir::Value* places_of_rows = ctx.build.indices(before * shape[k]);
  ir::Value* row = ctx.build.newest(
      "Add",
      {ctx.build.newest(
           "Mul", {ctx.build.newest("Div", {places_of_rows, ctx.build.integer(shape[k])}), size}),
       ctx.build.newest("Mod", {places_of_rows, ctx.build.integer(shape[k])})});
  row = ctx.build.newest("Min", {row, ctx.build.integer(before * shape[k] - 1)});
  Item spread = Item::of(ctx.build.reshape(flat.value, {before * shape[k], after}));
  spread.axis = 0;
  return {.size = size, .axis = k, .whole = ctx.build.reshape(ctx.gathered(spread, row), shape)};
}

}  // namespace poprt::ops
