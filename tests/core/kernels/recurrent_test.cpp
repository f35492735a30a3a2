#include "kernels/calls/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/kernels/run_call.h"
#include "kernels/calls/recurrent_generic.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/pack_vnni.h"

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
  std::mt19937 same(1);
  std::vector<Tensor> now = operands_of(5, rng), then = operands_of(5, same);
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

int64_t gates_of(isa::RecurrentKind kind) {
  return kind == isa::RecurrentKind::rnn ? 1 : kind == isa::RecurrentKind::lstm ? 4 : 3;
}

// A call with the operands in the layout of ONNX, one row of gates * hidden products for each step
// and sequence. The kernel of double computes the reference: its W is the identity.
struct Recurrence {
  calls::Recurrent call;
  Tensor x, r, bias, peephole, lens, h_first, c_first;
  bool y = true, h_last = true, c_last = true;

  int64_t gates() const { return gates_of(call.kind); }
  int64_t blocks() const { return (call.hidden + 15) / 16; }

  std::array<Tensor, 3> reference() const {
    const int64_t rows = gates() * call.hidden;
    const auto as_double = [](const Tensor& t, Shape shape) {
      if (!t.defined()) return Tensor();
      Tensor made = Tensor::zeros(DType::f64, std::move(shape));
      std::ranges::copy(t.to_doubles(), made.mutable_values<double>().begin());
      return made;
    };
    Tensor w = Tensor::zeros(DType::f64, {1, rows, rows});
    for (int64_t i = 0; i < rows; i++)
      w.mutable_values<double>()[static_cast<size_t>(i * (rows + 1))] = 1;
    const Shape state = {1, call.batch, call.hidden};
    std::vector<Tensor> o = {as_double(x, {call.steps, call.batch, rows}),
                             w,
                             as_double(r, {1, rows, call.hidden}),
                             as_double(bias, {1, 2, rows}),
                             lens,
                             as_double(h_first, state),
                             as_double(c_first, state),
                             as_double(peephole, {1, 3, call.hidden}),
                             Tensor::zeros(DType::f64, {call.steps, 1, call.batch, call.hidden}),
                             Tensor::zeros(DType::f64, state),
                             Tensor::zeros(DType::f64, state)};
    calls::RecurrentGeneric generic;
    generic.kind = call.kind;
    generic.steps = call.steps;
    generic.batch = call.batch;
    generic.input = rows;
    generic.hidden = call.hidden;
    generic.reverse = call.reverse;
    generic.input_forget = call.input_forget;
    generic.clip = call.clip;
    generic.activations.assign(call.activations.begin(), call.activations.end());
    run_call(generic, o);
    return {o[8], o[9], o[10]};
  }

  // Blocks of 16 units of the gates [first, last) of r.
  Tensor blocks_of_r(int64_t first, int64_t last) const {
    const int64_t n = call.hidden, count = last - first;
    Tensor made = Tensor::zeros(DType::f32, {blocks(), n, count, 16});
    const auto from = r.values<float>();
    auto to = made.mutable_values<float>();
    for (int64_t u = 0; u < n; u++)
      for (int64_t k = 0; k < n; k++)
        for (int64_t g = 0; g < count; g++)
          to[static_cast<size_t>(((u / 16 * n + k) * count + g) * 16 + u % 16)] =
              from[static_cast<size_t>(((first + g) * n + u) * n + k)];
    return made;
  }

