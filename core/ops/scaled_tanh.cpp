// alpha * tanh(beta * x).
#include "ops/common/early_onnx.h"

POPRT_EARLY_ONNX_OP(
    scaled_tanh_op, "ScaledTanh", [](Expansion& e) { expand_scaled(e, "Tanh"); },
    .trial = {"T[4,4]", "alpha = 2.0, beta = 3.0"})
