#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_BOOL_OP(is_inf, "IsInf", 10, floating)
