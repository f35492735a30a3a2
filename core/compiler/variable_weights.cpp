#include "compiler/variable_weights.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/checked.h"
#include "base/error.h"

namespace poprt::compiler {
namespace {

// Operators and the inputs at which they take weights, from the first to the last. `bytes`: these
// are quarter numbers as u8.
struct Place {
  std::string_view op;
  size_t first, last;
  std::string_view domain = "ai.onnx";
  bool bytes = false;
};
constexpr Place kPlaces[] = {
    {"Add", 0, 1},
    {"Sub", 0, 1},
    {"Mul", 0, 1},
    {"Div", 0, 1},
    {"Conv", 1, 2},
    {"ConvTranspose", 1, 2},
    {"MatMul", 0, 1},
    {"Gemm", 0, 2},
    {"PRelu", 1, 1},
    {"Gather", 0, 0},
    {"LSTM", 1, 3},
    {"GRU", 1, 3},
    {"RNN", 1, 3},
    {"BatchNormalization", 1, 4},
    {"LayerNormalization", 1, 2},
    {"InstanceNormalization", 1, 2},
    {"GroupNormalization", 1, 2},
    {"RMSNormalization", 1, 1},
    {"FP8MatMul", 1, 1, "ai.graphcore", true},
    {"FP8Conv", 1, 1, "ai.graphcore", true},
};

bool takes_weights(const ir::Node& node, size_t input, DType dtype) {
  const std::string_view domain = node.domain.empty() ? "ai.onnx" : std::string_view(node.domain);
  return std::any_of(std::begin(kPlaces), std::end(kPlaces), [&](const Place& p) {
    return p.op == node.op_type && p.domain == domain && input >= p.first && input <= p.last &&
           (is_float(dtype) || (p.bytes && dtype == DType::u8));
  });
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
