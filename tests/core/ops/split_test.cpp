#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

void check(const NodeCase& c, size_t axis, const std::vector<int64_t>& sizes) {
  const auto parts = run_node(c);
  ASSERT_EQ(parts.size(), sizes.size());
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    ASSERT_EQ(parts[i].shape()[axis], sizes[i]);
    expect_moved(parts[i], c.inputs[0], [&](std::vector<int64_t> o) {
      o[axis] += start;
      return std::optional(o);
    });
    start += sizes[i];
  }
}

TEST(Split, EqualUnevenAndGivenSizes) {
  for (const DType dtype : kSizes) {
    const Tensor x = random_bytes(dtype, {4, 7, 3});
    check({"Split", 2, {{"axis", int64_t{0}}}, {x}, 2}, 0, {2, 2});
    check({"Split", 11, {{"axis", int64_t{1}}, {"split", std::vector<int64_t>{1, 6, 0}}}, {x}, 3},
          1, {1, 6, 0});
    check({"Split", 13, {{"axis", int64_t{-1}}}, {x, ints({1, 2})}, 2}, 2, {1, 2});
    check({"Split", 18, {{"axis", int64_t{1}}, {"num_outputs", int64_t{3}}}, {x}, 3}, 1, {3, 3, 1});
  }
}

TEST(Split, TakesSizesOfTheTypeOfTheDataInOpset1) {
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  check({"Split", 1, {{"axis", int64_t{0}}}, {x, Tensor::of<float>({2}, {1, 2})}, 2}, 0, {1, 2});
  EXPECT_THROW(infer_node({"Split", 1, {}, {x, Tensor::of<float>({2}, {1.5f, 1.5f})}, 2}), Error);
}

TEST(Split, RefusesSizesThatDoNotAddUp) {
  const Tensor x = Tensor::zeros(DType::f32, {5});
  EXPECT_THROW(infer_node({"Split", 13, {}, {x, ints({2, 2})}, 2}), Error);
  EXPECT_THROW(infer_node({"Split", 13, {}, {x}, 2}), Error);
  EXPECT_THROW(infer_node({"Split", 13, {}, {x, ints({-1, 6})}, 2}), Error);
}

}  // namespace
}  // namespace poprt::test
