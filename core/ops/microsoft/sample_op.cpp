// Returns its input.
#include "ops/common/expansion.h"

POPRT_EXPANSION(microsoft_sample_op_op, "com.microsoft", "SampleOp",
                [](Expansion& e) { e.out(0, e.add("Identity", {e.in(0)})); })
