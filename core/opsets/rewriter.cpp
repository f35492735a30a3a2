#include <algorithm>

#include "ir/newest.h"
#include "ops/op.h"
#include "opsets/rule.h"

namespace poprt::opsets {

void fail_conversion(const ir::Node& node, int64_t source, int64_t target, std::string_view why) {
  std::string type = node.op_type, what = node.describe();
  if (const size_t at = what.find(' '); at != what.npos) what = type + what.substr(at);
  fail(ErrorCode::unimplemented, "convert_version: no conversion from opset {} to {}: {}: {}",
       source, target, what, why);
}

void Rewriter::refuse(const std::string& why) const { fail_conversion(at, source_, target_, why); }

void Rewriter::slower(std::string_view why) const {
  if (faithful_) reject("{}, which compiles to a slower program", why);
}

int64_t Rewriter::rank(size_t input) const {
  const Value* v = in(input);
  if (!v->type.has_shape) reject("the rank of '{}' must be known", v->name());
  return static_cast<int64_t>(v->shape().size());
}

std::vector<int64_t> Rewriter::known_ints(size_t input, std::string_view role) const {
  const Tensor* t = constant_or_null(input);
  if (!t) reject("input {} ('{}') must be a constant: {}", input, node.input(input)->name(), role);
  return t->to_int64s();
}

const Tensor* Rewriter::constant_or_null(size_t input) const {
  const Value* v = node.input(input);
  return v && v->is_constant() ? &v->constant() : nullptr;
}

double Rewriter::only_number(const Tensor& constant, std::string_view role) const {
  if (constant.count() != 1) reject("{} has {} elements, expected one", role, constant.count());
  return constant.to_doubles()[0];
}

void Rewriter::check_constant_size(std::span<const int64_t> shape) const {
  constexpr int64_t kMost = int64_t{1} << 24;
  int64_t count = 1;
  for (const int64_t d : shape) {
    if (d < 0) reject("a dimension of {}", d);
    if (d == 0) return;
  }
  for (const int64_t d : shape) {
    if (d > kMost / count)
      reject("the constant {} is larger than {} elements",
             shape_string(Shape(shape.begin(), shape.end())), kMost);
    count *= d;
  }
}

void Rewriter::drop(std::string_view attribute) {
  if (const auto it = at.attributes.find(attribute); it != at.attributes.end())
    at.attributes.erase(it);
}

std::optional<std::vector<int64_t>> Rewriter::take_ints(std::string_view attribute) {
  if (!at.find_attr(attribute)) return std::nullopt;
  std::vector<int64_t> values = at.ints_attr(attribute);
  drop(attribute);
  return values;
}

void Rewriter::keep_inputs(size_t count) {
  if (at.inputs().size() <= count) return;
  const std::vector<Value*> had(at.inputs().begin(), at.inputs().end());
  at.set_inputs(std::span(had).first(count));
  for (size_t i = count; i < had.size(); i++)
    if (Value* v = had[i]; v && v->is_constant() && v->uses().empty() && !v->graph().is_output(v))
      if (std::find(had.begin() + static_cast<std::ptrdiff_t>(i) + 1, had.end(), v) == had.end())
        v->graph().erase_value(v);
}

ir::Node* Rewriter::like(
    std::span<Value* const> inputs,
    std::initializer_list<std::pair<const std::string_view, ir::Attribute>> more) {
  std::vector<std::string> names;
  for (const Value* v : at.outputs()) names.push_back(v->name() + "_" + at.op_type);
  ir::Node* n = at.graph().add_node(at.op_type, std::string(ir::kNewestDomain), inputs,
                                    at.outputs().size(), &at, names);
  n->name = at.name;
  n->attributes = at.attributes;
  for (const auto& [key, value] : more) n->attributes[std::string(key)] = value;
  ops::infer(*n);
  return n;
}

ir::Node* Rewriter::like_with(size_t i, Value* value) {
  std::vector<Value*> inputs(at.inputs().begin(), at.inputs().end());
  inputs[i] = value;
  return like(inputs);
}

void Rewriter::result(size_t i, Value* value) {
  replaced = true;
  Value* old = at.output(i);
  if (!old) return;
  if (at.graph().is_output(old)) {
    // A value that is not the result of a node, or is an output already, cannot take the name of an
    // output.
    const ir::Node* maker = value->producer();
    if (!maker || &value->graph() != &at.graph() || at.graph().is_output(value))
      value = newest("Identity", {value});
  }
  if (old->type.has_shape && !value->type.is_static()) value->type = old->type;
  at.graph().replace_all_uses(old, value);
}

}  // namespace poprt::opsets
