#include <algorithm>

#include "ops/facts.h"
#include "passes/common/build.h"

namespace poprt::passes::compress_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// The axis of the result of Compress that contains the kept elements, and the rank of the result.
struct KeptAxis {
  int64_t axis = 0, rank = 1;
};
KeptAxis kept_axis(const Node& compress) {
  if (!compress.find_attr("axis")) return {};
  const auto rank = static_cast<int64_t>(compress.input(0)->shape().size());
  return {normalize_axis(compress.int_attr("axis", 0), rank), rank};
}

// Whether zeros after the kept elements do not change the result, because they are summed. A sum
// over other axes would have a result with the full size.
bool ignores_zeros(const Node& n, const KeptAxis& kept) {
  if (ops::facts_of(n).neutral != 0.0) return false;
  const auto axes = ints_param(n, "axes", 1);
  if (!axes || axes->empty()) return axes && n.int_attr("noop_with_empty_axes", 0) == 0;
  return std::ranges::any_of(
      *axes, [&](int64_t axis) { return normalize_axis(axis, kept.rank) == kept.axis; });
}

// Attribute `axis` is read because the axis map states nothing about a result of unknown size.
bool is_compress(const Node& n) {
  if (!n.is("Compress") || !n.input(0)->type.is_static() || !n.input(1)->type.is_static() ||
      n.input(1)->is_constant())
    return false;
  const Shape& shape = n.input(0)->shape();
  const int64_t size =
      n.find_attr("axis") ? shape[static_cast<size_t>(kept_axis(n).axis)] : element_count(shape);
  return n.input(1)->shape() == Shape{size};
}

void run(Graph& graph, PassContext& context) {
  bool any = false;
  for_each_node(graph, [&](Node& n) {
    if (!is_compress(n)) return;
    const KeptAxis kept = kept_axis(n);
    // The outputs of a subgraph have readers outside of it, which are not examined.
    if (n.graph().parent && n.graph().is_output(n.output())) return;
    const auto is_sum = [&](const ir::Use& use) { return ignores_zeros(*use.node, kept); };
    if (!std::ranges::all_of(n.output()->uses(), is_sum) || !context.allow()) return;
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
const PassDef def = {
    .name = "compress_pattern",
    .summary =
        "replaces Compress by ai.graphcore.MaskCompress: the kept elements move "
        "to the front and zeros fill the rest, so that the size is static",
    .condition =
        "the condition is computed and has one element per index of the axis; the "
        "readers are sums over that axis, or graph outputs, which then have the full size",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::compress_pattern_pass
