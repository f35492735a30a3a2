#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

Value* scale_of(Maker& m) {
  return m.constant(Tensor::scalar<float>(m.c.pick({0.02f, 0.05f, 0.0625f, 0.1f, 0.5f})));
}
Value* zero_of(Maker& m, DType t) {
  return m.scalar(
      t, t == DType::u8 ? m.c.pick({128.0, 0.0, 120.0, 3.0}) : m.c.pick({0.0, 0.0, 5.0, -7.0}));
}
Value* scales(Maker& m, int64_t n) {
  Tensor t = Tensor::zeros(DType::f32, {n});
  for (int64_t i = 0; i < n; i++)
    t.mutable_values<float>()[static_cast<size_t>(i)] = 0.01f + 0.01f * static_cast<float>(i % 5);
  return m.constant(t);
}
DType byte(Maker& m) { return m.c.chance(60) ? DType::u8 : DType::s8; }

Value* quantize(Maker& m, Value* x, Value* scale, Value* zero) {
  return m.add("QuantizeLinear", {x, scale, zero});
}
Value* dequantize(Maker& m, Value* x, Value* scale, Value* zero) {
  return m.add("DequantizeLinear", {x, scale, zero});
}
// x after quantization to bytes and back.
Value* through_bytes(Maker& m, Value* x) {
  Value *s = scale_of(m), *z = zero_of(m, byte(m));
  Value* q = quantize(m, x, s, z);
  return q ? dequantize(m, q, s, z) : nullptr;
}
Value* single(Maker& m, size_t rank) { return m.ranked({DType::f32}, rank); }

