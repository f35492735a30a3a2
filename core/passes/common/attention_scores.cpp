#include "passes/common/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/axes.h"
#include "ops/common/evaluate.h"
#include "ops/common/expansion.h"
#include "passes/common/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// A dropped score is at least this much below the other scores: exp(-5000) is 0 in every type.
constexpr double kDroppedBy = 5000;
constexpr double kScores[] = {-4, -0.5, 0, 1, 3.5, 8};
constexpr double kWeights[] = {0, 0.125, 0.25, 0.5, 0.75, 1};

using Labels = std::vector<std::pair<const Node*, size_t>>;

bool keeps_places(const Node& n) {
  const ops::Facts& facts = ops::facts_of(n);
  return (facts.per_element || facts.moves) && n.outputs().size() == 1;
}

// Whether a product with another operand sums over the axis. `labels` receives the nodes that keep
// the places of the axis on the way to the product, each with that axis of its result.
bool is_summed_with_another(const Value* weights, size_t axis, Labels& labels) {
  bool found = false;
  std::unordered_set<const Value*> seen{weights};
  std::vector<std::pair<const Value*, size_t>> open{{weights, axis}};
  while (!open.empty()) {
    const auto [v, keys] = open.back();
    open.pop_back();
    for (const ir::Use& use : v->uses()) {
      const ops::AxisMap map = ops::axis_map(*use.node);
      const ops::InputAxis from{use.input, keys};
      found |= std::ranges::any_of(map.reduced, [&](const auto& group) {
        return group.size() > 1 && std::ranges::count(group, from) > 0;
      });
      const auto to = ops::carried(map, from);
      if (!to || !keeps_places(*use.node)) continue;
      labels.emplace_back(use.node, *to);
      if (seen.insert(use.node->output()).second) open.emplace_back(use.node->output(), *to);
    }
  }
  return found;
}

// Returns the nodes before `scores` that keep the places of keys, each with the axis of keys in its
// result. The search stops at nodes that do not keep the places.
Labels makers_of(const Value* scores, size_t axis) {
  Labels labels;
  std::unordered_set<const Value*> seen{scores};
  std::vector<std::pair<const Value*, size_t>> open{{scores, axis}};
  while (!open.empty()) {
    const auto [v, keys] = open.back();
    open.pop_back();
    const Node* n = v->producer();
    if (!n || !keeps_places(*n)) continue;
    labels.emplace_back(n, keys);
    const ops::AxisMap map = ops::axis_map(*n);
    for (size_t i = 0; i < n->inputs().size(); i++) {
      const auto from = ops::carried_from(map, i, keys);
      if (from && n->input(i) && seen.insert(n->input(i)).second)
        open.emplace_back(n->input(i), *from);
    }
  }
  return labels;
}

// Returns the number to which all elements of a constant are equal, or nothing.
std::optional<double> one_number(const Value* v) {
  if (!v->is_constant() || v->dtype() == DType::string) return std::nullopt;
  const std::vector<double> all = v->constant().to_doubles();
  if (all.empty() || std::ranges::any_of(all, [&](double x) { return x != all[0]; }))
    return std::nullopt;
  return all[0];
}

// Evaluates an elementwise node for one number of the mask and several scores or weights.
class Joint {
 public:
  Joint(const Node& n, size_t mask) : node_(n), mask_(mask) {
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const Value* v = n.input(i);
      if (!v) continue;
      if (i != mask && !v->is_constant()) {
        others_++;
        scores_ = i;
      } else if (i != mask && !one_number(v)) {
        return;
      }
    }
    is_valid_ = others_ == 1 && ops::facts_of(n).per_element && n.outputs().size() == 1;
  }

  bool is_valid() const { return is_valid_; }
  bool joins_truths() const { return node_.input(scores_)->dtype() == DType::boolean; }

  std::vector<double> at(double mask, std::span<const double> scores) const {
    const auto alone = ops::isolate(node_);
    Node* copy = alone->nodes().front();
    std::vector<Tensor> inputs(node_.inputs().size());
    for (size_t i = 0; i < inputs.size(); i++) {
      const Value* v = node_.input(i);
      if (!v) continue;
      const double number = i == mask_ ? mask : i == scores_ ? 0 : *one_number(v);
      const auto count = i == scores_ ? static_cast<int64_t>(scores.size()) : int64_t{1};
      inputs[i] = tensor_of(v->dtype(), {count}, i == scores_ ? scores : std::span(&number, 1));
      copy->set_input(i, alone->add_constant("", inputs[i]));
    }
    copy->output()->type = {};
    ops::infer(*copy);
    return ops::evaluate(*copy, inputs)[0].to_doubles();
  }

 private:
  const Node& node_;
  size_t mask_, scores_ = 0, others_ = 0;
  bool is_valid_ = false;
};

