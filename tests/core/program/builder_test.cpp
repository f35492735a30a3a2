#include "program/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

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

TEST(Builder, OffsetsAreInOrderAndRecordsFillTheirWeights) {
  Builder b;
  const BufferId first = b.weights(3, DType::u8, {3}, [](std::span<std::byte> to) {
    std::fill(to.begin(), to.end(), std::byte{7});
  });
  const BufferId second =
      b.weights(8, DType::f32, {2}, WeightForm::plain(Tensor::of<float>({2}, {1, 2})));
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(b.buffer(first).offset, 0u);
  EXPECT_EQ(b.buffer(second).offset, 64u);
  EXPECT_EQ(b.buffer(second).bytes, 8u);
  EXPECT_EQ(b.program().weights_bytes, 128u);
  std::vector<std::byte> bytes(8);
  b.weight_records()[1].fill(bytes);
  EXPECT_EQ(std::memcmp(bytes.data(), std::array{1.0f, 2.0f}.data(), 8), 0);
  b.weight_records()[0].fill(std::span(bytes).first(3));
  EXPECT_EQ(bytes[2], std::byte{7});
}

TEST(Builder, EqualFormsOfAnotherLengthAreStoredSeparately) {
  Builder b;
  const Tensor t = Tensor::of<float>({4}, {1, 2, 3, 4});
  const BufferId whole = b.weights(16, DType::f32, {4}, WeightForm::plain(t));
  const BufferId padded = b.weights(64, DType::f32, {4}, WeightForm::plain(t));
  EXPECT_NE(b.buffer(whole).offset, b.buffer(padded).offset);
  EXPECT_EQ(b.weight_records().size(), 2u);
}

TEST(Builder, InstructionsShareTheNamesOfKernels) {
  Builder b;
  const BufferId x = b.arena(0, 4, DType::f32, {});
  for (const char* kernel : {"relu", "exp", "relu"})
    b.emit(kernel, std::array{x, kNoBuffer}, std::array{int64_t{3}}, std::array{0.5f}, kernel);
  const Program& p = b.program();
  EXPECT_EQ(p.kernels, (std::vector<std::string>{"relu", "exp"}));
  ASSERT_EQ(p.main.size(), 3u);
  EXPECT_EQ(p.main[0].kernel, 0u);
  EXPECT_EQ(p.main[1].kernel, 1u);
  EXPECT_EQ(p.main[2].kernel, 0u);
  EXPECT_EQ(p.main[2].operands, (std::vector<uint32_t>{x, kNoBuffer}));
  EXPECT_EQ(p.main[2].ints, std::vector<int64_t>{3});
  EXPECT_EQ(p.main[2].floats, std::vector<float>{0.5f});
  EXPECT_EQ(p.main[1].name, "exp");
}

}  // namespace
}  // namespace poprt::program
