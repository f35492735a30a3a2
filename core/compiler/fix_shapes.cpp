#include "compiler/fix_shapes.h"

#include "passes/common/input_shapes.h"

namespace poprt::compiler {

void fix_shapes(ir::Graph& graph, const Options& options) {
  passes::fix_input_shapes(
      graph, {options.input_shape, options.batch_size, options.batch_axis, options.without_batch});
}

void require_static_inputs(const ir::Graph& graph) {
  for (const ir::Value* v : graph.inputs()) {
    if (v->type.is_static()) continue;
    refuse_text(*v);
    fail(ErrorCode::invalid_argument,
         "input '{}' is {}: every dimension must be known at compile time; give `input_shapes` "
         "{}=... or `batch_size` with `batch_axis`",
         v->name(), type_string(v->type), v->name());
  }
}

void refuse_text(const ir::Value& input) {
  if (input.dtype() == DType::string)
    fail(ErrorCode::unimplemented, "input '{}' is {}: the device does not support strings",
         input.name(), type_string(input.type));
}

}  // namespace poprt::compiler
