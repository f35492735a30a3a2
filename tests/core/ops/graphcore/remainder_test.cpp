#include <cmath>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

// The quotient is 0 or -1, and infinity times 0 is NaN, so the formula x - floor(x / y) y is not
// used.
TEST(Remainder, OfAnInfiniteDivisorIsTheDividendOrTheDivisor) {
  const Tensor y = run_node({.op = "Remainder",
                             .inputs = {Tensor::of<float>({3}, {5, -5, 5.5f}),
                                        Tensor::of<float>({3}, {INFINITY, INFINITY, -2})},
                             .runtime = {0, 1},
                             .domain = "ai.graphcore"})[0];
  EXPECT_TRUE(y.same_as(Tensor::of<float>({3}, {5, INFINITY, -0.5f})));
}

}  // namespace
}  // namespace poprt::test
