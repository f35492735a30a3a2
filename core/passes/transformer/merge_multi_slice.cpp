#include <algorithm>

#include "passes/common/build.h"

namespace poprt::passes::merge_multi_slice_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// A Slice along one axis with constant parameters.
struct Cut {
  Node* node;
  int64_t axis, begin, end, step;
};

std::optional<Cut> cut_of(Node& n) {
  if (!n.is("Slice") || !n.input(0)->type.is_static() || !n.output()->type.is_static())
    return std::nullopt;
  const auto starts = ints_param(n, "starts", 1), ends = ints_param(n, "ends", 2),
             axes = ints_param(n, "axes", 3);
  const auto steps = n.input(4) ? const_ints(n.input(4)) : std::vector<int64_t>{1};
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || ends->size() != 1 ||
      axes->size() > 1 || steps->size() != 1 || (*steps)[0] < 1)
    return std::nullopt;
  const Shape& shape = n.input(0)->shape();
  const int64_t axis =
      normalize_axis(axes->empty() ? 0 : (*axes)[0], static_cast<int64_t>(shape.size()));
  const int64_t size = shape[static_cast<size_t>(axis)];
  const auto clamped = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const Cut cut{&n, axis, clamped((*starts)[0]), clamped((*ends)[0]), (*steps)[0]};
  if (cut.begin >= cut.end) return std::nullopt;
  return cut;
}

// Merges slices that do not overlap along the axis into a Split. Gaps between them become outputs
// without readers.
bool merge_ranges(Node& at, Value* x, std::vector<Cut> cuts, PassContext& context) {
  std::ranges::sort(cuts, {}, &Cut::begin);
  const int64_t size = x->shape()[static_cast<size_t>(cuts[0].axis)];
  std::vector<int64_t> sizes;
  std::vector<Node*> nodes;
  int64_t done = 0;
  for (const Cut& c : cuts) {
    if (c.begin < done) return false;
    if (c.begin > done) sizes.push_back(c.begin - done), nodes.push_back(nullptr);
    sizes.push_back(c.end - c.begin);
    nodes.push_back(c.node);
    done = c.end;
  }
  if (done < size) sizes.push_back(size - done), nodes.push_back(nullptr);
  if (!context.allow()) return false;
  const std::vector<Value*> parts = split_into(at, x, sizes, cuts[0].axis);
  for (size_t i = 0; i < parts.size(); i++)
    if (nodes[i]) replace_outputs(*nodes[i], std::span(&parts[i], 1));
  return true;
}

// Merges slices of every `step`-th element with several starts into a Reshape, a Split and
// Reshapes.
bool merge_phases(Node& at, Value* x, const std::vector<Cut>& cuts, PassContext& context) {
  const int64_t step = cuts[0].step;
  const auto axis = static_cast<size_t>(cuts[0].axis);
  const int64_t size = x->shape()[axis];
  for (const Cut& c : cuts)
    if (c.step != step || c.begin >= step || c.end <= size - step + c.begin) return false;
  if (size % step != 0 || !context.allow()) return false;
  Shape folded = x->shape();
  folded[axis] = size / step;
  const Shape each = folded;
  folded.insert(folded.begin() + static_cast<std::ptrdiff_t>(axis) + 1, step);
  const std::vector<Value*> parts =
      split_into(at, reshaped(at, x, folded), std::vector<int64_t>(static_cast<size_t>(step), 1),
                 cuts[0].axis + 1);
  std::vector<Value*> results;
  for (const Cut& c : cuts)
    results.push_back(reshaped(at, parts[static_cast<size_t>(c.begin)], each));
  for (size_t i = 0; i < cuts.size(); i++)
    replace_outputs(*cuts[i].node, std::span(&results[i], 1));
  return true;
}

// Merges the first group that can be merged. Returns whether it did.
bool merge_one(Graph& g, PassContext& context) {
  for (Node* n : g.nodes()) {
    const auto first = cut_of(*n);
    if (!first) continue;
    std::vector<Cut> cuts;
    Value* x = n->input(0);
    for (const ir::Use& use : x->uses()) {
      const auto cut =
          use.input == 0 && &use.node->graph() == &g ? cut_of(*use.node) : std::nullopt;
      if (cut && cut->axis == first->axis && (cut->step == 1) == (first->step == 1))
        cuts.push_back(*cut);
    }
    if (cuts.size() < 2) continue;
    if (first->step == 1 ? merge_ranges(*n, x, cuts, context) : merge_phases(*n, x, cuts, context))
      return true;
  }
  return false;
}

void run(Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& g) {
    while (merge_one(g, context)) {
    }
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "merge_multi_slice",
    .summary = "merges several Slices of one tensor",
    .condition =
        "constant Slices along one axis: ranges that do not overlap become a Split; slices of "
        "every n-th element with several starts become Reshape and Split",
    .numerics = Numerics::exact,
    .run = run};

}  // namespace poprt::passes::merge_multi_slice_pass
