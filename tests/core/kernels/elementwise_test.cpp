// Compares kernel `elementwise` over operands that broadcast in every way with plain indexing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "core/kernels/run_call.h"
#include "kernels/calls/elementwise.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace elementwise_kernel {
extern const Kernel def;
}
namespace {

using Shape = std::vector<int64_t>;

int64_t count(const Shape& s) {
  int64_t n = 1;
  for (const int64_t d : s) n *= d;
  return n;
}

// Returns the element of an operand of shape `s` that element i of `out` reads.
size_t source(int64_t i, const Shape& out, const Shape& s) {
  int64_t at = 0, step = 1;
  for (size_t k = 0; k < out.size(); k++) {
    const size_t d = out.size() - 1 - k;
    const int64_t index = i % out[d];
    i /= out[d];
    if (k >= s.size()) continue;
    const int64_t size = s[s.size() - 1 - k];
    at += (size == 1 ? 0 : index) * step;
    step *= size;
  }
  return static_cast<size_t>(at);
}

// y = (a - b) * c + 2.5
void check(const Shape& out, const Shape& a, const Shape& b, const Shape& c,
           bool in_place = false) {
  std::mt19937 rng(1);
  const Shape* shapes[] = {&a, &b, &c};
  std::vector<std::vector<float>> in;
  std::vector<Operand> operands;
  for (const Shape* s : shapes) {
    std::vector<float> v(static_cast<size_t>(count(*s)));
    for (float& x : v) x = static_cast<float>(static_cast<int>(rng() % 64) - 32);
    operands.push_back({true, DType::f32, *s, v.size() * 4});
    in.push_back(std::move(v));
  }
  std::vector<float> y(static_cast<size_t>(count(out)));
  operands.push_back({true, DType::f32, out, y.size() * 4});
  const int64_t first = kElementwiseMaxInputs;
  const calls::Encoded call =
      calls::encode(calls::Elementwise{.inputs = 3,
                                       .steps = {{ElementwiseOp::sub, 0, 1},
                                                 {ElementwiseOp::mul, first, 2},
                                                 {ElementwiseOp::add, first + 1, -1}},
                                       .outputs = {first + 2},
                                       .constants = {2.5f}});
  std::vector<float> want(y.size());
  for (size_t i = 0; i < want.size(); i++) {
    const auto at = [&](size_t k) {
      return in[k][source(static_cast<int64_t>(i), out, *shapes[k])];
    };
    want[i] = (at(0) - at(1)) * at(2) + 2.5f;
  }
  const Plan plan = elementwise_kernel::def.prepare({operands, call.ints, call.floats});
  std::vector<std::byte> scratch(plan.scratch_bytes + 64);
  auto* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  float* result = in_place ? in[0].data() : y.data();
  void* data[] = {in[0].data(), in[1].data(), in[2].data(), result};
  for (int64_t t = 0; t < plan.tasks; t++) plan.run(plan.params.get(), data, t, t + 1, aligned);
  for (size_t i = 0; i < want.size(); i++) ASSERT_EQ(result[i], want[i]) << "element " << i;
}

TEST(Elementwise, BroadcastsEveryWay) {
  const Shape whole = {5, 7, 768};
  const Shape parts[] = {{5, 7, 768}, {768},       {7, 1},      {5, 1, 1},
                         {},          {5, 1, 768}, {1, 7, 768}, {5, 7, 1}};
  for (const Shape& b : parts)
    for (const Shape& c : parts) {
      check(whole, whole, b, c);
      check(whole, whole, b, c, true);
    }
}

TEST(Elementwise, RowsOfEveryLength) {
  for (const int64_t row : {1, 3, 16, 127, 128, 129, 1000, 1023, 1024, 1025, 3000}) {
    check({9, row}, {9, row}, {9, 1}, {row});
    check({9, row}, {9, 1}, {1, row}, {});
    check({3, 4, row}, {3, 1, row}, {4, 1}, {1});
  }
}

TEST(Elementwise, ManyShortRows) {
  for (const int64_t row : {2, 5, 15, 16, 17, 31, 33, 48, 100}) {
    check({37, 29, row}, {37, 29, 1}, {37, 1, row}, {37, 29, 1});
    check({37, 29, row}, {29, row}, {37, 29, 1}, {29, 1}, false);
    check({37, 29, row}, {37, 29, row}, {37, 1, row}, {29, 1}, true);
    check({5, 300, row}, {300, 1}, {5, 1, row}, {row});
  }
}

// Results of this size bypass the caches.
TEST(Elementwise, LargeResults) { check({2900, 2903}, {2900, 2903}, {2903}, {}); }

// Programs of sums and products, whose steps may be joined, reordered and dropped. On whole numbers
// that stay below 2^24 every rounding is exact.
TEST(Elementwise, RandomPrograms) {
  std::mt19937 rng(5);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  constexpr int64_t kCount = 700, kSteps = kElementwiseMaxInputs;
  const ElementwiseOp ops[] = {ElementwiseOp::add, ElementwiseOp::add, ElementwiseOp::mul,
                               ElementwiseOp::mul, ElementwiseOp::sub, ElementwiseOp::neg};
  const Shape all = {kCount};
  int checked = 0;
  for (int round = 0; round < 2000; round++) {
    const int64_t inputs = 1 + below(3), steps = 1 + below(9), outputs = 1 + below(3);
    const std::vector<float> constants = {2, -1};
    std::vector<std::vector<float>> in(static_cast<size_t>(inputs));
    std::vector<Operand> operands;
    for (auto& v : in) {
      v.resize(kCount);
      for (float& x : v) x = static_cast<float>(below(7) - 3);
      operands.push_back({true, DType::f32, all, v.size() * 4});
    }
    // Values by operand code.
    std::map<int64_t, std::vector<double>> value;
    for (int64_t i = 0; i < inputs; i++)
      value[i] = {in[static_cast<size_t>(i)].begin(), in[static_cast<size_t>(i)].end()};
    for (size_t i = 0; i < constants.size(); i++)
      value[-1 - static_cast<int64_t>(i)].assign(kCount, static_cast<double>(constants[i]));
    calls::Elementwise call{.inputs = inputs, .steps = {}, .outputs = {}, .constants = constants};
    double largest = 0;
    for (int64_t s = 0; s < steps; s++) {
      const ElementwiseOp op = ops[below(6)];
      const auto any = [&] {
        auto it = value.begin();
        std::advance(it, below(static_cast<int64_t>(value.size())));
        return it->first;
      };
      const int64_t a = any(), b = any();
      call.steps.push_back({op, a, b});
      std::vector<double> y;
      for (size_t i = 0; i < kCount; i++) {
        const double l = value[a][i], r = value[b][i];
        y.push_back(op == ElementwiseOp::add   ? l + r
                    : op == ElementwiseOp::sub ? l - r
                    : op == ElementwiseOp::mul ? l * r
                                               : -l);
        largest = std::max(largest, std::fabs(y.back()));
      }
      value[kSteps + s] = std::move(y);
    }
    if (largest >= 1 << 24) continue;
    checked++;
    std::vector<std::vector<float>> out(static_cast<size_t>(outputs), std::vector<float>(kCount));
    for (int64_t o = 0; o < outputs; o++) {
      call.outputs.push_back(kSteps + below(steps));
      operands.push_back({true, DType::f32, all, kCount * 4});
    }
    const calls::Encoded encoded = calls::encode(call);
    const Plan plan = elementwise_kernel::def.prepare({operands, encoded.ints, encoded.floats});
    std::vector<std::byte> scratch(plan.scratch_bytes + 64);
    auto* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    std::vector<void*> data;
    for (auto& v : in) data.push_back(v.data());
    for (auto& v : out) data.push_back(v.data());
    for (int64_t t = 0; t < plan.tasks; t++)
      plan.run(plan.params.get(), data.data(), t, t + 1, aligned);
    for (size_t o = 0; o < out.size(); o++)
      for (size_t i = 0; i < kCount; i++)
        ASSERT_EQ(static_cast<double>(out[o][i]), value[call.outputs[o]][i])
            << "round " << round << " output " << o << " element " << i;
  }
  EXPECT_GT(checked, 1000);
}

// Programs that convert bytes, compute, and convert back; the conversions may become loads and
// stores. All orders occur, and intermediate values are also read again or stored. Scales are
// powers of two and numbers are small, so every rounding is exact except the last one, to bytes.
class BytePrograms {
 public:
  explicit BytePrograms(uint32_t seed) : rng_(seed) {}

