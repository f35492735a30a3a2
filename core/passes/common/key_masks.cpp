#include "passes/common/key_masks.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "passes/common/attention_scores.h"
#include "passes/common/build.h"
#include "passes/common/constant_cone.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr int64_t kMost = int64_t{1} << 26;  // elements of the largest mask that is examined

// Finds whether a value depends on no graph input, on one (and which), or on several.
class Sources {
 public:
  explicit Sources(const Graph& graph) {
    for (Value* v : graph.inputs())
      if (!v->is_constant()) of_[v] = v;
    for (const Node* n : graph.nodes()) {
      bool any = false, several = false;
      Value* one = nullptr;
      for (const Value* v : n->inputs()) {
        const auto found = of_.find(v);
        if (found == of_.end()) continue;
        several |= !found->second || (any && found->second != one);
        one = found->second;
        any = true;
      }
      for (const Value* v : n->outputs())
        if (any) of_[v] = several ? nullptr : one;
    }
  }
  Value* only(const Value* v) const {
    const auto found = of_.find(v);
    return found == of_.end() ? nullptr : found->second;
  }
  bool several(const Value* v) const {
    const auto found = of_.find(v);
    return found != of_.end() && !found->second;
  }

 private:
  std::unordered_map<const Value*, Value*> of_;
};

bool has_form(const Value* v, const Shape& input) {
  if (!v->type.is_static() || (v->dtype() != DType::boolean && !is_plain_float(v->dtype())))
    return false;
  const Shape& s = v->shape();
  if (s.size() < 3 || s.size() > 5 || element_count(s) > kMost) return false;
  const int64_t queries = s[s.size() - 2];
  return s[0] == input[0] && s.back() == input[1] && (queries == 1 || queries == input[1]);
}

// Returns the nodes that compute `v`, in graph order, or nothing if one cannot be computed here.
std::vector<Node*> cone_of(const Value* v, const std::unordered_map<const Node*, size_t>& order) {
  std::vector<Node*> cone{v->producer()};
  std::unordered_set<const Node*> seen{v->producer()};
  for (size_t i = 0; i < cone.size(); i++) {
    if (!can_be_computed(*cone[i], static_cast<uint64_t>(kMost) * 8)) return {};
    for (const Value* from : cone[i]->inputs())
      if (from && from->producer() && seen.insert(from->producer()).second)
        cone.push_back(from->producer());
  }
  std::ranges::sort(cone, {}, [&](const Node* n) { return order.at(n); });
  return cone;
}

// The result of one trial: `tokens` is the value of the input, `values` the computed value.
class Trial {
 public:
  Trial(const std::vector<double>& tokens, std::vector<double> values, const Shape& shape)
      : tokens_(tokens),
        values_(std::move(values)),
        rows_(shape[0]),
        queries_(shape[shape.size() - 2]),
        keys_(shape.back()) {
    heads_ = static_cast<int64_t>(values_.size()) / (rows_ * queries_ * keys_);
  }

  // Checks the values against the mask. The first trial determines `kept` and `dropped`.
  bool matches(KeyMask& mask, bool first) const {
    if (first && !find_mask_values(mask)) return false;
    for (int64_t r = 0; r < rows_; r++)
      for (int64_t h = 0; h < heads_; h++)
        for (int64_t q = 0; q < queries_; q++)
          for (int64_t k = 0; k < keys_; k++)
            if (at(r, h, q, k) != (keeps(mask.pairs, r, q, k) ? mask.kept : mask.dropped))
              return false;
    return true;
  }

