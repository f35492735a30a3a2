#include "ops/common/elementwise.h"

POPRT_ELEMENTWISE_OP(bit_shift, "BitShift", 11, integer)
