// Groups of nodes that exporters write for one operator and that passes recognise. Variations test
// the conditions of the passes: swapped operands, a constant of another rank or value, a value with
// two readers.
#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

Value* either(Maker& m, std::string_view op, Value* a, Value* b) {
  if (!a || !b) return nullptr;
  return m.add(op, m.c.chance(50) ? std::vector{a, b} : std::vector{b, a});
}
// Returns x as a constant of rank 0 or more, or rarely another number.
Value* number(Maker& m, const Value* like, double x) {
  if (m.c.chance(6)) x *= 1.25;
  Value* s = m.scalar(like->dtype(), x);
  if (m.c.chance(70)) return s;
  return m.constant(s->constant().reshaped(Shape(1 + m.c.below(like->shape().size() + 1), 1)));
}
Value* one(Maker& m, std::string_view op, Value* x) { return x ? m.add(op, {x}) : nullptr; }

void gelu_erf(Maker& m) {
  Value* x = m.any({DType::f32, DType::f32, DType::f16});
  Value* t = m.c.chance(50) ? m.add("Div", {x, number(m, x, 1.4142135)})
                            : either(m, "Mul", x, number(m, x, 0.70710678));
  t = one(m, "Erf", t);
  t = t ? either(m, "Add", t, number(m, x, 1)) : nullptr;
  if (m.c.chance(50)) {
    t = either(m, "Mul", x, t);
    if (t) either(m, "Mul", t, number(m, x, 0.5));
  } else {
    Value* half = either(m, "Mul", x, number(m, x, 0.5));
    either(m, "Mul", half, t);
  }
}
void gelu_tanh(Maker& m) {
  Value* x = m.any({DType::f32, DType::f32, DType::f16});
  Value* cube = m.c.chance(50) ? m.add("Pow", {x, number(m, x, 3)})
                               : either(m, "Mul", either(m, "Mul", x, x), x);
  if (!cube) return;
  Value* t = either(m, "Mul", cube, number(m, x, 0.044715));
  t = either(m, "Add", x, t);
  if (t) t = either(m, "Mul", t, number(m, x, 0.7978845608));
  t = one(m, "Tanh", t);
  if (t) t = either(m, "Add", t, number(m, x, 1));
  t = either(m, "Mul", x, t);
  if (t) either(m, "Mul", t, number(m, x, 0.5));
}
void silu(Maker& m) {
  Value* x = m.any(kReals);
  Value* y = m.c.chance(40) ? either(m, "Mul", x, number(m, x, 1.702)) : x;
  either(m, "Mul", x, one(m, "Sigmoid", y));
}
void hard_swish(Maker& m) {
  Value* x = m.any({DType::f32, DType::f32, DType::f16});
  Value* t = either(m, "Add", x, number(m, x, 3));
  if (t && m.opset() >= 11)
    t = m.add("Clip", {t, m.scalar(x->dtype(), 0), m.scalar(x->dtype(), 6)});
  t = either(m, "Mul", x, t);
  if (t)
    m.c.chance(50) ? m.add("Div", {t, number(m, x, 6)})
                   : either(m, "Mul", t, number(m, x, 1.0 / 6));
}
Value* mean(Maker& m, Value* x, int64_t axis) {
  if (!x) return nullptr;
  const int64_t keep = m.c.chance(95);
  if (m.opset() >= 18) return m.add("ReduceMean", {x, m.ints({axis})}, {{"keepdims", keep}});
  return m.add("ReduceMean", {x}, {{"axes", std::vector<int64_t>{axis}}, {"keepdims", keep}});
}
void layer_norm(Maker& m) {
  Value* x = m.ranked({DType::f32, DType::f32, DType::f16}, 1);
  const int64_t axis = m.c.chance(80) ? -1 : m.axis_of(x);
  Value* mu = mean(m, x, axis);
  Value* d = mu ? m.add("Sub", {x, mu}) : nullptr;
  if (!d) return;
  Value* square = m.c.chance(50) ? m.add("Pow", {d, number(m, x, 2)}) : m.add("Mul", {d, d});
  Value* variance = mean(m, square, axis);
  if (!variance) return;
  Value* root = one(m, "Sqrt", either(m, "Add", variance, number(m, x, 1e-3)));
  Value* y = root ? m.add("Div", {d, root}) : nullptr;
  if (y && m.c.chance(80))
    y = either(m, "Mul", y,
               m.c.chance(80) ? m.of(x->dtype(), {x->shape().back()}) : m.operand_for(y));
  if (y && m.c.chance(80))
    either(m, "Add", y, m.c.chance(80) ? m.of(x->dtype(), {x->shape().back()}) : m.operand_for(y));
}
void rms_norm(Maker& m) {
  Value* x = m.ranked({DType::f32}, 1);
  Value* variance =
      mean(m, m.c.chance(50) ? m.add("Pow", {x, number(m, x, 2)}) : m.add("Mul", {x, x}), -1);
  if (!variance) return;
  Value* root = one(m, "Sqrt", either(m, "Add", variance, number(m, x, 1e-3)));
  Value* y = m.c.chance(50) ? either(m, "Mul", x, one(m, "Reciprocal", root))
             : root         ? m.add("Div", {x, root})
                            : nullptr;
  if (y) either(m, "Mul", y, m.of(x->dtype(), {x->shape().back()}));
}
void softmax_by_hand(Maker& m) {
  Value* x = m.ranked({DType::f32}, 1);
  Value* top = m.opset() >= 18 ? m.add("ReduceMax", {x, m.ints({-1})})
                               : m.add("ReduceMax", {x}, {{"axes", std::vector<int64_t>{-1}}});
  Value* e = top ? one(m, "Exp", m.add("Sub", {x, top})) : nullptr;
  Value* sum = !e                ? nullptr
               : m.opset() >= 13 ? m.add("ReduceSum", {e, m.ints({-1})})
                                 : m.add("ReduceSum", {e}, {{"axes", std::vector<int64_t>{-1}}});
  if (sum) m.add("Div", {e, sum});
}

constexpr Recipe kPatternRecipes[] = {
    {"GeluErf", gelu_erf, 3},
    {"GeluTanh", gelu_tanh, 3},
    {"Silu", silu, 3},
    {"HardSwish", hard_swish, 2},
    {"LayerNorm", layer_norm, 4},
    {"RmsNorm", rms_norm, 2},
    {"SoftmaxByHand", softmax_by_hand, 1},
};

}  // namespace

std::span<const Recipe> pattern_recipes() { return kPatternRecipes; }

}  // namespace poprt::test
