#include <algorithm>
#include <unordered_set>

#include "compiler/flow/specialize.h"
#include "compiler/memory_plan.h"
#include "ops/common/state.h"
#include "program/control.h"

namespace poprt::compiler {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

std::shared_ptr<Graph> subgraph(Node& n, std::string_view key) {
  const ir::Attribute* a = n.find_attr(key);
  const auto* g = a ? std::get_if<std::shared_ptr<Graph>>(a) : nullptr;
  if (!g) fail(ErrorCode::invalid_argument, "{}: attribute {} is missing", n.describe(), key);
  return *g;
}

// Moves the nodes of `body` in front of `at`; returns what stands for its outputs.
std::vector<Value*> move_nodes(Graph& body, Node& at) {
  Graph& graph = at.graph();
  for (Value* v : body.values())
    if (v->is_constant()) body.replace_all_uses(v, graph.add_constant(v->name(), v->constant()));
  for (Node* n : body.nodes()) {
    std::vector<std::string> names;
    for (const Value* v : n->outputs()) names.push_back(v->name());
    Node* moved =
        graph.add_node(n->op_type, n->domain, n->inputs(), n->outputs().size(), &at, names);
    moved->name = n->name.empty() && !names.empty() ? names[0] : n->name;
    moved->attributes = std::move(n->attributes);
    n->attributes.clear();
    for (size_t i = 0; i < n->outputs().size(); i++) {
      moved->output(i)->type = n->output(i)->type;
      body.replace_all_uses(n->output(i), moved->output(i));
    }
  }
  return body.outputs();
}

Node* mark(Node& at, std::string type, std::span<Value* const> inputs, size_t outputs = 0) {
  Node* n = at.graph().add_node(std::move(type), "poprt", inputs, outputs, &at);
  n->name = at.name.empty() ? at.output()->name() : at.name;
  return n;
}

// When the condition holds, nobody looks at the other branch's result either.
bool is_unspecified(const Value* v) {
  return v->producer() && v->producer()->is("Unspecified", "poprt");
}

void flatten_if(Node& n) {
  Value* const condition[] = {n.input(0)};
  std::vector<Value*> results[2];
  for (int when = 1; when >= 0; when--) {
    const auto branch = subgraph(n, when ? "then_branch" : "else_branch");
    mark(n, "GuardBegin", condition)->attributes["when"] = int64_t{when};
    results[when] = move_nodes(*branch, n);
    mark(n, "GuardEnd", {});
  }
  for (size_t i = 0; i < n.outputs().size(); i++) {
    if (is_unspecified(results[1][i])) {
      n.graph().replace_all_uses(n.output(i), results[0][i]);
      continue;
    }
    Value* const inputs[] = {n.input(0), results[1][i], results[0][i]};
    if (!inputs[1]->type.is_static() || inputs[1]->dtype() != inputs[2]->dtype() ||
        inputs[1]->shape() != inputs[2]->shape())
      fail(ErrorCode::unimplemented,
           "{}: its branches make {} and {}; both must have one static type, or the condition must "
           "be constant",
           n.describe(), type_string(inputs[1]->type), type_string(inputs[2]->type));
    Node* select = mark(n, "Select", inputs, 1);
    select->output()->type = inputs[1]->type;
    n.graph().replace_all_uses(n.output(i), select->output());
  }
  n.graph().erase_node(&n);
}

// Values of the loop's own state that `v` may share its bytes with.
void collect_roots(const Value* v, std::unordered_set<const Value*>& roots) {
  const Node* p = v->producer();
  if (!p || p->is("LoopBegin", "poprt")) {
    roots.insert(v);
    return;
  }
  if (!p->input(0)) return;
  if (is_contiguous_concat(*p)) {
    for (const Value* part : p->inputs()) collect_roots(part, roots);
  } else if (is_contiguous_split(*p) || ops::op_of(*p).sharing.view) {
    collect_roots(p->input(0), roots);
  }
}

void flatten_loop(Node& n) {
  Graph& graph = n.graph();
  const auto body = subgraph(n, "body");
  const size_t states = n.inputs().size() < 2 ? 0 : n.inputs().size() - 2;
  const size_t scans = n.outputs().size() - states;
  if (body->inputs().size() != states + 2 || body->outputs().size() != states + scans + 1)
    fail(ErrorCode::invalid_argument,
         "{}: its body has {} inputs and {} outputs, expected {} and {}", n.describe(),
         body->inputs().size(), body->outputs().size(), states + 2, states + scans + 1);
  // The condition is tested when anything can make it false.
  const Value* result = body->outputs()[0];
  while (result->producer() && result->producer()->is("Identity"))
    result = result->producer()->input(0);
  const auto is_true = [](const Value* v) {
    return !v || (v->is_constant() && v->constant().to_int64s() == std::vector<int64_t>{1});
  };
  const bool kept = result == body->inputs()[1];  // handed through
  const bool changes = !kept && !is_true(result);
  const bool tested = changes || !is_true(n.input(1));
  int64_t most = program::kMaxRounds;
  Value* count = n.input(0);
  if (count && count->is_constant()) {
    const auto values = count->constant().to_int64s();
    if (values.size() != 1)
      fail(ErrorCode::invalid_argument, "{}: its trip count is no scalar", n.describe());
    most = std::clamp<int64_t>(values[0], 0, program::kMaxRounds);
    count = nullptr;
  }

  Value* test = tested ? n.input(1) : nullptr;
  if (changes && !test) test = graph.add_constant("", Tensor::scalar(true));
  std::vector<Value*> inputs = {count, test};
  for (size_t i = 0; i < states; i++) inputs.push_back(n.input(2 + i));
  Node* begin = mark(n, "LoopBegin", inputs, 1 + changes + states + scans);
  begin->set_inputs(inputs);
  begin->attributes["most"] = most;
  begin->attributes["condition"] = int64_t{changes};
  begin->attributes["clear"] = int64_t{tested || count};
  size_t o = 0;
  Value* index = begin->output(o++);
  index->type = ir::ValueType::of(DType::s64, {});
  body->replace_all_uses(body->inputs()[0], index);
  // Pairs of what comes next and where it goes.
  std::vector<std::pair<size_t, Value*>> pairs;  // body output, state
  Value* condition = test;
  if (changes) {
    condition = begin->output(o++);
    condition->type = ir::ValueType::of(DType::boolean, test->shape());
    pairs.emplace_back(0, condition);
  }
  if (!condition) condition = graph.add_constant("", Tensor::scalar(true));
  body->replace_all_uses(body->inputs()[1], condition);
  for (size_t i = 0; i < states; i++) {
    Value* state = begin->output(o++);
    state->type = body->inputs()[2 + i]->type;
    body->replace_all_uses(body->inputs()[2 + i], state);
    pairs.emplace_back(1 + i, state);
  }
  const size_t state_pairs = pairs.size();
  for (size_t i = 0; i < scans; i++) {
    Value* whole = begin->output(o++);
    whole->type = n.output(states + i)->type;
    pairs.emplace_back(1 + states + i, whole);
  }
  const std::vector<Value*> results = move_nodes(*body, n);
  std::vector<Value*> ends = {index};
  std::vector<int64_t> stage;
  int64_t copied = 0;
  for (size_t i = 0; i < pairs.size(); i++) {
    auto [r, to] = pairs[i];
    Value* from = results[r];
    const bool part = i >= state_pairs;
    const Shape row = part ? Shape(to->shape().begin() + 1, to->shape().end()) : to->shape();
    if (!from->type.is_static() || from->dtype() != to->dtype() ||
        element_count(from->shape()) != element_count(row) || (r != 0 && from->shape() != row))
      fail(ErrorCode::unimplemented,
           "{}: its body makes {} where the loop holds {}; both must have one static type",
           n.describe(), type_string(from->type), type_string(to->type));
    std::unordered_set<const Value*> roots;
    collect_roots(from, roots);
    if (!part) {
      if (roots.size() == 1 && roots.contains(to)) continue;  // stays as it is
      // Another copy may overwrite what this one reads.
      if (std::any_of(pairs.begin(), pairs.end(),
                      [&](const auto& p) { return roots.contains(p.second); }))
        stage.push_back(copied);
      copied++;
    }
    ends.push_back(from);
    ends.push_back(to);
  }
  // The device reads the condition before every round: it has to live as long.
  if (test && !changes) ends.push_back(test);
  Node* end = mark(n, "LoopEnd", ends);
  end->attributes["states"] = copied;
  end->attributes["stage"] = stage;
  for (size_t i = 0; i < n.outputs().size(); i++) {
    Value* by = pairs[i + (changes ? 1 : 0)].second;
    graph.replace_all_uses(n.output(i), by);
  }
  graph.erase_node(&n);
}

void flatten(Graph& graph) {
  for (Node* n : graph.nodes()) {
    const bool branch = n->is("If");
    if (!branch && !n->is("Loop")) continue;
    ir::for_each_subgraph(*n, [](Graph& sub) { flatten(sub); });
    branch ? flatten_if(*n) : flatten_loop(*n);
  }
}

}  // namespace

void flatten_control_flow(Graph& graph) {
  flatten(graph);
  // What a body made for its interface only.
  const std::vector<Node*> nodes = graph.nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto out = (*it)->outputs();
    if (!out.empty() && !(*it)->is("LoopBegin", "poprt") && !ops::is_stateful(**it) &&
        std::all_of(out.begin(), out.end(),
                    [&](const Value* v) { return v->uses().empty() && !graph.is_output(v); }))
      graph.erase_node(*it);
  }
}

}  // namespace poprt::compiler
