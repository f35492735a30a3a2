// Handles Loop: unrolls it, or leaves it to the device with states of one type.
#include "compiler/flow/specializer.h"

#include <algorithm>

#include "ops/op.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

// Loops that unroll to at most this many nodes are unrolled. Longer ones are unrolled only if the
// device cannot run them.
constexpr int64_t kShortLoop = 512;
// The most rounds that are computed at compile time, and the most rows of scan outputs of a loop
// that may end early. Exporters give a loop without a known count a larger trip count, such as
// INT64_MAX, which no run reaches, so it is no bound of the rows.
constexpr int64_t kMostUnrolled = int64_t{1} << 24, kMostScanRows = kMostUnrolled;

// Returns the trip count if it is constant, or its bound if it depends on data.
std::optional<int64_t> most_rounds(const LoopSpec& loop) {
  const auto most = ops::constant_integer(Item::of(loop.count.value));
  return most ? std::optional(std::max<int64_t>(*most, 0)) : std::nullopt;
}

// Whether the loop runs the round after `index`: `condition` is true, and the loop has not yet run
// `count` rounds. A null condition is true; a null index means that no round has run yet.
Value* more_rounds(ops::FoldingBuilder& build, Value* condition, Value* index, Value* count) {
  Value* next = index ? build.make1("Add", {index, build.integer(1)}) : build.integer(0);
  Value* more = build.newest("Less", {next, build.reshape(count, {})});
  return condition ? build.newest("And", {build.reshape(condition, {}), more}) : more;
}

}  // namespace

// Whether the trip count is replaced by its bound, so that scan outputs have a static length. The
// condition then ends the loop after the actual count.
bool Specializer::bounds_count(const LoopSpec& loop) const {
  return !options_.keep_onnx && loop.scans > 0 && loop.count.actual;
}

// With option max_size for an output of a loop with scan outputs, a trip count that depends on data
// and has no bound, or a larger one, gets this bound, which is checked in each run. Returns whether
// the bound replaces a larger constant trip count, or none: then a run fails if its condition is
// still true after the last round.
bool Specializer::limit_rounds(LoopSpec& loop) {
  const Node& n = *loop.node;
  std::optional<int64_t> most;
  for (const Value* v : n.outputs())
    if (const auto own = max_size_of(*v)) most = std::min(*own, most.value_or(*own));
  if (!most || loop.scans == 0) return false;
  const auto count = ops::constant_integer(loop.count);  // the bound if it depends on data
  if (count && *count <= *most) return false;
  if (loop.count.actual || (loop.count.kind != Item::Kind::none && !count)) {
    Value* const trips =
        build_.reshape(loop.count.actual ? loop.count.actual : loop.count.value, {});
    const std::string name = n.name.empty() ? n.output()->name() : n.name;
    loop.count = Item::of(build_.integer(*most));
    loop.count.actual = checked_size(trips, *most, name, true);
    loop.count.least = build_.integer(0);
    return false;
  }
  loop.count = Item::of(build_.integer(*most));
  return true;
}

Items Specializer::iterate(Resolver& node, LoopSpec loop) {
  const Node& n = *loop.node;
  const LoopSpec whole = loop;
  const bool limited = limit_rounds(loop);
  const auto condition = loop.condition.kind == Item::Kind::none
                             ? std::optional<int64_t>(1)
                             : ops::constant_integer(loop.condition);
  auto count = ops::constant_integer(whole.count);
  if (condition && *condition == 0) count = 0;
  const bool endless = whole.count.kind == Item::Kind::none;
  const int64_t short_rounds = kShortLoop / std::max<int64_t>(loop.body_nodes, 1);
  const bool unrollable = condition && (count || endless);
  if (unrollable && count && *count > 0 && *count <= short_rounds && !long_loops_.contains(&n)) {
    const size_t before = build_.target().node_count(), ranged = ranged_.size();
    if (auto results = unroll(node, whole, count, kShortLoop)) return *results;
    discard_attempt(n, before, ranged);
  }
  std::string why;
  const size_t ranged = ranged_.size();
  try {
    return loop_on_device(node, loop, limited);
  } catch (const Error& e) {
    forget_ranges(ranged);
    if (!unrollable || e.code() == ErrorCode::resource_exhausted) throw;
    why = e.message();
  }
  if (auto results = unroll(node, whole, count, kMaxNodes)) return *results;
  node.fail_at(ErrorCode::unimplemented, "it can neither be unrolled nor run as it is: {}", why);
}

