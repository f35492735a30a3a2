// Creates poprt.CheckIndex in an expansion, for numbers that choose a place. An operator with a
// kernel uses check_numbers() instead.
#pragma once

#include <vector>

#include "kernels/calls/check_index.h"
#include "ops/common/expansion.h"

namespace poprt::ops {

// The integers in v as s64. With several elements in `most`, v has as many, each with its own
// limit; otherwise one limit holds for all. A number outside [0, most] is a failure of the run, or
// an error of the model if v is constant. With option out_of_range=zero it is clamped.
inline ir::Value* checked_index(Expansion& e, ir::Value* v, const std::vector<int64_t>& most,
                                calls::Fitting what) {
  const auto parts = static_cast<int64_t>(most.size());
  if (v->is_constant()) {
    const std::vector<int64_t> numbers = v->constant().to_int64s();
    for (size_t i = 0; i < numbers.size(); i++)
      if (const int64_t end = most[parts > 1 ? i : 0]; numbers[i] < 0 || numbers[i] > end)
        e.fail_input("{} is outside [0, {}]", numbers[i], end);
    return e.cast(v, DType::s64);
  }
  for (int64_t i = 0; i < parts; i++) {
    ir::Value* limit = e.constant(Tensor::scalar(most[static_cast<size_t>(i)]));
    ir::Node* n = e.add_node(
        "CheckIndex", "poprt", {v, limit},
        {{"what", static_cast<int64_t>(what)}, {"component", parts > 1 ? i : int64_t{-1}}}, 1);
    if (n->name.empty()) n->name = e.node.output(0)->name();
    v = n->output();
  }
  return v;
}

}  // namespace poprt::ops
