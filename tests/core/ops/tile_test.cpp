#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Tile, RepeatsEveryAxis) {
  for (const DType dtype : kSizes)
    for (const std::vector<int64_t>& repeats :
         {std::vector<int64_t>{1, 1, 1}, {2, 1, 3}, {1, 4, 1}, {2, 2, 2}, {0, 1, 1}}) {
      const Shape shape = {2, 3, 1};
      const Tensor x = random_bytes(dtype, shape);
      const Tensor y = run_node({"Tile", 13, {}, {x, ints(repeats)}})[0];
      for (size_t d = 0; d < 3; d++) ASSERT_EQ(y.shape()[d], shape[d] * repeats[d]);
      expect_moved(y, x, [&](std::vector<int64_t> o) {
        for (size_t d = 0; d < 3; d++) o[d] %= shape[d];
        return std::optional(o);
      });
    }
}

TEST(Tile, TakesTilesAndAxisInOpset1) {
  const Tensor x = Tensor::of<float>({2}, {1, 2});
  const Tensor y = run_node({"Tile", 1, {}, {x, ints({2}), ints({0})}})[0];
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{1, 2, 1, 2}));
  const Tensor z = run_node({"Tile", 1, {}, {x, Tensor::scalar(2.0f), Tensor::scalar(0.0f)}})[0];
  EXPECT_EQ(z.to_doubles(), (std::vector<double>{1, 2, 1, 2}));
}

TEST(Tile, RefusesNegativeRepeats) {
  EXPECT_THROW(infer_node({"Tile", 13, {}, {Tensor::zeros(DType::f32, {2}), ints({-1})}}), Error);
}

}  // namespace
}  // namespace poprt::test
