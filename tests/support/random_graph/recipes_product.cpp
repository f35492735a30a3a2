#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

const Types kProducts = {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32,
                         DType::f16, DType::f64, DType::s32, DType::bf16};

int64_t columns(Maker& m) { return m.c.pick<int64_t>({1, 2, 3, 4, 8, 16, 47, 48, 49, 64}); }

void matmul(Maker& m) {
  Value* a = m.ranked(kProducts, 1);
  const int64_t k = a->shape().back();
  Shape b;
  switch (m.c.below(5)) {
    case 0: b = {k}; break;
    case 1:
      b = {k, columns(m)};
      for (size_t i = 2; i < a->shape().size(); i++)
        b.insert(b.end() - 2, m.c.chance(70) ? a->shape()[i - 2] : 1);
      break;
    case 2: b = {m.c.between(1, 3), k, columns(m)}; break;
    default: b = {k, columns(m)};
  }
  m.add("MatMul", {a, m.of(a->dtype(), b)});
}
void matmul_left(Maker& m) {  // a constant on the left
  Value* b = m.ranked(kProducts, 2);
  const Shape& s = b->shape();
  m.add("MatMul", {m.of(b->dtype(), {columns(m), s[s.size() - 2]}), b});
}
void linear(Maker& m) {
  Value* x = m.ranked({DType::f32}, 2);
  const int64_t n = columns(m);
  Value* y = m.add("MatMul", {x, m.random_constant(DType::f32, {x->shape().back(), n})});
  if (y && m.c.chance(70)) {
    Value* bias = m.c.chance(70) ? m.of(DType::f32, {n}) : m.operand_for(y);
    y = m.add(m.c.chance(85) ? "Add" : "Sub",
              m.c.chance(50) ? std::vector{y, bias} : std::vector{bias, y});
  }
  if (y && m.c.chance(40))
    y = m.add(m.c.pick<std::string_view>({"Relu", "Sigmoid", "Tanh", "Gelu", "Elu"}), {y});
  if (y && m.c.chance(40)) m.add("Add", {y, m.operand_for(y)});
}
void gemm(Maker& m) {
  Value* a = m.find([](const Value* v) {
    return v->shape().size() == 2 && (v->dtype() == DType::f32 || v->dtype() == DType::f16);
  });
  if (!a) a = m.of(DType::f32, {m.dim(), m.dim()});
  const int64_t ta = m.c.chance(20), tb = m.c.chance(40);
  const int64_t rows = a->shape()[ta ? 1 : 0], k = a->shape()[ta ? 0 : 1], n = columns(m);
  Value* b = m.of(a->dtype(), tb ? Shape{n, k} : Shape{k, n});
  std::vector<Value*> inputs{a, b};
  Attributes at{{"transA", ta}, {"transB", tb}};
  if (m.c.chance(70)) {
    const Shape shapes[] = {{n}, {1, n}, {rows, 1}, {rows, n}, {}, {1}, {1, 1}};
    inputs.push_back(m.of(a->dtype(), m.c.pick_of(shapes)));
  }
  if (m.c.chance(30)) at["alpha"] = 0.5f;
  if (m.c.chance(30)) at["beta"] = m.c.pick({2.0f, 0.0f});
  m.add("Gemm", inputs, at);
}
void fused_matmul(Maker& m) {
  Value* a = m.ranked({DType::f32}, 2);
  m.add("FusedMatMul", {a, m.of(DType::f32, {columns(m), a->shape().back()})},
        {{"transB", int64_t{1}}, {"alpha", 0.5f}}, 1, "com.microsoft");
}

