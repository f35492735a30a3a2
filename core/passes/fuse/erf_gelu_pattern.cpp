#include <numbers>

#include "passes/common/rewrite.h"
#include "passes/fuse/gelu_product.h"

namespace poprt::passes::erf_gelu_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns x if v = 1 + erf(x / sqrt 2).
Value* argument(const Value* v, DType dtype) {
  const Node* add = producer_if(v, "Add");
  if (!add) return nullptr;
  for (size_t side = 0; side < 2; side++) {
    const Node* erf = producer_if(add->input(side), "Erf");
    if (!erf || !is_scalar(add->input(1 - side), 1)) continue;
    const Product p = factors_of(erf->input(0));
    if (p.factors.size() == 1 && (is_close(p.scale, 1 / std::numbers::sqrt2, dtype) ||
                                  is_close(1 / p.scale, std::numbers::sqrt2, dtype)))
      return p.factors[0];
  }
  return nullptr;
}

void run(Graph& graph, PassContext& context) { replace_gelus(graph, context, "none", argument); }

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "erf_gelu_pattern",
                     .summary = "fuses GELU that is computed with Erf",
                     .condition =
                         "the intermediate products have no other reader; x and the "
                         "result have one static shape",
                     .numerics = Numerics::rounding,
                     .run = run,
                     .before = {"replace_erf_with_erfv2"}};

}  // namespace poprt::passes::erf_gelu_pattern_pass
