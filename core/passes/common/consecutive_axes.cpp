#include "passes/common/consecutive_axes.h"

#include <algorithm>

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

// Returns the axes of the node as nonnegative numbers in ascending order. They are read from the
// node and not from its axis map, because the map states nothing if sizes are unknown.
std::optional<std::vector<int64_t>> axes_of(const Node& n, int64_t rank) {
  auto axes = ints_param(n, "axes", 1);
  if (!axes || axes->empty()) return std::nullopt;
  for (int64_t& a : *axes) a = normalize_axis(a, rank);
  std::sort(axes->begin(), axes->end());
  return axes;
}

// Returns the axes of both nodes in the value with the most dimensions, which has `rank` of them.
// The axes of `inner` are positions among the dimensions that are not axes of `outer`.
std::optional<std::vector<int64_t>> merged_axes(const Node& outer, const Node& inner,
                                                int64_t rank) {
  const auto a = axes_of(outer, rank);
  if (!a) return std::nullopt;
  const auto b = axes_of(inner, rank - static_cast<int64_t>(a->size()));
  if (!b) return std::nullopt;
  std::vector<int64_t> kept, all = *a;
  for (int64_t i = 0; i < rank; i++)
    if (!std::binary_search(a->begin(), a->end(), i)) kept.push_back(i);
  for (const int64_t i : *b) all.push_back(kept[static_cast<size_t>(i)]);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

void merge_consecutive_axes(Graph& graph, PassContext& context, std::string_view op_type) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is(op_type)) return;
    Node* first = producer_if(n.input(0), op_type);
    if (!first || !first->input(0)->type.has_shape || !n.output()->type.has_shape) return;
    const auto rank = [](const ir::Value* v) { return static_cast<int64_t>(v->shape().size()); };
    const auto all = op_type == "Squeeze" ? merged_axes(*first, n, rank(first->input(0)))
                                          : merged_axes(n, *first, rank(n.output()));
    if (!all || !context.allow()) return;
    if (n.find_attr("axes"))
      n.attributes["axes"] = *all;
    else
      n.set_input(1, add_ints(n.graph(), n.output()->name() + "_axes", *all));
    n.set_input(0, first->input(0));
    erase_if_dead(first);
  });
}

}  // namespace poprt::passes
