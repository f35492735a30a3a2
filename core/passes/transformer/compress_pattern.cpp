#include <algorithm>

#include "ops/facts.h"
#include "passes/common/build.h"

namespace poprt::passes::compress_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Whether zeros after the kept elements do not change the result.
bool ignores_zeros(const Node& n) { return ops::facts_of(n).neutral == 0.0; }

// The attribute is read because the axis map states nothing of a result whose size is unknown.
bool is_compress(const Node& n) {
  if (!n.is("Compress") || !n.input(0)->type.is_static() || !n.input(1)->type.is_static() ||
      n.input(1)->is_constant())
    return false;
  const Shape& shape = n.input(0)->shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t size = n.find_attr("axis")
                           ? shape[static_cast<size_t>(normalize_axis(n.int_attr("axis", 0), rank))]
                           : element_count(shape);
  return n.input(1)->shape() == Shape{size};
}

void run(Graph& graph, PassContext& context) {
  bool any = false;
  for_each_node(graph, [&](Node& n) {
    if (!is_compress(n) ||
        !std::ranges::all_of(n.output()->uses(),
                             [](const ir::Use& use) { return ignores_zeros(*use.node); }) ||
        !context.allow())
      return;
    const std::vector<Value*> inputs{n.input(0), n.input(1)};
    const Node* by = n.find_attr("axis") ? insert_graphcore(n, "MaskCompress", inputs,
                                                            {{"axis", n.int_attr("axis", 0)}})
                                         : insert_graphcore(n, "MaskCompress", inputs);
    Value* result = by->output();
    replace_outputs(n, std::span(&result, 1));
    any = true;
  });
  if (any) pass_of("shape_inference").run(graph, context);
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "compress_pattern",
                     .summary =
                         "replaces Compress by ai.graphcore.MaskCompress: the kept elements move "
                         "to the front and zeros fill the rest, so that the size is static",
                     .condition =
                         "the condition is computed and has one element per index of the axis; the "
                         "readers are sums, or graph outputs, which then have the full size",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::compress_pattern_pass
