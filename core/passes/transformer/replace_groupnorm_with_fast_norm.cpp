#include "ops/axes.h"
#include "passes/common/build.h"

namespace poprt::passes::replace_groupnorm_with_fast_norm_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool one_result(const Node& n) {
  for (size_t i = 1; i < n.outputs().size(); i++)
    if (is_used(n.output(i))) return false;
  return true;
}

// Returns the f16 value that a Cast widens, the value itself if it is f16, or null.
Value* half_of(Value* v) {
  if (v->dtype() == DType::f16) return v;
  const Node* cast = producer_if(v, "Cast");
  return cast && cast->input(0)->dtype() == DType::f16 ? cast->input(0) : nullptr;
}

bool is_last_axis(const Node& n) {
  const Value* x = n.input(0);
  if (!x->type.is_static() || x->shape().empty()) return false;
  const size_t last = x->shape().size() - 1;
  return ops::mixed_axes(ops::axis_map(n), 0) == std::vector{last} &&
         n.input(1)->shape() == Shape{x->shape().back()};
}

bool is_one_group(const Node& n) {
  return n.int_attr("num_groups", 1) == 1 && n.input(0)->type.is_static() &&
         n.input(0)->shape().size() == 2;
}

// Returns the node that computes the f16 result of `end`: `end` itself or, if `end` is a Cast to
// f16, the node whose result only this Cast reads. Null if there is none.
Node* rounded_by(Node& end) {
  if (end.outputs().empty() || end.output()->dtype() != DType::f16) return nullptr;
  if (!end.is("Cast")) return &end;
  Value* x = end.input(0);
  return x->producer() && x->dtype() != DType::f16 && single_use(x) ? x->producer() : nullptr;
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& end) {
    Node* found = rounded_by(end);
    if (!found) return;
    Node& n = *found;
    const bool layer = n.is("LayerNormalization") && is_last_axis(n);
    const bool group = n.is("GroupNormalization", kGraphcore) && is_one_group(n);
    if ((!layer && !group) || !one_result(n)) return;
    Value* x = half_of(n.input(0));
    if (!x || !context.allow()) return;
    Value* scale = cast_to(n, n.input(1), DType::f16);
    Value* bias = n.input(2) ? cast_to(n, n.input(2), DType::f16)
                             : n.graph().add_constant(n.output()->name() + "_bias",
                                                      Tensor::zeros(DType::f16, scale->shape()));
    const float epsilon = n.float_attr("epsilon", 1e-5f);
    Value* result =
        insert_graphcore(n, "FastNorm", std::vector<Value*>{x, scale, bias}, {{"epsilon", epsilon}})
            ->output();
    replace_outputs(end, std::span(&result, 1));
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "replace_groupnorm_with_fast_norm",
                     .summary = "replaces a normalisation of f16 by ai.graphcore.FastNorm",
                     .condition =
                         "LayerNormalization over the last axis, or "
                         "ai.graphcore.GroupNormalization of one group and two dimensions, in f16 "
                         "or between casts from and to f16; scale and bias are then rounded to f16",
                     .numerics = Numerics::precision,
                     .run = run,
                     .depend = {"layer_norm_pattern"}};

}  // namespace poprt::passes::replace_groupnorm_with_fast_norm_pass
