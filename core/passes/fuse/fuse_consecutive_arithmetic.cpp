#include <algorithm>
#include <cmath>

#include "passes/common/rewrite.h"

namespace poprt::passes::fuse_consecutive_arithmetic_pass {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

// x * constant or x + constant: a divisor is stored as its reciprocal, and a subtrahend negated.
// `shape_of` is the value of the graph that has the shape of the constant.
struct ConstantOperand {
  Value* x;
  std::vector<double> constant;
  const Value* shape_of;
};

std::optional<ConstantOperand> additive(const Node& n) {
  if (!n.is("Add") && !n.is("Sub")) return std::nullopt;
  for (size_t side = 0; side < 2; side++) {
    const Value* c = n.input(side);
    if (!c->is_constant() || !is_plain_float(c->dtype())) continue;
    if (n.is("Sub") && side == 0) continue;
    std::vector<double> values = c->constant().to_doubles();
    if (n.is("Sub"))
      for (double& v : values) v = -v;
    return ConstantOperand{n.input(1 - side), std::move(values), c};
  }
  return std::nullopt;
}

std::optional<ConstantOperand> multiplicative(const Node& n) {
  if (!n.is("Mul") && !n.is("Div")) return std::nullopt;
  for (size_t side = 0; side < 2; side++) {
    const Value* c = n.input(side);
    if (!c->is_constant() || !is_plain_float(c->dtype())) continue;
    if (n.is("Div") && side == 0) continue;
    std::vector<double> values = c->constant().to_doubles();
    if (n.is("Div"))
      for (double& v : values) v = 1 / v;
    return ConstantOperand{n.input(1 - side), std::move(values), c};
  }
  return std::nullopt;
}

// Sums that cancel (x + 1e8 - 1e8 rounds on purpose) and factors whose product may leave the range
// are not merged.
bool safe_sum(double a, double b) { return a == 0 || b == 0 || (a > 0) == (b > 0); }
bool safe_factor(double a) { return std::abs(a) > 1e-12 && std::abs(a) < 1e12; }

void fuse(Node& n, PassContext& context) {
  const DType dtype = n.output()->dtype();
  if (dtype != DType::f32 && dtype != DType::f64) return;
  const bool sum = n.is("Add") || n.is("Sub");
  const auto outer = sum ? additive(n) : multiplicative(n);
  if (!outer || !single_use(outer->x) || !outer->x->producer()) return;
  const Node& first = *outer->x->producer();
  const auto inner = sum ? additive(first) : multiplicative(first);
  if (!inner) return;
  const size_t a = inner->constant.size(), b = outer->constant.size();
  if (a != 1 && b != 1 && inner->shape_of->shape() != outer->shape_of->shape()) return;
  if (a == 0 || b == 0) return;
  // The merged constant has the elements of the larger constant and the rank of the one with more
  // dimensions.
  Shape shape = (a > b ? inner : outer)->shape_of->shape();
  const size_t rank = std::max(inner->shape_of->shape().size(), outer->shape_of->shape().size());
  shape.insert(shape.begin(), rank - shape.size(), 1);
  std::vector<double> both(std::max(a, b));
  for (size_t i = 0; i < both.size(); i++) {
    const double p = inner->constant[a == 1 ? 0 : i], q = outer->constant[b == 1 ? 0 : i];
    if (sum ? !safe_sum(p, q) : !safe_factor(p) || !safe_factor(q)) return;
    both[i] = sum ? p + q : p * q;
  }
  if (!context.allow()) return;
  Value* c =
      n.graph().add_constant(n.output()->name() + "_constant", tensor_of(dtype, shape, both));
  replace_node(n, insert_node(n, sum ? "Add" : "Mul", "", {inner->x, c})->output());
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.domain.empty()) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "fuse_consecutive_arithmetic",
    .summary = "merges successive additions or multiplications of constants",
    .condition = "both constants broadcast alike, and the value between them has no other reader",
    .numerics = Numerics::rounding,
    .run = run};

}  // namespace poprt::passes::fuse_consecutive_arithmetic_pass
