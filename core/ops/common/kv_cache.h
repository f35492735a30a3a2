// Key/value caches: state that stays on the device from one run to the next.
#pragma once

#include "ops/common/quarter_bytes.h"

namespace poprt::ops {

// Inputs: step s32, x [..., step_len, ...]. The result is the last max_len places along
// sequence_axis, newest first. Step 0 starts with zeros. `caches` caches are used in turn, one for
// each step. With attribute fp8, their elements are divided by 2 (scale 1) and stored as F143.
inline void expand_kv_cache(Expansion& e, int64_t default_axis, int64_t caches) {
  const Shape x = e.shape(1);
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t given = e.node.int_attr("sequence_axis", default_axis);
  e.check(given >= -rank && given < rank, "sequence_axis is out of range");
  const int64_t axis = normalize_axis(given, rank);
  const int64_t length = e.node.int_attr("max_len", 0), added = e.node.int_attr("step_len", 1);
  e.check(x[static_cast<size_t>(axis)] == added && added > 0 && added <= length,
          "the input must have step_len places along sequence_axis, and at most max_len");
  e.check(element_count(e.shape(0)) == 1, "step must be one number");
  const bool quarter = e.node.int_attr("fp8", 0) != 0;
  ir::Value* scale = e.number(DType::s32, 1);
  ir::Value* in = e.in(1);
  if (quarter)
    in = e.newest("BitCast",
                  {e.cast(e.add("Mul", {e.cast(in, DType::f32), power_of_two(e, scale, -1)}),
                          DType::f8e4m3fnuz)},
                  {{"to", int64_t{2}}});
  ir::Value* step = e.cast(e.reshape(e.in(0), {}), DType::s32);
  ir::Value* out = e.add_node("Shift", "poprt", {step, in},
                              {{"axis", axis},
                               {"length", length},
                               {"slots", caches},
                               {kStateAttribute, e.node.int_attr(kStateAttribute, -1)}},
                              1)
                       ->output();
  if (quarter) out = e.cast(from_quarter(e, out, DType::f8e4m3fnuz, scale), e.dtype(1));
  e.out(0, out);
}

}  // namespace poprt::ops
