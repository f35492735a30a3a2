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

// In the numbering of the second one's output.
std::optional<std::vector<int64_t>> both(const Node& first, const Node& second, int64_t,
                                         int64_t out_rank) {
  const auto b = axes_of(second, out_rank);
  if (!b) return std::nullopt;
  const auto a = axes_of(first, out_rank - static_cast<int64_t>(b->size()));
  if (!a) return std::nullopt;
  std::vector<int64_t> kept, all = *b;
  for (int64_t i = 0; i < out_rank; i++)
    if (!std::binary_search(b->begin(), b->end(), i)) kept.push_back(i);
  for (const int64_t i : *a) all.push_back(kept[static_cast<size_t>(i)]);
  std::sort(all.begin(), all.end());
  return all;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.is("Unsqueeze")) return;
    Node* first = producer_if(n.input(0), "Unsqueeze");
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

extern const PassDef fuse_consecutive_unsqueeze_pass;
const PassDef fuse_consecutive_unsqueeze_pass = {.name = "fuse_consecutive_unsqueeze",
                                                 .summary = "merges Unsqueeze of an Unsqueeze",
                                                 .run = run};

}  // namespace poprt::passes
