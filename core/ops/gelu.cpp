#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(gelu, "Gelu", 20, floating)
