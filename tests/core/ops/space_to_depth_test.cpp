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

// Output channel c b b + i b + j is row i and column j of the blocks of channel c.
TEST(SpaceToDepth, ModeCrdPutsTheChannelFirst) {
  const int64_t b = 2;
  const Tensor x = random_bytes(DType::f32, {2, 3, 4, 6});
  const Tensor y =
      run_node({"SpaceToDepth", 28, {{"blocksize", b}, {"mode", std::string("CRD")}}, {x}})[0];
  ASSERT_EQ(y.shape(), (Shape{2, 12, 2, 3}));
  expect_moved(y, x, [&](const std::vector<int64_t>& o) {
    const int64_t place = o[1] % (b * b);
    return std::optional(
        std::vector<int64_t>{o[0], o[1] / (b * b), o[2] * b + place / b, o[3] * b + place % b});
  });
  EXPECT_THROW(
      infer_node({"SpaceToDepth", 28, {{"blocksize", b}, {"mode", std::string("RCD")}}, {x}}),
      Error);
}

}  // namespace
}  // namespace poprt::test