// Removes the nodes of an attempt to unroll. Nodes with state would run although they have no
// readers. Ranges from number `ranged` on belong to the attempt.
void Specializer::discard_attempt(const Node& n, size_t before, size_t ranged) {
  forget_ranges(ranged);
  // Records the failure, because otherwise nested loops would be tried again in every iteration of
  // the outer loops.
  long_loops_.insert(&n);
  Graph& target = build_.target();
  const std::vector<Node*> made = target.nodes();
  build_.forget_made();
  for (size_t i = made.size(); i-- > before;)
    if (std::all_of(made[i]->outputs().begin(), made[i]->outputs().end(),
                    [](const Value* v) { return v->uses().empty(); }))
      target.erase_node(made[i]);
}

// Returns nothing if the condition depends on data, or if the limit is too small.
std::optional<Items> Specializer::unroll(Resolver& node, const LoopSpec& loop,
                                         std::optional<int64_t> count, int64_t limit) {
  Items states = loop.states;
  std::vector<std::vector<Value*>> parts(loop.scans);
  Value* condition = build_.constant(Tensor::scalar(true));
  const int64_t before = build_.made();
  int64_t round = 0;
  for (; !count || round < *count; round++) {
    // Unrolled inner loops may exceed the estimate.
    if (limit < kMaxNodes && build_.made() - before > limit * 4) return std::nullopt;
    if (round > kMostUnrolled || (!count && round > kMaxNodes))
      node.fail_at(ErrorCode::resource_exhausted, "the loop does not end");
    build_.step();
    const Items results = loop.round(build_.integer(round), condition, states);
    for (size_t i = 0; i < states.size(); i++) states[i] = results[1 + i];
    for (size_t i = 0; i < loop.scans; i++)
      parts[i].push_back(
          node.static_tensor(ops::actual_of(results[1 + states.size() + i]), "a scan output"));
    const auto more = ops::constant_integer(results[0]);
    if (!more) return std::nullopt;
    if (*more == 0) {
      round++;
      break;
    }
  }
  for (std::vector<Value*>& p : parts) {
    if (p.empty())
      node.fail_at(ErrorCode::unimplemented, "the shape of a scan output is not known");
    states.push_back(Item::of(build_.stack(p, 0)));
  }
  return states;
}

namespace {

// Makes dimensions unknown that differ between the two types. Returns whether `type` changed.
bool widen(ir::ValueType& type, const ir::ValueType& by) {
  if (!type.has_shape) return false;
  if (!by.has_shape || by.shape.size() != type.shape.size()) {
    type = ir::ValueType{type.dtype, false, {}, {}};
    return true;
  }
  bool changed = false;
  for (size_t d = 0; d < type.shape.size(); d++) {
    if (type.shape[d] == by.shape[d] || type.shape[d] == kUnknownDim) continue;
    type.shape[d] = kUnknownDim;
    changed = true;
  }
  return changed;
}

}  // namespace

// Converts the body for states with `types`, and returns their types after an iteration. If the
// iterations must be counted, an additional state counts them.
Specializer::LoopBody Specializer::loop_body(Resolver& node, const LoopSpec& loop,
                                             const std::vector<ir::ValueType>& types) {
  LoopBody body;
  body.graph = std::make_shared<Graph>("body");
  Graph& sub = *body.graph;
  sub.parent = &build_.target();
  const std::string scope = fmt::format("loop_{}/", build_.next_scope());
  Value* index = sub.add_input(scope + "index", ir::ValueType::of(DType::s64, {}));
  Value* condition = sub.add_input(scope + "condition", ir::ValueType::of(DType::boolean, {}));
  Items states;
  for (const ir::ValueType& type : types)
    states.push_back(Item::of(sub.add_input(scope + "state", type)));
  const ops::FoldingBuilder::Into into(build_, sub);
  Items made = ops::actual_of(loop.round(index, condition, states));
  const auto most = most_rounds(loop);
  for (size_t i = 0; i < types.size(); i++)
    body.ranges.push_back(most && !options_.keep_onnx ? range_after(loop.states[i], states[i].value,
                                                                    made[1 + i].value, *most)
                                                      : std::nullopt);
  if (bounds_count(loop))
    made[0] = Item::of(more_rounds(build_, made[0].value, index, loop.count.actual));
  const auto more = ops::constant_integer(made[0]);
  const auto first = loop.condition.kind == Item::Kind::none
                         ? std::optional<int64_t>(1)
                         : ops::constant_integer(loop.condition);
  // If the first condition is false, the trip count becomes 0.
  body.ends_early = !first || (!(more && *more != 0) && made[0].value != condition);
  std::vector<Value*> results;
  for (const Item& item : made) {
    Value* v = options_.keep_onnx ? node.tensor(item, "a loop result")
                                  : node.static_tensor(item, "a loop result");
    results.push_back(build_.as_output(v));
  }
  node.check_scalar(results[0], DType::boolean, "the condition of the next round");
  for (size_t i = 0; i < types.size(); i++) {
    const ir::ValueType& from = results[1 + i]->type;
    if (from.dtype != types[i].dtype || (!options_.keep_onnx && from.shape != types[i].shape))
      node.fail_at(ErrorCode::unimplemented, "a state changes from {} to {} in a round",
                   ir::type_string(types[i]), ir::type_string(from));
    body.types.push_back(from);
  }
  body.counts = !options_.keep_onnx && loop.scans > 0 && body.ends_early;
  if (body.counts) {
    Value* count = sub.add_input(scope + "count", ir::ValueType::of(DType::s64, {}));
    results.insert(results.begin() + 1 + static_cast<ptrdiff_t>(types.size()),
                   build_.as_output(build_.make1("Add", {count, build_.integer(1)})));
  }
  for (Value* v : results) sub.add_output(v);
  return body;
}

