// Products that the passes of 16-bit precisions leave in f64, so that they can warn of them.
#pragma once

#include <cstdint>

#include "passes/common/rewrite.h"

namespace poprt::passes {

// The number of products and convolutions of f64 in a graph and its subgraphs.
inline int64_t products_of_doubles(ir::Graph& graph) {
  int64_t count = 0;
  for_each_node(graph, [&](ir::Node& n) {
    const bool product = n.is("MatMul") || n.is("Gemm") || n.is("Conv");
    count += product && n.output()->dtype() == DType::f64 ? 1 : 0;
  });
  return count;
}

}  // namespace poprt::passes
