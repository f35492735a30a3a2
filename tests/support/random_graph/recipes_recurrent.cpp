#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

// A recurrent layer with `gates` blocks of weights. Its input is an existing value of rank 3 or a
// new one.
void recurrent(Maker& m, std::string_view op, int64_t gates) {
  Value* x = m.find([](const Value* v) {
    return v->dtype() == DType::f32 && v->shape().size() == 3 && element_count(v->shape()) > 0;
  });
  if (!x || m.c.chance(40))
    x = m.of(DType::f32, {m.c.between(1, 4), m.c.between(1, 2), m.c.between(1, 6)});
  const std::string direction(m.c.pick<std::string_view>({"forward", "reverse", "bidirectional"}));
  const int64_t d = direction == "bidirectional" ? 2 : 1, h = m.c.pick<int64_t>({1, 3, 4, 16, 17});
  const int64_t batch = x->shape()[1], n = x->shape()[2];
  const auto weight = [&](const Shape& s) {
    return m.c.chance(85) ? m.random_constant(DType::f32, s) : m.of(DType::f32, s);
  };
  std::vector<Value*> inputs{x, weight({d, gates * h, n}), weight({d, gates * h, h})};
  if (m.c.chance(70)) inputs.push_back(weight({d, 2 * gates * h}));
  if (inputs.size() == 4 && m.c.chance(40)) {
    inputs.push_back(nullptr);
    inputs.push_back(m.of(DType::f32, {d, batch, h}));
  }
  Attributes a{{"hidden_size", h}, {"direction", direction}};
  if (op == "GRU" && m.c.chance(50)) a["linear_before_reset"] = int64_t{1};
  m.add(op, inputs, a, op == "LSTM" ? 3 : 2);
}
void lstm(Maker& m) { recurrent(m, "LSTM", 4); }
void gru(Maker& m) { recurrent(m, "GRU", 3); }
void rnn(Maker& m) { recurrent(m, "RNN", 1); }

// The last operations of a step of a GRU as Keras and tf2onnx write them: (1 - z) * a + z * b, with
// the constant as the first operand of the difference.
void gate(Maker& m) {
  Value* x = m.ranked({DType::f32}, 1);
  Value* z = m.add("Sigmoid", {x});
  Value* one = m.scalar(DType::f32, 1);
  Value* rest = z ? m.add("Sub", {one, z}) : nullptr;
  Value* kept = rest ? m.add("Mul", {rest, m.operand_for(rest)}) : nullptr;
  Value* fresh = kept ? m.add("Mul", {z, m.operand_for(z)}) : nullptr;
  if (fresh) m.add("Add", {kept, fresh});
}

constexpr Recipe kRecurrentRecipes[] = {
    {"LSTM", lstm, 1}, {"GRU", gru, 1}, {"RNN", rnn, 1}, {"Gate", gate, 3}};

}  // namespace

std::span<const Recipe> recurrent_recipes() { return kRecurrentRecipes; }

}  // namespace poprt::test
