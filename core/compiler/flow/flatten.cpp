#include <algorithm>
#include <unordered_set>
#include <vector>

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

// Moves the nodes of `body` before `at`. Returns the values that replace its outputs.
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

// Whether the result of an If is never read if its condition selects the branch that returns `v`.
// The result of the other branch can then replace it.
bool is_unspecified(const Value* v) {
  return v->producer() && ops::facts_of(*v->producer()).marker == ops::Marker::unspecified;
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
           "{}: its branches return {} and {}; both must have one static type, or the condition "
           "must be constant",
           n.describe(), type_string(inputs[1]->type), type_string(inputs[2]->type));
    Node* select = mark(n, "Select", inputs, 1);
    select->output()->type = inputs[1]->type;
    n.graph().replace_all_uses(n.output(i), select->output());
  }
  n.graph().erase_node(&n);
}

// The loop's state values that `of` may share bytes with.
std::unordered_set<const Value*> roots_of(const Value* of) {
  std::unordered_set<const Value*> roots, seen;
  std::vector<const Value*> open = {of};
  while (!open.empty()) {
    const Value* v = open.back();
    open.pop_back();
    if (!seen.insert(v).second) continue;
    const Node* p = v->producer();
    if (!p || ops::facts_of(*p).marker == ops::Marker::loop_begin) {
      roots.insert(v);
    } else if (!p->input(0)) {
      continue;
    } else if (is_contiguous_concat(*p)) {
      open.insert(open.end(), p->inputs().begin(), p->inputs().end());
    } else if (is_contiguous_split(*p) || ops::op_of(*p).sharing.view) {
      open.push_back(p->input(0));
    }
  }
  return roots;
}

// Whether `v` has the bytes of `state`, possibly with another shape. A value composed of its parts
// does not.
bool is_view_of(const Value* v, const Value* state) {
  while (v != state) {
    const Node* p = v->producer();
    if (!p || !p->input(0) || !ops::op_of(*p).sharing.view) return false;
    v = p->input(0);
  }
  return true;
}

// Replaces one Loop by LoopBegin, the nodes of its body and LoopEnd. Values that change between
// iterations are outputs of LoopBegin. LoopEnd specifies which values move there for the next
// iteration.
class LoopFlattener {
 public:
  explicit LoopFlattener(Node& n) : n_(n), graph_(n.graph()), body_(subgraph(n, "body")) {}

  void run() {
    check_interface();
    read_condition();
    read_count();
    begin_loop();
    end_loop(move_nodes(*body_, n_));
    for (size_t i = 0; i < n_.outputs().size(); i++)
      graph_.replace_all_uses(n_.output(i), moves_[i + (changes_ ? 1 : 0)].to);
    graph_.erase_node(&n_);
  }

 private:
  // A move from a body output to an output of LoopBegin.
  struct Move {
    size_t result;
    Value* to;
  };

  void check_interface() {
    states_ = n_.inputs().size() < 2 ? 0 : n_.inputs().size() - 2;
    scans_ = n_.outputs().size() - states_;
    if (body_->inputs().size() != states_ + 2 || body_->outputs().size() != states_ + scans_ + 1)
      fail(ErrorCode::invalid_argument,
           "{}: its body has {} inputs and {} outputs, expected {} and {}", n_.describe(),
           body_->inputs().size(), body_->outputs().size(), states_ + 2, states_ + scans_ + 1);
  }

  // The condition is tested only if it can become false.
  void read_condition() {
    const Value* result = body_->outputs()[0];
    while (result->producer() &&
           ops::facts_of(*result->producer()).source == ops::ElementSource::itself)
      result = result->producer()->input(0);
    const auto is_true = [](const Value* v) {
      return !v || (v->is_constant() && v->constant().to_int64s() == std::vector<int64_t>{1});
    };
    const bool kept = result == body_->inputs()[1];  // returned unchanged
    changes_ = !kept && !is_true(result);
    if (changes_ || !is_true(n_.input(1))) {
      tested_ = true;
      test_ = n_.input(1);
    }
    if (changes_ && !test_) test_ = graph_.add_constant("", Tensor::scalar(true));
  }

  void read_count() {
    count_ = n_.input(0);
    if (!count_ || !count_->is_constant()) return;
    const auto values = count_->constant().to_int64s();
    if (values.size() != 1)
      fail(ErrorCode::invalid_argument, "{}: its trip count is not a scalar", n_.describe());
    most_ = std::max<int64_t>(values[0], 0);
    count_ = nullptr;
  }

