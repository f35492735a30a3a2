// det (calls/det.h), by elimination with pivots. A task is one matrix.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/calls/det.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::det_kernel {
namespace {

struct Params {
  int64_t n;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const int64_t n = static_cast<const Params*>(params)->n;
  auto* a = reinterpret_cast<double*>(scratch);
  for (int64_t task = begin; task < end; task++) {
    const T* x = static_cast<const T*>(data[0]) + task * n * n;
    std::copy(x, x + n * n, a);
    double det = 1;
    for (int64_t c = 0; c < n && det != 0; c++) {
      int64_t pivot = c;
      for (int64_t r = c + 1; r < n; r++)
        if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
      if (pivot != c) {
        std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
        det = -det;
      }
      const double d = a[c * n + c];
      det *= d;
      for (int64_t r = c + 1; d != 0 && r < n; r++) {
        const double f = a[r * n + c] / d;
        for (int64_t k = c; k < n; k++) a[r * n + k] -= f * a[c * n + k];
      }
    }
    static_cast<T*>(data[1])[task] = static_cast<T>(det);
  }
}

Plan prepare(const Call& call) {
  const Operands r("det", call, 2);
  const auto [matrices, n] = calls::decode<calls::Det>(call);
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {matrices, n, n});
  r.needs(1, t, {matrices});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = matrices;
  const auto size = static_cast<double>(n);
  plan.work = static_cast<double>(matrices) * size * size * size / 3;
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::f64, Operands::product({n, n})));
  plan.params = std::make_shared<Params>(Params{n});
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"det", prepare};

}  // namespace poprt::kernels::det_kernel
