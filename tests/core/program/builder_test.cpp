#include "program/builder.h"

#include <gtest/gtest.h>

namespace poprt::program {
namespace {

TEST(Builder, EqualFormsLieInOnePlace) {
  Builder b;
  const Tensor t = Tensor::of<float>({4}, {1, 2, 3, 4});
  const Tensor same = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor other = Tensor::of<float>({4}, {1, 2, 3, 5});
  const BufferId first = b.weights(16, DType::f32, {4}, WeightForm::plain(t));
  const BufferId again = b.weights(16, DType::f32, {2, 2}, WeightForm::plain(same));
  const BufferId third = b.weights(16, DType::f32, {4}, WeightForm::plain(other));
  EXPECT_EQ(b.buffer(first).offset, b.buffer(again).offset);
  EXPECT_EQ(b.buffer(again).shape, (Shape{2, 2}));
  EXPECT_NE(b.buffer(first).offset, b.buffer(third).offset);
  EXPECT_EQ(b.weight_records().size(), 2u);
  EXPECT_EQ(b.program().weights_bytes, 128u);
}

TEST(Builder, BytesOfUnknownMakingAreNotShared) {
  Builder b;
  const auto fill = [](std::span<std::byte>) {};
  b.weights(16, DType::f32, {4}, fill);
  b.weights(16, DType::f32, {4}, fill);
  EXPECT_EQ(b.weight_records().size(), 2u);
}

}  // namespace
}  // namespace poprt::program
