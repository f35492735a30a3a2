// Results whose size depends on data, numbers computed from their sizes, and shapes made of those.
#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

// Returns a condition of n elements, of which none, some or all are true: an input of the graph or,
// in a subgraph, a random constant.
Value* condition(Maker& m, int64_t n) {
  Value* v = m.input(DType::boolean, {n});
  if (v->is_constant()) return v;
  Tensor t = Tensor::zeros(DType::boolean, {n});
  const uint64_t percent = m.c.pick<uint64_t>({0, 30, 50, 70, 100});
  for (bool& x : t.mutable_values<bool>()) x = m.c.below(100) < percent;
  m.known[v] = m.feeds[v->name()] = t;
  return v;
}

void compress(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  if (m.c.chance(15)) {
    m.add("Compress", {x, condition(m, element_count(x->shape()))});
    return;
  }
  const size_t at = m.c.chance(70) ? 0 : m.c.below(x->shape().size());
  m.add("Compress", {x, condition(m, x->shape()[at])},
        {{"axis", m.axis(static_cast<int64_t>(at), x->shape().size())}});
}

void non_zero(Maker& m) {
  Value* x = m.c.chance(50) ? condition(m, m.c.between(1, 6))
                            : m.ranked({DType::boolean, DType::s64, DType::s32}, 1);
  Value* y = m.add("NonZero", {x});
  if (y && m.c.chance(50)) y = m.add("Transpose", {y}, {{"perm", std::vector<int64_t>{1, 0}}});
  if (y && y->shape()[1] == static_cast<int64_t>(x->shape().size()) && m.c.chance(60))
    m.add("GatherND", {x, y});
}

void unique(Maker& m) {
  Value* x = m.find([](const Value* v) { return v->dtype() == DType::s64 && v->producer(); });
  m.add("Unique", {x && m.c.chance(50) ? x : m.input(DType::s64, {m.c.between(1, 8)})}, {}, 4);
}

void suppression(Maker& m) {
  const int64_t n = m.c.between(1, 6), classes = m.c.between(1, 2);
  Value* boxes = m.input(DType::f32, {1, n, 4});
  Value* scores = m.input(DType::f32, {1, classes, n});
  m.add("NonMaxSuppression", {boxes, scores, m.ints({m.c.between(1, 4)}), m.scalar(DType::f32, 0.5),
                              m.scalar(DType::f32, m.c.pick({-3.0, 0.0, 1.5}))});
}

// Returns the size of a computed value along an axis, as a tensor of shape [1].
Value* size_of_some(Maker& m) {
  Value* x = m.find([](const Value* v) { return v->producer() && !v->shape().empty(); });
  if (!x) return nullptr;
  Value* shape = m.add("Shape", {x});
  const auto at = static_cast<int64_t>(m.c.below(x->shape().size()));
  return shape ? m.add("Gather", {shape, m.ints({at})}, {{"axis", int64_t{0}}}) : nullptr;
}

// Returns a number that is computed from sizes, as a tensor of shape [1].
Value* number(Maker& m) {
  Value* n = size_of_some(m);
  for (uint64_t k = m.c.below(3); n && k > 0; k--) {
    Value* other = m.c.chance(25) ? size_of_some(m) : m.ints({m.c.between(1, 7)});
    if (!other) return n;
    const auto op = m.c.pick<std::string_view>({"Add", "Sub", "Mul", "Div", "Min", "Max", "Mod"});
    if (m.opset() < 12 && (op == "Min" || op == "Max")) return n;
    if ((op == "Div" || op == "Mod") && m.value_of(other).to_int64s()[0] <= 0) return n;
    const bool first = m.c.chance(70) || op == "Div" || op == "Mod";
    n = first ? m.add(op, {n, other}) : m.add(op, {other, n});
  }
  return n;
}

Value* scalar_of(Maker& m, Value* n) {
  return n ? m.add("Reshape", {n, m.constant(Tensor::zeros(DType::s64, {0}))}) : nullptr;
}

void counted_constant_of_shape(Maker& m) {
  Value* n = number(m);
  if (!n || m.value_of(n).to_int64s()[0] < 0) return;
  if (m.c.chance(50))
    n = m.c.chance(50) ? m.add("Concat", {n, m.ints({m.c.between(1, 3)})}, {{"axis", int64_t{0}}})
                       : m.add("Concat", {m.ints({m.c.between(1, 3)}), n}, {{"axis", int64_t{0}}});
  if (n) m.add("ConstantOfShape", {n}, {{"value", Tensor::of<float>({1}, {1.5f})}});
}

