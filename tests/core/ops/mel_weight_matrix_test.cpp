#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(MelWeightMatrix, EdgesFarOutsideTheRowsTakeNoTime) {
  const Tensor y =
      run_node({"MelWeightMatrix",
                17,
                {},
                {Tensor::scalar(int64_t{2}), Tensor::scalar(int64_t{8}), Tensor::scalar(int64_t{1}),
                 Tensor::scalar(0.0f), Tensor::scalar(1e13f)}})[0];
  EXPECT_EQ(y.shape(), (Shape{5, 2}));
}

}  // namespace
}  // namespace poprt::test
