// f32 -> f16 -> f32 between two operators that compute in f32 only rounds: the emulated device may
// be more accurate than the chip, and two conversions of memory are saved.
#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Cast") || n.output()->dtype() != DType::f32) return;
    const Node* narrow = producer_if(n.input(0), "Cast");
    if (!narrow || n.input(0)->dtype() != DType::f16 || narrow->input(0)->dtype() != DType::f32)
      return;
    Value* x = narrow->input(0);
    if (can_bypass(n.output(), x) && context.allow()) bypass(n.output(), x);
  });
}

}  // namespace

extern const PassDef eliminate_half_round_trip_pass;
const PassDef eliminate_half_round_trip_pass = {
    .name = "eliminate_half_round_trip",
    .summary = "removes rounding to f16 between operators that compute in f32",
    .run = run};

}  // namespace poprt::passes
