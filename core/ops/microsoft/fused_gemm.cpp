// Gemm followed by an activation.
#include "ops/common/contrib_activation.h"

namespace poprt::ops::microsoft_fused_gemm_op {
namespace {

void expand(Expansion& e) {
  const ir::Node& n = e.node;
  ir::Value* y = e.add("Gemm", {e.in(0), e.in(1), e.in_or_null(2)},
                       {{"alpha", n.float_attr("alpha", 1)},
                        {"beta", n.float_attr("beta", 1)},
                        {"transA", n.int_attr("transA", 0)},
                        {"transB", n.int_attr("transB", 0)}});
  std::vector<float> parameters;
  for (const char* key : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.find_attr(key)) parameters.push_back(n.float_attr(key, 0));
  e.out(0, activate(e, y, n.string_attr("activation", ""), parameters));
}

}  // namespace
}  // namespace poprt::ops::microsoft_fused_gemm_op

POPRT_EXPANSION(microsoft_fused_gemm_op, "com.microsoft", "FusedGemm", expand)
