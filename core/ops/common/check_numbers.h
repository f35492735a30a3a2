// Emits the check of numbers that choose a place at run time: a number outside its range is a
// failure of the run, as the same constant is an error of the model (value_range.h). Kernels that
// have a flag `checked` report such numbers themselves.
#pragma once

#include "kernels/calls/check_numbers.h"
#include "ops/common/movement.h"
#include "ops/op.h"

namespace poprt::ops {

// Checks all values of input `input` against [0, end). Does nothing if the input is absent or
// constant, or with option out_of_range=zero.
inline void check_numbers(LowerContext& ctx, size_t input, calls::Number what, int64_t end) {
  if (!ctx.checks(input)) return;
  ctx.emit(
      calls::CheckNumbers{.count = element_count(ctx.in_shape(input)), .end = end, .what = what},
      {ctx.in(input)});
}

}  // namespace poprt::ops