  std::vector<Tensor> operands() const {
    std::vector<Tensor> o(kOperands);
    const int64_t n = call.hidden, rows = call.steps * call.batch;
    int64_t last = 0;  // after the last unit of a gate
    for (int64_t b = 0; b < blocks(); b++)
      last = std::max(last, b * call.x_block + std::min<int64_t>(16, n - b * 16));
    o[kX] = Tensor::zeros(
        DType::f32, {call.x_offset + (rows - 1) * call.x_row + (gates() - 1) * call.x_gate + last});
    for (int64_t row = 0; row < rows; row++)
      for (int64_t g = 0; g < gates(); g++)
        for (int64_t u = 0; u < n; u++)
          o[kX].mutable_values<float>()[static_cast<size_t>(
              call.x_offset + row * call.x_row + u / 16 * call.x_block + g * call.x_gate +
              u % 16)] = x.values<float>()[static_cast<size_t>((row * gates() + g) * n + u)];
    const bool two_parts = call.kind == isa::RecurrentKind::gru_gates;
    o[kR] = blocks_of_r(0, two_parts ? 2 : gates());
    if (two_parts) o[kRState] = blocks_of_r(2, 3);
    o[kBias] = bias;
    o[kPeephole] = peephole;
    o[kLens] = lens;
    o[kHFirst] = h_first;
    o[kCFirst] = c_first;
    const Shape state = {call.batch, n};
    if (y) o[kY] = Tensor::zeros(DType::f32, {call.steps, call.directions, call.batch, n});
    if (h_last) o[kHLast] = Tensor::zeros(DType::f32, state);
    if (c_last) o[kCLast] = Tensor::zeros(DType::f32, state);
    const int64_t work = (y && !lens.defined() ? 0 : 2) +
                         (call.kind == isa::RecurrentKind::lstm ? 1 : 0) + (two_parts ? 2 : 0);
    if (work) o[kWork] = Tensor::zeros(DType::f32, {work, call.batch, n});
    return o;
  }
};

Recurrence random_recurrence(std::mt19937& rng, isa::RecurrentKind kind, int64_t hidden,
                             int64_t batch) {
  using isa::RecurrentActivation;
  Recurrence made;
  calls::Recurrent& c = made.call;
  c.kind = kind;
  c.steps = test::one_of(rng, {1, 2, 3, 4});
  c.batch = batch;
  c.hidden = hidden;
  c.directions = test::one_of(rng, {1, 2});
  c.direction = static_cast<int64_t>(rng()) % c.directions;
  c.reverse = rng() % 2;
  const int64_t gates = made.gates();
  const bool gates_first = rng() % 2;
  c.x_gate = gates_first ? made.blocks() * 16 : 16;
  c.x_block = gates_first ? 16 : gates * 16;
  c.x_offset = test::one_of(rng, {0, 5});
  c.x_row = made.blocks() * gates * 16 + test::one_of(rng, {0, 3});
  c.input_forget = rng() % 4 == 0;
  c.clip = rng() % 3 ? 0.0f : 0.75f;
  const bool usual = rng() % 2;
  const auto number = [&] { return static_cast<float>(1 + rng() % 4) / 4; };
  for (size_t i = 0; i < 3; i++)
    c.activations[i] = {usual ? i ? RecurrentActivation::tanh : RecurrentActivation::sigmoid
                              : static_cast<RecurrentActivation>(rng() % 11),
                        number(), number()};
  const auto numbers = [&](Shape shape, float scale = 1) {
    Tensor t = random_numbers(DType::f32, std::move(shape), rng);
    for (float& v : t.mutable_values<float>()) v *= scale;
    return t;
  };
  made.x = numbers({c.steps, batch, gates * hidden});
  made.r = numbers({gates * hidden, hidden}, 1.0f / static_cast<float>(4 + hidden));
  if (rng() % 2) made.bias = numbers({2 * gates, hidden});
  if (rng() % 2) {
    made.lens = Tensor::zeros(DType::s32, {batch});
    for (int32_t& length : made.lens.mutable_values<int32_t>())
      length = static_cast<int32_t>(rng() % 7) - 1;  // also less than 0 and more than there are
  }
  if (rng() % 2) made.h_first = numbers({batch, hidden});
  if (c.kind == isa::RecurrentKind::lstm) {
    if (rng() % 2) made.c_first = numbers({batch, hidden});
    if (rng() % 3 == 0) made.peephole = numbers({3, hidden}, 0.25f);
  }
  made.y = rng() % 4;
  made.h_last = rng() % 4;
  made.c_last = c.kind == isa::RecurrentKind::lstm && rng() % 4;
  return made;
}

