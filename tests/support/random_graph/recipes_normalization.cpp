#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

void layer_normalization(Maker& m) {
  Value* x = m.ranked(kFloats, 1);
  const size_t rank = x->shape().size(), at = m.c.chance(70) ? rank - 1 : m.c.below(rank);
  const Shape tail(x->shape().begin() + static_cast<long>(at), x->shape().end());
  std::vector<Value*> inputs{x, m.of(x->dtype(), tail)};
  if (m.c.chance(60)) inputs.push_back(m.of(x->dtype(), tail));
  m.add("LayerNormalization", inputs,
        {{"axis", m.axis(static_cast<int64_t>(at), rank)}, {"epsilon", 1e-3f}},
        m.c.chance(10) ? 3 : 1);
}
void rms_normalization(Maker& m) {
  Value* x = m.ranked(kReals, 1);
  m.add("RMSNormalization", {x, m.of(x->dtype(), {x->shape().back()})}, {{"epsilon", 1e-3f}});
}
Value* with_channels(Maker& m, const Types& types) {
  Value* v = m.find([&](const Value* x) {
    return x->shape().size() >= 3 &&
           std::find(types.begin(), types.end(), x->dtype()) != types.end();
  });
  return v ? v
           : m.of(DType::f32,
                  {1, m.c.pick<int64_t>({2, 4, 16, 17}), m.c.between(1, 5), m.c.between(1, 5)});
}
void instance_normalization(Maker& m) {
  Value* x = with_channels(m, kFloats);
  const int64_t c = x->shape()[1];
  m.add("InstanceNormalization", {x, m.of(x->dtype(), {c}), m.of(x->dtype(), {c})},
        {{"epsilon", 1e-2f}});
}
void group_normalization(Maker& m) {
  Value* x = with_channels(m, kReals);
  const int64_t c = x->shape()[1];
  int64_t groups = 1;
  for (const int64_t n : {2, 4, 8})
    if (c % n == 0 && m.c.chance(50)) groups = n;
  const int64_t n = m.opset() >= 21 ? c : groups;
  m.add("GroupNormalization", {x, m.of(x->dtype(), {n}), m.of(x->dtype(), {n})},
        {{"num_groups", groups}, {"epsilon", 1e-2f}});
}
void mean_variance(Maker& m) {
  m.add("MeanVarianceNormalization",
        {m.of(DType::f32, {2, 3, m.c.between(2, 4), m.c.between(2, 4)})});
}
void skip_layer_normalization(Maker& m) {
  Value* x =
      m.find([](const Value* v) { return v->dtype() == DType::f32 && v->shape().size() == 3; });
  if (!x) x = m.of(DType::f32, {2, 3, m.c.pick<int64_t>({4, 8, 17})});
  const int64_t n = x->shape().back();
  Value* skip = m.of(DType::f32, x->shape());
  if (m.c.chance(60))
    m.add("SkipLayerNormalization", {x, skip, m.of(DType::f32, {n}), m.of(DType::f32, {n})},
          {{"epsilon", 1e-3f}}, 1, "com.microsoft");
  else
    m.add("SkipSimplifiedLayerNormalization", {x, skip, m.of(DType::f32, {n})},
          {{"epsilon", 1e-3f}}, 1, "com.microsoft");
}

constexpr Recipe kNormalizationRecipes[] = {
    {"LayerNormalization", layer_normalization, 4},
    {"RMSNormalization", rms_normalization, 2},
    {"InstanceNormalization", instance_normalization, 2},
    {"GroupNormalization", group_normalization, 2},
    {"MeanVarianceNormalization", mean_variance, 1},
    {"SkipLayerNormalization", skip_layer_normalization, 2},
};

}  // namespace

std::span<const Recipe> normalization_recipes() { return kNormalizationRecipes; }

}  // namespace poprt::test
