#include "base/checked.h"
#include "compiler/flow/specialize.h"

namespace poprt::compiler {
namespace {

constexpr int64_t kMaxTensors = 1 << 16;

ir::ValueType element_type(const ir::Node& n) {
  ir::ValueType type;
  type.dtype = static_cast<DType>(n.int_attr("element", 0));
  if (const auto* shape = n.find_attr("shape")) {
    type.has_shape = true;
    type.shape = std::get<std::vector<int64_t>>(*shape);
  }
  return type;
}

void expand(ir::Graph& graph, ir::Node& n, const Options& options) {
  ir::Value* old = n.output();
  const std::string name = old->name(), kind = n.string_attr("kind", "sequence");
  const bool is_sequence = kind != "optional";
  const auto given = [&](int64_t i) {
    return options.input_shape.contains(fmt::format("{}[{}]", name, i));
  };
  int64_t length = 0;
  bool known = kind != "sequence";  // an optional may be absent
  if (const auto it = options.input_length.find(name); it != options.input_length.end()) {
    length = it->second;
    known = true;
  } else if (is_sequence) {
    while (given(length)) length++;
    known |= length > 0;
  } else {
    length = options.input_shape.contains(name);
  }
  if (!known)
    fail(ErrorCode::invalid_argument,
         "input '{}' is a sequence: give the shape of each element, `input_shapes` '{}[0]=...' and "
         "so on; its length is fixed when the model is compiled",
         name, name);
  if (length < 0 || length > kMaxTensors || (!is_sequence && length > 1))
    fail(ErrorCode::invalid_argument, "input '{}' cannot have {} elements", name, length);
  graph.rename(old, name + ":container");
  std::vector<ir::Value*> elements;
  for (int64_t i = 0; i < length; i++)
    elements.push_back(
        graph.add_input(is_sequence ? fmt::format("{}[{}]", name, i) : name, element_type(n)));
  const bool present = length > 0 || options.input_length.contains(name);
  std::string op = "SequenceConstruct";
  if (!is_sequence)
    op = length > 0 ? "Identity" : "Optional";
  else if (length == 0)
    op = present || kind == "sequence" ? "SequenceEmpty" : "Optional";
  ir::Node* by = graph.add_node(op, "", elements, 1, &n);
  by->name = name;
  graph.replace_all_uses(old, by->output());
  graph.erase_node(&n);
}

}  // namespace

void expand_containers(ir::Graph& graph, const Options& options) {
  for (ir::Node* n : graph.nodes())
    if (n->is("ContainerInput", "poprt")) expand(graph, *n, options);
}

}  // namespace poprt::compiler