 private:
  bool token(int64_t row, int64_t place) const {
    return tokens_[static_cast<size_t>(row * keys_ + place)] != 0;
  }
  double at(int64_t r, int64_t h, int64_t q, int64_t k) const {
    return values_[static_cast<size_t>(((r * heads_ + h) * queries_ + q) * keys_ + k)];
  }
  bool keeps(bool pairs, int64_t r, int64_t q, int64_t k) const {
    return token(r, k) && (!pairs || token(r, q));
  }
  // Determines `kept` and `dropped`; row 0 of a trial has both kinds of places.
  bool find_mask_values(KeyMask& mask) const {
    int64_t with = 0, without = 0;
    while (with < keys_ && !token(0, with)) with++;
    while (without < keys_ && token(0, without)) without++;
    if (with == keys_ || without == keys_) return false;
    const bool square = queries_ > 1;
    mask.kept = at(0, 0, square ? with : 0, with);
    mask.dropped = at(0, 0, square ? with : 0, without);
    mask.pairs = square && at(0, 0, without, with) != mask.kept;
    return mask.kept != mask.dropped;
  }

  const std::vector<double>& tokens_;
  std::vector<double> values_;
  int64_t rows_, heads_ = 1, queries_, keys_;
};

bool is_key_mask(KeyMask& mask, const std::vector<Node*>& cone) {
  const Shape& shape = mask.input->shape();
  const auto count = static_cast<size_t>(element_count(shape));
  const auto output = cone.back()->outputs();
  const auto which = static_cast<size_t>(std::ranges::find(output, mask.value) - output.begin());
  // The patterns are pseudo-random, so that no shift, reversal or permutation of the places gives
  // the same pattern.
  uint32_t state = 12345;
  for (int trial = 0; trial < 3; trial++) {
    std::vector<double> tokens(count);
    for (double& t : tokens) {
      state = state * 1664525 + 1013904223;
      t = state >> 31;
    }
    tokens[0] = 1;
    tokens[1] = 0;
    const auto made = evaluate(cone, {{mask.input, tensor_of(mask.input->dtype(), shape, tokens)}});
    if (!Trial(tokens, made[which].to_doubles(), mask.value->shape()).matches(mask, trial == 0))
      return false;
  }
  return true;
}

}  // namespace

std::vector<KeyMask> find_key_masks(Graph& graph) {
  std::vector<KeyMask> found;
  const Sources sources(graph);
  const AttentionScores scores(graph);
  const std::vector<Node*> nodes = graph.nodes();
  std::unordered_map<const Node*, size_t> order;
  for (size_t i = 0; i < nodes.size(); i++) order[nodes[i]] = i;
  for (const Node* n : nodes)
    for (Value* v : n->outputs()) {
      Value* input = sources.only(v);
      const auto meets_scores = [&](const ir::Use& use) {
        return scores.at(*use.node) && sources.several(use.node->output());
      };
      if (!input || std::ranges::none_of(v->uses(), meets_scores) || !input->type.is_static() ||
          input->shape().size() != 2 || input->shape()[0] < 1 || input->shape()[1] < 2 ||
          input->dtype() == DType::string || !has_form(v, input->shape()))
        continue;
      const std::vector<Node*> cone = cone_of(v, order);
      KeyMask mask{v, input};
      if (cone.empty() || !is_key_mask(mask, cone)) continue;
      for (const ir::Use& use : v->uses())
        if (meets_scores(use) && scores.drops_keys(*use.node, use.input, mask.kept, mask.dropped))
          mask.uses.push_back(use);
      if (!mask.uses.empty()) found.push_back(std::move(mask));
    }
  return found;
}

Value* plain_key_mask(Node& at, const KeyMask& mask) {
  const Shape& of = mask.value->shape();
  const Shape& places = mask.input->shape();
  Value* tokens = cast_to(at, mask.input, DType::boolean);
  Shape keys(of.size(), 1), queries(of.size(), 1);
  keys[0] = queries[0] = places[0];
  keys.back() = queries[of.size() - 2] = places[1];
  Value* keep = reshaped(at, tokens, keys);
  if (mask.pairs) keep = computed(at, "And", {keep, reshaped(at, tokens, queries)});
  if (mask.value->dtype() == DType::boolean)
    return mask.kept != 0 ? keep : computed(at, "Not", {keep});
  const auto number = [&](const char* what, double value) {
    return add_scalar(at.graph(), mask.value->name() + what, mask.value->dtype(), value);
  };
  return computed(at, "Where",
                  {keep, number("_kept", mask.kept), number("_dropped", mask.dropped)});
}

}  // namespace poprt::passes
