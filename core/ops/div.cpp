#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(div, "Div", 1, numeric)
