// The most likely token each time; the compiler unrolls the search (compiler/flow/search.h).
#include "ops/common/compile_time.h"
#include "ops/common/search.h"

namespace poprt::ops {

extern const OpDef microsoft_greedy_search_op;
const OpDef microsoft_greedy_search_op = {
    .name = "GreedySearch",
    .domain = "com.microsoft",
    .infer = infer_search,
    .lower = lower_container,
    .facts = {.constant_inputs_of = search_sizes, .flow = Flow::greedy_search}};

}  // namespace poprt::ops
