// A key/value cache (ops/common/kv_cache.h) with a default sequence_axis of 0.
#include "ops/common/kv_cache.h"
#include "ops/common/axes.h"

namespace poprt::ops::graphcore_kv_cache_op {

static void expand_kv_cache(Expansion& e) { expand_kv_cache(e, 0, 1); }

extern const OpDef def;
const OpDef def = {.name = "KVCache",
                   .domain = "ai.graphcore",
                   .infer = infer_by_expansion,
                   .lower = [](LowerContext& c) { expand_kv_cache(expansion_of(c)); },
                   .axes = axes::none,
                   .pure = false,
                   .stateful = true,
                   .facts = {.trial = {"s32[]; T[4,4]", "max_len = 8, step_len = 4"}}};

}  // namespace poprt::ops::graphcore_kv_cache_op
