// One step of a beam search.
//
// Inputs: logits [batch, beam_size, vocabulary], log probabilities of the next token; hyp_container
// s32 [batch, length, beam_size], the tokens of each beam so far; prob_container [batch,
// beam_size], the sums of their log probabilities; step s32. Outputs: next_id s32 [batch,
// beam_size]; global_best_id, the places of the best candidates among beam_size x beam_size (the
// tokens, at step 0); and both containers after the step.
//
// At step 0 all beams are the same, so the candidates are the best tokens of the first beam.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_beam_search_op {
namespace {

void expand(Expansion& e) {
  const Shape logits = e.shape(0), hyp = e.shape(1), prob = e.shape(2);
  const int64_t k = e.node.int_attr("beam_size", 0);
  e.check(logits.size() == 3 && k > 0 && logits[1] == k && logits[2] >= k,
          "logits must be [batch, beam_size, vocabulary]");
  const int64_t batch = logits[0];
  e.check(hyp.size() == 3 && hyp[0] == batch && hyp[2] == k,
          "hyp_container must be [batch, length, beam_size]");
  e.check(prob == Shape{batch, k}, "prob_container must be [batch, beam_size]");
  e.check(element_count(e.shape(3)) == 1, "step must be one number");
  const auto best = [&](ir::Value* of) {
    ir::Node* n = e.add_node("TopK", "", {of, e.ints({k})}, {}, 2);
    return std::pair(n->output(0), n->output(1));
  };
  const auto [value, token] = best(e.in(0));  // [batch, beam_size, beam_size]
  const auto first = [&](ir::Value* of) { return e.reshape(e.slice(of, 1, 0, 1), {batch, k}); };
  const Shape flat = {batch, k * k};

  ir::Value* sum = e.reshape(e.add("Add", {value, e.reshape(e.in(2), {batch, k, 1})}), flat);
  const auto [total, place] = best(sum);
  const auto at = [&](ir::Value* of, ir::Value* index, int64_t axis) {
    return e.newest("GatherElements", {of, index}, {{"axis", axis}});
  };
  ir::Value* beam = e.add("Div", {place, e.number(DType::s64, static_cast<double>(k))});
  ir::Value* kept = at(e.in(1), e.expand(e.reshape(beam, {batch, 1, k}), hyp), 2);
  ir::Value* loop_token = at(e.reshape(token, flat), place, 1);

  ir::Value* step = e.cast(e.reshape(e.in(3), {}), DType::s64);
  ir::Value* begins = e.add("Equal", {step, e.number(DType::s64, 0)});
  const auto choose = [&](ir::Value* a, ir::Value* b) { return e.add("Where", {begins, a, b}); };
  const auto type = e.dtype(1);
  ir::Value* next = e.cast(choose(first(token), loop_token), type);
  ir::Value* here = e.add("Equal", {e.reshape(e.iota(hyp[1]), {1, hyp[1], 1}), step});
  e.out(0, next);
  e.out(1, e.cast(choose(first(token), place), type));
  e.out(2, e.add("Where", {here, e.reshape(next, {batch, 1, k}), choose(e.in(1), kept)}));
  e.out(3, e.cast(choose(first(value), total), e.dtype(2)));
}

}  // namespace
}  // namespace poprt::ops::graphcore_beam_search_op

POPRT_EXPANSION_WITH_FACTS(graphcore_beam_search_op, "ai.graphcore", "BeamSearch", expand,
                           .trial = {"T[1,2,4]; s32[1,4,2]; T[1,2]; s32[]", "beam_size = 2"})
