#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(SpaceToDepth, MovesBlocksToChannels) {
  for (const DType dtype : kSizes)
    for (const int64_t b : {2, 3, 4, 5})
      for (const int64_t width : {1, 3, 40}) {
        const Tensor x = random_bytes(dtype, {2, 3, 2 * b, width * b});
        const Tensor y = run_node({"SpaceToDepth", 13, {{"blocksize", b}}, {x}})[0];
        ASSERT_EQ(y.shape(), (Shape{2, 3 * b * b, 2, width}));
        expect_moved(y, x, [&](const std::vector<int64_t>& o) {
          const int64_t block = o[1] / 3;
          return std::optional(
              std::vector<int64_t>{o[0], o[1] % 3, o[2] * b + block / b, o[3] * b + block % b});
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
