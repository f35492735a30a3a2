#include "ops/common/softmax.h"

POPRT_SOFTMAX_OP(softmax, "Softmax", calls::SoftmaxMode::softmax)