  void begin_loop() {
    std::vector<Value*> inputs = {count_, test_};
    for (size_t i = 0; i < states_; i++) inputs.push_back(n_.input(2 + i));
    Node* begin = mark(n_, "LoopBegin", inputs, 1 + changes_ + states_ + scans_);
    begin->set_inputs(inputs);
    // A loop without a trip count whose condition no round changes runs no round or never ends.
    // With `limit` and 0 rounds, a run fails if the condition is true.
    const bool endless = !changes_ && !count_ && most_ == program::kEveryRound;
    begin->attributes["most"] = endless ? 0 : most_;
    if (endless || n_.int_attr("limit", 0) != 0) begin->attributes["limit"] = int64_t{1};
    begin->attributes["condition"] = int64_t{changes_};
    begin->attributes["clear"] = int64_t{tested_ || count_};
    size_t o = 0;
    index_ = begin->output(o++);
    index_->type = ir::ValueType::of(DType::s64, {});
    body_->replace_all_uses(body_->inputs()[0], index_);
    Value* condition = test_;
    if (changes_) {
      condition = begin->output(o++);
      condition->type = ir::ValueType::of(DType::boolean, test_->shape());
      moves_.push_back({0, condition});
    }
    if (!condition) condition = graph_.add_constant("", Tensor::scalar(true));
    body_->replace_all_uses(body_->inputs()[1], condition);
    for (size_t i = 0; i < states_; i++) {
      Value* state = begin->output(o++);
      state->type = body_->inputs()[2 + i]->type;
      body_->replace_all_uses(body_->inputs()[2 + i], state);
      moves_.push_back({1 + i, state});
    }
    first_scan_ = moves_.size();
    for (size_t i = 0; i < scans_; i++) {
      Value* whole = begin->output(o++);
      whole->type = n_.output(states_ + i)->type;
      moves_.push_back({1 + states_ + i, whole});
    }
  }

  void check_types(const Move& move, const Value* from, bool part) const {
    const Shape& whole = move.to->shape();
    const Shape row = part ? Shape(whole.begin() + 1, whole.end()) : whole;
    if (!from->type.is_static() || from->dtype() != move.to->dtype() ||
        element_count(from->shape()) != element_count(row) ||
        (move.result != 0 && from->shape() != row))
      fail(ErrorCode::unimplemented,
           "{}: its body returns {} but the loop state is {}; both must have one static type",
           n_.describe(), type_string(from->type), type_string(move.to->type));
  }

  void end_loop(const std::vector<Value*>& results) {
    std::vector<Value*> ends = {index_};
    std::vector<int64_t> stage;
    int64_t copied = 0;
    for (size_t i = 0; i < moves_.size(); i++) {
      const Move& move = moves_[i];
      Value* from = results[move.result];
      const bool part = i >= first_scan_;
      check_types(move, from, part);
      if (!part) {
        if (is_view_of(from, move.to)) continue;  // the value does not change
        const std::unordered_set<const Value*> roots = roots_of(from);
        // Moves are delayed if another move would overwrite their source.
        if (std::any_of(moves_.begin(), moves_.end(),
                        [&](const Move& m) { return roots.contains(m.to); }))
          stage.push_back(copied);
        copied++;
      }
      ends.push_back(from);
      ends.push_back(move.to);
    }
    // The device reads the condition before every iteration, so it must live until the loop ends.
    if (test_ && !changes_) ends.push_back(test_);
    Node* end = mark(n_, "LoopEnd", ends);
    end->attributes["states"] = copied;
    end->attributes["stage"] = stage;
  }

  Node& n_;
  Graph& graph_;
  const std::shared_ptr<Graph> body_;
  size_t states_ = 0, scans_ = 0;
  bool changes_ = false, tested_ = false;
  Value* test_ = nullptr;   // condition before the first iteration; null: true
  Value* count_ = nullptr;  // null: most_ iterations
  int64_t most_ = program::kEveryRound;
  Value* index_ = nullptr;
  std::vector<Move> moves_;
  size_t first_scan_ = 0;
};

void flatten(Graph& graph) {
  for (Node* n : graph.nodes()) {
    const ops::Facts& facts = ops::facts_of(*n);
    if (!facts.passes_types) continue;
    ir::for_each_subgraph(*n, [](Graph& sub) { flatten(sub); });
    facts.runs_rounds ? LoopFlattener(*n).run() : flatten_if(*n);
  }
}

}  // namespace

void flatten_control_flow(Graph& graph) {
  flatten(graph);
  // Removes nodes that were needed only for the interface of a body.
  const std::vector<Node*> nodes = graph.nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const auto out = (*it)->outputs();
    if (!out.empty() && ops::facts_of(**it).marker != ops::Marker::loop_begin &&
        !ops::is_stateful(**it) && std::all_of(out.begin(), out.end(), [&](const Value* v) {
          return v->uses().empty() && !graph.is_output(v);
        }))
      graph.erase_node(*it);
  }
}

}  // namespace poprt::compiler
