#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(SpaceToDepth, MovesBlocksToChannels) {
  for (const DType dtype : kSizes) {
    const Tensor x = random_bytes(dtype, {2, 3, 4, 6});
    const Tensor y = run_node({"SpaceToDepth", 13, {{"blocksize", int64_t{2}}}, {x}})[0];
    ASSERT_EQ(y.shape(), (Shape{2, 12, 2, 3}));
    expect_moved(y, x, [&](const std::vector<int64_t>& o) {
      const int64_t block = o[1] / 3;
      return std::optional(
          std::vector<int64_t>{o[0], o[1] % 3, o[2] * 2 + block / 2, o[3] * 2 + block % 2});
    });
  }
  EXPECT_THROW(infer_node({"SpaceToDepth",
                           13,
                           {{"blocksize", int64_t{2}}},
                           {Tensor::zeros(DType::f32, {1, 3, 2, 3})}}),
               Error);
}

}  // namespace
}  // namespace poprt::test
