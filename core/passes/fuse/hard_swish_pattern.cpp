#include <string_view>

#include "ir/newest.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::hard_swish_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns x if v = clip(x + 3, 0, 6).
Value* clipped(const Value* v) {
  const Node* clip = producer_if(v, "Clip");
  if (!clip) return nullptr;
  const auto bound = [&](std::string_view attribute, size_t input) -> std::optional<double> {
    if (clip->find_attr(attribute)) return static_cast<double>(clip->float_attr(attribute, 0));
    return const_scalar(clip->input(input));
  };
  if (bound("min", 1) != 0.0 || bound("max", 2) != 6.0) return nullptr;
  const Node* add = producer_if(clip->input(0), "Add");
  for (size_t side = 0; add && side < 2; side++)
    if (is_scalar(add->input(1 - side), 3)) return add->input(side);
  return nullptr;
}

// Returns x if v = hard_sigmoid(x) with slope 1/6.
Value* gated(const Value* v) {
  const Node* gate = producer_if(v, "HardSigmoid");
  if (!gate ||
      !is_close(static_cast<double>(gate->float_attr("alpha", 0.2f)), 1.0 / 6, DType::f32) ||
      gate->float_attr("beta", 0.5f) != 0.5f)
    return nullptr;
  return gate->input(0);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    const DType dtype = n.output()->dtype();
    if ((!n.is("Mul") && !n.is("Div")) || !is_plain_float(dtype) || dtype == DType::f64) return;
    const std::string domain(ops::find_op("", "HardSwish", n.opset()) ? "" : ir::kNewestDomain);
    const Product p = factors_of(n);
    if (p.factors.size() != 2) return;
    for (size_t side = 0; side < 2; side++) {
      Value* x = is_close(p.scale, 1.0 / 6, dtype) ? clipped(p.factors[side])
                 : is_close(p.scale, 1, dtype)     ? gated(p.factors[side])
                                                   : nullptr;
      if (!x || x != p.factors[1 - side] || !same_static_shape(x, n.output()) || !context.allow())
        continue;
      replace_node(n, insert_node(n, "HardSwish", domain, {x})->output());
      return;
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "hard_swish_pattern",
                     .summary = "fuses x * clip(x + 3, 0, 6) / 6",
                     .condition =
                         "the intermediate products have no other reader; x and the "
                         "result have one static shape",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::hard_swish_pattern_pass
