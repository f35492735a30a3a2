// KVCache with max_bps caches, one for each batch of a step; the default sequence_axis is -2.
#include "ops/common/axes.h"
#include "ops/common/kv_cache.h"

namespace poprt::ops::graphcore_kv_cache_pipeline_op {

static void expand_kv_cache_pipeline(Expansion& e) {
  e.check(e.node.int_attr("max_bps", 0) > 0, "max_bps must be at least 1");
  expand_kv_cache(e, -2, e.node.int_attr("max_bps", 0));
}

extern const OpDef def;
const OpDef def = {.name = "KVCachePipeline",
                   .domain = "ai.graphcore",
                   .infer = infer_by_expansion,
                   .lower = [](LowerContext& c) { expand_kv_cache_pipeline(expansion_of(c)); },
                   .axes = axes::none,
                   .pure = false,
                   .stateful = true,
                   .facts = {.trial = {"s32[]; T[4,4]", "max_len = 8, step_len = 4, max_bps = 2"}}};

}  // namespace poprt::ops::graphcore_kv_cache_pipeline_op
