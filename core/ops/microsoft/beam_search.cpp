// Keeps the num_beams most likely sequences of tokens. The compiler unrolls the search
// (ops/common/token_search.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/search.h"

namespace poprt::ops::microsoft_beam_search_op {

extern const OpDef def;
const OpDef def = {.name = "BeamSearch",
                   .domain = "com.microsoft",
                   .infer = infer_search,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.constant_inputs_of = search_sizes},
                   .resolve = resolve_search};

}  // namespace poprt::ops::microsoft_beam_search_op
