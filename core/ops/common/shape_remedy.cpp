// The remedy for a shape that depends on data, for messages. The rule of the operator is tried with
// bounds of the numbers, so the message advises option max_size only if the rule supports them.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/bound.h"
#include "ops/facts.h"

namespace poprt::ops {

using ir::Node;
using ir::Value;

namespace {

constexpr int64_t kAnyBound = 8, kAnySize = 2;
constexpr int64_t kMostSteps = 1 << 10;

// The element from which element k of `v` follows, also through conversions between integers.
Place source_of(Value* v, int64_t k) {
  for (;;) {
    const Place place = BoundContext::origin_of(v, k);
    const Node* n = place.value->producer();
    if (!n || facts_of(*n).cast != CastForm::to_type || !n->input(0) || !holds_sizes(n->input(0)))
      return place;
    v = n->input(0), k = place.at;
  }
}

// Whether the rule of the operator supports these inputs.
bool is_bounded(const Node& n, const Items& in, FoldingBuilder& build,
                std::optional<int64_t> max_size) {
  const auto rule = op_of(n).bound;
  const bool is_static = std::ranges::all_of(in, [](const Item& item) {
    return item.kind != Item::Kind::tensor || item.value->type.is_static();
  });
  if (!facts_of(n).bounds_shape || !rule || !is_static) return false;
  BoundContext ctx(n, in, build);
  ctx.max_size = max_size;
  ctx.is_trial = true;
  try {
    const BoundResult result = rule(ctx);
    return result.size || result.whole;
  } catch (const Error&) {
    return false;
  }
}

// `shapes` are the inputs of the node with the nodes that compute them, and `in` the same values
// for the trial.
std::string remedy(const Node& n, std::span<Value* const> shapes, const Items& in,
                   FoldingBuilder& build) {
  const std::string constant = "make it constant";
  // Inputs with bounds for the numbers that are unknown, and the values that contain them.
  Items bounded = in;
  std::vector<std::string> names;
  size_t unknown = 0;
  bool has_names = true;
  for (size_t i = 0; i < in.size(); i++) {
    Value* v = shapes[i];
    if (!in_mask(facts_of(n).shape_inputs, i) || !v || v->is_constant() || in[i].actual ||
        !holds_sizes(v))
      continue;
    std::vector<int64_t> least, most;
    for (int64_t k = 0; k < element_count(v->shape()); k++) {
      const Place place = source_of(v, k);
      const bool is_known = place.value->is_constant();
      const int64_t number =
          is_known ? place.value->constant().to_int64s()[static_cast<size_t>(place.at)] : kAnyBound;
      least.push_back(is_known ? number : 0), most.push_back(number);
      if (is_known) continue;
      unknown++;
      const Value* named = !place.value->producer() ? place.value
                           : place.value == v       ? n.input(i)
                                                    : source_of(n.input(i), k).value;
      // The model may not state the types of the values that lead to the source.
      has_names &= place.value == v || named != n.input(i);
      const std::string& name = named->name();
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    const auto numbers = [&](const std::vector<int64_t>& of) {
      return build.reshape(build.integers(of), v->shape());
    };
    bounded[i] = Item::of(numbers(most));
    bounded[i].actual = in[i].value, bounded[i].least = numbers(least);
  }
  const auto with_numbers = [&] {
    return !names.empty() && has_names && is_bounded(n, bounded, build, std::nullopt);
  };
  // A bound of the length also permits numbers that are negative.
  const bool by_number = names.size() == 1 && with_numbers();
  if (!by_number && is_bounded(n, in, build, kAnyBound))
    return fmt::format("{}, or give the largest length with option max_size: {}=N", constant,
                       n.output()->name());
  if (by_number || with_numbers()) {
    std::string words;
    for (const std::string& name : names) words += fmt::format(" {}=N", name);
    return fmt::format("{}, or give {} with option max_size:{}", constant,
                       by_number ? "its largest number" : "the largest numbers", words);
  }
  return unknown > 1 && facts_of(n).bounds_shape
             ? constant + "; at most one dimension of a value may depend on data"
             : constant;
}

}  // namespace

const Value* shape_deciding_input(const Node& n) {
  const Facts& facts = facts_of(n);
  if (facts.shape_inputs == 0) return nullptr;  // most operators
  const auto is_input = [](const Value* v) { return !v->producer() && !v->is_constant(); };
  ir::Graph scratch("limits");
  FoldingBuilder build(scratch, kMostSteps);
  Items in;
  for (Value* v : n.inputs()) in.push_back(Item::of(v));
  const BoundContext ctx(n, in, build);
  for (size_t i = 0; i < n.inputs().size(); i++) {
    Value* v = n.input(i);
    if (!v || v->is_constant() || !in_mask(facts.shape_inputs, i)) continue;
    const Value* x = n.input(0);
    if (facts.shape_limits && x && x->type.has_shape && facts.shape_limits(ctx, i)) continue;
    if (is_input(v)) return v;
    for (int64_t k = 0; holds_sizes(v) && k < element_count(v->shape()); k++)
      if (const Value* source = source_of(v, k).value; is_input(source)) return source;
  }
  return nullptr;
}

std::string BoundContext::shape_remedy() {
  std::vector<Value*> shapes;
  for (const Item& item : in) shapes.push_back(item.value);
  return remedy(node, shapes, in, build);
}

std::string shape_remedy(const Node& n) {
  ir::Graph scratch("remedy");
  for (const ir::Graph* g = &n.graph(); g; g = g->parent)
    for (const auto& [domain, version] : g->opsets) scratch.opsets.emplace(domain, version);
  FoldingBuilder build(scratch, kMostSteps);
  Items in;
  for (const Value* v : n.inputs()) {
    if (!v || v->is_constant()) {
      in.push_back(Item::of(v ? build.constant(v->constant()) : nullptr));
      continue;
    }
    ir::ValueType type = v->type;
    std::ranges::replace_if(type.shape, [](int64_t d) { return d < 0; }, kAnySize);
    in.push_back(Item::of(scratch.add_input("", std::move(type))));
  }
  return remedy(n, n.inputs(), in, build);
}

}  // namespace poprt::ops
