// f32 becomes f16: inputs, outputs, weights and everything in between. Operators that only move
// values or compute elementwise take f16 as it is; all others keep computing in f32 between casts,
// so their values are stored in f16 and nothing else changes.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "base/log.h"
#include "ops/facts.h"
#include "passes/retype.h"
#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

// As PopRT does: constants beyond the range of f16 become this large, and epsilons that would
// become 0 this small.
constexpr double kLargest = 65500, kSmallest = 1e-7;

bool takes_half(const Node& n) {
  const ops::Facts& facts = ops::facts_of(n);
  return facts.moves || (facts.per_element && facts.elementwise.append);
}

// Inputs that ONNX defines as f32 whatever the data is, or that scale integers.
bool is_parameter(const ir::Use& use) {
  return ops::in_mask(ops::facts_of(*use.node).f32_inputs, use.input);
}

void warn_of_missing(Graph& graph, std::span<const std::string> types) {
  std::unordered_set<std::string_view> present;
  for_each_node(graph, [&](Node& n) { present.insert(n.op_type); });
  for (const std::string& type : types)
    if (!present.contains(type))
      log().warn("--fp16_skip_op_types: no operator {} is left in the model", type);
}

void run(Graph& graph, PassContext& context) {
  if (!context.allow()) return;
  int64_t clipped = 0;
  std::vector<std::string> types = context.names("skip_op_types");
  types.insert(types.end(), context.fp16_skip_op_types.begin(), context.fp16_skip_op_types.end());
  const auto skipped = [&](const Node& n) { return std::ranges::count(types, n.op_type) != 0; };
  warn_of_missing(graph, types);
  retype(graph, {.from = DType::f32,
                 .to = DType::f16,
                 .onnx_from = 1,
                 .onnx_to = 10,
                 .accepts = [&](const Node& n) { return takes_half(n) && !skipped(n); },
                 .keeps = [&](const ir::Use& u) { return is_parameter(u) || skipped(*u.node); },
                 .convert =
                     [&](const Tensor& t) {
                       std::vector<double> values = t.to_doubles();
                       for (double& x : values) {
                         if (std::isfinite(x) && std::abs(x) > kLargest) {
                           x = std::copysign(kLargest, x);
                           clipped++;
                         }
                         if (values.size() == 1 && x != 0 && std::abs(x) < kSmallest)
                           x = std::copysign(kSmallest, x);
                       }
                       return tensor_of(DType::f16, t.shape(), values);
                     }});
  if (clipped > 0)
    log().warn("float_to_half: {} constants were beyond the range of f16 and became +-{}", clipped,
               kLargest);
}

}  // namespace

extern const PassDef float_to_half_pass;
const PassDef float_to_half_pass = {
    .name = "float_to_half",
    .summary = "stores floats as f16; operators without f16 arithmetic compute in f32",
    .condition =
        "f32 values: f16 precision and range; constants beyond it are clipped with a warning",
    .numerics = Numerics::precision,
    .run = run,
    .before = {"replace_groupnorm_with_fast_norm", "replace_half_reducemean"},
    .parameters = {{"skip_op_types", ParameterKind::names,
                    "operators that stay f32, besides those of --fp16_skip_op_types"}}};

}  // namespace poprt::passes
