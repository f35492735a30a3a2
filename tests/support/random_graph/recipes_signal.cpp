#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

void dft(Maker& m) {
  Value* x = m.of(DType::f32, {m.c.between(1, 2), m.c.between(1, 9), m.c.between(1, 2)});
  m.add("DFT", {x}, m.opset() < 20 ? Attributes{{"axis", int64_t{1}}} : Attributes{});
}
void stft(Maker& m) {
  m.add("STFT", {m.of(DType::f32, {1, 12, 1}), m.scalar(DType::s64, m.c.pick({2.0, 3.0})), nullptr,
                 m.scalar(DType::s64, m.c.pick({4.0, 6.0}))});
}
void window(Maker& m) {
  m.add(m.c.pick<std::string_view>({"HannWindow", "HammingWindow", "BlackmanWindow"}),
        {m.scalar(DType::s64, static_cast<double>(m.c.between(1, 9)))},
        {{"periodic", m.c.between(0, 1)}});
}
void grid_sample(Maker& m) {
  const int64_t n = m.c.between(1, 2);
  m.add(
      "GridSample", {m.of(DType::f32, {n, 2, 3, 4}), m.of(DType::f32, {n, 2, 3, 2})},
      {{"padding_mode", std::string(m.c.pick<std::string_view>({"zeros", "border", "reflection"}))},
       {"align_corners", m.c.between(0, 1)}});
}
void affine_grid(Maker& m) {
  m.add("AffineGrid",
        {m.of(DType::f32, {1, 2, 3}), m.ints({1, 1, m.c.between(1, 4), m.c.between(1, 4)})},
        {{"align_corners", m.c.between(0, 1)}});
}
void col2im(Maker& m) {
  m.add("Col2Im", {m.of(DType::f32, {1, 4, 4}), m.ints({3, 3}), m.ints({2, 2})});
}
void mel(Maker& m) {
  m.add("MelWeightMatrix",
        {m.scalar(DType::s64, 4), m.scalar(DType::s64, 16), m.scalar(DType::s64, 8000),
         m.scalar(DType::f32, 0), m.scalar(DType::f32, 4000)});
}
void loss(Maker& m) {
  const int64_t n = m.c.between(1, 4);
  m.add(m.c.chance(50) ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss",
        {m.of(DType::f32, {n, 3}),
         m.ints(std::vector<int64_t>(static_cast<size_t>(n), m.c.between(0, 2)))},
        {{"reduction", std::string(m.c.pick<std::string_view>({"none", "mean", "sum"}))}});
}
void max_unpool(Maker& m) {
  Value* x = m.of(DType::f32, {1, 2, 4, 4});
  Node* pool = m.add_node(
      "MaxPool", {x},
      {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}}, 2,
      "");
  if (pool)
    m.add("MaxUnpool", {pool->output(0), pool->output(1)},
          {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
}
void max_roi_pool(Maker& m) {
  m.add("MaxRoiPool",
        {m.of(DType::f32, {2, 2, 4, 5}),
         m.constant(Tensor::of<float>({2, 5}, {0, 0, 0, 2, 2, 1, 1, 1, 3, 3}))},
        {{"pooled_shape", std::vector<int64_t>{2, 2}}});
}

constexpr Recipe kSignalRecipes[] = {
    {"DFT", dft},
    {"STFT", stft},
    {"HannWindow", window},
    {"GridSample", grid_sample},
    {"AffineGrid", affine_grid},
    {"Col2Im", col2im},
    {"MelWeightMatrix", mel},
    {"SoftmaxCrossEntropyLoss", loss},
    {"MaxUnpool", max_unpool},
    {"MaxRoiPool", max_roi_pool},
};

}  // namespace

std::span<const Recipe> signal_recipes() { return kSignalRecipes; }

}  // namespace poprt::test
