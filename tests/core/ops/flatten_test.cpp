#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

TEST(Flatten, JoinsAroundTheAxis) {
  const auto flat = [](Shape in, int64_t axis) {
    return infer_node({"Flatten", 13, {{"axis", axis}}, {Tensor::zeros(DType::f32, std::move(in))}})
        .shape;
  };
  EXPECT_EQ(flat({2, 3, 4}, 1), (Shape{2, 12}));
  EXPECT_EQ(flat({2, 3, 4}, 0), (Shape{1, 24}));
  EXPECT_EQ(flat({2, 3, 4}, -1), (Shape{6, 4}));
  EXPECT_EQ(flat({2, 3, 4}, 3), (Shape{24, 1}));
  EXPECT_EQ(flat({}, 0), (Shape{1, 1}));
  EXPECT_THROW(flat({2}, 2), Error);
}

}  // namespace
}  // namespace poprt::test
