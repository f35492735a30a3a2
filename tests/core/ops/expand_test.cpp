#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Expand, BroadcastsBothWays) {
  for (const DType dtype : kSizes)
    for (const Shape& shape : {Shape{}, Shape{3, 1}, Shape{1, 1, 4}, Shape{2, 3, 4}, Shape{4}})
      for (const std::vector<int64_t>& to :
           {std::vector<int64_t>{2, 3, 4}, {1}, {}, {5, 1, 1, 1}, {0, 1, 1, 1}}) {
        const Tensor x = random_bytes(dtype, shape);
        const Tensor y = run_node({"Expand", 13, {}, {x, ints(to)}})[0];
        EXPECT_EQ(y.shape(), broadcast_shapes(shape, to));
        expect_moved(y, x, [&](const std::vector<int64_t>& o) {
          std::vector<int64_t> at(o.end() - static_cast<long>(shape.size()), o.end());
          for (size_t d = 0; d < at.size(); d++)
            if (shape[d] == 1) at[d] = 0;
          return std::optional(at);
        });
      }
}

TEST(Expand, KnowsTheRankOfAComputedShape) {
  EXPECT_EQ(
      infer_node({"Expand", 13, {}, {Tensor::zeros(DType::f32, {2}), ints({3, 2})}, 1, {1}}).shape,
      (Shape{kUnknownDim, kUnknownDim}));
}

}  // namespace
}  // namespace poprt::test
