// SkipLayerNormalization and SkipSimplifiedLayerNormalization.
#pragma once

#include "ops/common/expansion.h"

namespace poprt::ops {

// Normalises input + skip + bias. Results: output, mean, inv_std_var, input_skip_bias_sum. beta may
// be null.
inline void expand_skip_normalization(Expansion& e, std::string_view op, ir::Value* beta,
                                      ir::Value* bias) {
  ir::Value* sum = e.add("Add", {e.in(0), e.in(1)});
  if (bias) sum = e.add("Add", {sum, bias});
  e.check(e.shape_of(sum) == e.shape(0), "skip does not broadcast to the shape of input");
  const ir::Node* n =
      e.add_node(op, "", {sum, e.in(2), beta},
                 {{"epsilon", e.node.float_attr("epsilon", 1e-12f)}, {"axis", int64_t{-1}}},
                 op == "LayerNormalization" ? 3 : 2);
  e.out(0, n->output(0));
  if (op == "LayerNormalization") {
    e.out(1, n->output(1));
    e.out(2, n->output(2));
  } else {
    e.out(2, n->output(1));
  }
  e.out(3, sum);
}

}  // namespace poprt::ops
