#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(ConstantOfShape, FillsWithItsValue) {
  for (const DType dtype : kSizes) {
    const Tensor value = random_bytes(dtype, {1}, 3);
    const Tensor y = run_node({"ConstantOfShape", 9, {{"value", value}}, {ints({2, 5})}})[0];
    expect_moved(y, value, [](const std::vector<int64_t>&) {
      return std::optional(std::vector<int64_t>{0});
    });
  }
  EXPECT_EQ(run_node({"ConstantOfShape", 9, {}, {ints({2})}})[0].to_doubles(),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(run_node({"ConstantOfShape", 9, {}, {ints({})}})[0].shape(), (Shape{}));
  EXPECT_THROW(infer_node({"ConstantOfShape", 9, {}, {ints({-2})}}), Error);
}

}  // namespace
}  // namespace poprt::test
