#include "passes/common/rewrite.h"

namespace poprt::passes::remove_duplicated_initializer_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

void run(Graph& graph, PassContext& context) {
  pass_of("eliminate_duplicate_initializer").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "remove_duplicated_initializer",
    .summary = "shares equal constants (eliminate_duplicate_initializer under PopRT's other name)",
    .condition = "constants of equal type, shape and bytes",
    .run = run};

}  // namespace poprt::passes::remove_duplicated_initializer_pass
