#include <algorithm>
#include <numeric>

#include "core/ops/run_node.h"
#include "core/ops/sub_byte.h"

namespace poprt::test {
namespace {

void check(DType dtype, const Shape& shape, const std::vector<int64_t>& perm) {
  SCOPED_TRACE(shape_string(shape) + " by " + shape_string(perm));
  const Tensor x = random_bytes(dtype, shape);
  const Tensor y = run_node({"Transpose", 13, {{"perm", perm}}, {x}})[0];
  for (size_t i = 0; i < perm.size(); i++)
    EXPECT_EQ(y.shape()[i], shape[static_cast<size_t>(perm[i])]);
  expect_moved(y, x, [&](const std::vector<int64_t>& o) {
    std::vector<int64_t> at(o.size());
    for (size_t i = 0; i < o.size(); i++) at[static_cast<size_t>(perm[i])] = o[i];
    return std::optional(at);
  });
}

TEST(Transpose, EveryPermutationOfFourAxes) {
  std::vector<int64_t> perm = {0, 1, 2, 3};
  do {
    for (const DType dtype : kSizes) check(dtype, {3, 5, 2, 4}, perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, TilesAndTheirEdges) {
  for (const DType dtype : kSizes)
    for (const int64_t rows : {1, 7, 8, 16, 33, 70})
      for (const int64_t columns : {1, 4, 9, 24, 65}) {
        check(dtype, {rows, columns}, {1, 0});
        check(dtype, {2, rows, columns}, {0, 2, 1});
        check(dtype, {rows, 2, columns}, {2, 1, 0});
      }
}

TEST(Transpose, PixelsOfFewChannels) {
  for (const DType dtype : kSizes)
    for (const int64_t channels : {2, 3, 4, 5}) {
      for (const int64_t pixels : {1, 15, 64, 131}) {
        check(dtype, {2, pixels, channels}, {0, 2, 1});
        check(dtype, {2, channels, pixels}, {0, 2, 1});
      }
      check(dtype, {channels, 20001}, {1, 0});
      check(dtype, {20001, channels}, {1, 0});
    }
}

TEST(Transpose, ElementsSmallerThanAByte) {
  for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 4, 8}, Shape{1, 1, 1}})
    for (const std::vector<int64_t>& perm : {std::vector<int64_t>{2, 0, 1}, {0, 2, 1}, {0, 1, 2}})
      expect_moves_sub_byte({"Transpose", 25, {{"perm", perm}}, {Tensor::zeros(DType::f32, shape)}},
                            {0});
}

TEST(Transpose, RandomPermutationsOfSixAxes) {
  std::mt19937 rng(3);
  std::vector<int64_t> perm(6);
  std::iota(perm.begin(), perm.end(), 0);
  for (int trial = 0; trial < 50; trial++) {
    std::shuffle(perm.begin(), perm.end(), rng);
    Shape shape(6);
    for (int64_t& d : shape) d = 1 + static_cast<int64_t>(rng() % 4);
    check(kSizes[rng() % kSizes.size()], shape, perm);
  }
}

TEST(Transpose, ReversesAxesByDefault) {
  EXPECT_EQ(infer_node({"Transpose", 13, {}, {Tensor::zeros(DType::f32, {2, 3, 4})}}).shape,
            (Shape{4, 3, 2}));
}

TEST(Transpose, ScalarsAndEmptyTensors) {
  check(DType::f32, {}, {});
  check(DType::f32, {0, 3}, {1, 0});
}

TEST(Transpose, RefusesInvalidPermutations) {
  EXPECT_THROW(check(DType::f32, {2, 3}, {0, 0}), Error);
  EXPECT_THROW(check(DType::f32, {2, 3}, {0}), Error);
}

}  // namespace
}  // namespace poprt::test
