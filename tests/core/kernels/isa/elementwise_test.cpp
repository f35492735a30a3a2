// Compares the elementary functions of every instruction set that this CPU has with double
// precision.
#include "kernels/isa/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/elementwise.h"
#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

std::vector<const isa::ElementwiseTable*> builds() {
  std::vector<const isa::ElementwiseTable*> all = {&isa::elementwise_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back(&isa::elementwise_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&isa::elementwise_avx512);
#endif
  return all;
}

struct Function {
  const char* name;
  ElementwiseOp op;
  double (*reference)(double);
  double low, high, relative, absolute;
};

TEST(ElementaryFunctions, AreAsAccurateAsStated) {
  const Function functions[] = {
      {"sin", ElementwiseOp::sin, std::sin, -100, 100, 1.5e-7, 2e-8},
      {"sin far", ElementwiseOp::sin, std::sin, -8000, 8000, 1.5e-7, 1e-7},
      {"sin beyond", ElementwiseOp::sin, std::sin, 9000, 1e30, 1.5e-7, 0},
      {"cos", ElementwiseOp::cos, std::cos, -100, 100, 1.5e-7, 2e-8},
      {"tan", ElementwiseOp::tan, std::tan, -1.5, 1.5, 4e-7, 0},
      {"asin", ElementwiseOp::asin, std::asin, -1, 1, 4e-7, 0},
      {"acos", ElementwiseOp::acos, std::acos, -1, 1, 4e-7, 0},
      {"atan", ElementwiseOp::atan, std::atan, -50, 50, 3e-7, 0},
      {"exp", ElementwiseOp::exp, std::exp, -87, 88.7, 2e-7, 0},
      {"exp of little", ElementwiseOp::exp, std::exp, -120, -86, 2e-7, 1e-44},
      {"sigmoid", ElementwiseOp::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80,
       4e-7, 0},
      {"tanh", ElementwiseOp::tanh, std::tanh, -12, 12, 5e-7, 0},
      {"tanh near 0", ElementwiseOp::tanh, std::tanh, -1e-3, 1e-3, 3e-7, 0},
  };
  constexpr int64_t kCount = 40007;
  for (const auto* table : builds())
    for (const Function& f : functions) {
      std::vector<float> x(kCount), y(kCount);
      for (int64_t i = 0; i < kCount; i++)
        x[static_cast<size_t>(i)] = static_cast<float>(
            f.low + (f.high - f.low) * static_cast<double>(i) / static_cast<double>(kCount - 1));
      table->step(static_cast<int64_t>(f.op), y.data(), x.data(), x.data(), x.data(), kCount, 0);
      for (size_t i = 0; i < x.size(); i++) {
        const double want = f.reference(static_cast<double>(x[i]));
        ASSERT_NEAR(static_cast<double>(y[i]), want, f.relative * std::fabs(want) + f.absolute)
            << f.name << " of " << x[i];
      }
    }
}

TEST(ElementwiseStep, OperandsThatRepeat) {
  constexpr int64_t kCount = 77;
  std::vector<float> x(kCount), y(kCount);
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) - 30;
  const std::vector<float> two(16, 2.0f), five(16, 5.0f);
  for (const auto* t : builds()) {
    t->step(static_cast<int64_t>(ElementwiseOp::sub), y.data(), two.data(), x.data(), x.data(),
            kCount, 1);
    for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(y[i], 2 - x[i]);
    t->step(static_cast<int64_t>(ElementwiseOp::clip), y.data(), x.data(), two.data(), five.data(),
            kCount, 6);
    for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(y[i], std::fmin(std::fmax(x[i], 2), 5));
    t->step(static_cast<int64_t>(ElementwiseOp::pow), y.data(), two.data(), five.data(), x.data(),
            kCount, 3);
    for (const float v : y) ASSERT_EQ(v, 32);
  }
}

