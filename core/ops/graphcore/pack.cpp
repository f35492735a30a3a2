// What Unpack gave, back to rows.
#include "ops/common/sequence_packing.h"

POPRT_EXPANSION(graphcore_pack_op, "ai.graphcore", "Pack", expand_pack)
