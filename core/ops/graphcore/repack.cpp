// What Unpack gave, back to rows.
#include "ops/common/sequence_packing.h"

POPRT_EXPANSION(graphcore_repack_op, "ai.graphcore", "Repack", expand_pack)
