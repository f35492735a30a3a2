// conv_nd (calls/conv_nd.h), without optimisations. A task is a plane of y.
#include <vector>

#include "kernels/calls/conv_nd.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::conv_nd_kernel {
namespace {

using Axis = calls::WindowAxis;

struct Params {
  int64_t groups, c, m;
  std::vector<Axis> axes;
  int64_t pixels = 1, taps = 1, plane = 1;  // of y, w and x
};

// The product of one plane of x and one plane of w at pixel `at`.
template <class T>
double window(const Params& p, const T* x, const T* w, int64_t at) noexcept {
  double sum = 0;
  for (int64_t tap = 0; tap < p.taps; tap++) {
    int64_t rest = at, tap_rest = tap, offset = 0, step = 1;
    bool inside = true;
    for (size_t d = p.axes.size(); d-- > 0;) {
      const Axis& a = p.axes[d];
      const int64_t i = rest % a.out * a.stride - a.pad + tap_rest % a.kernel * a.dilation;
      inside &= i >= 0 && i < a.in;
      offset += i * step;
      rest /= a.out;
      tap_rest /= a.kernel;
      step *= a.in;
    }
    if (inside) sum += static_cast<double>(w[tap]) * static_cast<double>(x[offset]);
  }
  return sum;
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* bias = static_cast<const T*>(data[2]);
  for (int64_t task = begin; task < end; task++) {
    const int64_t filter = task % (p.groups * p.m), n = task / (p.groups * p.m);
    const T* x = static_cast<const T*>(data[0]) + (n * p.groups + filter / p.m) * p.c * p.plane;
    const T* w = static_cast<const T*>(data[1]) + filter * p.c * p.taps;
    T* y = static_cast<T*>(data[3]) + task * p.pixels;
    for (int64_t at = 0; at < p.pixels; at++) {
      double sum = bias ? static_cast<double>(bias[filter]) : 0;
      for (int64_t c = 0; c < p.c; c++) sum += window(p, x + c * p.plane, w + c * p.taps, at);
      y[at] = static_cast<T>(sum);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("conv_nd", call, 4);
  const auto c = calls::decode<calls::ConvNd>(call);
  auto p = std::make_shared<Params>();
  const int64_t n = c.n;
  p->groups = c.groups;
  p->c = c.c;
  p->m = c.m;
  p->axes = c.axes;
  for (const Axis& a : p->axes) {
    p->plane = checked_mul(p->plane, a.in);
    p->pixels = checked_mul(p->pixels, a.out);
    p->taps = checked_mul(p->taps, a.kernel);
  }
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  const int64_t filters = checked_mul(p->groups, p->m);
  r.needs(0, t, {n, p->groups, p->c, p->plane});
  r.needs(1, t, {filters, p->c, p->taps});
  r.needs_if_present(2, t, {filters});
  r.needs(3, t, {n, filters, p->pixels});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = checked_mul(n, filters);
  plan.work = static_cast<double>(plan.tasks) * static_cast<double>(p->pixels) *
              static_cast<double>(p->c) * static_cast<double>(p->taps) * 5;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_nd", prepare};

}  // namespace poprt::kernels::conv_nd_kernel
