// Helpers shared by Loop of ai.onnx and poprt.Loop.
#pragma once

#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/op.h"
#include "ops/resolve.h"

namespace poprt::ops {

// Whether the node may run fewer rounds than its trip count. It may not if its first condition is
// absent or a constant `true`, and its body passes the condition through, or sets it to a constant
// `true`.
bool may_end_early(const ir::Node& loop);

// Infers the types of the final states and of the scan outputs, [rounds, ...]. The number of rounds
// is the trip count if that is constant and the loop cannot end early. Otherwise it is unknown or,
// with `bounded`, the trip count is an upper bound. If the shape of a state changes in a round and
// possibly no round runs, the state has unknown dimensions.
void infer_loop(InferContext& ctx, bool bounded);

// Sets the states and scan outputs of all rounds.
void resolve_loop(ResolveContext& ctx);

// The trip count if it is constant, otherwise -1.
int64_t loop_repeats(const ir::Node& loop);

// Defines a Loop operator. The last arguments are its name and domain. `is_bounded` is the argument
// `bounded` of infer_loop().
#define POPRT_LOOP_OP(symbol, is_bounded, ...)                                      \
  namespace poprt::ops::symbol##_op {                                               \
    extern const OpDef def;                                                         \
    const OpDef def = {__VA_ARGS__,                                                 \
                       .infer = [](InferContext& c) { infer_loop(c, is_bounded); }, \
                       .lower = lower_container,                                    \
                       .axes = axes::none,                                          \
                       .facts = {.moves = true,                                     \
                                 .constant_inputs = 0b11,                           \
                                 .s64_inputs = 0b1,                                 \
                                 .passes_types = true,                              \
                                 .runs_rounds = true,                               \
                                 .repeats = loop_repeats},                          \
                       .resolve = resolve_loop};                                    \
  }

}  // namespace poprt::ops
