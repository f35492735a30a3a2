#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(add, "Add", 1, numeric)
