// The compiler unrolls short loops and loops whose shapes change; the others run as a loop on the
// device. If the condition may end the loop, the number of rows of scan outputs is unknown
// (ops/common/loop.h).
#include "ops/common/loop.h"

POPRT_LOOP_OP(loop, false, .name = "Loop")
