#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

std::vector<int64_t> some_axes(Maker& m, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; i++)
    if (m.c.chance(45)) axes.push_back(m.axis(static_cast<int64_t>(i), rank));
  return axes;
}

void reduce(Maker& m) {
  const auto op =
      m.c.pick<std::string_view>({"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                                  "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd",
                                  "ReduceLogSum", "ReduceMean", "ReduceSum"});
  Value* x = m.any(m.c.chance(85) ? kFloats : Types{DType::s32, DType::s64});
  const std::vector<int64_t> axes = some_axes(m, x->shape().size());
  Attributes a{{"keepdims", m.c.between(0, 1)}};
  const bool as_input = m.opset() >= (op == "ReduceSum" ? 13 : 18);
  if (as_input && m.c.chance(20)) a["noop_with_empty_axes"] = int64_t{1};
  if (axes.empty())
    m.add(op, {x}, a);
  else if (as_input)
    m.add(op, {x, m.ints(axes)}, a);
  else {
    a["axes"] = axes;
    m.add(op, {x}, a);
  }
}
void softmax(Maker& m) {
  Value* x = m.ranked(kFloats, 1);
  m.add(m.c.pick<std::string_view>({"Softmax", "Softmax", "LogSoftmax", "Hardmax"}), {x},
        m.c.chance(20) ? Attributes{} : Attributes{{"axis", m.axis_of(x)}});
}
void arg(Maker& m) {
  Value* x = m.ranked(kNumbers, 1);
  Attributes a{{"axis", m.axis_of(x)}, {"keepdims", m.c.between(0, 1)}};
  if (m.opset() >= 12) a["select_last_index"] = m.c.between(0, 1);
  m.add(m.c.chance(50) ? "ArgMax" : "ArgMin", {x}, a);
}
void cumulative(Maker& m) {
  Value* x = m.ranked({DType::f32, DType::f32, DType::s32, DType::s64, DType::f64}, 1);
  m.add(m.c.chance(80) ? "CumSum" : "CumProd",
        {x, m.scalar(DType::s64, static_cast<double>(m.axis_of(x)))},
        {{"exclusive", m.c.between(0, 1)}, {"reverse", m.c.between(0, 1)}});
}
void top_k(Maker& m) {
  Value* x = m.ranked(kNumbers, 1);
  const int64_t axis = m.axis_of(x);
  const int64_t n = x->shape()[static_cast<size_t>(
      axis < 0 ? axis + static_cast<int64_t>(x->shape().size()) : axis)];
  m.add("TopK", {x, m.ints({m.c.between(0, n)})}, {{"axis", axis}, {"largest", m.c.between(0, 1)}},
        2);
}
void lp_normalization(Maker& m) {
  Value* x = m.ranked(kFloats, 1);
  m.add("LpNormalization", {x}, {{"axis", m.axis_of(x)}, {"p", m.c.between(1, 2)}});
}
void det(Maker& m) {
  const int64_t n = m.c.between(1, 4);
  m.add("Det", {m.of(DType::f32, {m.c.between(1, 3), n, n})});
}
void einsum(Maker& m) {
  const int64_t a = m.dim(), b = m.dim(), k = m.dim(), n = m.dim();
  switch (m.c.below(5)) {
    case 0:
      m.add("Einsum", {m.of(DType::f32, {a, k}), m.of(DType::f32, {k, n})},
            {{"equation", std::string("ik,kj->ij")}});
      break;
    case 1:
      m.add("Einsum", {m.of(DType::f32, {b, a, k}), m.of(DType::f32, {b, n, k})},
            {{"equation", std::string("bik,bjk->bij")}});
      break;
    case 2:
      m.add("Einsum", {m.of(DType::f32, {a, k})}, {{"equation", std::string("ij->ji")}});
      break;
    case 3:
      m.add("Einsum", {m.of(DType::f32, {a, k}), m.of(DType::f32, {a, k})},
            {{"equation", std::string("ij,ij->i")}});
      break;
    default:
      m.add("Einsum", {m.of(DType::f32, {a}), m.of(DType::f32, {k})},
            {{"equation", std::string("i,j->ij")}});
  }
}

constexpr Recipe kReductionRecipes[] = {
    {"ReduceSum", reduce, 10},
    {"Softmax", softmax, 4},
    {"ArgMax", arg, 2},
    {"CumSum", cumulative, 2},
    {"TopK", top_k, 2},
    {"LpNormalization", lp_normalization},
    {"Det", det},
    {"Einsum", einsum, 2},
};

}  // namespace

std::span<const Recipe> reduction_recipes() { return kReductionRecipes; }

}  // namespace poprt::test
