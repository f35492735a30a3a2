#include <algorithm>

#include "passes/common/bypass.h"

namespace poprt::passes::eliminate_nop_pad_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

Value* unchanged(const Node& n) {
  std::optional<std::vector<int64_t>> pads;
  if (n.find_attr("paddings"))
    pads = n.ints_attr("paddings");
  else
    pads = ints_param(n, "pads", 1);
  if (!pads || !std::all_of(pads->begin(), pads->end(), [](int64_t p) { return p == 0; }))
    return nullptr;
  return n.input(0);
}

void run(Graph& graph, PassContext& context) { bypass_unchanged(graph, context, "Pad", unchanged); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_nop_pad",
                     .summary = "removes Pad by nothing",
                     .condition = "all pads are constant 0",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_nop_pad_pass
