#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Atan2, AgreesWithTheCLibraryOnSpecialValues) {
  const std::vector<float> values = {0.0f,   -0.0f,    1.0f,      -1.0f, 0.25f,
                                     -3e38f, INFINITY, -INFINITY, NAN};
  std::vector<float> a, b;
  for (const float y : values)
    for (const float x : values) a.push_back(y), b.push_back(x);
  const auto n = static_cast<int64_t>(a.size());
  const Tensor got = run_node({.op = "Atan2",
                               .inputs = {Tensor::of<float>({n}, std::span<const float>(a)),
                                          Tensor::of<float>({n}, std::span<const float>(b))},
                               .runtime = {0, 1},
                               .domain = "ai.graphcore"})[0];
  for (size_t i = 0; i < a.size(); i++) {
    const float wanted = std::atan2(a[i], b[i]), y = got.values<float>()[i];
    EXPECT_EQ(std::isnan(y), std::isnan(wanted)) << a[i] << " " << b[i];
    if (std::isnan(wanted)) continue;
    EXPECT_NEAR(y, wanted, 1e-6f) << a[i] << " " << b[i];
    EXPECT_EQ(std::signbit(y), std::signbit(wanted)) << a[i] << " " << b[i];
  }
}

}  // namespace
}  // namespace poprt::test
