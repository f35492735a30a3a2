#include "ir/match.h"

#include <algorithm>

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

namespace {

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* t = std::get_if<Tensor>(&a)) return t->same_as(std::get<Tensor>(b));
  if (std::holds_alternative<std::vector<Tensor>>(a) ||
      std::holds_alternative<std::shared_ptr<Graph>>(a) ||
      std::holds_alternative<std::vector<std::shared_ptr<Graph>>>(a))
    return false;
  if (const auto* v = std::get_if<int64_t>(&a)) return *v == std::get<int64_t>(b);
  if (const auto* v = std::get_if<float>(&a)) return *v == std::get<float>(b);
  if (const auto* v = std::get_if<std::string>(&a)) return *v == std::get<std::string>(b);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&a))
    return *v == std::get<std::vector<int64_t>>(b);
  if (const auto* v = std::get_if<std::vector<float>>(&a))
    return *v == std::get<std::vector<float>>(b);
  return std::get<std::vector<std::string>>(a) == std::get<std::vector<std::string>>(b);
}

}  // namespace

bool same_attributes(const Node& a, const Node& b) {
  if (a.attributes.size() != b.attributes.size()) return false;
  return std::ranges::all_of(a.attributes, [&](const auto& entry) {
    const Attribute* other = b.find_attr(entry.first);
    return other && same_attribute(entry.second, *other);
  });
}

}  // namespace poprt::ir
