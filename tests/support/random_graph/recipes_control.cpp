#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

constexpr int64_t kMostBodyNodes = 3;

void some_nodes(Maker& m) {
  for (int64_t n = m.c.between(0, kMostBodyNodes); n > 0; n--) {
    const auto recipes = m.c.chance(60)   ? elementwise_recipes()
                         : m.c.chance(50) ? movement_recipes()
                         : m.c.chance(50) ? reduction_recipes()
                                          : product_recipes();
    m.c.pick_of(recipes).make(m);
  }
}

// Returns a value that a node of the subgraph computes, because outputs of a subgraph must be such.
Value* own(Maker& m, Value* v) {
  return &v->graph() == &m.g && v->producer() ? v : m.add("Identity", {v});
}

std::shared_ptr<Graph> subgraph(Maker& m, const char* name) {
  auto sub = std::make_shared<Graph>(name);
  sub->parent = &m.g;
  return sub;
}

void branch(Maker& m) {
  if (m.outer) return;  // one level
  Value* condition = m.c.chance(40) ? m.scalar(DType::boolean, static_cast<double>(m.c.below(2)))
                                    : m.of(DType::boolean, m.c.chance(80) ? Shape{} : Shape{1});
  auto then = subgraph(m, "then"), other = subgraph(m, "else");
  Maker a(m.c, *then, m.limits), b(m.c, *other, m.limits);
  a.outer = b.outer = &m;
  some_nodes(a);
  some_nodes(b);
  const size_t count = 1 + m.c.below(2);
  for (size_t i = 0; i < count; i++) {
    Value* x = own(a, a.any(kEvery));
    if (!x) return;
    Value* y = own(b, b.of(x->dtype(), x->shape()));
    if (!y) return;
    then->add_output(x);
    other->add_output(y);
  }
  m.add("If", {condition}, {{"then_branch", then}, {"else_branch", other}}, count);
}

void loop(Maker& m) {
  if (m.outer) return;
  const int64_t trips = m.c.pick<int64_t>({0, 1, 2, 3, 5, 300});
  auto body = subgraph(m, "body");
  Maker inner(m.c, *body, m.limits);
  inner.outer = &m;
  std::vector<Value*> inputs{m.scalar(DType::s64, static_cast<double>(trips)),
                             m.c.chance(50) ? nullptr : m.scalar(DType::boolean, 1)};
  Value* i = body->add_input("i", ir::ValueType::of(DType::s64, {}));
  Value* go = body->add_input("go", ir::ValueType::of(DType::boolean, {}));
  inner.known[i] = Tensor::scalar<int64_t>(0);
  inner.known[go] = Tensor::scalar<bool>(true);
  inner.pool.push_back(i);
  std::vector<Value*> states;
  for (uint64_t n = m.c.below(3); n > 0; n--) {
    Value* start = m.any({DType::f32, DType::f32, DType::s32});
    inputs.push_back(start);
    Value* s = body->add_input("s" + std::to_string(n), start->type);
    inner.known[s] = m.value_of(start);
    inner.pool.push_back(s);
    states.push_back(s);
  }
  some_nodes(inner);
  Value* next = own(inner, go);
  if (!next) return;
  body->add_output(next);
  for (Value* s : states) {
    Value* r = nullptr;
    if (m.c.chance(50) && s->dtype() == DType::f32)
      r = inner.add(m.c.pick<std::string_view>({"Sin", "Tanh", "Neg", "Relu"}), {s});
    if (!r)
      r = inner.find([&](const Value* v) {
        return &v->graph() == body.get() && v->producer() && v->dtype() == s->dtype() &&
               v->shape() == s->shape();
      });
    if (!r) r = own(inner, s);
    if (!r) return;
    body->add_output(r);
  }
  const size_t scans = m.c.below(2) + (states.empty() ? 1 : 0);
  for (size_t k = 0; k < scans; k++) {
    Value* v = own(inner, inner.any({DType::f32, DType::s64}));
    if (!v || element_count(v->shape()) * trips > m.limits.elements) return;
    body->add_output(v);
  }
  if (states.size() + scans == 0) return;
  m.add("Loop", inputs, {{"body", body}}, states.size() + scans);
}

// A Scan with one state and one scanned input, whose rows are along the first axis.
void scan(Maker& m) {
  if (m.outer) return;
  Value* rows = m.find([](const Value* v) {
    return v->dtype() == DType::f32 && !v->shape().empty() && v->shape()[0] > 0 &&
           v->shape()[0] < 6;
  });
  if (!rows) rows = m.of(DType::f32, {3, 2});
  auto body = subgraph(m, "body");
  Maker inner(m.c, *body, m.limits);
  inner.outer = &m;
  Value* start = m.of(DType::f32, Shape(rows->shape().begin() + 1, rows->shape().end()));
  Value* state = body->add_input("state", start->type);
  Value* row = body->add_input("row", start->type);
  inner.known[state] = inner.known[row] = m.value_of(start);
  inner.pool = {state, row};
  Value* next = inner.add(m.c.pick<std::string_view>({"Add", "Mul", "Max"}), {state, row});
  if (!next) return;
  some_nodes(inner);
  Value* made = own(inner, inner.any({DType::f32}));
  if (!made || made->dtype() != DType::f32) return;
  body->add_output(next);
  body->add_output(made);
  m.add("Scan", {start, rows}, {{"body", body}, {"num_scan_inputs", int64_t{1}}}, 2);
}

constexpr Recipe kControlRecipes[] = {{"If", branch, 2}, {"Loop", loop, 2}, {"Scan", scan, 1}};

}  // namespace

std::span<const Recipe> control_recipes() { return kControlRecipes; }

}  // namespace poprt::test
