#include "passes/common/build.h"

namespace poprt::passes::replace_where_mask_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

constexpr double kMasked = -1e4;  // scores that are lower by this have the weight 0

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Where") || !is_plain_float(n.output()->dtype())) return;
    const Node* reader = ir::single_reader(n.output());
    if (!reader || !reader->is("Softmax")) return;
    for (size_t side = 1; side <= 2; side++) {
      Value *scores = n.input(side), *masked = n.input(3 - side);
      const auto value = const_scalar(masked);
      if (!value || *value > kMasked || !same_static_shape(scores, n.output()) || !context.allow())
        continue;
      Value* zero = add_scalar(n.graph(), n.output()->name() + "_zero", scores->dtype(), 0);
      Value* mask =
          computed(n, "Where", {n.input(0), side == 1 ? zero : masked, side == 1 ? masked : zero});
      Value* result = computed(n, "Add", {scores, mask});
      replace_outputs(n, std::span(&result, 1));
      return;
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "replace_where_mask",
    .summary =
        "replaces the Where that masks attention scores by an addition; Where is then computed on "
        "the mask only",
    .condition =
        "Where(mask, scores, number) or the reverse before Softmax, with a number of at most -1e4; "
        "the weights of a row in which no place is kept differ",
    .numerics = Numerics::rounding,
    .run = run,
    .before = {"replace_softmax", "replace_where_with_wherev2", "replace_where_with_mul_add"}};

}  // namespace poprt::passes::replace_where_mask_pass
