#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  pass_of("eliminate_duplicate_initializer").run(graph, context);
}

}  // namespace

extern const PassDef remove_duplicated_initializer_pass;
const PassDef remove_duplicated_initializer_pass = {
    .name = "remove_duplicated_initializer",
    .summary = "shares equal constants (eliminate_duplicate_initializer under PopRT's other name)",
    .condition = "constants of equal type, shape and bytes",
    .run = run};

}  // namespace poprt::passes
