// Inputs: logits [.., experts], expert_bias f32 [experts], projection_weight? [experts, width]
// (then logits are activations [tokens, width]). Outputs: router_probs? [tokens, experts],
// selection_scores? (s + bias) and router_weights? (s), f32 [tokens, experts].
//
// s = sigmoid(logits) selects: the topk_group groups whose best group_topk values of s + bias have
// the greatest sum, then the top_k experts of these groups with the greatest s + bias. router_probs
// is log(max(s, 1e-20)) of the selected experts and router_sentinel elsewhere.
#include <algorithm>
#include <limits>

#include "ir/newest.h"
#include "ops/common/expansion.h"

namespace poprt::ops::microsoft_moe_group_router_op {
namespace {

constexpr double kLeast = 1e-20;  // of s in the logarithm

struct Sizes {
  int64_t tokens, experts, groups, active_groups, group_top, top;
};

// bool [tokens, count]: true at `places` [tokens, k].
ir::Value* marked(Expansion& e, ir::Value* places, int64_t tokens, int64_t count) {
  const Shape shape = e.shape_of(places);
  ir::Value* zeros = e.expand(e.number(DType::s32, 0), {tokens, count});
  ir::Value* ones = e.expand(e.number(DType::s32, 1), shape);
  return e.cast(e.newest("ScatterElements", {zeros, places, ones}, {{"axis", int64_t{1}}}),
                DType::boolean);
}

ir::Value* top_places(Expansion& e, ir::Value* v, int64_t count) {
  return e.add_node("TopK", ir::kNewestDomain, {v, e.ints({count})}, {{"axis", int64_t{1}}}, 2)
      ->output(1);
}

// The scores [tokens, experts] with -infinity for experts outside the active groups.
ir::Value* within_groups(Expansion& e, ir::Value* scores, const Sizes& s) {
  if (s.active_groups == s.groups) return scores;
  const int64_t size = s.experts / s.groups;
  ir::Value* grouped = e.reshape(scores, {s.tokens, s.groups, size});
  ir::Value* best = e.add_node("TopK", ir::kNewestDomain, {grouped, e.ints({s.group_top})},
                               {{"axis", int64_t{2}}}, 2)
                        ->output(0);
  ir::Value* sums = e.newest("ReduceSum", {best, e.ints({2})}, {{"keepdims", int64_t{0}}});
  ir::Value* active = e.reshape(marked(e, top_places(e, sums, s.active_groups), s.tokens, s.groups),
                                {s.tokens, s.groups, 1});
  ir::Value* hidden = e.number(DType::f32, -std::numeric_limits<double>::infinity());
  return e.reshape(e.add("Where", {active, grouped, hidden}), {s.tokens, s.experts});
}

Sizes sizes_of(Expansion& e, int64_t tokens, int64_t experts) {
  const ir::Node& n = e.node;
  Sizes s{tokens,
          experts,
          n.int_attr("n_group", 1),
          n.int_attr("topk_group", 1),
          n.int_attr("group_topk", 1),
          n.int_attr("top_k", 0)};
  e.check(s.groups > 0 && experts % s.groups == 0, "n_group must divide the number of experts");
  e.check(s.active_groups > 0 && s.active_groups <= s.groups, "topk_group must be in 1 to n_group");
  e.check(s.group_top > 0, "group_topk must be positive");
  s.group_top = std::min(s.group_top, experts / s.groups);
  e.check(s.top > 0 && s.top <= experts / s.groups * s.active_groups,
          "top_k must be positive and at most the number of experts in the active groups");
  return s;
}

void expand(Expansion& e) {
  const Shape shape = e.shape(0);
  e.check(!shape.empty() && shape.back() > 0, "logits must be [.., experts]");
  ir::Value* logits =
      e.reshape(e.cast(e.in(0), DType::f32), {element_count(shape) / shape.back(), shape.back()});
  if (e.has(2)) logits = e.add("MatMul", {logits, e.swap_last_two(e.cast(e.in(2), DType::f32))});
  const int64_t tokens = e.shape_of(logits)[0], experts = e.shape_of(logits)[1];
  e.check(e.shape(1) == Shape{experts}, "expert_bias must have an element for each expert");
  const Sizes s = sizes_of(e, tokens, experts);
  ir::Value* weights = e.add("Sigmoid", {logits});
  ir::Value* scores = e.add("Add", {weights, e.cast(e.in(1), DType::f32)});
  e.out(1, scores);
  e.out(2, weights);
  if (!e.wants(0)) return;
  ir::Value* chosen = marked(e, top_places(e, within_groups(e, scores, s), s.top), tokens, experts);
  ir::Value* logs = e.add("Log", {e.add("Max", {weights, e.number(DType::f32, kLeast)})});
  const auto sentinel = static_cast<double>(e.node.float_attr("router_sentinel", -10000));
  e.out(0, e.cast(e.add("Where", {chosen, logs, e.number(DType::f32, sentinel)}), e.dtype(0)));
}

}  // namespace
}  // namespace poprt::ops::microsoft_moe_group_router_op

POPRT_EXPANSION_WITH_FACTS(microsoft_moe_group_router_op, "com.microsoft", "MoEGroupRouter", expand,
                           .trial = {"T[4,4]; f32[4]", "top_k = 2"})
