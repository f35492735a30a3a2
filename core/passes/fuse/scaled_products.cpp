// Merges MatMulInteger -> Cast -> Mul by scales (-> Add of a bias), which dynamic quantisers write,
// into poprt.ScaledMatMulInteger. The 32-bit sums are converted to floats before they are written
// to memory.
#include <algorithm>
#include <array>

#include "ops/op.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::scaled_products_pass {
namespace {

using ir::Node;
using ir::Value;

constexpr size_t kBias = 6;

// Whether `v` is a constant f32 with one element, or with one per column along the last axis.
bool is_for_columns(const Value* v, int64_t columns) {
  if (!v->is_constant() || v->dtype() != DType::f32) return false;
  const int64_t count = v->constant().count();
  return count == 1 || (count == columns && v->shape().back() == columns);
}

// Whether `v` has one element; it may be computed at run time.
bool is_number(const Value* v) {
  return v->dtype() == DType::f32 && v->type.is_static() && element_count(v->shape()) == 1;
}

bool is_symmetric(const Value* weights, const Value* zero) {
  const bool is_signed = weights->dtype() == DType::s8;
  if (!zero) return is_signed;
  if (!zero->is_constant()) return false;
  const auto values = zero->constant().to_int64s();
  return std::all_of(values.begin(), values.end(),
                     [=](int64_t z) { return z == (is_signed ? 0 : 128); });
}

bool product_fits(const Node& product) {
  const Value *a = product.input(0), *b = product.input(1), *zero = product.input(2);
  return a->type.is_static() && a->shape().size() >= 2 && b->is_constant() &&
         b->shape().size() == 2 && b->constant().count() > 0 &&
         (!zero || (zero->type.is_static() && element_count(zero->shape()) == 1)) &&
         is_symmetric(b, product.input(3));
}

// Returns the constant as a vector of its elements.
Value* as_row(Value* v) {
  const Tensor& t = v->constant();
  if (t.shape().size() == 1) return v;
  return v->graph().add_constant(v->name() + "_row", t.reshaped({t.count()}));
}

void from_scale(Node& mul, PassContext& context) {
  for (size_t i = 0; i < 2; i++) {
    const Node* cast = sole_producer_of(mul.input(i), "Cast");
    if (!cast || mul.output()->dtype() != DType::f32) continue;
    const Node* product = sole_producer_of(cast->input(0), "MatMulInteger");
    if (!product || !product_fits(*product) || mul.output()->shape() != product->output()->shape())
      continue;
    const int64_t columns = product->input(1)->shape()[1];
    Value *a_scale = mul.input(1 - i), *b_scale = nullptr;
    if (const Node* scales = ir::producer_if(a_scale, "Mul"))
      for (size_t k = 0; k < 2 && !b_scale; k++)
        if (is_for_columns(scales->input(k), columns) && is_number(scales->input(1 - k))) {
          b_scale = scales->input(k);
          a_scale = scales->input(1 - k);
        }
    const bool for_columns = !b_scale && is_for_columns(a_scale, columns);
    if ((!is_number(a_scale) && !for_columns) || !context.allow()) return;
    ir::Graph& g = mul.graph();
    if (for_columns) {
      b_scale = a_scale;
      a_scale = add_scalar(g, mul.output()->name() + "_one", DType::f32, 1);
    }
    b_scale = b_scale ? as_row(b_scale)
                      : g.add_constant(mul.output()->name() + "_one",
                                       Tensor::of<float>({1}, std::array{1.0f}));
    Node* made = insert_node(mul, "ScaledMatMulInteger", "poprt",
                             {product->input(0), product->input(1), product->input(2),
                              product->input(3), a_scale, b_scale});
    made->name = product->name;
    replace_node(mul, made->output());
    return;
  }
}

void from_bias(Node& add, PassContext& context) {
  for (size_t i = 0; i < 2; i++) {
    Node* product = sole_producer_of(add.input(i), "ScaledMatMulInteger", "poprt");
    Value* bias = add.input(1 - i);
    if (!product || product->inputs().size() > kBias || !bias->is_constant()) continue;
    const int64_t columns = product->input(1)->shape()[1];
    if (!is_for_columns(bias, columns) || bias->constant().count() != columns ||
        add.output()->shape() != product->output()->shape() || !context.allow())
      continue;
    std::vector<Value*> inputs(product->inputs().begin(), product->inputs().end());
    inputs.push_back(as_row(bias));
    Node* made = insert_node(add, "ScaledMatMulInteger", "poprt", inputs);
    made->name = product->name;
    replace_node(add, made->output());
    return;
  }
}

void run(ir::Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.inputs().size() != 2 || !n.output()->type.is_static()) return;
    // Each call may erase the node.
    if (n.is("Mul"))
      from_scale(n, context);
    else if (n.is("Add"))
      from_bias(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {
    .name = "scaled_products",
    .summary = "merges the scaling of the sums into MatMulInteger",
    .condition = "scales are constant or one number; the sums have no other reader",
    .numerics = Numerics::rounding,
    .run = run,
};

}  // namespace poprt::passes::scaled_products_pass
