// Results whose size depends on data: their upper bound, and how much of it is real.
#include "compiler/flow/specializer.h"

#include <algorithm>
#include <array>

#include "ops/op.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

bool makes_unknown_sizes(const Node& n) { return ops::facts_of(n).data_sized; }

// Gives an operator whose result size depends on data its upper bound.
void Specializer::bound_sizes(const Node& n, Node* made) {
  Value *x = made->input(0), *y = nullptr;
  if (!x->type.is_static()) return;
  Value* size = nullptr;
  size_t axis = 0;
  const auto replace = [&](const std::vector<Value*>& by) {
    for (size_t i = 0; i < by.size(); i++) {
      for (auto& [value, name] : names_)
        if (value == made->output(i)) value = by[i];
      items_[n.output(i)] = Item::of(by[i]);
    }
    y = by[0];
    target_->erase_node(made);
  };
  const ops::SizeRule rule = ops::facts_of(n).size_rule;
  if (rule == ops::SizeRule::non_zero) {
    if (x->shape().empty()) return;
    size = once("Count", "poprt", {x});
    replace({once("NonZero", "poprt", {x})});
    axis = 1;
  } else if (rule == ops::SizeRule::unique) {
    Node* u = target_->add_node("Unique", "poprt", {x}, std::max<size_t>(4, n.outputs().size()));
    u->attributes = made->attributes;
    ops::infer(*u);
    size = once("Count", "poprt", {u->output(3)});
    const std::vector<Value*> outputs(u->outputs().begin(), u->outputs().end());
    replace({outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(n.outputs().size())});
    for (const size_t i : {1u, 3u})
      if (i < n.outputs().size()) items_[n.output(i)].sized(size, 0);
    if (const ir::Attribute* a = n.find_attr("axis"))
      axis = static_cast<size_t>(
          normalize_axis(std::get<int64_t>(*a), static_cast<int64_t>(x->shape().size())));
  } else if (rule == ops::SizeRule::compress) {
    Value* condition = made->input(1);
    if (!condition || !condition->type.is_static() || condition->is_constant()) return;
    const bool flat = !n.find_attr("axis");
    const Shape shape = flat ? Shape{element_count(x->shape())} : x->shape();
    axis = flat ? 0
                : static_cast<size_t>(
                      normalize_axis(n.int_attr("axis", 0), static_cast<int64_t>(shape.size())));
    const int64_t length = element_count(condition->shape());
    if (length > shape[axis])
      fail_at(n, ErrorCode::unimplemented,
              "{} conditions for {} elements: a longer condition must be constant", length,
              shape[axis]);
    size = once("Count", "poprt", {condition});
    Value* at = reshape(make1("NonZero", {reshape(condition, {length})}, {}, "poprt"), {length});
    replace({make1("Gather", {reshape(x, shape), at}, {{"axis", static_cast<int64_t>(axis)}})});
  } else {  // NonMaxSuppression: rows past the last one are -1
    std::vector<Value*> inputs;
    for (size_t i = 0; i < made->inputs().size(); i++) inputs.push_back(made->input(i));
    Node* boxes = target_->add_node("NonMaxSuppression", "poprt", inputs);
    boxes->attributes = made->attributes;
    ops::infer(*boxes);
    if (!boxes->output()->type.is_static()) return target_->erase_node(boxes);
    Value* rows = boxes->output();
    replace({rows});
    size = once("Count", "poprt", {make1("Add", {slice_at(rows, integer(0), 1), integer(1)})});
  }
  items_[n.output()].sized(size, axis);
  for (size_t i = 0; i < n.outputs().size(); i++) give(n, i, item_of(n.output(i)));
}

}  // namespace poprt::compiler
