#include <algorithm>
#include <map>
#include <utility>

#include "passes/common/rewrite.h"

namespace poprt::passes::eliminate_duplicate_initializer_pass {
namespace {

using ir::Graph;
using ir::Value;

// Comparing is cheaper than hashing: different tensors of one type and shape nearly always differ
// in their first bytes.
void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    std::map<std::pair<DType, Shape>, std::vector<Value*>> known;
    for (Value* v : g.values()) {
      if (!v->is_constant() || v->dtype() == DType::string || g.is_input(v)) continue;
      const Tensor& t = v->constant();
      std::vector<Value*>& same = known[{t.dtype(), t.shape()}];
      const auto it = std::find_if(same.begin(), same.end(),
                                   [&](const Value* o) { return o->constant().same_as(t); });
      if (it == same.end()) {
        same.push_back(v);
      } else if (!g.is_output(v) && is_used(v) && context.allow()) {
        g.replace_all_uses(v, *it);
        g.erase_value(v);
      }
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "eliminate_duplicate_initializer",
                     .summary = "shares equal constants",
                     .condition = "constants of equal type, shape and bytes",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::eliminate_duplicate_initializer_pass
