#include <algorithm>

#include "ops/axes.h"
#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::layer_norm_pattern_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// Returns the first axis of a ReduceMean that keeps dimensions, if its axes are the last ones.
std::optional<int64_t> mean_axis(const Node& mean) {
  if (mean.int_attr("keepdims", 1) == 0 || !mean.input(0)->type.is_static()) return std::nullopt;
  const auto axes = ops::reduced_axes(ops::axis_map(mean), 0);
  const size_t first = mean.input(0)->shape().size() - axes.size();
  if (axes.empty() || axes[0] != first) return std::nullopt;
  return static_cast<int64_t>(first);
}

struct Centered {
  Value* x;
  int64_t axis;
};

// Matches x - mean(x).
std::optional<Centered> centered(const Value* v) {
  const Node* sub = producer_if(v, "Sub");
  const Node* mean = sub ? producer_if(sub->input(1), "ReduceMean") : nullptr;
  if (!mean || mean->input(0) != sub->input(0)) return std::nullopt;
  const auto axis = mean_axis(*mean);
  if (!axis) return std::nullopt;
  return Centered{sub->input(0), *axis};
}

// Returns d if v = d * d.
const Value* base_of_square(const Value* v) {
  if (const Node* pow = producer_if(v, "Pow"))
    return is_scalar(pow->input(1), 2) ? pow->input(0) : nullptr;
  if (const Node* mul = producer_if(v, "Mul"))
    return mul->input(0) == mul->input(1) ? mul->input(0) : nullptr;
  return nullptr;
}

// Returns epsilon if v = mean((x - mean(x))^2) + epsilon over the same axes.
std::optional<double> variance(const Value* v, const Centered& of) {
  const Node* add = producer_if(v, "Add");
  if (!add) return std::nullopt;
  for (size_t side = 0; side < 2; side++) {
    const auto epsilon = const_scalar(add->input(1 - side));
    const Node* mean = producer_if(add->input(side), "ReduceMean");
    if (!epsilon || !mean || mean_axis(*mean) != of.axis) continue;
    const Value* d = base_of_square(mean->input(0));
    const auto again = d ? centered(d) : std::nullopt;
    if (again && again->x == of.x && again->axis == of.axis) return epsilon;
  }
  return std::nullopt;
}

// v and the radicand of n = v / sqrt(...) or n = v * 1 / sqrt(...).
struct Normalized {
  const Value* numerator;
  const Value* radicand;
};

std::vector<Normalized> normalized(const Node& n) {
  std::vector<Normalized> out;
  if (n.is("Div")) {
    if (const Node* root = producer_if(n.input(1), "Sqrt"))
      out.push_back({n.input(0), root->input(0)});
    const Node* pow = producer_if(n.input(1), "Pow");
    if (pow && is_scalar(pow->input(1), 0.5)) out.push_back({n.input(0), pow->input(0)});
  }
  for (size_t side = 0; n.is("Mul") && side < 2; side++) {
    const Value *v = n.input(side), *r = n.input(1 - side);
    const Node* pow = producer_if(r, "Pow");
    if (pow && is_scalar(pow->input(1), -0.5)) out.push_back({v, pow->input(0)});
    const Node* inverse = producer_if(r, "Reciprocal");
    const Node* quotient = producer_if(r, "Div");
    const Node* root = inverse ? producer_if(inverse->input(0), "Sqrt")
                       : quotient && is_scalar(quotient->input(0), 1)
                           ? producer_if(quotient->input(1), "Sqrt")
                           : nullptr;
    if (root) out.push_back({v, root->input(0)});
  }
  return out;
}

bool fuse_core(Node& n, PassContext& context) {
  for (const Normalized& parts : normalized(n)) {
    const auto of = centered(parts.numerator);
    const auto epsilon = of ? variance(parts.radicand, *of) : std::nullopt;
    if (!epsilon || !is_plain_float(of->x->dtype()) || !same_static_shape(of->x, n.output()))
      continue;
    const Shape shape(of->x->shape().begin() + static_cast<std::ptrdiff_t>(of->axis),
                      of->x->shape().end());
    if (!ops::find_op("", "LayerNormalization", n.opset()) || !context.allow()) return false;
    const std::vector<double> ones(static_cast<size_t>(element_count(shape)), 1.0);
    Value* scale = n.graph().add_constant(n.output()->name() + "_scale",
                                          tensor_of(of->x->dtype(), shape, ones));
    Node* norm = insert_node(n, "LayerNormalization", "", {of->x, scale},
                             {{"axis", of->axis}, {"epsilon", static_cast<float>(*epsilon)}});
    replace_node(n, norm->output());
    return true;
  }
  return false;
}

// Returns the constant with the shape of the normalized dimensions: a single element is repeated,
// and leading dimensions of one are removed. Returns nullopt for other shapes.
std::optional<Tensor> as_parameter(const Value* v, const Shape& shape) {
  if (!v->is_constant() || !is_plain_float(v->dtype())) return std::nullopt;
  const Shape& have = v->shape();
  if (v->constant().count() == 1) {
    const std::vector<double> all(static_cast<size_t>(element_count(shape)),
                                  v->constant().to_doubles()[0]);
    return tensor_of(v->dtype(), shape, all);
  }
  if (have.size() < shape.size()) return std::nullopt;
  const auto lead = static_cast<std::ptrdiff_t>(have.size() - shape.size());
  if (!std::all_of(have.begin(), have.begin() + lead, [](int64_t d) { return d == 1; }) ||
      !std::equal(shape.begin(), shape.end(), have.begin() + lead))
    return std::nullopt;
  return v->constant().reshaped(shape);
}

// Merges a factor into the scale of a normalization without bias, or makes a term its bias.
void fuse_affine(Node& n, PassContext& context) {
  for (size_t side = 0; side < 2; side++) {
    Node* norm = sole_producer_of(n.input(side), "LayerNormalization");
    if (!norm || !norm->input(1)->is_constant() || !same_static_shape(norm->output(), n.output()))
      continue;
    for (size_t i = 1; i < norm->outputs().size(); i++)
      if (is_used(norm->output(i))) return;
    const Value *scale = norm->input(1), *bias = norm->input(2);
    const auto parameter = as_parameter(n.input(1 - side), scale->shape());
    if (!parameter || bias || !context.allow()) continue;
    if (n.is("Mul")) {
      std::vector<double> factors = scale->constant().to_doubles();
      const std::vector<double> more = parameter->to_doubles();
      for (size_t i = 0; i < factors.size(); i++) factors[i] *= more[i];
      norm->set_input(1,
                      n.graph().add_constant(n.output()->name() + "_scale",
                                             tensor_of(scale->dtype(), scale->shape(), factors)));
    } else {
      norm->set_input(2, n.graph().add_constant(n.output()->name() + "_bias", *parameter));
    }
    replace_node(n, norm->output());
    return;
  }
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (!n.domain.empty()) return;
    if ((n.is("Div") || n.is("Mul")) && fuse_core(n, context)) return;
    if (n.is("Mul") || n.is("Add")) fuse_affine(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "layer_norm_pattern",
                     .summary = "fuses LayerNormalization that is computed with ReduceMean",
                     .condition =
                         "the mean and the variance are over the last axes; a factor or term is "
                         "merged if nothing else reads the normalized values; since opset 17",
                     .numerics = Numerics::rounding,
                     .run = run};

}  // namespace poprt::passes::layer_norm_pattern_pass
