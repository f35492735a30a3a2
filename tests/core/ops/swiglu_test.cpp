#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(SwiGlu, MultipliesTheSwishOfTheGateByTheValue) {
  std::mt19937 random(28);
  std::normal_distribution<float> normal(0, 3);
  for (const double alpha : {1.0, 1.702})
    for (const int64_t n : {1, 7, 64, 1003}) {
      std::vector<float> gate(static_cast<size_t>(n)), value(gate.size());
      for (float& g : gate) g = normal(random);
      for (float& v : value) v = normal(random);
      Attributes attributes;
      if (alpha != 1.0) attributes["alpha"] = static_cast<float>(alpha);
      const Tensor y = run_node({"SwiGLU",
                                 28,
                                 attributes,
                                 {Tensor::of<float>({n}, std::span<const float>(gate)),
                                  Tensor::of<float>({n}, std::span<const float>(value))}})[0];
      for (size_t i = 0; i < gate.size(); i++) {
        const double g = gate[i], wanted = g / (1 + std::exp(-alpha * g)) * value[i];
        ASSERT_NEAR(y.values<float>()[i], wanted, 2e-6 * std::abs(wanted) + 1e-30) << i;
      }
    }
}

TEST(SwiGlu, RefusesInputsOfDifferentShapes) {
  try {
    infer_node(
        {"SwiGLU", 28, {}, {Tensor::zeros(DType::f32, {2, 3}), Tensor::zeros(DType::f32, {3})}});
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("one shape, found [2,3] and [3]"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::test
