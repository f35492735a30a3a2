// conv_transpose_generic: any transposed convolution in plain layout
// (kernels/common/conv_generic.h; `in` and `out` are those of the transposed convolution), weights
// [groups * C, M, kernel...]. A task is an output plane, summed in scratch.
#include <algorithm>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/common/conv_generic.h"

namespace poprt::kernels {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

template <class T, class V, V (*widen)(T), T (*narrow)(V)>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const GenericConv*>(params);
  const auto& [az, ay, ax] = p.axis;
  V* sum = reinterpret_cast<V*>(scratch);
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / p.m, m = task % p.m, group = plane % p.groups;
    const T* x = static_cast<const T*>(data[0]) + plane * p.c * p.in_plane;
    const T* w = static_cast<const T*>(data[1]) + (group * p.c * p.m + m) * p.taps;
    T* y = static_cast<T*>(data[3]) + task * p.out_plane;
    const V bias = data[2] ? widen(static_cast<const T*>(data[2])[group * p.m + m]) : V{};
    std::fill(sum, sum + p.out_plane, bias);
    for (int64_t c = 0; c < p.c; c++)
      for (int64_t tap = 0; tap < p.taps; tap++) {
        const V weight = widen(w[c * p.m * p.taps + tap]);
        // out = in * stride + shift
        const int64_t sz = tap / (ay.kernel * ax.kernel) * az.dilation - az.pad;
        const int64_t sy = tap / ax.kernel % ay.kernel * ay.dilation - ay.pad;
        const int64_t sx = tap % ax.kernel * ax.dilation - ax.pad;
        const int64_t first = std::clamp<int64_t>(ceil_div(-sx, ax.stride), 0, ax.in);
        const int64_t last = std::clamp<int64_t>(ceil_div(ax.out - sx, ax.stride), first, ax.in);
        for (int64_t iz = 0; iz < az.in; iz++) {
          const int64_t oz = iz * az.stride + sz;
          if (oz < 0 || oz >= az.out) continue;
          for (int64_t iy = 0; iy < ay.in; iy++) {
            const int64_t oy = iy * ay.stride + sy;
            if (oy < 0 || oy >= ay.out) continue;
            const T* from = x + c * p.in_plane + (iz * ay.in + iy) * ax.in;
            V* to = sum + (oz * ay.out + oy) * ax.out + sx;
            for (int64_t ix = first; ix < last; ix++)
              to[ix * ax.stride] += weight * widen(from[ix]);
          }
        }
      }
    for (int64_t o = 0; o < p.out_plane; o++) y[o] = narrow(sum[o]);
  }
}

float same_f32(float v) { return v; }
double same_f64(double v) { return v; }
float widen_f16(f16_t v) { return to_float(v); }
float widen_bf16(bf16_t v) { return to_float(v); }

Plan prepare(const Call& call) {
  auto p = std::make_shared<GenericConv>(read_generic_conv("conv_transpose_generic", call));
  Plan plan;
  switch (p->dtype) {
    case DType::f32: plan.run = run<float, float, same_f32, same_f32>; break;
    case DType::f64: plan.run = run<double, double, same_f64, same_f64>; break;
    case DType::f16: plan.run = run<f16_t, float, widen_f16, to_f16>; break;
    case DType::bf16: plan.run = run<bf16_t, float, widen_bf16, to_bf16>; break;
    default:
      fail(ErrorCode::unimplemented, "kernel conv_transpose_generic: dtype {}",
           dtype_name(p->dtype));
  }
  plan.tasks = checked_mul(checked_mul(p->n, p->groups), p->m);
  plan.work = p->flops() * static_cast<double>(p->in_plane) / 4;
  plan.scratch_bytes = static_cast<size_t>(checked_mul(p->out_plane, int64_t{8}));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel conv_transpose_generic_kernel;
const Kernel conv_transpose_generic_kernel = {"conv_transpose_generic", prepare};

}  // namespace poprt::kernels
