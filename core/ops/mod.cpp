#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(mod, "Mod", 10, numeric)
