#include "ops/common/softmax.h"

POPRT_SOFTMAX_OP(hardmax, "Hardmax", calls::SoftmaxMode::hardmax)
