#include <map>

#include "passes/common/rewrite.h"

namespace poprt::passes::const_batch_size_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// If inputs share a symbol, the dimension becomes static in all of them.
void run(Graph& graph, PassContext& context) {
  const int64_t size = context.integer("const_batch_size");
  if (size < 1)
    fail(ErrorCode::invalid_argument, "const_batch_size: expected at least 1, found {}", size);
  bool any = false;
  for (Value* v : graph.inputs()) {
    ir::ValueType& type = v->type;
    if (!type.has_shape || type.shape.empty() || type.shape[0] != kUnknownDim) continue;
    if (!context.allow()) break;
    const std::string symbol = type.symbols.empty() ? "" : type.symbols[0];
    type.shape[0] = size;
    any = true;
    for (Value* other : graph.inputs())
      for (size_t i = 0; !symbol.empty() && i < other->type.symbols.size(); i++)
        if (other->type.symbols[i] == symbol && other->type.shape[i] == kUnknownDim)
          other->type.shape[i] = size;
  }
  if (any) pass_of("shape_inference").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "const_batch_size",
    .summary = "gives the first dimension of inputs a size if it is unknown",
    .condition =
        "the first dimension of the input is unknown; dimensions with the same symbol change, too",
    .run = run,
    .parameters = {{"const_batch_size", ParameterKind::integer, "the size", "1"}}};

}  // namespace poprt::passes::const_batch_size_pass
