#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

std::vector<int64_t> shape_of(Attributes attributes, Shape shape) {
  return run_node(
             {"Shape", 15, std::move(attributes), {Tensor::zeros(DType::f32, std::move(shape))}})[0]
      .to_int64s();
}

TEST(Shape, ListsDimensions) {
  EXPECT_EQ(shape_of({}, {2, 0, 4}), (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(shape_of({}, {}), (std::vector<int64_t>{}));
}

TEST(Shape, TakesAPart) {
  EXPECT_EQ(shape_of({{"start", int64_t{1}}}, {2, 3, 4}), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(shape_of({{"end", int64_t{-1}}}, {2, 3, 4}), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(shape_of({{"start", int64_t{-9}}, {"end", int64_t{9}}}, {2, 3}),
            (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(shape_of({{"start", int64_t{2}}, {"end", int64_t{1}}}, {2, 3, 4}),
            (std::vector<int64_t>{}));
}

}  // namespace
}  // namespace poprt::test
