#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(selu, "Selu", 1, floating)