void counted_range(Maker& m) {
  Value *a = scalar_of(m, number(m)), *b = scalar_of(m, number(m));
  if (!a || !b) return;
  Value* one = m.scalar(DType::s64, static_cast<double>(m.c.pick<int64_t>({1, 1, 2, -1, -2})));
  Value* zero = m.scalar(DType::s64, static_cast<double>(m.c.between(-2, 2)));
  m.add("Range", {m.c.chance(60) ? zero : a, m.c.chance(80) ? b : zero, one});
}

void counted_expand(Maker& m) {
  Value* n = number(m);
  if (!n || m.value_of(n).to_int64s()[0] < 0) return;
  const int64_t k = m.c.between(1, 3);
  const bool first = m.c.chance(60);
  Value* to = first ? m.add("Concat", {n, m.ints({k})}, {{"axis", int64_t{0}}})
                    : m.add("Concat", {m.ints({k}), n}, {{"axis", int64_t{0}}});
  if (to) m.add("Expand", {m.of(DType::f32, first ? Shape{1, k} : Shape{k, 1}), to});
}

void counted_tile(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const size_t rank = x->shape().size(), at = m.c.below(rank);
  std::vector<Value*> parts;
  for (size_t d = 0; d < rank; d++)
    parts.push_back(m.ints({m.c.chance(80) ? 1 : m.c.between(0, 3)}));
  if (m.c.chance(50)) {
    parts[at] = number(m);
    if (!parts[at] || m.value_of(parts[at]).to_int64s()[0] < 0) return;
  }
  Value* repeats = rank == 1 ? parts[0] : m.add("Concat", parts, {{"axis", int64_t{0}}});
  if (repeats) m.add("Tile", {x, repeats});
}

void counted_reshape(Maker& m) {
  Value* x = m.find([](const Value* v) { return v->producer() && v->shape().size() > 1; });
  if (!x) return;
  const Shape& s = x->shape();
  std::vector<int64_t> to;
  switch (m.c.below(4)) {
    case 0: to = {-1}; break;
    case 1: to = {-1, s.back()}; break;
    case 2: to = {s[0], -1}; break;
    default: to = {1, -1, 1};
  }
  for (const int64_t d : to)
    if (d == 0) return;
  if (m.c.chance(70)) {
    m.add("Reshape", {x, m.ints(to)});
    return;
  }
  Value* shape = m.add("Shape", {x});
  Value* n = shape ? m.add("Gather", {shape, m.ints({0})}, {{"axis", int64_t{0}}}) : nullptr;
  if (!n || s[0] == 0) return;
  Value* all = m.add("Concat", {n, m.ints({-1})}, {{"axis", int64_t{0}}});
  if (all) m.add("Reshape", {x, all});
}

void counted_slice(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const int64_t axis = m.axis_of(x);
  const auto place = [&]() -> Value* {
    Value* n = m.c.chance(40) ? number(m) : nullptr;
    if (n && m.c.chance(30)) n = m.add("Neg", {n});
    return n ? n : m.ints({m.c.pick<int64_t>({0, 1, 2, -1, -2, 3, INT64_MAX})});
  };
  Value *from = place(), *to = place();
  m.add("Slice", {x, from, to, m.ints({axis}), m.ints({m.c.pick<int64_t>({1, 1, 1, 2, -1})})});
}

void top(Maker& m) {
  Value* x = m.ranked({DType::f32, DType::s64}, 1);
  const int64_t axis = m.axis_of(x);
  const int64_t length = x->shape()[static_cast<size_t>(
      axis < 0 ? axis + static_cast<int64_t>(x->shape().size()) : axis)];
  Value* n = number(m);
  if (!n || m.opset() < 12) return;
  Value* k = m.add("Min", {n, m.ints({length})});
  if (k && m.value_of(k).to_int64s()[0] >= 0) m.add("TopK", {x, k}, {{"axis", axis}}, 2);
}

constexpr Recipe kSizesRecipes[] = {
    {"Compress", compress, 10},
    {"NonZero", non_zero, 5},
    {"Unique", unique, 2},
    {"NonMaxSuppression", suppression, 2},
    {"ConstantOfShape", counted_constant_of_shape, 4},
    {"Range", counted_range, 4},
    {"Expand", counted_expand, 4},
    {"Tile", counted_tile, 4},
    {"Reshape", counted_reshape, 6},
    {"Slice", counted_slice, 6},
    {"TopK", top, 3},
};

}  // namespace

std::span<const Recipe> size_recipes() { return kSizesRecipes; }

}  // namespace poprt::test