  int checked() const { return checked_; }

  void run(int round) {
    SCOPED_TRACE(round);
    call_ = {.inputs = 1 + below(3), .constants = {2, 0.5f, 3, -7, 4}};
    operands_.clear();
    values_.clear();
    for (int64_t i = 0; i < call_.inputs; i++) add_input(i);
    for (size_t k = 0; k < call_.constants.size(); k++)
      values_[-1 - static_cast<int64_t>(k)].assign(kCount, static_cast<double>(call_.constants[k]));
    exact_ = true;
    const int64_t steps = 1 + below(10);
    for (int64_t s = 0; s < steps; s++) add_step(s);
    const int64_t outputs = 1 + below(3);
    for (int64_t o = 0; o < outputs; o++) {
      const DType type = types[below(3)];
      const bool last = below(3) != 0;
      call_.outputs.push_back(kElementwiseMaxInputs + (last ? steps - 1 : below(steps)));
      operands_.push_back(Tensor::zeros(type, {kRows, kColumns}));
    }
    if (!exact_) return;
    checked_++;
    test::run_call(call_, operands_);
    for (size_t o = 0; o < call_.outputs.size(); o++) compare(o);
  }

 private:
  static constexpr int64_t kRows = 7, kColumns = 21, kCount = kRows * kColumns;
  static constexpr DType types[] = {DType::f32, DType::s8, DType::u8};

  int64_t below(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }

