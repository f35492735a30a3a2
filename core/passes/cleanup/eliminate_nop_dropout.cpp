#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_dropout_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) {
  if (n.output(1) && is_used(n.output(1))) return nullptr;
  if (n.int_attr("is_test", 1) == 0) return nullptr;
  if (const Value* training = n.input(2)) {
    const auto on = const_ints(training);
    if (!on || on->empty() || (*on)[0] != 0) return nullptr;
  }
  return n.input(0);
}

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Dropout", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_dropout",
                     .summary = "removes Dropout of an inference graph",
                     .condition = "training_mode is not set and the mask has no reader",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_dropout_pass
