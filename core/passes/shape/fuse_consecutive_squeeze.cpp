#include <algorithm>

#include "passes/rewrite.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

// Axes of the node as nonnegative numbers, ascending.
std::optional<std::vector<int64_t>> axes_of(const Node& n, int64_t rank) {
  auto axes = ints_param(n, "axes", 1);
  if (!axes || axes->empty()) return std::nullopt;
  for (int64_t& a : *axes) a = normalize_axis(a, rank);
  std::sort(axes->begin(), axes->end());
  return axes;
}

// In the numbering of the first one's input.
std::optional<std::vector<int64_t>> both(const Node& first, const Node& second, int64_t in_rank,
                                         int64_t) {
  const auto a = axes_of(first, in_rank);
  if (!a) return std::nullopt;
  const auto b = axes_of(second, in_rank - static_cast<int64_t>(a->size()));
  if (!b) return std::nullopt;
  std::vector<int64_t> kept, all = *a;
  for (int64_t i = 0; i < in_rank; i++)
    if (!std::binary_search(a->begin(), a->end(), i)) kept.push_back(i);
  for (const int64_t i : *b) all.push_back(kept[static_cast<size_t>(i)]);
  std::sort(all.begin(), all.end());
  return all;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Squeeze")) return;
    Node* first = producer_if(n.input(0), "Squeeze");
    if (!first || !first->input(0)->type.has_shape || !n.output()->type.has_shape) return;
    const auto in_rank = static_cast<int64_t>(first->input(0)->shape().size());
    const auto out_rank = static_cast<int64_t>(n.output()->shape().size());
    const auto all = both(*first, n, in_rank, out_rank);
    if (!all || !context.allow()) return;
    if (n.find_attr("axes")) {
      n.attributes["axes"] = *all;
      n.set_input(0, first->input(0));
    } else {
      n.set_input(1, add_ints(n.graph(), n.output()->name() + "_axes", *all));
      n.set_input(0, first->input(0));
    }
    erase_if_dead(first);
  });
}

}  // namespace

extern const PassDef fuse_consecutive_squeeze_pass;
const PassDef fuse_consecutive_squeeze_pass = {
    .name = "fuse_consecutive_squeeze", .summary = "merges Squeeze of a Squeeze", .run = run};

}  // namespace poprt::passes
