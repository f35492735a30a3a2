// Compares kernel `reduce` over every choice of axes with plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/calls/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels {
namespace reduce_kernel {
extern const Kernel def;
}
namespace {

double start(Reduction kind) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return kind == Reduction::max ? -kInf : kind == Reduction::min ? kInf : kind == Reduction::prod;
}

double join(Reduction kind, double sum, double v) {
  switch (kind) {
    case Reduction::max: return std::max(sum, v);
    case Reduction::min: return std::min(sum, v);
    case Reduction::prod: return sum * v;
    case Reduction::l1: return sum + std::fabs(v);
    case Reduction::l2:
    case Reduction::sum_square: return sum + v * v;
    case Reduction::log_sum_exp: return sum + std::exp(v);
    default: return sum + v;
  }
}

double finish(Reduction kind, double sum, int64_t n) {
  switch (kind) {
    case Reduction::mean: return sum / static_cast<double>(n);
    case Reduction::l2: return std::sqrt(sum);
    case Reduction::log_sum:
    case Reduction::log_sum_exp: return std::log(sum);
    default: return sum;
  }
}

template <class T>
void check(DType dtype, const std::vector<int64_t>& shape, uint32_t axes, Reduction kind) {
  std::mt19937 rng(1);
  std::vector<int64_t> kept;
  calls::Reduce call{.kind = kind, .axes = {}};
  int64_t count = 1, outputs = 1;
  for (size_t d = 0; d < shape.size(); d++) {
    count *= shape[d];
    if (axes >> d & 1) {
      call.axes.push_back(static_cast<int64_t>(d));
    } else {
      kept.push_back(shape[d]);
      outputs *= shape[d];
    }
  }
  const bool whole = std::is_integral_v<T>;
  std::vector<T> x(static_cast<size_t>(count)), y(static_cast<size_t>(outputs));
  for (T& v : x)
    v = static_cast<T>(whole ? static_cast<double>(rng() % (kind == Reduction::prod ? 2 : 7)) + 1
                             : 0.9 + static_cast<double>(rng() % 1000) / 5000);
  std::vector<double> want(y.size(), start(kind));
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = 0, step = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      if (!(axes >> d & 1)) {
        at += rest % shape[d] * step;
        step *= shape[d];
      }
      rest /= shape[d];
    }
    double& sum = want[static_cast<size_t>(at)];
    sum = join(kind, sum, static_cast<double>(x[static_cast<size_t>(i)]));
  }
  const std::vector<Operand> operands = {{true, dtype, shape, x.size() * sizeof(T)},
                                         {true, dtype, kept, y.size() * sizeof(T)}};
  const Plan plan = reduce_kernel::def.prepare({operands, calls::encode(call).ints, {}});
  void* data[] = {x.data(), y.data()};
  for (int64_t t = 0; t < plan.tasks; t++) plan.run(plan.params.get(), data, t, t + 1, nullptr);
  for (size_t i = 0; i < y.size(); i++) {
    const double v = finish(kind, want[i], count / outputs);
    ASSERT_NEAR(static_cast<double>(y[i]), whole ? std::trunc(v) : v,
                whole ? 0 : 1e-4 * std::fabs(v) + 1e-5)
        << "kind " << static_cast<int>(kind) << " axes " << axes << " element " << i;
  }
}

TEST(Reduce, EveryAxisKindAndType) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3, 4, 5, 70}, {2, 3, 150}, {1, 37, 1, 18}})
    for (uint32_t axes = 1; axes < 1u << shape.size(); axes++)
      for (int64_t k = 0; k < kReductionCount; k++) {
        const auto kind = static_cast<Reduction>(k);
        check<float>(DType::f32, shape, axes, kind);
        check<double>(DType::f64, shape, axes, kind);
        const bool overflows = kind == Reduction::prod || kind == Reduction::log_sum_exp;
        if (!overflows) check<int64_t>(DType::s64, shape, axes, kind);
        if (!overflows) check<int32_t>(DType::s32, shape, axes, kind);
      }
}

}  // namespace
}  // namespace poprt::kernels
