#include "compiler/variable_weights.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "ops/facts.h"

namespace poprt::compiler {
namespace {

bool takes_weights(const ir::Node& node, size_t input, DType dtype) {
  const ops::Facts& facts = ops::facts_of(node);
  return ops::in_mask(facts.weight_inputs, input) &&
         (is_float(dtype) || (facts.byte_weights && dtype == DType::u8));
}

bool is_weight(const ir::Graph& graph, const ir::Value& value) {
  if (!value.is_constant() || value.shape().empty() || value.constant().bytes() == 0 ||
      value.name().empty() || value.uses().empty() || graph.is_output(&value))
    return false;
  return std::all_of(value.uses().begin(), value.uses().end(), [&](const ir::Use& use) {
    return &use.node->graph() == &graph && takes_weights(*use.node, use.input, value.dtype());
  });
}

}  // namespace

std::vector<VariableWeight> make_weights_variable(ir::Graph& graph) {
  std::vector<VariableWeight> weights;
  for (ir::Value* v : graph.values()) {
    if (!is_weight(graph, *v)) continue;
    const std::string name = v->name();
    weights.push_back({name, v->constant()});
    graph.rename(v, graph.fresh_name(name));
    ir::Value* const input = graph.add_input(name, ir::ValueType::of(v->dtype(), v->shape()));
    graph.replace_all_uses(v, input);
    graph.erase_value(v);
  }
  return weights;
}

void attach_values(Executable& executable, const std::vector<VariableWeight>& weights) {
  program::Program& p = executable.program;
  for (const VariableWeight& w : weights)
    for (program::Anchor& a : p.inputs) {
      if (a.name != w.name) continue;
      if (a.dtype != w.value.dtype() || a.shape != w.value.shape())
        fail(ErrorCode::unimplemented,
             "weights '{}' were {} {} and became {} {}: weights that stay variable cannot change "
             "their type (precision)",
             a.name, dtype_name(w.value.dtype()), shape_string(w.value.shape()),
             dtype_name(a.dtype), shape_string(a.shape));
      a.data = p.weights_bytes;
      const uint64_t bytes = a.bytes();
      p.weights_bytes = align_up(checked_add(a.data, bytes), 64);
      executable.weights.push_back({a.data, bytes, [tensor = w.value](std::span<std::byte> to) {
                                      if (!to.empty())
                                        std::memcpy(to.data(), tensor.data(), to.size());
                                    }});
    }
}

}  // namespace poprt::compiler
