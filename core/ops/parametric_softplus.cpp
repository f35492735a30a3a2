// alpha * ln(exp(beta * x) + 1).
#include "ops/common/early_onnx.h"

POPRT_EARLY_ONNX_OP(parametric_softplus_op, "ParametricSoftplus",
                    [](Expansion& e) { expand_scaled(e, "Softplus"); })
