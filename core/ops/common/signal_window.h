// HannWindow, HammingWindow and BlackmanWindow: sums of cosines over a constant size.
#pragma once

#include "ops/common/axes.h"
#include "ops/common/cost_special.h"
#include "ops/op.h"

namespace poprt::ops {

void infer_signal_window(InferContext& ctx);
// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) with N = size (periodic) or size - 1.
void lower_signal_window(LowerContext& ctx, double a0, double a1, double a2);

#define POPRT_SIGNAL_WINDOW_OP(symbol, op_name, a0, a1, a2)                                  \
  namespace poprt::ops::symbol##_op {                                                        \
    extern const OpDef def;                                                                  \
    const OpDef def = {.name = op_name,                                                      \
                       .since = 17,                                                          \
                       .infer = infer_signal_window,                                         \
                       .lower = [](LowerContext& c) { lower_signal_window(c, a0, a1, a2); }, \
                       .axes = axes::by_place,                                               \
                       .cost = cost::window,                                                 \
                       .facts = {.constant_inputs = 0b1, .trial = {"T[]"}}};                 \
  }

}  // namespace poprt::ops