bool lowers_scores(const Joint& joint, double kept, double dropped) {
  const std::vector<double> with = joint.at(kept, kScores), without = joint.at(dropped, kScores);
  for (size_t i = 0; i < with.size(); i++) {
    constexpr double kRounding = 0.05;
    const double shift = (with[i] - with[0]) - (kScores[i] - kScores[0]);
    if (!(std::abs(shift) < kRounding)) return false;
  }
  return *std::ranges::min_element(with) - *std::ranges::max_element(without) >= kDroppedBy;
}

bool clears_weights(const Joint& joint, double kept, double dropped) {
  return std::ranges::equal(joint.at(kept, kWeights), kWeights) &&
         std::ranges::all_of(joint.at(dropped, kWeights), [](double w) { return w == 0; });
}

}  // namespace

AttentionScores::AttentionScores(const Graph& graph) {
  for (const Node* n : graph.nodes()) {
    if (!n->is("Softmax")) continue;
    const std::vector<size_t> mixed = ops::mixed_axes(ops::axis_map(*n), 0);
    Labels weights;
    if (mixed.size() != 1 || !is_summed_with_another(n->output(), mixed[0], weights)) continue;
    for (const auto& [node, axis] : makers_of(n->input(0), mixed[0]))
      places_.try_emplace(node, Place{axis, false});
    for (const auto& [node, axis] : weights) places_.try_emplace(node, Place{axis, true});
  }
}

std::optional<AttentionScores::Place> AttentionScores::at(const Node& node) const {
  const auto found = places_.find(&node);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

bool AttentionScores::drops_keys(const Node& node, size_t input, double kept,
                                 double dropped) const {
  struct Reader {
    const Node* node;
    size_t input;
    double kept, dropped;
  };
  std::vector<Reader> open{{&node, input, kept, dropped}};
  // The readers that were found, each with its number `dropped`; `kept` is 1 - `dropped`.
  std::set<std::tuple<const Node*, size_t, double>> seen;
  while (!open.empty()) {
    const Reader r = open.back();
    open.pop_back();
    const auto place = at(*r.node);
    const Joint joint(*r.node, r.input);
    const size_t last = r.node->input(r.input)->shape().size() - 1;
    if (!place || !joint.is_valid() ||
        ops::carried(ops::axis_map(*r.node), {r.input, last}) != place->keys)
      continue;
    if (!joint.joins_truths()) {
      if (place->is_weights ? clears_weights(joint, r.kept, r.dropped)
                            : lowers_scores(joint, r.kept, r.dropped))
        return true;
      continue;
    }
    // If this mask keeps a key, the result is the other mask. Otherwise the other mask has no
    // effect.
    constexpr double kTruths[] = {0, 1};
    const std::vector<double> without = joint.at(r.dropped, kTruths);
    if (!std::ranges::equal(joint.at(r.kept, kTruths), kTruths) || without[0] != without[1])
      continue;
    for (const ir::Use& use : r.node->output()->uses())
      if (seen.emplace(use.node, use.input, without[0]).second)
        open.push_back({use.node, use.input, 1 - without[0], without[0]});
  }
  return false;
}

}  // namespace poprt::passes
