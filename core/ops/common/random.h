// Random operators. With attribute `seed`, their numbers depend only on it and on the place, so
// they are the same in every run. Without it, the first run after the program is loaded draws
// numbers that follow from the name of the output, and each other run draws new ones.
#pragma once

#include "kernels/calls/random.h"
#include "ops/common/axes.h"
#include "ops/common/cost.h"
#include "ops/op.h"

namespace poprt::ops {

// The shape of input 0 or of attribute `shape`; the type of attribute `dtype`, else of input 0,
// else f32.
void infer_random_like(InferContext& ctx);
void infer_random_shape(InferContext& ctx);

using calls::RandomKind;
void lower_random(LowerContext& ctx, RandomKind kind);
// Attribute seed, or a number derived from the name of the output.
int64_t seed_of(const ir::Node& node);
// Whether each run draws new numbers.
inline bool varies(const ir::Node& node) { return !node.find_attr("seed"); }

#define POPRT_RANDOM_OP(symbol, op_name, first_opset, infer_function, kind)                      \
  namespace poprt::ops::symbol##_op {                                                            \
    extern const OpDef def;                                                                      \
    const OpDef def = {.name = op_name,                                                          \
                       .since = first_opset,                                                     \
                       .infer = infer_function,                                                  \
                       .lower = [](LowerContext& c) { lower_random(c, RandomKind::kind); },      \
                       .axes = RandomKind::kind == RandomKind::bernoulli ? axes::random_elements \
                                                                         : axes::by_place,       \
                       .cost = cost::random,                                                     \
                       .pure = false};                                                           \
  }

}  // namespace poprt::ops
