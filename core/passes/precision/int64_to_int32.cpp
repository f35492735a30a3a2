// s64 becomes s32, graph inputs and outputs included; constants saturate. Operators whose ONNX type
// is s64 only (Shape, ArgMax, NonZero ...) keep it and are cast.
#include <algorithm>
#include <limits>

#include "ops/facts.h"
#include "passes/retype.h"
#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

bool takes_int32(const Node& n) { return ops::facts_of(n).narrows; }

bool is_s64_parameter(const ir::Use& use) {
  return ops::in_mask(ops::facts_of(*use.node).s64_inputs, use.input);
}

void run(Graph& graph, PassContext& context) {
  if (!context.allow()) return;
  retype(graph, {.from = DType::s64,
                 .to = DType::s32,
                 .onnx_from = 7,
                 .onnx_to = 6,
                 .accepts = takes_int32,
                 .keeps = is_s64_parameter,
                 .convert = [](const Tensor& t) {
                   Tensor out = Tensor::zeros(DType::s32, t.shape());
                   const auto from = t.values<int64_t>();
                   const auto to = out.mutable_values<int32_t>();
                   for (size_t i = 0; i < from.size(); i++)
                     to[i] = static_cast<int32_t>(
                         std::clamp<int64_t>(from[i], std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<int32_t>::max()));
                   return out;
                 }});
}

}  // namespace

extern const PassDef int64_to_int32_pass;
const PassDef int64_to_int32_pass = {
    .name = "int64_to_int32",
    .summary = "turns s64 values into s32, saturating",
    .condition = "s64 values that fit into s32; constants saturate",
    .numerics = Numerics::precision,
    .run = run};

}  // namespace poprt::passes
