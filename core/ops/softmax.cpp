#include "ops/common/softmax.h"

POPRT_SOFTMAX_OP(softmax, "Softmax", 0)
