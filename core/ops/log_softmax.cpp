#include "ops/common/softmax.h"

POPRT_SOFTMAX_OP(log_softmax, "LogSoftmax", calls::SoftmaxMode::logarithm)
