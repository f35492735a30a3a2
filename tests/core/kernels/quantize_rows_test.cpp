// quantize_rows; isa/attention_test compares the numbers of every instruction set.
#include "kernels/calls/quantize_rows.h"

#include <cmath>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

TEST(QuantizeRows, ConvertsEachRowWithItsOwnScale) {
  constexpr int64_t kRows = 150, kSize = 5;  // several tasks
  Tensor x = Tensor::zeros(DType::f32, {kRows, kSize});
  const auto values = x.mutable_values<float>();
  for (int64_t r = 0; r < kRows; r++)
    for (int64_t d = 0; d < kSize; d++)
      values[static_cast<size_t>(r * kSize + d)] = static_cast<float>((d - 2) * (r + 1));
  std::vector<Tensor> operands = {x, Tensor::zeros(DType::s8, {kRows, kSize + 4})};
  const calls::QuantizeRows call{.rows = kRows, .size = kSize};
  test::expect_needs_every_element(call, operands);
  test::run_call(call, operands);
  const auto* bytes = static_cast<const int8_t*>(operands[1].data());
  for (int64_t r = 0; r < kRows; r++, bytes += kSize + 4) {
    float scale = 0;
    std::memcpy(&scale, bytes + kSize, sizeof scale);
    EXPECT_FLOAT_EQ(scale, 2 * static_cast<float>(r + 1) / 127);
    const int8_t wanted[] = {-127, -64, 0, 64, 127};  // 63.5 is rounded to the even neighbour
    for (int64_t d = 0; d < kSize; d++)
      EXPECT_NEAR(bytes[d], wanted[d], std::abs(wanted[d]) == 64 ? 1 : 0) << r << " " << d;
  }
}

TEST(QuantizeRows, RefusesOtherTypes) {
  const calls::QuantizeRows call{.rows = 2, .size = 3};
  const Tensor x = Tensor::zeros(DType::f32, {2, 3}), y = Tensor::zeros(DType::s8, {2, 7});
  EXPECT_NO_THROW(test::prepare_call(call, std::vector<Tensor>{x, y}));
  EXPECT_THROW(test::prepare_call(call, std::vector<Tensor>{Tensor::zeros(DType::f64, {2, 3}), y}),
               Error);
  EXPECT_THROW(test::prepare_call(call, std::vector<Tensor>{x, Tensor::zeros(DType::u8, {2, 7})}),
               Error);
  EXPECT_THROW(test::prepare_call(call, std::vector<Tensor>{x}), Error);
}

}  // namespace
}  // namespace poprt::kernels
