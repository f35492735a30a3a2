#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(DepthToSpace, BothModes) {
  for (const DType dtype : kSizes)
    for (const std::string mode : {"DCR", "CRD"}) {
      const Tensor x = random_bytes(dtype, {2, 12, 2, 3});
      const Tensor y =
          run_node({"DepthToSpace", 13, {{"blocksize", int64_t{2}}, {"mode", mode}}, {x}})[0];
      ASSERT_EQ(y.shape(), (Shape{2, 3, 4, 6}));
      expect_moved(y, x, [&](const std::vector<int64_t>& o) {
        const int64_t i = o[2] % 2, j = o[3] % 2;
        const int64_t c = mode == "DCR" ? (i * 2 + j) * 3 + o[1] : o[1] * 4 + i * 2 + j;
        return std::optional(std::vector<int64_t>{o[0], c, o[2] / 2, o[3] / 2});
      });
    }
  EXPECT_THROW(infer_node({"DepthToSpace",
                           13,
                           {{"blocksize", int64_t{2}}},
                           {Tensor::zeros(DType::f32, {1, 3, 2, 2})}}),
               Error);
}

}  // namespace
}  // namespace poprt::test
