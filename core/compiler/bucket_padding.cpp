#include "compiler/bucket_padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "compiler/flow/specialize.h"
#include "compiler/static_inputs.h"
#include "ops/facts.h"
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

constexpr int64_t kMostNumber = 1 << 16;  // larger numbers are not sizes of practical models
// A model that computes with sizes is compared at all sizes of a dimension if the largest is at
// most kFewSizes, or if that converts at most kMostNodes nodes in total, which takes about 60 ms.
constexpr int64_t kFewSizes = 16;
constexpr int64_t kMostNodes = 1 << 14;
// Otherwise, at sizes near kMostNumbers of SizeUse::numbers. The largest ones are more likely sizes
// than axes or counts.
constexpr size_t kMostNumbers = 8;

class SizeWalk {
 public:
  SizeUse use;

  void run(const ir::Graph& graph) {
    for (const auto& n : graph.nodes()) {
      use.nodes++;
      const ops::Facts& facts = ops::facts_of(*n);
      const auto reads = [&](const Values& set) {
        return std::ranges::any_of(n->inputs(),
                                   [&](const ir::Value* v) { return set.contains(v); });
      };
      const bool has_data = reads(data_) && !facts.from_shapes;
      const bool has_sizes = !has_data && (facts.from_shapes || reads(sizes_));
      for (size_t i = 0; i < n->inputs().size(); i++) {
        const ir::Value* v = n->input(i);
        if (!v || !v->is_constant()) continue;
        if (has_sizes && !facts.moves) take_numbers(v->constant());
        if (has_data && ops::in_mask(facts.shape_inputs, i) && fixes_extent(v->constant()))
          use.has_constant_extents = true;
      }
      if (has_data)
        for (const char* attribute : {"ends", "shape"})
          for (const int64_t extent : n->ints_attr(attribute))
            use.has_constant_extents |= extent > 1 && extent < kMostNumber;
      use.computes |= has_sizes && !facts.moves && !facts.from_shapes;
      for (const ir::Value* v : n->outputs())
        if (v && has_data)
          data_.insert(v);
        else if (v && has_sizes)
          sizes_.insert(v);
      ir::for_each_subgraph(*n, [&](const ir::Graph& sub) { run(sub); });
    }
  }
  void take_inputs(const ir::Graph& graph) {
    for (const ir::Value* v : graph.inputs()) data_.insert(v);
  }

 private:
  using Values = std::unordered_set<const ir::Value*>;

  void take_numbers(const Tensor& t) {
    if (t.count() > 64 || t.dtype() == DType::string || dtype_bits(t.dtype()) < 8) return;
    for (const double x : t.to_doubles())
      if (x >= 0 && x < kMostNumber) use.numbers.insert(static_cast<int64_t>(x));
  }

  // Whether a number fixes an extent. A number after the first -1 or 0 of Reshape does not count,
  // because the batch is usually the first extent.
  static bool fixes_extent(const Tensor& t) {
    if (is_float(t.dtype()) || t.dtype() == DType::string || t.count() > 64) return false;
    for (const int64_t extent : t.to_int64s()) {
      if (extent == 0 || extent == -1) return false;
      if (extent != 1 && extent > -kMostNumber && extent < kMostNumber) return true;
    }
    return false;
  }

  Values data_, sizes_;
};

// The sizes, all smaller than that of the largest shape, at which the model is converted.
std::set<int64_t> smaller_sizes(const VaryingDimension& dimension, const SizeUse& use) {
  const int64_t most = std::ranges::max(dimension.sizes);
  std::set<int64_t> sizes = {most - 1, (most + 1) / 2, std::ranges::min(dimension.sizes)};
  if (use.computes && (most <= kFewSizes || most * use.nodes <= kMostNodes))
    for (int64_t size = 1; size < most; size++) sizes.insert(size);
  if (use.computes) {
    sizes.insert({1, 2});
    size_t count = 0;
    for (const int64_t number : use.numbers | std::views::reverse)
      if (number < most && count++ < kMostNumbers) sizes.insert({number - 1, number, number + 1});
  }
  std::erase_if(sizes, [&](int64_t size) { return size < 1 || size >= most; });
  return sizes;
}

