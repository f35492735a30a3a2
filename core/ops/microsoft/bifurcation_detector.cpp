// Inputs: src_tokens [S], cur_tokens [C], prev_suffix_match_idx (one number), pred_tokens?
// [S + 1 - prev_suffix_match_idx]. Outputs: tokens, suffix_match_idx.
//
// The first output is cur_tokens, followed by pred_tokens up to the first one that differs from
// src_tokens from prev_suffix_match_idx on (inclusive). The second one is the end of the last
// n-gram of the first output in src_tokens, for the greatest n from min_ngram_size to
// max_ngram_size that occurs, if it occurs once; otherwise it is -1.
#include "ops/bound.h"
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/cost_special.h"

namespace poprt::ops::microsoft_bifurcation_detector_op {
namespace {

void infer(InferContext& ctx) {
  const ir::ValueType& current = ctx.in(1);
  const bool known = !ctx.has(3) && current.has_shape && current.shape.size() == 1;
  ctx.out(0, current.dtype, {known ? current.shape[0] : kUnknownDim});
  ctx.out(1, ctx.in(2));
}

BoundResult bound(BoundContext& ctx) {
  for (const Item& item : ctx.in)
    if (item.size) return ctx.refuse_sizes();
  std::vector<ir::Value*> inputs;
  for (const Item& item : ctx.in) inputs.push_back(item.value);
  ir::Node* n = ctx.build.target().add_node("Bifurcation", "poprt", inputs, 3);
  n->attributes = ctx.node.attributes;
  ops::infer(*n);
  Item tokens = Item::of(n->output(0));
  if (ctx.has(3)) tokens.sized(n->output(1), 0);
  return {.results = {tokens, Item::of(ctx.build.reshape(n->output(2), ctx.shape(2)))}};
}

}  // namespace

extern const OpDef def;
const OpDef def = {.name = "BifurcationDetector",
                   .domain = "com.microsoft",
                   .infer = infer,
                   .lower = lower_container,
                   .axes = axes::none,
                   .cost = cost::bifurcation,
                   .facts = {.data_sized = true, .trial = {"T[4]; T[4]; T[1]; T[4]", "", 2}},
                   .bound = bound};

}  // namespace poprt::ops::microsoft_bifurcation_detector_op