// Converts [B, S, heads * size] to [B, heads, S, size], or to [B, heads, size, S] if `transposed`,
// as exporters do.
Value* heads_of(Maker& m, Value* x, int64_t heads, bool transposed) {
  const int64_t b = x->shape()[0], s = x->shape()[1], size = x->shape()[2] / heads;
  Value* r =
      m.add("Reshape", {x, m.ints({m.c.chance(50) ? 0 : b, m.c.chance(50) ? -1 : s, heads, size})});
  return r ? m.add("Transpose", {r},
                   {{"perm", transposed ? std::vector<int64_t>{0, 2, 3, 1}
                                        : std::vector<int64_t>{0, 2, 1, 3}}})
           : nullptr;
}
Value* projected(Maker& m, Value* x, int64_t n) {
  Value* y = m.add("MatMul", {x, m.random_constant(DType::f32, {x->shape().back(), n})});
  if (y && m.c.chance(70)) {
    Value* bias = m.random_constant(DType::f32, {n});
    y = m.add("Add", m.c.chance(50) ? std::vector{y, bias} : std::vector{bias, y});
  }
  return y;
}
void attention(Maker& m) {
  Value* x = m.find([](const Value* v) {
    return v->dtype() == DType::f32 && v->shape().size() == 3 && element_count(v->shape()) > 0;
  });
  if (!x) x = m.of(DType::f32, {m.c.between(1, 2), m.c.between(1, 6), 8});
  const int64_t heads = m.c.between(1, 3), size = m.c.pick<int64_t>({1, 4, 8, 16}),
                n = heads * size;
  Value *q = projected(m, x, n), *k = projected(m, x, n), *v = projected(m, x, n);
  if (!q || !k || !v) return;
  const double scale = m.c.pick({0.5, 0.25, 1.0});
  if (m.c.chance(30)) q = m.add("Mul", {q, m.scalar(DType::f32, scale)});
  q = q ? heads_of(m, q, heads, false) : nullptr;
  k = heads_of(m, k, heads, true);
  v = heads_of(m, v, heads, false);
  if (!q || !k || !v) return;
  Value* s = m.add("MatMul", {q, k});
  if (s && m.c.chance(60))
    s = m.add(m.c.chance(50) ? "Mul" : "Div", {s, m.scalar(DType::f32, scale)});
  if (s && m.c.chance(50)) {
    const Shape full = s->shape();
    const Shape masks[] = {{full[0], 1, 1, full[3]}, full, {full[2], full[3]},
                           {1, 1, full[2], full[3]}, {},   {1, full[1], 1, 1}};
    Value* mask = m.of(DType::f32, m.c.pick_of(masks));
    s = m.add("Add", m.c.chance(50) ? std::vector{s, mask} : std::vector{mask, s});
  }
  if (s)
    s = m.add("Softmax", {s},
              {{"axis", m.c.chance(80) || m.opset() < 13 ? int64_t{3} : int64_t{-1}}});
  Value* y = s ? m.add("MatMul", {s, v}) : nullptr;
  if (y) y = m.add("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  if (y) m.add("Reshape", {y, m.ints({x->shape()[0], x->shape()[1], n})});
}
void onnx_attention(Maker& m) {
  const int64_t b = m.c.between(1, 2), s = m.c.between(1, 5), t = m.c.between(1, 5),
                h = m.c.between(1, 3), d = m.c.pick<int64_t>({2, 4, 8});
  Value* mask = nullptr;
  if (m.c.chance(40)) mask = m.of(DType::f32, {s, t});
  std::vector<Value*> inputs{m.of(DType::f32, {b, h, s, d}), m.of(DType::f32, {b, h, t, d}),
                             m.of(DType::f32, {b, h, t, d})};
  if (mask) inputs.push_back(mask);
  m.add("Attention", inputs, m.c.chance(30) ? Attributes{{"is_causal", int64_t{1}}} : Attributes{});
}
void multi_head_attention(Maker& m) {
  const int64_t b = m.c.between(1, 2), s = m.c.between(1, 5), h = m.c.between(1, 3),
                d = m.c.pick<int64_t>({2, 4, 8});
  Value* q = m.of(DType::f32, {b, s, h * d});
  m.add("MultiHeadAttention", {q, m.of(DType::f32, {b, s, h * d}), m.of(DType::f32, {b, s, h * d})},
        {{"num_heads", h}}, 1, "com.microsoft");
}
void rotary(Maker& m) {
  const int64_t s = m.c.between(1, 4), d = m.c.pick<int64_t>({2, 4, 8});
  m.add("RotaryEmbedding", {m.of(DType::f32, {1, 2, s, d}), m.of(DType::f32, {1, s, d / 2}),
                            m.of(DType::f32, {1, s, d / 2})});
}

constexpr Recipe kProductRecipes[] = {
    {"MatMul", matmul, 8},
    {"MatMulLeft", matmul_left, 2},
    {"Linear", linear, 8},
    {"Gemm", gemm, 5},
    {"FusedMatMul", fused_matmul, 1},
    {"AttentionPattern", attention, 3},
    {"Attention", onnx_attention, 1},
    {"MultiHeadAttention", multi_head_attention, 1},
    {"RotaryEmbedding", rotary, 1},
};

}  // namespace

std::span<const Recipe> product_recipes() { return kProductRecipes; }

}  // namespace poprt::test
