// The inverse of Unpack: packs the items into rows.
#include "ops/common/sequence_packing.h"

POPRT_EXPANSION_WITH_FACTS(graphcore_repack_op, "ai.graphcore", "Repack", expand_pack,
                           .trial = {"T[2,2,4]; s32[2,1]",
                                     "max_valid_num = 2, segment_max_size = [2]"})
