// BeamSearch of a Whisper model: the encoder reads sound. The compiler unrolls the search
// (ops/common/token_search.h).
#include "ops/common/axes.h"
#include "ops/common/compile_time.h"
#include "ops/common/search.h"

namespace poprt::ops::microsoft_whisper_beam_search_op {

extern const OpDef def;
const OpDef def = {.name = "WhisperBeamSearch",
                   .domain = "com.microsoft",
                   .infer = infer_search,
                   .lower = lower_container,
                   .axes = axes::none,
                   .facts = {.constant_inputs_of = search_sizes},
                   .resolve = resolve_search};

}  // namespace poprt::ops::microsoft_whisper_beam_search_op