void qdq(Maker& m) { through_bytes(m, single(m, 0)); }
void quantize_axis(Maker& m) {
  Value* x = single(m, 1);
  if (m.opset() < 13) return;  // before opset 13, a tensor has only one scale
  const size_t at = m.c.below(x->shape().size());
  const int64_t n = x->shape()[at];
  m.add("QuantizeLinear", {x, scales(m, n), m.random_constant(byte(m), {n})},
        {{"axis", m.axis(static_cast<int64_t>(at), x->shape().size())}});
}
void dequantize_any(Maker& m) {
  Value* x = m.any({DType::u8, DType::s8, DType::s32});
  if (x->dtype() == DType::s32)
    m.add("DequantizeLinear", {x, scale_of(m)});
  else
    dequantize(m, x, scale_of(m), zero_of(m, x->dtype()));
}
void dynamic(Maker& m) { m.add("DynamicQuantizeLinear", {single(m, 0)}, {}, 3); }
// DequantizeLinear -> product -> (Relu) -> QuantizeLinear, with weights in bytes.
void qdq_product(Maker& m) {
  Value* x = single(m, 2);
  x = through_bytes(m, x);
  if (!x) return;
  const DType t = byte(m);
  Value* y = nullptr;
  if (x->shape().size() == 4 && m.c.chance(70) && element_count(x->shape()) > 0) {
    const int64_t c = x->shape()[1], out = m.c.pick<int64_t>({1, 4, 16, 17}),
                  k = m.c.chance(50) && x->shape()[2] > 2 && x->shape()[3] > 2 ? 3 : 1;
    Value* w = m.random_constant(t, {out, c, k, k});
    const bool each = m.opset() >= 13 && m.c.chance(50);
    w = m.add("DequantizeLinear",
              {w, each ? scales(m, out) : scale_of(m),
               each ? m.constant(Tensor::zeros(t, {out})) : zero_of(m, t)},
              each ? Attributes{{"axis", int64_t{0}}} : Attributes{});
    if (w) {
      std::vector<Value*> inputs{x, w};
      if (m.c.chance(60)) inputs.push_back(m.random_constant(DType::f32, {out}));
      y = m.add("Conv", inputs);
    }
  } else {
    const int64_t k = x->shape().back(), n = m.c.pick<int64_t>({1, 3, 16, 48, 49});
    const bool gemm = x->shape().size() == 2 && m.c.chance(50), swapped = gemm && m.c.chance(50);
    Value* w = m.random_constant(t, swapped ? Shape{n, k} : Shape{k, n});
    w = dequantize(m, w, scale_of(m), zero_of(m, t));
    if (w && gemm) {
      std::vector<Value*> inputs{x, w};
      if (m.c.chance(60))
        inputs.push_back(m.random_constant(DType::f32, m.c.chance(80) ? Shape{n} : Shape{1}));
      y = m.add("Gemm", inputs, {{"transB", int64_t{swapped}}});
    } else if (w) {
      y = m.add("MatMul", {x, w});
    }
  }
  if (y && m.c.chance(40)) y = m.add("Relu", {y});
  if (y) through_bytes(m, y);
}
void qdq_move(Maker& m) {
  Value* x = single(m, 2);
  Value *s = scale_of(m), *z = zero_of(m, byte(m));
  Value* q = quantize(m, x, s, z);
  Value* d = q ? dequantize(m, q, s, z) : nullptr;
  if (d) d = m.c.chance(50) ? m.add("Transpose", {d}) : m.add("Reshape", {d, m.ints({-1})});
  if (d) quantize(m, d, s, m.c.chance(80) ? z : zero_of(m, z->dtype()));
}
// An elementwise operator whose operands and result are quantized to bytes.
void qdq_elementwise(Maker& m) {
  Value* a = through_bytes(m, single(m, 0));
  if (!a) return;
  Value* b = m.c.chance(50) ? m.operand_for(a) : a;
  Value* y = m.add(m.c.pick<std::string_view>({"Add", "Mul", "Sub"}),
                   m.c.chance(50) ? std::vector{a, b} : std::vector{b, a});
  if (y && m.c.chance(40))
    y = m.add(m.c.pick<std::string_view>({"Relu", "Sigmoid", "HardSwish"}), {y});
  if (y) through_bytes(m, y);
}
void matmul_integer(Maker& m) {
  Value* a = m.ranked({DType::u8, DType::s8}, 2);
  const DType t = byte(m);
  Value* b = m.of(t, {a->shape().back(), m.c.pick<int64_t>({1, 3, 16, 49})});
  std::vector<Value*> inputs{a, b};
  if (m.c.chance(60)) inputs.push_back(zero_of(m, a->dtype()));
  if (inputs.size() == 3 && m.c.chance(60)) inputs.push_back(zero_of(m, t));
  m.add("MatMulInteger", inputs);
}
void dynamic_product(Maker& m) {
  Value* x = single(m, 2);
  Value* q = m.add("DynamicQuantizeLinear", {x}, {}, 3);
  if (!q) return;
  Node* n = q->producer();
  const DType t = byte(m);
  Value* y = m.add("MatMulInteger",
                   {q, m.random_constant(t, {x->shape().back(), m.c.pick<int64_t>({1, 8, 48})}),
                    n->output(2), zero_of(m, t)});
  if (y) y = m.add("Cast", {y}, {{"to", int64_t{1}}});
  Value* s = y ? m.add("Mul", {n->output(1), scale_of(m)}) : nullptr;
  if (s) m.add("Mul", {y, s});
}
void qlinear_matmul(Maker& m) {
  Value* a = m.ranked({DType::u8, DType::s8}, 2);
  const DType t = byte(m), out = byte(m);
  Value* b = m.of(t, {a->shape().back(), m.c.pick<int64_t>({1, 3, 16, 49})});
  m.add("QLinearMatMul", {a, scale_of(m), zero_of(m, a->dtype()), b, scale_of(m), zero_of(m, t),
                          scale_of(m), zero_of(m, out)});
}
void qlinear_conv(Maker& m) {
  const DType a = byte(m), w = byte(m), y = m.c.chance(50) ? a : byte(m);
  const int64_t c = m.c.pick<int64_t>({1, 3, 4, 16}), out = m.c.pick<int64_t>({1, 4, 17}),
                k = m.c.pick<int64_t>({1, 3});
  std::vector<Value*> inputs{
      m.of(a, {1, c, 5, 6}), scale_of(m),   zero_of(m, a), m.random_constant(w, {out, c, k, k}),
      scale_of(m),           zero_of(m, w), scale_of(m),   zero_of(m, y)};
  if (m.c.chance(50)) inputs.push_back(m.random_constant(DType::s32, {out}));
  m.add("QLinearConv", inputs);
}
void conv_integer(Maker& m) {
  const DType a = byte(m), w = byte(m);
  const int64_t c = m.c.pick<int64_t>({1, 3, 16});
  m.add("ConvInteger", {m.of(a, {1, c, 4, 5}), m.of(w, {m.c.pick<int64_t>({1, 4, 17}), c, 2, 2}),
                        zero_of(m, a), zero_of(m, w)});
}
void qlinear_binary(Maker& m) {
  Value* a = m.any({DType::u8, DType::s8});
  const DType t = a->dtype();
  m.add(m.c.chance(50) ? "QLinearAdd" : "QLinearMul",
        {a, scale_of(m), zero_of(m, t), m.operand_for(a), scale_of(m), zero_of(m, t), scale_of(m),
         zero_of(m, t)},
        {}, 1, "com.microsoft");
}
void qlinear_unary(Maker& m) {
  Value* a = m.any({DType::u8, DType::s8});
  const DType t = a->dtype();
  m.add(m.c.chance(50) ? "QLinearLeakyRelu" : "QLinearSigmoid",
        {a, scale_of(m), zero_of(m, t), scale_of(m), zero_of(m, t)}, {}, 1, "com.microsoft");
}

constexpr Recipe kQuantizedRecipes[] = {
    {"QuantizeLinear", qdq, 5},
    {"QuantizeAxis", quantize_axis, 2},
    {"DequantizeLinear", dequantize_any, 3},
    {"DynamicQuantizeLinear", dynamic, 1},
    {"QdqProduct", qdq_product, 8},
    {"QdqMove", qdq_move, 3},
    {"QdqElementwise", qdq_elementwise, 3},
    {"MatMulInteger", matmul_integer, 2},
    {"DynamicProduct", dynamic_product, 2},
    {"QLinearMatMul", qlinear_matmul, 2},
    {"QLinearConv", qlinear_conv, 2},
    {"ConvInteger", conv_integer, 1},
    {"QLinearAdd", qlinear_binary, 1},
    {"QLinearSigmoid", qlinear_unary, 1},
};

}  // namespace

std::span<const Recipe> quantized_recipes() { return kQuantizedRecipes; }

}  // namespace poprt::test
