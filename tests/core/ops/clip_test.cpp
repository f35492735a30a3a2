#include <cmath>
#include <limits>
#include <utility>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

// As in ONNX Runtime, a bound that is absent is the largest number of the type.
TEST(Clip, OfInfinityIsFinite) {
  const float kMost = std::numeric_limits<float>::max();
  const Tensor x = Tensor::of<float>({4}, {INFINITY, -INFINITY, NAN, 1});
  const auto clip = [&](Tensor low, Tensor high) {
    return run_node({"Clip", 13, {}, {x, std::move(low), std::move(high)}, 1, {0}})[0].to_doubles();
  };
  const auto low = clip(Tensor::scalar(0.5f), Tensor());
  EXPECT_EQ(low[0], kMost);
  EXPECT_EQ(low[1], 0.5);
  EXPECT_TRUE(std::isnan(low[2]));
  EXPECT_EQ(clip(Tensor(), Tensor::scalar(0.5f))[1], -kMost);
}

}  // namespace
}  // namespace poprt::test
