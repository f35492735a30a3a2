// What Loop of ai.onnx and poprt.Loop have in common.
#pragma once

#include "ops/op.h"
#include "ops/resolve.h"

namespace poprt::ops {

// Whether the node may run fewer rounds than its trip count: its first condition is not a constant
// `true`, or its body computes the condition of the next round. Hands through the condition, or
// makes a constant `true`: then all rounds run.
bool may_end_early(const ir::Node& loop);

// Types of the final states and of the scan outputs, [rounds, ...]. The number of rounds is the
// trip count where that is constant and the loop cannot end early; otherwise it is unknown, or with
// `bounded` the trip count as an upper bound. A state whose shape is not the same before and after
// a round has unknown dimensions when no round may run.
void infer_loop(InferContext& ctx, bool bounded);

// The states and scan outputs of all rounds.
void resolve_loop(ResolveContext& ctx);

// The trip count where it is constant, otherwise 1.
int64_t loop_repeats(const ir::Node& loop);

}  // namespace poprt::ops
