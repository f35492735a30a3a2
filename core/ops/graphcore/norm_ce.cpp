// Inputs: x, gamma, beta. LayerNormalization over the last axis.
#include "ops/common/expansion.h"

namespace poprt::ops::graphcore_norm_ce_op {
namespace {

void expand(Expansion& e) {
  e.out(0, e.add("LayerNormalization", {e.in(0), e.in(1), e.in(2)},
                 {{"axis", int64_t{-1}}, {"epsilon", e.node.float_attr("epsilon", 1e-5f)}}));
}

}  // namespace
}  // namespace poprt::ops::graphcore_norm_ce_op

POPRT_EXPANSION(graphcore_norm_ce_op, "ai.graphcore", "NormCE", expand)