TEST(ElementaryFunctions, LimitsAndNan) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto apply = [](const isa::ElementwiseTable* t, ElementwiseOp op, float x) {
    float y = 0;
    t->step(static_cast<int64_t>(op), &y, &x, &x, &x, 1, 0);
    return y;
  };
  for (const auto* t : builds()) {
    EXPECT_EQ(apply(t, ElementwiseOp::tanh, kInf), 1);
    EXPECT_EQ(apply(t, ElementwiseOp::tanh, -kInf), -1);
    EXPECT_EQ(apply(t, ElementwiseOp::atan, kInf), static_cast<float>(std::atan(INFINITY)));
    for (const auto op : {ElementwiseOp::sin, ElementwiseOp::cos, ElementwiseOp::tan}) {
      EXPECT_TRUE(std::isnan(apply(t, op, kInf)));
      EXPECT_TRUE(std::isnan(apply(t, op, nan)));
    }
    for (const auto op : {ElementwiseOp::asin, ElementwiseOp::acos}) {
      EXPECT_TRUE(std::isnan(apply(t, op, 1.0001f)));
      EXPECT_TRUE(std::isnan(apply(t, op, -kInf)));
      EXPECT_TRUE(std::isnan(apply(t, op, nan)));
    }
    for (const auto op : {ElementwiseOp::tanh, ElementwiseOp::atan})
      EXPECT_TRUE(std::isnan(apply(t, op, nan)));
    EXPECT_EQ(apply(t, ElementwiseOp::acos, 1), 0);
    EXPECT_EQ(apply(t, ElementwiseOp::exp, kInf), kInf);
    EXPECT_EQ(apply(t, ElementwiseOp::exp, 200), kInf);
    EXPECT_LT(apply(t, ElementwiseOp::exp, -kInf), 1e-44f);
    EXPECT_TRUE(std::isnan(apply(t, ElementwiseOp::exp, nan)));
    EXPECT_EQ(apply(t, ElementwiseOp::exp, 0), 1);
    EXPECT_TRUE(std::signbit(apply(t, ElementwiseOp::sin, -0.0f)));
    EXPECT_TRUE(std::signbit(apply(t, ElementwiseOp::tanh, -0.0f)));
  }
}

TEST(ElementaryFunctions, StoresPastTheCachesChangeNoResult) {
  constexpr size_t kRoom = 160;
  const ElementwiseOp ops[] = {ElementwiseOp::neg, ElementwiseOp::abs, ElementwiseOp::relu,
                               ElementwiseOp::add, ElementwiseOp::sub, ElementwiseOp::mul,
                               ElementwiseOp::exp};
  alignas(64) float plain[kRoom], streamed[kRoom];
  std::vector<float> a(kRoom), b(kRoom);
  for (size_t i = 0; i < kRoom; i++) {
    a[i] = static_cast<float>(i) - 50.5f;
    b[i] = 3.0f - static_cast<float>(i);
  }
  for (const auto* t : builds())
    for (const ElementwiseOp op : ops)
      for (size_t offset = 0; offset < 17; offset++)
        for (const int64_t n : {0, 1, 15, 16, 17, 64, 100}) {
          std::fill_n(plain, kRoom, -1.0f);
          std::fill_n(streamed, kRoom, -1.0f);
          const auto step = [&](float* to, uint32_t flags) {
            t->step(static_cast<int64_t>(op), to + offset, a.data(), b.data(), a.data(), n, flags);
          };
          step(plain, 2);
          step(streamed, 2 | isa::kElementwiseStream);
          t->finish_stream();
          for (size_t i = 0; i < kRoom; i++) ASSERT_EQ(plain[i], streamed[i]) << i;
        }
}

// Rows must not be written past their end, and operands not read past theirs.
TEST(ElementwiseRows, CopiesRowsOfAnyWidth) {
  for (const auto* table : builds())
    for (const int64_t width : {1, 7, 15, 16, 17, 32, 50})
      for (const bool same : {false, true})
        for (const int64_t step : {int64_t{0}, int64_t{1}, width, width + 3}) {
          constexpr int64_t kRows = 5;
          std::vector<float> from(static_cast<size_t>((kRows - 1) * step + (same ? 1 : width)));
          for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<float>(i) + 1;
          std::vector<float> got(static_cast<size_t>(kRows * width) + 20, -1);
          table->rows(got.data(), from.data(), step, same, kRows, width);
          for (size_t i = 0; i < got.size(); i++) {
            const auto r = static_cast<int64_t>(i) / width, k = static_cast<int64_t>(i) % width;
            const float want =
                r < kRows ? from[static_cast<size_t>(r * step + (same ? 0 : k))] : -1;
            ASSERT_EQ(got[i], want) << width << " " << same << " " << step << " at " << i;
          }
        }
}

}  // namespace
}  // namespace poprt::kernels
