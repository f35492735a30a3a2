// lrn (calls/lrn.h). A task is one channel.
#include <algorithm>
#include <cmath>

#include "kernels/calls/lrn.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::lrn_kernel {
namespace {

using Params = calls::Lrn;

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  constexpr int64_t kBlock = 256;
  T sum[kBlock];
  for (int64_t task = begin; task < end; task++) {
    const int64_t n = task / p.c, c = task % p.c;
    const int64_t first = std::max<int64_t>(c - (p.size - 1) / 2, 0),
                  last = std::min(c + p.size / 2 + 1, p.c);
    const T* x = static_cast<const T*>(data[0]) + n * p.c * p.pixels;
    T* y = static_cast<T*>(data[1]) + task * p.pixels;
    for (int64_t i0 = 0; i0 < p.pixels; i0 += kBlock) {
      const int64_t count = std::min(kBlock, p.pixels - i0);
      std::fill(sum, sum + count, T{0});
      for (int64_t k = first; k < last; k++)
        for (int64_t i = 0; i < count; i++) {
          const T v = x[k * p.pixels + i0 + i];
          sum[i] += v * v;
        }
      for (int64_t i = 0; i < count; i++) {
        const T base =
            static_cast<T>(p.bias) + static_cast<T>(p.alpha) / static_cast<T>(p.size) * sum[i];
        const T power = p.beta == 0.75f ? std::sqrt(base) * std::sqrt(std::sqrt(base))
                                        : std::pow(base, static_cast<T>(p.beta));
        y[i0 + i] = x[c * p.pixels + i0 + i] / power;
      }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("lrn", call, 2);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t count = Operands::product({p->n, p->c, p->pixels});
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {count});
  r.needs(1, t, {count});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = count ? p->n * p->c : 0;
  plan.work = static_cast<double>(count) * (5 + static_cast<double>(std::min(p->size, p->c)));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"lrn", prepare};

}  // namespace poprt::kernels::lrn_kernel