// In a model that stays ONNX, a state whose shape changes between iterations gets unknown
// dimensions.
Specializer::LoopBody Specializer::widened_body(Resolver& node, const LoopSpec& loop,
                                                std::vector<ir::ValueType> types) {
  for (;;) {
    LoopBody body = loop_body(node, loop, types);
    bool changed = false;
    for (size_t i = 0; i < types.size(); i++) changed |= widen(types[i], body.types[i]);
    if (!changed) return body;
  }
}

void Specializer::check_rounds(Resolver& node, const LoopSpec& loop, bool ends_early) const {
  if (options_.keep_onnx || loop.scans == 0) return;
  const bool is_known = !loop.count.actual || bounds_count(loop);
  const auto most = is_known ? most_rounds(loop) : std::nullopt;
  if (!most || (ends_early && *most > kMostScanRows))
    node.fail_at(
        ErrorCode::unimplemented,
        "its scan outputs grow with the trip count, which must be a constant of at most {}; give a "
        "bound of the rounds with option max_size: {}=N",
        kMostScanRows, loop.node->outputs().back()->name());
}

Items Specializer::loop_on_device(Resolver& node, const LoopSpec& loop, bool limited) {
  const Node& n = *loop.node;
  Value* const trips = ops::actual_of(loop.count).value;
  node.check_scalar(trips, DType::s64, "the trip count");
  node.check_scalar(loop.condition.value, DType::boolean, "the condition");
  std::vector<Value*> initial;
  std::vector<ir::ValueType> types;
  for (const Item& item : ops::actual_of(loop.states)) {
    Value* v = options_.keep_onnx ? node.tensor(item, "a loop state")
                                  : node.static_tensor(item, "a loop state");
    initial.push_back(v);
    types.push_back(v->type);
    types.back().symbols.clear();
  }
  const LoopBody body =
      options_.keep_onnx ? widened_body(node, loop, types) : loop_body(node, loop, types);
  check_rounds(node, loop, body.ends_early);
  if (body.counts) initial.push_back(build_.integer(0));
  std::vector<Value*> inputs = {trips, loop.condition.value};
  if (bounds_count(loop)) {
    inputs[0] = build_.reshape(loop.count.value, {});
    inputs[1] = more_rounds(build_, loop.condition.value, nullptr, trips);
  }
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  // A constant false condition allows no iteration.
  if (const auto c = ops::constant_integer(loop.condition); c && *c == 0)
    inputs[0] = build_.integer(0);
  Node* made = build_.target().add_node("Loop", body.counts ? "poprt" : "", inputs,
                                        initial.size() + loop.scans);
  made->name = n.name.empty() ? n.output()->name() : n.name;
  made->attributes["body"] = body.graph;
  if (limited) made->attributes["limit"] = int64_t{1};
  ops::infer(*made);
  Items out;
  for (size_t i = 0; i < types.size(); i++)
    out.push_back(body.ranges[i] ? in_range(made->output(i), *body.ranges[i])
                                 : Item::of(made->output(i)));
  for (size_t i = 0; i < loop.scans; i++) {
    out.push_back(Item::of(made->output(initial.size() + i)));
    if (options_.keep_onnx) continue;
    node.static_tensor(out.back(), "a scan output");
    if (body.counts) out.back().sized(made->output(initial.size() - 1), 0);
  }
  return out;
}

}  // namespace poprt::compiler
