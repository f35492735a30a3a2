// Floating-point operations of a node: what poprt_exec flops prints and auto_shard balances.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace poprt::cli {

// A multiplication and an addition are two (bindings/python/poprt/profile.py says what is counted
// for each operator), graphs within the node left out. The shapes of its values are static.
int64_t flops_of(const ir::Node& node);

}  // namespace poprt::cli