void expect_matches_reference(const Recurrence& given, std::vector<Tensor> o, int64_t threads,
                              bool reproducible, double tolerance = 2e-5) {
  const calls::Recurrent& c = given.call;
  run_call(c, o, threads, reproducible);
  const std::array<Tensor, 3> wanted = given.reference();
  const auto row = static_cast<size_t>(c.batch * c.hidden);
  const auto compare = [&](std::span<const float> found, std::span<const double> expected,
                           const char* what) {
    for (size_t i = 0; i < expected.size(); i++)
      ASSERT_NEAR(static_cast<double>(found[i]), expected[i],
                  tolerance * std::max(1.0, std::abs(expected[i])))
          << what << " " << i;
  };
  if (given.y)
    for (size_t t = 0; t < static_cast<size_t>(c.steps); t++)
      for (size_t d = 0; d < static_cast<size_t>(c.directions); d++) {
        const std::vector<double> zeros(row);
        compare(
            o[kY].values<float>().subspan((t * static_cast<size_t>(c.directions) + d) * row, row),
            std::cmp_equal(d, c.direction) ? wanted[0].values<double>().subspan(t * row, row)
                                           : std::span<const double>(zeros),
            "y");
      }
  if (given.h_last) compare(o[kHLast].values<float>(), wanted[1].values<double>(), "h");
  if (given.c_last) compare(o[kCLast].values<float>(), wanted[2].values<double>(), "c");
}

TEST(RecurrentKernel, RandomCallsMatchTheKernelOfDouble) {
  std::mt19937 rng(5);
  for (int round = 0; round < 200; round++) {
    const int64_t hidden = test::one_of(rng, {1, 5, 8, 16, 20, 33});
    const auto kind = static_cast<isa::RecurrentKind>(rng() % 4);
    const int64_t batch = test::one_of(rng, {1, 2, 3, 4, 5, 37});
    const Recurrence given = random_recurrence(rng, kind, hidden, batch);
    expect_matches_reference(given, given.operands(), test::one_of(rng, {1, 3}), rng() % 2);
    if (::testing::Test::HasFailure())
      FAIL() << "round " << round << ", kind " << static_cast<int>(given.call.kind);
  }
}

TEST(RecurrentKernel, NeedsEveryElement) {
  std::mt19937 rng(7);
  for (int round = 0; round < 40; round++) {
    const auto kind = static_cast<isa::RecurrentKind>(rng() % 4);
    const int64_t hidden = test::one_of(rng, {1, 16, 20, 33});
    const Recurrence given = random_recurrence(rng, kind, hidden, test::one_of(rng, {1, 5}));
    const std::vector<Tensor> o = given.operands();
    EXPECT_EQ(test::prepare_call(given.call, o).outputs, 4u);
    test::expect_needs_every_element(given.call, o);
  }
}

TEST(RecurrentKernel, RefusesOperandsThatDoNotFit) {
  std::mt19937 rng(9);
  for (const auto kind : {isa::RecurrentKind::lstm, isa::RecurrentKind::gru_gates}) {
    Recurrence given = random_recurrence(rng, kind, 20, 3);
    given.call.steps = 1;
    const std::vector<Tensor> all = given.operands();
    for (size_t i = 0; i < all.size(); i++) {
      if (!all[i].defined()) continue;
      std::vector<Tensor> o = all;
      o[i] = Tensor::zeros(DType::f64, all[i].shape());
      EXPECT_THROW(test::prepare_call(given.call, o), Error) << i;
      o[i] = Tensor();
      if (i == kX || i == kR || i == kRState || i == kWork)
        EXPECT_THROW(test::prepare_call(given.call, o), Error) << i;
    }
    calls::Recurrent none = given.call;
    none.x_row = 0;
    EXPECT_THROW(test::prepare_call(none, all), Error) << "all rows of x would be one";
    none.batch = 0;
    EXPECT_EQ(test::prepare_call(none, all).tasks, 0);
  }
}

// Each sum has the bits of one product after the other, however many sequences share the block.
TEST(RecurrentKernel, ReproducibleSumsAreInOrder) {
  if (cpu_isa() == Isa::baseline) GTEST_SKIP() << "this instruction set has no fma";
  constexpr size_t kUnits = 40;
  std::mt19937 rng(10);
  for (const int64_t batch : {1, 3, 6}) {
    Recurrence given = random_recurrence(rng, isa::RecurrentKind::rnn, kUnits, batch);
    given.call.steps = 1;
    given.call.clip = 0;
    given.call.activations[0] = {isa::RecurrentActivation::affine, 1, 0};
    given.bias = given.lens = Tensor();
    given.y = given.h_last = true;
    given.h_first = random_numbers(DType::f32, {batch, kUnits}, rng);
    for (Tensor* t : {&given.h_first, &given.r})
      for (float& v : t->mutable_values<float>()) v /= 3;
    std::vector<Tensor> o = given.operands();
    run_call(given.call, o, 1, true);
    for (size_t b = 0; b < static_cast<size_t>(batch); b++)
      for (size_t u = 0; u < kUnits; u++) {
        float sum = 0;
        for (size_t k = 0; k < kUnits; k++)
          sum = std::fma(given.h_first.values<float>()[b * kUnits + k],
                         given.r.values<float>()[u * kUnits + k], sum);
        EXPECT_EQ(o[kHLast].values<float>()[b * kUnits + u],
                  given.x.values<float>()[b * kUnits + u] + sum)
            << b << " " << u;
      }
  }
}

