#include "compiler/static_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/edit_distance.h"
#include "base/error.h"
#include "passes/common/fix_input_shapes.h"

namespace poprt::compiler {

namespace {

passes::InputShapes wanted(const Options& o) {
  return {o.input_shape, o.batch_size, o.batch_axis, o.without_batch};
}

}  // namespace

void fix_shapes(ir::Graph& graph, const Options& options) {
  passes::fix_input_shapes(graph, wanted(options));
}

void set_batch_of_shapes(const ir::Graph& graph, Options& options) {
  passes::InputShapes shapes = wanted(options);
  passes::set_batch_of_shapes(shapes, graph);
  options.input_shape = std::move(shapes.shapes);
}

namespace {

// Returns the name in `given` that is probably meant for the input, or "".
std::string_view misspelt(const ir::Graph& graph, const ShapeSet& given, const std::string& input) {
  std::string_view nearest;
  size_t least = std::max<size_t>(2, input.size() / 4) + 1;
  for (const auto& [name, shape] : given) {
    const ir::Value* v = graph.find(name);
    if (v && graph.is_input(v)) continue;
    if (const size_t distance = edit_distance(name, input); distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace

void require_static_inputs(const ir::Graph& graph, const ShapeSet& given, bool has_batch) {
  for (const ir::Value* v : graph.inputs()) {
    if (v->type.is_static()) continue;
    refuse_text(*v);
    const std::string_view other = misspelt(graph, given, v->name());
    fail(ErrorCode::invalid_argument,
         "input '{}' is {}: every dimension must be known at compile time; give `input_shapes` "
         "{}=...{}{}",
         v->name(), type_string(v->type), v->name(), has_batch ? "" : " or `batch_size`",
         other.empty() ? ""
                       : fmt::format("; a shape is given for '{}', which is not an input", other));
  }
}

void refuse_text(const ir::Value& input) {
  if (input.dtype() == DType::string)
    fail(ErrorCode::unimplemented, "input '{}' is {}: the device does not support strings",
         input.name(), type_string(input.type));
}

}  // namespace poprt::compiler
