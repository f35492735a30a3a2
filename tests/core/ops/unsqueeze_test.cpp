#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Unsqueeze, AddsAxesOfBothForms) {
  const Tensor x = Tensor::zeros(DType::f32, {3, 2});
  EXPECT_EQ(infer_node({"Unsqueeze", 11, {{"axes", std::vector<int64_t>{0, -1}}}, {x}}).shape,
            (Shape{1, 3, 2, 1}));
  EXPECT_EQ(infer_node({"Unsqueeze", 13, {}, {x, ints({2, 1})}}).shape, (Shape{3, 1, 1, 2}));
  EXPECT_THROW(infer_node({"Unsqueeze", 13, {}, {x, ints({1, -3})}}), Error);
}

}  // namespace
}  // namespace poprt::test