// R in bytes, with a scale for each column. The kernel rounds each state to 255 steps of its range.
TEST(RecurrentKernel, WeightsInBytesMatchTheKernelOfDouble) {
  std::mt19937 rng(8);
  for (int round = 0; round < 100; round++) {
    const int64_t n = test::one_of(rng, {1, 3, 8, 16, 20, 33});
    const int64_t batch = test::one_of(rng, {1, 2, 3, 4, 5, 37});
    Recurrence given = random_recurrence(rng, isa::RecurrentKind::lstm, n, batch);
    for (size_t i = 0; i < 3; i++)
      given.call.activations[i].code =
          i ? isa::RecurrentActivation::tanh : isa::RecurrentActivation::sigmoid;
    const int64_t columns = given.blocks() * 64;
    std::vector<int8_t> bytes(static_cast<size_t>(n * columns));
    Tensor scales = Tensor::zeros(DType::f32, {columns});
    for (float& v : scales.mutable_values<float>())
      v = static_cast<float>(1 + rng() % 3) / (8 * std::sqrt(static_cast<float>(n)));
    for (int64_t row = 0; row < 4 * n; row++) {
      const int64_t g = row / n, u = row % n, column = u / 16 * 64 + g * 16 + u % 16;
      for (int64_t k = 0; k < n; k++) {
        const int value = static_cast<int>(rng() % 7) - 3;
        bytes[static_cast<size_t>(k * columns + column)] = static_cast<int8_t>(value);
        given.r.mutable_values<float>()[static_cast<size_t>(row * n + k)] =
            static_cast<float>(value) * scales.values<float>()[static_cast<size_t>(column)];
      }
    }
    std::vector<Tensor> o = given.operands();
    o[kR] = Tensor::zeros(DType::s8, {packed_vnni_bytes(n, columns)});
    o[kRSums] = Tensor::zeros(DType::s32, {columns});
    o[kRScales] = scales;
    const auto b = std::as_bytes(std::span(bytes));
    pack_vnni_columns(b, true, n, columns, std::as_writable_bytes(o[kR].mutable_values<int8_t>()));
    sum_vnni_columns(b, true, n, columns, o[kRSums].mutable_values<int32_t>());
    expect_matches_reference(given, o, test::one_of(rng, {1, 3}), false, 0.02);
    test::expect_needs_every_element(given.call, o);
    if (::testing::Test::HasFailure()) FAIL() << "round " << round << ", " << n << " units";
    given.call.kind = isa::RecurrentKind::gru;
    EXPECT_THROW(test::prepare_call(given.call, o), Error);
  }
}

// Few sequences with many units: the threads compute different units of each step.
TEST(RecurrentKernel, ThreadsThatShareTheUnitsGiveTheBitsOfOne) {
  std::mt19937 rng(6);
  for (const auto kind : {isa::RecurrentKind::lstm, isa::RecurrentKind::gru_gates})
    for (const int64_t batch : {1, 2}) {
      Recurrence given = random_recurrence(rng, kind, 330, batch);
      given.y = given.h_last = true;
      std::vector<Tensor> one = given.operands(), shared = given.operands();
      const Plan plan = test::prepare_call(given.call, one, SIZE_MAX, 3);
      EXPECT_EQ(plan.tasks, 3);
      EXPECT_EQ(plan.rounds, given.call.steps * (kind == isa::RecurrentKind::lstm ? 1 : 2));
      run_call(given.call, one);
      run_call(given.call, shared, 3);
      for (const Slot slot : {kY, kHLast, kCLast}) {
        if (!one[slot].defined()) continue;
        EXPECT_EQ(one[slot].to_doubles(), shared[slot].to_doubles()) << batch;
      }
    }
}

}  // namespace
}  // namespace poprt::kernels
