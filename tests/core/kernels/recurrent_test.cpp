#include "kernels/calls/recurrent.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/kernels/run_call.h"

namespace poprt::kernels {
namespace {

using test::random_numbers;
using test::run_call;

// Operands in the order of program files. The kernel has its own list: when its order changes,
// these calls must fail.
enum Slot : size_t {
  kX,
  kR,
  kRState,
  kRSums,
  kRScales,
  kBias,
  kPeephole,
  kLens,
  kHFirst,
  kCFirst,
  kY,
  kHLast,
  kCLast,
  kWork,
  kOperands
};

constexpr int64_t kSteps = 3, kHidden = 20, kBlocks = 2, kGates = 4;

calls::Recurrent lstm_of(int64_t batch) {
  calls::Recurrent c;
  c.kind = isa::RecurrentKind::lstm;
  c.steps = kSteps;
  c.batch = batch;
  c.hidden = kHidden;
  c.x_row = kBlocks * kGates * 16;
  c.x_block = kGates * 16;
  c.x_gate = 16;
  c.activations[0].code = isa::RecurrentActivation::sigmoid;
  c.activations[1].code = isa::RecurrentActivation::tanh;
  c.activations[2].code = isa::RecurrentActivation::tanh;
  return c;
}

std::vector<Tensor> operands_of(int64_t batch, std::mt19937& rng) {
  std::vector<Tensor> o(kOperands);
  const auto floats = [&](Shape shape) {
    return random_numbers(DType::f32, std::move(shape), rng);
  };
  o[kX] = floats({kSteps, batch, kBlocks, kGates, 16});
  o[kR] = floats({kBlocks, kHidden, kGates, 16});
  o[kBias] = floats({2 * kGates, kHidden});
  o[kLens] = Tensor::zeros(DType::s32, {batch});
  for (int32_t& length : o[kLens].mutable_values<int32_t>())
    length = static_cast<int32_t>(rng() % (kSteps + 1));
  for (const Slot state : {kHFirst, kCFirst, kHLast, kCLast}) o[state] = floats({batch, kHidden});
  o[kY] = floats({kSteps, 1, batch, kHidden});
  o[kWork] = floats({3, batch, kHidden});
  return o;
}

// Sequences [first, last) of an operand whose axis `axis` is the batch.
Tensor sequences(const Tensor& t, size_t axis, int64_t first, int64_t last) {
  Shape shape = t.shape();
  const int64_t batch = shape[axis];
  shape[axis] = last - first;
  Tensor out = Tensor::zeros(t.dtype(), shape);
  const auto outer = static_cast<size_t>(
      element_count(Shape(shape.begin(), shape.begin() + static_cast<long>(axis))));
  const size_t row = t.bytes() / outer / static_cast<size_t>(batch);
  for (size_t i = 0; i < outer; i++)
    std::memcpy(
        static_cast<std::byte*>(out.mutable_data()) + i * row * static_cast<size_t>(last - first),
        static_cast<const std::byte*>(t.data()) +
            (i * static_cast<size_t>(batch) + static_cast<size_t>(first)) * row,
        row * static_cast<size_t>(last - first));
  return out;
}

// Programs that were compiled before r could be bytes contain such calls.
TEST(RecurrentKernel, ACallWithoutSumsAndScalesIsThatOfFloats) {
  std::mt19937 rng(1);
  std::vector<Tensor> now = operands_of(5, rng), then = now;
  then.erase(then.begin() + kRSums, then.begin() + kBias);
  for (std::vector<Tensor>* operands : {&now, &then}) run_call(lstm_of(5), *operands);
  for (const Slot i : {kY, kHLast, kCLast})
    EXPECT_EQ(now[i].to_doubles(), then[i - 2].to_doubles()) << i;
  then.pop_back();
  EXPECT_THROW(test::prepare_call(lstm_of(5), then), Error);
  now.push_back(Tensor());
  EXPECT_THROW(test::prepare_call(lstm_of(5), now), Error);
}

// There are more sequences than fit into one block of rows, with different lengths.
TEST(RecurrentKernel, ManySequencesGiveTheBitsOfFew) {
  constexpr int64_t kBatch = 71;
  std::mt19937 rng(2);
  std::vector<Tensor> all = operands_of(kBatch, rng);
  const std::vector<Tensor> given = all;
  run_call(lstm_of(kBatch), all);
  for (int64_t first = 0; first < kBatch; first += 4) {
    const int64_t last = std::min(first + 4, kBatch);
    std::vector<Tensor> few = given;
    for (const Slot i : {kX, kY, kWork, kLens, kHFirst, kCFirst, kHLast, kCLast}) {
      const size_t axis = i == kX || i == kWork ? 1 : i == kY ? 2 : 0;
      few[i] = sequences(given[i], axis, first, last);
    }
    run_call(lstm_of(last - first), few);
    EXPECT_EQ(few[kY].to_doubles(), sequences(all[kY], 2, first, last).to_doubles()) << first;
    EXPECT_EQ(few[kHLast].to_doubles(), sequences(all[kHLast], 0, first, last).to_doubles())
        << first;
    EXPECT_EQ(few[kCLast].to_doubles(), sequences(all[kCLast], 0, first, last).to_doubles())
        << first;
  }
}

// As the operator Relu and the kernel of f64 do.
TEST(RecurrentKernel, ReluKeepsNan) {
  calls::Recurrent c;
  c.batch = 1;
  c.hidden = 4;
  c.x_row = c.x_block = 16;
  c.activations[0].code = isa::RecurrentActivation::relu;
  std::vector<Tensor> o(kOperands);
  o[kX] = Tensor::zeros(DType::f32, {16});
  o[kX].mutable_values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  o[kX].mutable_values<float>()[1] = -1;
  o[kX].mutable_values<float>()[2] = 3;
  o[kR] = Tensor::zeros(DType::f32, {4, 16});
  o[kY] = Tensor::zeros(DType::f32, {4});
  o[kHLast] = Tensor::zeros(DType::f32, {4});
  o[kWork] = Tensor::zeros(DType::f32, {2, 4});
  run_call(c, o);
  const auto y = o[kHLast].values<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 3);
}

// The cell is f c + i n with i near 0. Small cells have the bits that they have among large ones.
TEST(RecurrentKernel, LargeCellsStayFinite) {
  std::mt19937 rng(4);
  std::vector<Tensor> o = operands_of(1, rng);
  for (float& v : o[kR].mutable_values<float>()) v = 0;
  for (float& v : o[kBias].mutable_values<float>()) v = 0;
  const std::array<float, 4> gates = {-60, 0, 60, 1};  // i, o, f, n
  auto x = o[kX].mutable_values<float>();
  for (size_t i = 0; i < x.size(); i++) x[i] = gates[i / 16 % 4];
  o[kLens] = Tensor();
  auto c = o[kCFirst].mutable_values<float>();
  constexpr std::array<float, 8> kCells = {0, 1.5f, -1e19f, 1e22f, 3e23f, -1e30f, 1e38f, -3e38f};
  for (size_t i = 0; i < c.size(); i++) c[i] = kCells[i % kCells.size()];
  run_call(lstm_of(1), o);
  for (size_t i = 0; i < c.size(); i++) {
    const float cell = kCells[i % kCells.size()];
    EXPECT_NEAR(o[kCLast].values<float>()[i], cell, std::abs(cell) * 1e-6 + 1e-12) << i;
    const double h = std::tanh(static_cast<double>(cell)) / 2;
    EXPECT_NEAR(static_cast<double>(o[kHLast].values<float>()[i]), h, 1e-6) << i;
  }
}

}  // namespace
}  // namespace poprt::kernels
