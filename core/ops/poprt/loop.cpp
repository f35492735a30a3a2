// poprt.Loop: a Loop that its condition may end, in the form that runs on the device. Scan outputs
// have as many rows as the trip count, which is a bound; a state that the compiler adds counts the
// rows that are produced.
#include "ops/common/loop.h"

POPRT_LOOP_OP(poprt_loop, true, .name = "Loop", .domain = "poprt")
