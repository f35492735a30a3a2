#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_transpose_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) {
  std::vector<int64_t> perm = n.ints_attr("perm");
  if (perm.empty()) {  // the default reverses the axes
    const ir::ValueType& type = n.input(0)->type;
    return type.has_shape && type.shape.size() < 2 ? n.input(0) : nullptr;
  }
  for (size_t i = 0; i < perm.size(); i++)
    if (perm[i] != static_cast<int64_t>(i)) return nullptr;
  return n.input(0);
}

void run(Graph& graph, PassContext& context) {
  bypass_unchanged(graph, context, "Transpose", unchanged);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_transpose",
                     .summary = "removes Transpose that keeps the order",
                     .condition = "perm is 0, 1, 2 ...",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_transpose_pass
