// inverse (calls/inverse.h), by Gauss-Jordan elimination with pivots. A task is one matrix.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/calls/inverse.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::inverse_kernel {
namespace {

struct Params {
  int64_t n;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const int64_t n = static_cast<const Params*>(params)->n, width = 2 * n;
  auto* a = reinterpret_cast<double*>(scratch);  // [x | identity], row by row
  for (int64_t task = begin; task < end; task++) {
    const float* x = static_cast<const float*>(data[0]) + task * n * n;
    float* y = static_cast<float*>(data[1]) + task * n * n;
    for (int64_t r = 0; r < n; r++) {
      std::copy(x + r * n, x + (r + 1) * n, a + r * width);
      std::fill(a + r * width + n, a + (r + 1) * width, 0.0);
      a[r * width + n + r] = 1;
    }
    for (int64_t c = 0; c < n; c++) {
      int64_t pivot = c;
      for (int64_t r = c + 1; r < n; r++)
        if (std::fabs(a[r * width + c]) > std::fabs(a[pivot * width + c])) pivot = r;
      if (pivot != c) std::swap_ranges(a + c * width, a + (c + 1) * width, a + pivot * width);
      const double d = 1 / a[c * width + c];
      for (int64_t k = c; k < width; k++) a[c * width + k] *= d;
      for (int64_t r = 0; r < n; r++) {
        const double f = a[r * width + c];
        if (r == c || f == 0) continue;
        for (int64_t k = c; k < width; k++) a[r * width + k] -= f * a[c * width + k];
      }
    }
    for (int64_t r = 0; r < n; r++)
      for (int64_t c = 0; c < n; c++) y[r * n + c] = static_cast<float>(a[r * width + n + c]);
  }
}

Plan prepare(const Call& call) {
  const Operands r("inverse", call, 2);
  const auto [matrices, n] = calls::decode<calls::Inverse>(call);
  r.needs(0, DType::f32, {matrices, n, n});
  r.needs(1, DType::f32, {matrices, n, n});
  Plan plan;
  plan.run = run;
  plan.tasks = n ? matrices : 0;
  const auto size = static_cast<double>(n);
  plan.work = static_cast<double>(matrices) * size * size * size;
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::f64, Operands::product({n, n, 2})));
  plan.params = std::make_shared<Params>(Params{n});
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"inverse", prepare};

}  // namespace poprt::kernels::inverse_kernel