ShapeSet resized(const ShapeSet& shapes, const VaryingDimension& dimension, int64_t size) {
  const int64_t most = std::ranges::max(dimension.sizes);
  ShapeSet at = shapes;
  for (const PaddedAxis& a : dimension.axes)
    at[a.input][a.axis] = at[a.input][a.axis] / most * size;
  return at;
}

// Returns why padding along a dimension may affect a result, or an empty text if it cannot.
std::string why_padding_matters(const ir::Graph& graph, const ir::Graph& largest,
                                const ShapeSet& shapes, const VaryingDimension& dimension,
                                const SizeUse& use, const Options& options) {
  for (const int64_t size : smaller_sizes(dimension, use)) {
    try {
      const auto request = converted(graph, resized(shapes, dimension, size), options);
      if (std::string why = why_padding_reaches(largest, *request, dimension.axes); !why.empty())
        return why;
    } catch (const Error& e) {
      return fmt::format("at {} there is no model: {}", size, e.message());
    }
  }
  return {};
}

// The same while another dimension is smaller: Reshape may keep rows at one length only, and a
// maximum or a comparison of two sizes may be constant at the largest size of one of them.
std::string why_it_matters_at_other_sizes(const ir::Graph& graph, const ShapeSet& shapes,
                                          const std::vector<VaryingDimension>& all,
                                          const VaryingDimension& dimension, const SizeUse& use,
                                          const Options& options) {
  for (const VaryingDimension& other : all) {
    if (other.name == dimension.name) continue;
    const int64_t most = std::ranges::max(other.sizes);
    std::set<int64_t> sizes = {(most + 1) / 2};
    if (use.computes) sizes.insert({1, 2});
    for (const int64_t size : sizes) {
      if (size >= most) continue;
      const ShapeSet at = resized(shapes, other, size);
      std::unique_ptr<ir::Graph> bucket;
      try {
        bucket = converted(graph, at, options);
      } catch (const Error&) {  // no request has this size
        continue;
      }
      if (std::string why = why_padding_matters(graph, *bucket, at, dimension, use, options);
          !why.empty())
        return why;
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
  const SizeUse use = size_use_of(graph);
  const auto same = converted(graph, shapes, own);
  if (std::string why = why_padding_matters(graph, *same, shapes, dimension, use, own);
      !why.empty())
    return why;
  const int64_t most = std::ranges::max(dimension.sizes);
  std::set<int64_t> larger = {most + 1};
  for (const int64_t number : use.numbers)
    if (number >= most && larger.size() < kMostNumbers) larger.insert(number + 1);
  for (const int64_t size : larger) {
    const auto bucket = converted(graph, resized(shapes, dimension, size), own);
    if (std::string why = why_padding_reaches(*bucket, *same, dimension.axes); !why.empty())
      return why;
  }
  return {};
}

SizeUse size_use_of(const ir::Graph& source) {
  SizeWalk walk;
  walk.take_inputs(source);
  walk.run(source);
  return walk.use;
}

PaddingPlan plan_padding(const ir::Graph& graph, const std::vector<ShapeSet>& sets,
                         const Options& options) {
  PaddingPlan plan;
  const size_t last = sets.size() - 1;
  const ShapeSet shapes = all_shapes(graph, sets[last], options);
  const auto largest = converted(graph, shapes, options);
  const SizeUse use = size_use_of(graph);
  const std::vector<VaryingDimension> all = varying_dimensions(graph, sets, options);
  std::vector<VaryingDimension> open;
  for (const VaryingDimension& dimension : all) {
    std::string why = why_padding_matters(graph, *largest, shapes, dimension, use, options);
    if (why.empty())
      why = why_it_matters_at_other_sizes(graph, shapes, all, dimension, use, options);
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
