#include "compiler/bucket_padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "compiler/fix_shapes.h"
#include "compiler/flow/specialize.h"
#include "program/link.h"

namespace poprt::compiler {
namespace {

std::string name_of(const ir::Value& input, size_t axis) {
  const std::vector<std::string>& symbols = input.type.symbols;
  if (axis < symbols.size() && !symbols[axis].empty()) return symbols[axis];
  return fmt::format("{}:{}", input.name(), axis);
}

// The shapes of all inputs for one set.
ShapeSet all_shapes(const ir::Graph& graph, const ShapeSet& set, const Options& options) {
  const auto copy = graph.clone();
  Options own = options;
  own.input_shape = set;
  expand_containers(*copy, own);
  fix_shapes(*copy, own);
  require_static_inputs(*copy, set);
  ShapeSet shapes;
  for (const ir::Value* v : copy->inputs()) shapes[v->name()] = v->shape();
  return shapes;
}

std::unique_ptr<ir::Graph> converted(const ir::Graph& graph, const ShapeSet& shapes,
                                     const Options& options) {
  auto copy = graph.clone();
  Options own = options;
  own.input_shape = shapes;
  own.plain = own.passes.empty() && own.requested.empty();
  own.after_pass = nullptr;
  own.progress = nullptr;
  const WarningFilter quiet([](const std::string&) { return false; });
  convert(*copy, own);
  return copy;
}

// Returns why padding along a dimension may affect a result, or an empty text if it cannot.
std::string why_padding_matters(const ir::Graph& graph, const ir::Graph& largest,
                                const ShapeSet& shapes, const VaryingDimension& dimension,
                                const Options& options) {
  const int64_t most = std::ranges::max(dimension.sizes);
  std::set<int64_t> smaller = {most - 1, (most + 1) / 2, std::ranges::min(dimension.sizes)};
  for (const int64_t size : smaller) {
    if (size < 1 || size >= most) continue;
    ShapeSet at = shapes;
    for (const PaddedAxis& a : dimension.axes)
      at[a.input][a.axis] = at[a.input][a.axis] / most * size;
    try {
      const auto request = converted(graph, at, options);
      if (std::string why = why_padding_reaches(largest, *request, dimension.axes); !why.empty())
        return why;
    } catch (const Error& e) {
      return fmt::format("at {} there is no model: {}", size, e.message());
    }
  }
  return {};
}

// Whether the model can be converted with these dimensions masked. If not, `why` receives the
// reason.
bool can_mask(const ir::Graph& graph, size_t shape, const ShapeSet& shapes,
              const std::vector<VaryingDimension>& masked, const Options& options,
              std::string& why) {
  std::set<std::string> inputs;
  for (const VaryingDimension& dimension : masked)
    for (const PaddedAxis& a : dimension.axes)
      if (!inputs.insert(a.input).second) {
        why =
            fmt::format("input '{}' has two axes along which padding would reach results", a.input);
        return false;
      }
  const auto copy = graph.clone();
  Options own = options;
  add_real_places(*copy, shape, {masked, {}, {}}, own);
  try {
    converted(*copy, shapes, own);
    return true;
  } catch (const Error& e) {
    why = e.message();
    return false;
  }
}

}  // namespace

std::vector<VaryingDimension> varying_dimensions(const ir::Graph& graph,
                                                 const std::vector<ShapeSet>& sets,
                                                 const Options& options) {
  std::vector<ShapeSet> shapes;
  for (const ShapeSet& set : sets) shapes.push_back(all_shapes(graph, set, options));
  std::vector<VaryingDimension> found;
  for (const auto& [input, shape] : shapes.at(0)) {
    const ir::Value* value = graph.find(input);
    // Requests are padded along axes that all shapes have. The model may not fix the rank.
    for (const ShapeSet& s : shapes)
      if (const Shape& other = s.at(input); other.size() != shape.size())
        fail(ErrorCode::invalid_argument,
             "`input_shape`: the shapes {} and {} of input '{}' have {} and {} dimensions; all "
             "shapes of an input must have one rank",
             shape_string(shape), shape_string(other), input, shape.size(), other.size());
    for (size_t d = 0; d < shape.size(); d++) {
      std::vector<int64_t> sizes;
      for (const ShapeSet& s : shapes) sizes.push_back(s.at(input).at(d));
      if (std::ranges::all_of(sizes, [&](int64_t s) { return s == sizes[0]; })) continue;
      const std::string name = value ? name_of(*value, d) : fmt::format("{}:{}", input, d);
      const auto same = std::ranges::find(found, name, &VaryingDimension::name);
      VaryingDimension& dimension =
          same != found.end() ? *same : found.emplace_back(VaryingDimension{name, {}, sizes});
      dimension.axes.push_back({input, d});
    }
  }
  return found;
}

std::string why_size_matters(const ir::Graph& graph, const VaryingDimension& dimension,
                             const Options& options) {
  const ShapeSet shapes = all_shapes(graph, options.input_shape, options);
  Options own = options;
  own.batch_size = 0;  // `shapes` contains it
  return why_padding_matters(graph, *converted(graph, shapes, own), shapes, dimension, own);
}

PaddingPlan plan_padding(const ir::Graph& graph, const std::vector<ShapeSet>& sets,
                         const Options& options) {
  PaddingPlan plan;
  const size_t last = sets.size() - 1;
  const ShapeSet shapes = all_shapes(graph, sets[last], options);
  const auto largest = converted(graph, shapes, options);
  std::vector<VaryingDimension> open;
  for (const VaryingDimension& dimension : varying_dimensions(graph, sets, options)) {
    std::string why = why_padding_matters(graph, *largest, shapes, dimension, options);
    if (why.empty()) continue;
    log().info("`input_shape`: padding of '{}' may reach results: {}", dimension.name, why);
    open.push_back(dimension);
  }
  if (open.empty()) return plan;
  if (can_mask(graph, last, shapes, open, options, plan.why)) {
    plan.masked = std::move(open);
    return plan;
  }
  // If they cannot all be masked, masks the first one that can be masked alone. The sizes of the
  // others must then be exact.
  for (size_t i = 0; open.size() > 1 && i < open.size(); i++) {
    std::string why;
    if (!can_mask(graph, last, shapes, {open[i]}, options, why)) continue;
    plan.masked = {open[i]};
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  plan.exact = std::move(open);
  return plan;
}

void add_real_places(ir::Graph& graph, size_t shape, const PaddingPlan& plan, Options& options) {
  options.real_places.clear();
  for (const VaryingDimension& dimension : plan.masked) {
    const std::string name = std::string(program::kRealPlaces) + dimension.name;
    if (graph.find(name)) fail(ErrorCode::invalid_argument, "the name '{}' is reserved", name);
    const int64_t size = dimension.sizes[shape];
    graph.add_input(name, ir::ValueType::of(DType::boolean, {size}));
    for (const PaddedAxis& a : dimension.axes) options.real_places[a.input] = {name, a.axis};
  }
}

}  // namespace poprt::compiler