  void add_input(int64_t i) {
    const poprt::Shape shapes[] = {{kRows, kColumns}, {kRows, kColumns}, {kRows, kColumns},
                                   {kColumns},        {kRows, 1},        {}};
    const poprt::Shape shape = shapes[below(6)];
    operands_.push_back(test::random_numbers(types[below(3)], shape, rng_));
    const std::vector<double> given = operands_.back().to_doubles();
    for (int64_t e = 0; e < kCount; e++)
      values_[i].push_back(given[source(e, {kRows, kColumns}, {shape.begin(), shape.end()})]);
  }

  void add_step(int64_t s) {
    using Op = ElementwiseOp;
    const Op op = std::array{
        Op::sub, Op::mul, Op::div, Op::round, Op::round, Op::add}[static_cast<size_t>(below(6))];
    const auto any = [&] {
      auto it = values_.begin();
      std::advance(it, below(static_cast<int64_t>(values_.size())));
      return it->first;
    };
    // Mostly a chain, with constants as second operands.
    const int64_t latest = s > 0 ? kElementwiseMaxInputs + s - 1 : 0;
    const int64_t a = below(4) ? latest : any();
    const int64_t b = op == Op::div ? -1 - std::array{0, 1, 4}[static_cast<size_t>(below(3))]
                      : below(4)    ? -1 - below(5)
                                    : any();
    call_.steps.push_back({op, a, b});
    std::vector<double> y;
    for (size_t e = 0; e < kCount; e++) {
      const double l = values_[a][e], r = values_[b][e];
      y.push_back(op == Op::sub   ? l - r
                  : op == Op::mul ? l * r
                  : op == Op::div ? l / r
                  : op == Op::add ? l + r
                                  : std::nearbyint(l));
      exact_ = exact_ && static_cast<double>(static_cast<float>(y.back())) == y.back();
    }
    values_[kElementwiseMaxInputs + s] = std::move(y);
  }

  void compare(size_t o) {
    const Tensor& t = operands_[static_cast<size_t>(call_.inputs) + o];
    const std::vector<double> got = t.to_doubles();
    for (size_t e = 0; e < kCount; e++) {
      double want = values_[call_.outputs[o]][e];
      if (t.dtype() == DType::s8) want = std::clamp(std::nearbyint(want), -128.0, 127.0);
      if (t.dtype() == DType::u8) want = std::clamp(std::nearbyint(want), 0.0, 255.0);
      ASSERT_EQ(got[e], static_cast<double>(static_cast<float>(want)))
          << "output " << o << " of " << dtype_name(t.dtype()) << " element " << e;
    }
  }

  std::mt19937 rng_;
  bool exact_ = true;
  int checked_ = 0;
  calls::Elementwise call_;
  std::vector<Tensor> operands_;
  std::map<int64_t, std::vector<double>> values_;  // by operand code
};

TEST(Elementwise, ConversionsOfBytesInAnyProgram) {
  BytePrograms programs(3);
  for (int round = 0; round < 800 && !testing::Test::HasFailure(); round++) programs.run(round);
  EXPECT_GT(programs.checked(), 400);
}

// round(x / 1) + 0.5 is rounded when it becomes a byte; 3.5 and 4.5 are ties.
TEST(Elementwise, AFractionalZeroPointIsRounded) {
  for (const DType type : {DType::u8, DType::s8}) {
    std::vector<Tensor> operands = {Tensor::of<float>({3}, {3, 4, 6.2f}), Tensor::zeros(type, {3})};
    const calls::Elementwise call{.inputs = 1,
                                  .steps = {{ElementwiseOp::neg, 0},
                                            {ElementwiseOp::div, kElementwiseMaxInputs, -1},
                                            {ElementwiseOp::round, kElementwiseMaxInputs + 1},
                                            {ElementwiseOp::add, kElementwiseMaxInputs + 2, -2}},
                                  .outputs = {kElementwiseMaxInputs + 3},
                                  .constants = {-1, 0.5f}};
    test::run_call(call, operands);
    EXPECT_EQ(operands[1].to_int64s(), (std::vector<int64_t>{4, 4, 6})) << dtype_name(type);
  }
}

// a b + c is one step with one rounding, except if the result is a byte: the product is above one
// half by less than the precision of a float, so two roundings give the tie.
TEST(Elementwise, ProductsAreRoundedBeforeTheyBecomeBytes) {
  const float a = 1 + 0x1p-12f, c = -0.5f - 0x1p-11f;
  for (const DType type : {DType::u8, DType::s8}) {
    std::vector<Tensor> operands = {Tensor::scalar(a), Tensor::scalar(a), Tensor::scalar(c),
                                    Tensor::zeros(type, {})};
    const calls::Elementwise call{
        .inputs = 3,
        .steps = {{ElementwiseOp::mul, 0, 1}, {ElementwiseOp::add, kElementwiseMaxInputs, 2}},
        .outputs = {kElementwiseMaxInputs + 1},
        .constants = {}};
    test::run_call(call, operands);
    EXPECT_EQ(operands[3].to_doubles()[0], 0) << dtype_name(type);
  }
}

}  // namespace
}  // namespace poprt::kernels
