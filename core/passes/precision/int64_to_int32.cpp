// s64 becomes s32, graph inputs and outputs included; constants saturate. Operators whose ONNX type
// is s64 only (Shape, ArgMax, NonZero ...) keep it and are cast.
#include <algorithm>
#include <limits>

#include "base/log.h"
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

// The largest and the least of all s64 stand for "without end", as they do in s32.
bool loses(int64_t value) {
  using Wide = std::numeric_limits<int64_t>;
  using Narrow = std::numeric_limits<int32_t>;
  return (value > Narrow::max() && value != Wide::max()) ||
         (value < Narrow::min() && value != Wide::min());
}

// What is computed from them is another number.
void warn_of_losses(const Graph& graph) {
  for (const ir::Value* v : graph.values()) {
    if (!v->is_constant() || v->dtype() != DType::s64) continue;
    if (std::all_of(v->uses().begin(), v->uses().end(), is_s64_parameter)) continue;
    const auto values = v->constant().values<int64_t>();
    if (const auto found = std::find_if(values.begin(), values.end(), loses); found != values.end())
      log().warn(
          "int64_to_int32: constant '{}' holds {}, which becomes {} in 32 bits", v->name(), *found,
          *found > 0 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min());
  }
}

void run(Graph& graph, PassContext& context) {
  if (!context.allow()) return;
  for_each_graph(graph, warn_of_losses);
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
