#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(elu, "Elu", 1, floating)
