#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

// Returns indices in [0, n), or in a quarter of cases in [-n, n).
Value* indices(Maker& m, const Shape& shape, int64_t n) {
  Tensor t = Tensor::zeros(DType::s64, shape);
  Choices elements(m.c.below(1 << 16) + 1);
  const bool from_end = m.c.chance(25);
  for (int64_t& x : t.mutable_values<int64_t>()) x = elements.between(from_end ? -n : 0, n - 1);
  if (m.c.chance(70)) return m.constant(t);
  Value* v = m.input(DType::s64, shape);
  if (v->is_constant()) return m.constant(t);
  m.known[v] = m.feeds[v->name()] = t;
  return v;
}

Shape small_shape(Maker& m, size_t most) {
  Shape shape(m.c.below(most + 1));
  for (int64_t& d : shape) d = m.c.between(1, 3);
  return shape;
}

void gather(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const size_t at = m.c.below(x->shape().size());
  if (x->shape()[at] == 0) return;
  m.add("Gather", {x, indices(m, small_shape(m, 2), x->shape()[at])},
        {{"axis", m.axis(static_cast<int64_t>(at), x->shape().size())}});
}
void gather_elements(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  const size_t at = m.c.below(x->shape().size());
  if (x->shape()[at] == 0) return;
  Shape shape = x->shape();
  shape[at] = m.c.between(1, 4);
  m.add("GatherElements", {x, indices(m, shape, x->shape()[at])},
        {{"axis", static_cast<int64_t>(at)}});
}
void gather_nd(Maker& m) {
  Value* x = m.ranked(kEvery, 1);
  if (element_count(x->shape()) == 0) return;
  const auto deep = static_cast<int64_t>(1 + m.c.below(x->shape().size()));
  int64_t least = INT64_MAX;
  for (int64_t i = 0; i < deep; i++) least = std::min(least, x->shape()[static_cast<size_t>(i)]);
  Shape shape = small_shape(m, 2);
  shape.push_back(deep);
  m.add("GatherND", {x, indices(m, shape, least)});
}
void scatter_elements(Maker& m) {
  Value* x = m.ranked(kNumbers, 1);
  const size_t at = m.c.below(x->shape().size());
  if (element_count(x->shape()) == 0) return;
  Shape shape = x->shape();
  shape[at] = 1;
  Attributes a{{"axis", static_cast<int64_t>(at)}};
  if (m.opset() >= 18 && m.c.chance(50))
    a["reduction"] = std::string(m.c.pick<std::string_view>({"add", "mul", "max", "min"}));
  m.add("ScatterElements", {x, indices(m, shape, x->shape()[at]), m.of(x->dtype(), shape)}, a);
}
void scatter_nd(Maker& m) {
  Value* x = m.ranked(kNumbers, 1);
  if (element_count(x->shape()) == 0) return;
  Shape shape(x->shape().begin() + 1, x->shape().end());
  shape.insert(shape.begin(), 1);
  m.add("ScatterND", {x, indices(m, {1, 1}, x->shape()[0]), m.of(x->dtype(), shape)});
}
void one_hot(Maker& m) {
  const int64_t depth = m.c.between(1, 5);
  Value* i = indices(m, small_shape(m, 3), depth);
  Value* values = m.of(m.type_of(kNumbers), {2});
  m.add("OneHot", {i, m.scalar(DType::s64, static_cast<double>(depth)), values},
        {{"axis", m.c.between(-1, 0)}});
}
void range(Maker& m) {
  const DType t = m.c.pick({DType::s64, DType::s32, DType::f32});
  const double first = static_cast<double>(m.c.between(-3, 3));
  m.add("Range", {m.scalar(t, first), m.scalar(t, first + static_cast<double>(m.c.between(0, 8))),
                  m.scalar(t, m.c.pick({1.0, 2.0}))});
}
void roi_align(Maker& m) {
  Value* x = m.of(DType::f32, {2, m.c.between(1, 3), 5, 6});
  const int64_t rois = m.c.between(1, 3);
  Value* boxes = m.of(DType::f32, {rois, 4});
  m.add("RoiAlign",
        {x, boxes,
         indices(m, {rois}, 2)->is_constant()
             ? m.ints(std::vector<int64_t>(static_cast<size_t>(rois), 1))
             : m.ints(std::vector<int64_t>(static_cast<size_t>(rois), 0))},
        {{"output_height", m.c.between(1, 3)},
         {"output_width", m.c.between(1, 3)},
         {"sampling_ratio", m.c.between(1, 2)}});
}
void tensor_scatter(Maker& m) {
  const int64_t n = m.c.between(2, 6), k = m.c.between(1, 2);
  Value* cache = m.of(DType::f32, {2, n, 3});
  m.add("TensorScatter", {cache, m.of(DType::f32, {2, k, 3}), m.ints({0, m.c.between(0, n - k)})},
        {{"axis", int64_t{1}}});
}

constexpr Recipe kIndexRecipes[] = {
    {"Gather", gather, 6},
    {"GatherElements", gather_elements, 2},
    {"GatherND", gather_nd, 2},
    {"ScatterElements", scatter_elements, 2},
    {"ScatterND", scatter_nd, 2},
    {"OneHot", one_hot, 1},
    {"Range", range, 1},
    {"RoiAlign", roi_align, 1},
    {"TensorScatter", tensor_scatter, 1},
};

}  // namespace

std::span<const Recipe> index_recipes() { return kIndexRecipes; }

}  // namespace poprt::test
