// Loop: unrolled, or left to the device with states of one type.
#include "compiler/flow/specializer.h"

#include <algorithm>

#include "ops/op.h"
#include "program/control.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

constexpr int64_t kShortLoop = 512;  // nodes of an unrolled loop

}  // namespace

void Specializer::run_loop(const Node& n) {
  const auto body = subgraph(n, "body");
  const Items in = actual_of(items_of(n.inputs()));
  LoopSpec loop{.node = &n};
  if (!in.empty()) loop.count = in[0];
  if (in.size() > 1) loop.condition = in[1];
  if (in.size() > 2) loop.states.assign(in.begin() + 2, in.end());
  const size_t states = loop.states.size();
  if (body->inputs().size() != states + 2 || body->outputs().size() != n.outputs().size() + 1 ||
      n.outputs().size() < states)
    fail_at(n, ErrorCode::invalid_argument, "its body has {} inputs and {} outputs",
            body->inputs().size(), body->outputs().size());
  loop.scans = n.outputs().size() - states;
  loop.body_nodes = node_count(*body);
  loop.round = [&](Value* index, Value* condition, const Items& carried) {
    // Exporters declare them as scalars or as [1].
    Value* const declared = as_declared(*body->inputs()[1], condition);
    Items inputs = {Item::of(as_declared(*body->inputs()[0], index)), Item::of(declared)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Items results = actual_of(run_body(*body, inputs));
    if (results[0].value == declared) results[0].value = condition;  // handed through
    return results;
  };
  const Items results = iterate(loop);
  for (size_t i = 0; i < results.size(); i++) give(n, i, results[i]);
}

Specializer::Items Specializer::iterate(const LoopSpec& loop) {
  const Node& n = *loop.node;
  const auto condition = loop.condition.kind == Item::Kind::none ? std::optional<int64_t>(1)
                                                                 : constant_integer(loop.condition);
  auto count = constant_integer(loop.count);
  if (condition && *condition == 0) count = 0;
  const bool endless = loop.count.kind == Item::Kind::none;
  const int64_t short_rounds = kShortLoop / std::max<int64_t>(loop.body_nodes, 1);
  const bool unrollable = condition && (count || endless);
  if (unrollable && count && *count > 0 && *count <= short_rounds && !long_loops_.contains(&n)) {
    const size_t before = target_->node_count();
    if (auto results = unroll(loop, count, kShortLoop)) return *results;
    // Tried once: nested loops would try again in every round of those around.
    long_loops_.insert(&n);
    // What has a state would run, although nobody reads it.
    const std::vector<Node*> made = target_->nodes();
    once_.erase(target_);
    for (size_t i = made.size(); i-- > before;)
      if (std::all_of(made[i]->outputs().begin(), made[i]->outputs().end(),
                      [](const Value* v) { return v->uses().empty(); }))
        target_->erase_node(made[i]);
  }
  std::string why;
  try {
    return loop_on_device(loop);
  } catch (const Error& e) {
    if (!unrollable || e.code() == ErrorCode::resource_exhausted) throw;
    why = e.message();
  }
  if (auto results = unroll(loop, count, kMaxNodes)) return *results;
  fail_at(n, ErrorCode::unimplemented, "it can neither be unrolled nor run as it is: {}", why);
}

Value* Specializer::as_declared(const Value& input, Value* scalar) {
  const ir::ValueType& type = input.type;
  const bool one = type.has_shape && !type.shape.empty() &&
                   std::all_of(type.shape.begin(), type.shape.end(),
                               [](int64_t d) { return d == 1 || d == kUnknownDim; });
  return one ? reshape(scalar, Shape(type.shape.size(), 1)) : scalar;
}

// Nothing when the condition turns out to depend on data, or the limit is too small.
std::optional<Specializer::Items> Specializer::unroll(const LoopSpec& loop,
                                                      std::optional<int64_t> count, int64_t limit) {
  Items states = loop.states;
  std::vector<std::vector<Value*>> parts(loop.scans);
  Value* condition = constant(Tensor::scalar(true));
  const int64_t before = made_;
  int64_t round = 0;
  for (; !count || round < *count; round++) {
    // Inner loops made it longer than it looked.
    if (limit < kMaxNodes && made_ - before > limit * 4) return std::nullopt;
    if (round > program::kMaxRounds || (!count && round > kMaxNodes))
      fail_at(*loop.node, ErrorCode::resource_exhausted, "the loop does not end");
    step();
    const Items results = loop.round(integer(round), condition, states);
    for (size_t i = 0; i < states.size(); i++) states[i] = results[1 + i];
    for (size_t i = 0; i < loop.scans; i++)
      parts[i].push_back(const_cast<Value*>(
          static_tensor(*loop.node, results[1 + states.size() + i], "a scan output")));
    const auto more = constant_integer(results[0]);
    if (!more) return std::nullopt;
    if (*more == 0) {
      round++;
      break;
    }
  }
  for (std::vector<Value*>& p : parts) {
    if (p.empty())
      fail_at(*loop.node, ErrorCode::unimplemented, "the shape of a scan output is not known");
    states.push_back(Item::of(stack(p, 0)));
  }
  return states;
}

namespace {

// While it lives, `rounds` is multiplied by `factor`.
struct Rounds {
  Rounds(int64_t& r, int64_t factor) : rounds(r), outer(r) { rounds *= factor; }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  ~Rounds() { rounds = outer; }
  int64_t& rounds;
  const int64_t outer;
};

// The type of values of both types: dimensions that are not the same are unknown. Returns whether
// `type` changed.
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

// A body whose states have `types`, and the types that they have after a round. With a count, a
// state after the others counts the rounds.
Specializer::LoopBody Specializer::loop_body(const LoopSpec& loop,
                                             const std::vector<ir::ValueType>& types) {
  const Node& n = *loop.node;
  LoopBody body;
  body.graph = std::make_shared<Graph>("body");
  Graph& sub = *body.graph;
  sub.parent = target_;
  const std::string scope = fmt::format("loop_{}/", scopes_++);
  Value* index = sub.add_input(scope + "index", ir::ValueType::of(DType::s64, {}));
  Value* condition = sub.add_input(scope + "condition", ir::ValueType::of(DType::boolean, {}));
  Items states;
  for (const ir::ValueType& type : types)
    states.push_back(Item::of(sub.add_input(scope + "state", type)));
  const Into into(*this, sub);
  const Items made = loop.round(index, condition, states);
  const auto more = constant_integer(made[0]);
  const auto first = loop.condition.kind == Item::Kind::none ? std::optional<int64_t>(1)
                                                             : constant_integer(loop.condition);
  // A first condition of `false` becomes a trip count of 0.
  body.ends_early = !first || (!(more && *more != 0) && made[0].value != condition);
  std::vector<Value*> results;
  for (const Item& item : made) {
    Value* v = options_.keep_onnx ? tensor(n, item, "a loop result")
                                  : const_cast<Value*>(static_tensor(n, item, "a loop result"));
    results.push_back(own(v));
  }
  scalar_input(n, results[0], DType::boolean, "the condition of the next round");
  for (size_t i = 0; i < types.size(); i++) {
    const ir::ValueType& from = results[1 + i]->type;
    if (from.dtype != types[i].dtype || (!options_.keep_onnx && from.shape != types[i].shape))
      fail_at(n, ErrorCode::unimplemented, "a state changes from {} to {} in a round",
              ir::type_string(types[i]), ir::type_string(from));
    body.types.push_back(from);
  }
  body.counts = !options_.keep_onnx && loop.scans > 0 && body.ends_early;
  if (body.counts) {
    Value* count = sub.add_input(scope + "count", ir::ValueType::of(DType::s64, {}));
    results.insert(results.begin() + 1 + static_cast<ptrdiff_t>(types.size()),
                   own(make1("Add", {count, integer(1)})));
  }
  for (Value* v : results) sub.add_output(v);
  return body;
}

// A model that stays ONNX keeps a state whose shape changes from round to round, with dimensions
// that are unknown.
Specializer::LoopBody Specializer::widened_body(const LoopSpec& loop,
                                                std::vector<ir::ValueType> types) {
  for (;;) {
    LoopBody body = loop_body(loop, types);
    bool changed = false;
    for (size_t i = 0; i < types.size(); i++) changed |= widen(types[i], body.types[i]);
    if (!changed) return body;
  }
}

void Specializer::check_rounds(const LoopSpec& loop, bool ends_early) const {
  if (options_.keep_onnx) return;
  const auto most = constant_integer(loop.count);
  if (most && *most > program::kMaxRounds && !ends_early)
    fail_at(*loop.node, ErrorCode::resource_exhausted, "{} rounds, the device runs at most {}",
            *most, program::kMaxRounds);
  if (loop.scans > 0 && (!most || *most > program::kMaxRounds))
    fail_at(*loop.node, ErrorCode::unimplemented,
            "its scan outputs grow with the trip count, which must be a constant of at most {}",
            program::kMaxRounds);
}

Specializer::Items Specializer::loop_on_device(const LoopSpec& loop) {
  const Node& n = *loop.node;
  scalar_input(n, loop.count.value, DType::s64, "the trip count");
  scalar_input(n, loop.condition.value, DType::boolean, "the condition");
  const auto most = constant_integer(loop.count);
  // Of this loop and those around it, as far as constants tell.
  const int64_t here = std::clamp<int64_t>(most.value_or(1), 1, program::kMaxRounds);
  if (here > program::kMaxRoundsOfRun / rounds_)
    fail_at(n, ErrorCode::resource_exhausted,
            "it and the loops around it run for more than {} rounds", program::kMaxRoundsOfRun);
  const Rounds rounds(rounds_, here);
  std::vector<Value*> initial;
  std::vector<ir::ValueType> types;
  for (const Item& item : loop.states) {
    Value* v = options_.keep_onnx ? tensor(n, item, "a loop state")
                                  : const_cast<Value*>(static_tensor(n, item, "a loop state"));
    initial.push_back(v);
    types.push_back(v->type);
    types.back().symbols.clear();
  }
  const LoopBody body = options_.keep_onnx ? widened_body(loop, types) : loop_body(loop, types);
  check_rounds(loop, body.ends_early);
  if (body.counts) initial.push_back(integer(0));
  std::vector<Value*> inputs = {loop.count.value, loop.condition.value};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  // The rounds that a constant false condition leaves.
  if (const auto c = constant_integer(loop.condition); c && *c == 0) inputs[0] = integer(0);
  Node* node =
      target_->add_node("Loop", body.counts ? "poprt" : "", inputs, initial.size() + loop.scans);
  node->name = n.name.empty() ? n.output()->name() : n.name;
  node->attributes["body"] = body.graph;
  ops::infer(*node);
  Items out;
  for (size_t i = 0; i < types.size(); i++) out.push_back(Item::of(node->output(i)));
  for (size_t i = 0; i < loop.scans; i++) {
    out.push_back(Item::of(node->output(initial.size() + i)));
    if (options_.keep_onnx) continue;
    static_tensor(n, out.back(), "a scan output");
    if (body.counts) out.back().sized(node->output(initial.size() - 1), 0);
  }
  return out;
}

}  // namespace poprt::compiler
