#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Squeeze, DropsAxesOfBothForms) {
  const Tensor x = Tensor::zeros(DType::f32, {1, 3, 1, 2});
  EXPECT_EQ(infer_node({"Squeeze", 11, {{"axes", std::vector<int64_t>{-2}}}, {x}}).shape,
            (Shape{1, 3, 2}));
  EXPECT_EQ(infer_node({"Squeeze", 13, {}, {x, ints({0, 2})}}).shape, (Shape{3, 2}));
  EXPECT_EQ(infer_node({"Squeeze", 13, {}, {x}}).shape, (Shape{3, 2}));
  EXPECT_THROW(infer_node({"Squeeze", 13, {}, {x, ints({1})}}), Error);
}

}  // namespace
}  // namespace poprt::test
