#include "ir/match.h"

namespace poprt::ir {

std::optional<double> const_scalar(const Value* value) {
  if (!value || !value->is_constant()) return std::nullopt;
  const Tensor& t = value->constant();
  const bool numeric = is_float(t.dtype()) || is_integer(t.dtype()) || t.dtype() == DType::boolean;
  if (!numeric || t.count() != 1) return std::nullopt;
  return t.to_doubles()[0];
}

std::optional<std::vector<int64_t>> const_ints(const Value* value) {
  if (!value || !value->is_constant()) return std::nullopt;
  const Tensor& t = value->constant();
  if (t.shape().size() > 1 || !(is_integer(t.dtype()) || t.dtype() == DType::boolean))
    return std::nullopt;
  return t.to_int64s();
}

bool single_use(const Value* value) {
  if (!value || value->uses().size() != 1 || value->graph().is_output(value)) return false;
  return value->is_constant() || &value->uses()[0].node->graph() == &value->graph();
}

Node* producer_if(const Value* value, std::string_view type, std::string_view domain) {
  if (!value || !value->producer() || !value->producer()->is(type, domain)) return nullptr;
  return value->producer();
}

Node* single_reader(const Value* value) {
  return single_use(value) ? value->uses()[0].node : nullptr;
}

Value* other_input(const Node& node, const Value* value) {
  if (node.inputs().size() != 2) return nullptr;
  const bool first = node.input(0) == value, second = node.input(1) == value;
  if (first == second) return nullptr;
  return first ? node.input(1) : node.input(0);
}

bool can_replace(const Value* from, const Value* to) {
  const Graph& graph = from->graph();
  if (!graph.is_output(from)) return true;
  return to->producer() && &to->graph() == &graph && !graph.is_output(to);
}

}  // namespace poprt::ir
