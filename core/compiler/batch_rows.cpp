#include "compiler/batch_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "compiler/bucket_padding.h"
#include "compiler/padding.h"
#include "ops/facts.h"
#include "program/batch_rows.h"

namespace poprt::compiler {
namespace {

bool is_from_shapes(const ir::Node& n) { return ops::facts_of(n).from_shapes != nullptr; }

using Values = std::unordered_set<const ir::Value*>;

// Whether a subgraph of the node computes a size, or reads one of the outer graph.
bool subgraphs_read_sizes(const ir::Node& n, const Values& sizes) {
  bool found = false;
  ir::for_each_subgraph(n, [&](ir::Graph& sub) {
    for (const auto& inner : sub.nodes())
      found = found || is_from_shapes(*inner) ||
              std::ranges::any_of(inner->inputs(),
                                  [&](const ir::Value* v) { return sizes.contains(v); }) ||
              subgraphs_read_sizes(*inner, sizes);
    for (const ir::Value* v : sub.outputs()) found = found || sizes.contains(v);
  });
  return found;
}

// Whether the model, before its conversion, fixes the size of this axis, so that it has no other
// number of rows.
bool is_fixed(const ir::Graph& source, const PaddedAxis& a) {
  const ir::Value* v = source.find(a.input);
  return v && v->type.has_shape && a.axis < v->shape().size() && v->shape()[a.axis] >= 0;
}

// Returns the reason why requests cannot share a batch along output axis `axis`, or an empty text
// if they can.
std::string why_rows_are_not_separate(const ir::Graph& converted, const ir::Graph* source,
                                      const VaryingDimension& dimension, size_t axis,
                                      const Options& options) {
  const int64_t rows = dimension.sizes.back();
  if (std::string why = why_rows_mix(converted, rows, axis, dimension.axes); !why.empty())
    return why;
  if (!source || std::ranges::any_of(dimension.axes,
                                     [&](const PaddedAxis& a) { return is_fixed(*source, a); }))
    return {};
  try {
    return why_size_matters(*source, dimension, options);
  } catch (const Error& e) {  // the model itself is compiled, but its rows are not proved separate
    return fmt::format("a conversion at another size failed: {}", e.message());
  }
}

}  // namespace

bool computes_with_sizes(const ir::Graph& source) {
  Values data, sizes;
  for (const ir::Value* v : source.inputs()) data.insert(v);
  for (const auto& n : source.nodes()) {
    if (subgraphs_read_sizes(*n, sizes)) return true;
    const auto is_in = [&](const auto& set) {
      return std::ranges::any_of(n->inputs(), [&](const ir::Value* v) { return set.contains(v); });
    };
    const bool has_data = is_in(data) && !is_from_shapes(*n);
    if (has_data)
      for (size_t i = 0; i < n->inputs().size(); i++)
        if (sizes.contains(n->input(i)) && !ops::in_mask(ops::facts_of(*n).extent_inputs, i))
          return true;
    const bool has_sizes = is_from_shapes(*n) || is_in(sizes);
    for (const ir::Value* v : n->outputs())
      if (has_data)
        data.insert(v);
      else if (has_sizes)
        sizes.insert(v);
  }
  return std::ranges::any_of(source.outputs(),
                             [&](const ir::Value* v) { return sizes.contains(v); });
}

bool depends_on_batch(const ir::Graph& source) {
  const SizeUse use = size_use_of(source);
  return use.computes || use.has_constant_extents || computes_with_sizes(source);
}

std::string note_batch_rows(const ir::Graph& converted, const ir::Graph* source,
                            const std::set<std::string>& fixed, const Options& options) {
  std::vector<const ir::Value*> inputs;
  for (const ir::Value* v : converted.inputs())
    if (!fixed.contains(v->name())) inputs.push_back(v);
  std::vector<program::BatchRows> axes;
  for (size_t axis = 0; !inputs.empty() && axis < inputs[0]->shape().size(); axis++) {
    const int64_t rows = inputs[0]->shape()[axis];
    if (rows < 2) continue;
    program::BatchRows entry = {static_cast<uint32_t>(axis), rows, {}, {}};
    VaryingDimension dimension = {fmt::format("axis {}", axis), {}, {rows - 1, rows}};
    for (const ir::Value* v : inputs) {
      if (axis >= v->shape().size() || v->shape()[axis] == 0 || v->shape()[axis] % rows != 0)
        continue;
      dimension.axes.push_back({v->name(), axis});
      entry.inputs.push_back(v->name());
    }
    entry.mixed = why_rows_are_not_separate(converted, source, dimension, axis, options);
    axes.push_back(std::move(entry));
  }
  return axes.empty() ? std::string() : program::note_of_batch_rows(axes);
}

}  // namespace poprt::compiler
