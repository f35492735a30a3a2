#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(clip, "Clip", 1, numeric)
