// alpha * ln(exp(beta * x) + 1).
#include "ops/common/early_onnx.h"

POPRT_EARLY_ONNX_OP(
    parametric_softplus_op, "ParametricSoftplus",
    [](Expansion& e) { expand_scaled(e, "Softplus"); },
    .trial = {"T[4,4]", "alpha = 2.0, beta = 3.0"})
