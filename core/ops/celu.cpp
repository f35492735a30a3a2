#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(celu, "Celu", 12, floating)
