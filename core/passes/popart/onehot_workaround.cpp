#include "passes/common/build.h"

namespace poprt::passes::onehot_workaround_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Attribute `axis` is read because the axis map does not show whether it is negative. In addition,
// the map states nothing if the depth is computed, because the size of the result is then unknown.
void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("OneHot") || !n.output()->type.has_shape) return;
    const auto depth = const_scalar(n.input(1));
    const int64_t axis = n.int_attr("axis", -1);
    const bool narrow = depth && n.input(1)->dtype() != DType::s32;
    if ((!narrow && axis >= 0) || !context.allow()) return;
    n.attributes["axis"] = normalize_axis(axis, static_cast<int64_t>(n.output()->shape().size()));
    if (!narrow) return;
    Value* old = n.input(1);
    n.set_input(
        1, n.graph().add_constant(old->name() + "_s32", tensor_of(DType::s32, old->shape(),
                                                                  old->constant().to_doubles())));
    if (!is_used(old)) old->graph().erase_value(old);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "onehot_workaround",
                     .summary = "gives OneHot a depth of type s32 and a nonnegative axis",
                     .condition = "the rank is known; a depth that is not constant keeps its type",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::onehot_workaround_pass
