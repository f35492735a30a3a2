// Finds GELU in the form x * 1/2 * (1 + f(x)) with the factors in any order.
#pragma once

#include "passes/common/rewrite.h"
#include "passes/pass.h"

namespace poprt::passes {

// Replaces each match, except those of f64, by poprt.Gelu with attribute `approximate`. `argument`
// returns x if a value of the dtype is 1 + f(x), else null.
inline void replace_gelus(ir::Graph& graph, PassContext& context, const char* approximate,
                          ir::Value* argument(const ir::Value*, DType)) {
  for_each_node(graph, [&](ir::Node& n) {
    if (!n.is("Mul") && !n.is("Div")) return;
    const DType dtype = n.output()->dtype();
    if (!is_plain_float(dtype) || dtype == DType::f64) return;
    const Product p = factors_of(n);
    if (p.factors.size() != 2 || !is_close(p.scale, 0.5, dtype)) return;
    for (size_t side = 0; side < 2; side++) {
      ir::Value* x = argument(p.factors[side], dtype);
      if (!x || x != p.factors[1 - side] || !same_static_shape(x, n.output()) || !context.allow())
        continue;
      replace_node(n,
                   insert_node(n, "Gelu", "poprt", {x}, {{"approximate", approximate}})->output());
      return;
    }
  });
}

}  // namespace poprt::passes
