#include "passes/common/fix_input_shapes.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"

namespace poprt::passes {
namespace {

std::string input_names(const ir::Graph& graph) {
  std::string s;
  for (const ir::Value* v : graph.inputs()) s += (s.empty() ? "" : ", ") + v->name();
  return s;
}

// Returns the name of the batch: the name of dimension `axis` of the first input in which it has
// one, or "". A dimension that has got a size keeps its name.
std::string batch_name(const ir::Graph& graph, size_t axis) {
  for (const ir::Value* v : graph.inputs())
    if (axis < v->type.symbols.size() && !v->type.symbols[axis].empty())
      return v->type.symbols[axis];
  return "";
}

// The axes of an input that have the batch: those with its name, or the given axis.
std::vector<size_t> batch_axes(const ir::Value& v, const std::string& name, size_t axis) {
  std::vector<size_t> axes;
  for (size_t i = 0; !name.empty() && i < v.type.symbols.size(); i++)
    if (v.type.symbols[i] == name) axes.push_back(i);
  if (axes.empty()) axes.push_back(axis);
  return axes;
}

}  // namespace

void set_batch_of_shapes(InputShapes& wanted, const ir::Graph& graph) {
  const auto given = static_cast<size_t>(wanted.batch_axis);
  const std::string name = batch_name(graph, given);
  for (auto& [input, shape] : wanted.shapes) {
    const ir::Value* v = graph.find(input);
    if (!v || !graph.is_input(v) || wanted.without_batch.contains(input)) continue;
    for (const size_t axis : batch_axes(*v, name, given))
      if (axis < shape.size() && (axis >= v->type.shape.size() || v->type.shape[axis] < 0))
        shape[axis] = wanted.batch_size;
  }
}

bool fix_input_shapes(ir::Graph& graph, const InputShapes& wanted) {
  bool changed = false;
  if ((wanted.batch_size > 0) != (wanted.batch_axis >= 0))
    fail(ErrorCode::invalid_argument, "batch_size and batch_axis are given together or not at all");
  std::unordered_map<std::string, int64_t> symbols;
  const auto fix = [&](ir::Value& v, size_t axis, int64_t size, std::string_view option) {
    int64_t& d = v.type.shape[axis];
    if (size < 0)
      fail(ErrorCode::invalid_argument, "{}: input '{}' axis {}: {} is not a valid size", option,
           v.name(), axis, size);
    if (d >= 0 && d != size)
      fail(ErrorCode::invalid_argument,
           "{}: input '{}' is {}, axis {} is fixed and cannot become {}{}", option, v.name(),
           type_string(v.type), axis, size,
           option == "input_shape" ? ""
           : wanted.shapes.contains(v.name())
               ? fmt::format(", because input_shape is {}", shape_string(v.type.shape))
           : d == 1 ? "; if it serves all samples, give `input_shapes` of the others without "
                      "`batch_size`"
                    : "");
    if (d < 0 && axis < v.type.symbols.size() && !v.type.symbols[axis].empty()) {
      const auto [it, added] = symbols.emplace(v.type.symbols[axis], size);
      if (!added && it->second != size)
        fail(ErrorCode::invalid_argument,
             "{}: dimension '{}' of input '{}' becomes {} here and {} elsewhere", option,
             v.type.symbols[axis], v.name(), size, it->second);
    }
    changed |= d != size;
    d = size;
  };

  for (const auto& [name, shape] : wanted.shapes) {
    ir::Value* v = graph.find(name);
    if (!v || !graph.is_input(v)) {
      // As in PopRT, this is only a warning, because one list of shapes may serve several models.
      // If a name is misspelt, the input that stays variable causes an error later.
      log().warn("a shape is given, but the model has no input '{}'; its inputs are: {}", name,
                 input_names(graph));
      continue;
    }
    if (!v->type.has_shape) {
      v->type.shape.assign(shape.size(), kUnknownDim);
      v->type.has_shape = true;
      v->type.symbols.clear();
    }
    if (v->type.shape.size() != shape.size())
      fail(ErrorCode::invalid_argument, "input_shape: input '{}' is {}, but {} has another rank",
           name, type_string(v->type), shape_string(shape));
    for (size_t i = 0; i < shape.size(); i++) fix(*v, i, shape[i], "input_shape");
  }
  if (wanted.batch_size > 0) {
    const auto given = static_cast<size_t>(wanted.batch_axis);
    const std::string name = batch_name(graph, given);
    // A scalar, such as a threshold, applies to all samples.
    const auto is_scalar = [](const ir::Value* v) {
      return v->type.has_shape && v->type.shape.empty();
    };
    const bool all_scalars = std::ranges::all_of(graph.inputs(), is_scalar);
    for (ir::Value* v : graph.inputs()) {
      if (wanted.without_batch.contains(v->name()) || (is_scalar(v) && !all_scalars)) continue;
      for (const size_t axis : batch_axes(*v, name, given)) {
        if (!v->type.has_shape || axis >= v->type.shape.size())
          fail(ErrorCode::invalid_argument, "batch_axis: input '{}' is {}, it has no axis {}",
               v->name(), type_string(v->type), axis);
        fix(*v, axis, wanted.batch_size, "batch_size");
      }
    }
  }
  for (ir::Value* v : graph.inputs())
    for (size_t i = 0; i < v->type.symbols.size() && i < v->type.shape.size(); i++)
      if (const auto it = symbols.find(v->type.symbols[i]);
          it != symbols.end() && v->type.shape[i] < 0)
        v->type.shape[i] = it->second;
  return changed;
}

}  // namespace poprt::passes
