// conv_generic (calls/conv_generic.h, common/conv_generic.h). For f32, 48 output pixels at a time
// are gathered into a panel, which is multiplied by the weights. Other float types use plain loops.
// A task is a panel (f32) or an output plane.
#include <algorithm>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/conv_generic.h"
#include "kernels/common/conv_generic.h"
#include "kernels/isa/gemm.h"

namespace poprt::kernels::conv_generic_kernel {
namespace {

constexpr int64_t kBlockK = 512;

struct Params {
  GenericConv conv;
  isa::GemmShape shape;
  const isa::GemmTable* table;
  int64_t panels;
};

// Gathers rows [k0, k1) of (channel, tap) for pixels [pixel, pixel + count) of one image and group.
void gather(const GenericConv& p, const float* x, int64_t pixel, int64_t count, int64_t k0,
            int64_t k1, float* panel) {
  const auto& [az, ay, ax] = p.axis;
  struct Run {  // pixels of one output row
    int64_t first, count, z, y, x;
  } runs[isa::kPanel];
  int64_t found = 0;
  for (int64_t j = 0; j < count;) {
    const int64_t at = pixel + j, column = at % ax.out;
    const int64_t n = std::min(count - j, ax.out - column);
    runs[found++] = {j, n, at / (ay.out * ax.out) * az.stride - az.pad,
                     at / ax.out % ay.out * ay.stride - ay.pad, column * ax.stride - ax.pad};
    j += n;
  }
  int64_t channel = k0 / p.taps, tap = k0 % p.taps;
  int64_t kx = tap % ax.kernel, ky = tap / ax.kernel % ay.kernel, kz = tap / ax.kernel / ay.kernel;
  for (int64_t k = k0; k < k1; k++, panel += isa::kPanel) {
    const float* plane = x + channel * p.in_plane;
    for (int64_t i = 0; i < found; i++) {
      const Run& r = runs[i];
      const int64_t iz = r.z + kz * az.dilation, iy = r.y + ky * ay.dilation,
                    ix = r.x + kx * ax.dilation;
      float* to = panel + r.first;
      if (iz < 0 || iz >= az.in || iy < 0 || iy >= ay.in) {
        std::fill_n(to, r.count, 0.0f);
        continue;
      }
      const float* row = plane + (iz * ay.in + iy) * ax.in;
      if (ix >= 0 && ix + (r.count - 1) * ax.stride < ax.in) {
        if (ax.stride == 1)
          std::copy_n(row + ix, r.count, to);
        else
          for (int64_t j = 0; j < r.count; j++) to[j] = row[ix + j * ax.stride];
        continue;
      }
      for (int64_t j = 0; j < r.count; j++) {
        const int64_t at = ix + j * ax.stride;
        to[j] = at >= 0 && at < ax.in ? row[at] : 0.0f;
      }
    }
    std::fill(panel + count, panel + isa::kPanel, 0.0f);
    if (++kx < ax.kernel) continue;
    kx = 0;
    if (++ky < ay.kernel) continue;
    ky = 0;
    if (++kz < az.kernel) continue;
    kz = 0;
    channel++;
  }
}

void run_f32(const void* params, void* const* data, int64_t begin, int64_t end,
             std::byte* scratch) noexcept {
  const auto& [p, shape0, table, panels] = *static_cast<const Params*>(params);
  auto* panel = reinterpret_cast<float*>(scratch);
  const int64_t k_total = p.c * p.taps;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / panels, pixel = task % panels * isa::kPanel;
    const int64_t group = plane % p.groups;
    const float* x = static_cast<const float*>(data[0]) + plane * p.c * p.in_plane;
    const float* w = static_cast<const float*>(data[1]) + group * p.m * k_total;
    float* y = static_cast<float*>(data[3]) + plane * p.m * p.out_plane + pixel;
    isa::GemmShape shape = shape0;
    shape.n = std::min(isa::kPanel, p.out_plane - pixel);
    for (int64_t k = 0; k < k_total; k += kBlockK) {
      shape.k = std::min(kBlockK, k_total - k);
      gather(p, x, pixel, shape.n, k, k + shape.k, panel);
      table->run(shape, w + k, panel, nullptr, k ? y : nullptr, y, 0, p.m, 0, 1);
    }
    if (data[2]) {
      const float* bias = static_cast<const float*>(data[2]) + group * p.m;
      for (int64_t m = 0; m < p.m; m++)
        for (int64_t j = 0; j < shape.n; j++) y[m * p.out_plane + j] += bias[m];
    }
  }
}

template <class T, class V, V (*widen)(T), T (*narrow)(V)>
void run_any(const void* params, void* const* data, int64_t begin, int64_t end,
             std::byte*) noexcept {
  const GenericConv& p = static_cast<const Params*>(params)->conv;
  const auto& [az, ay, ax] = p.axis;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / p.m, m = task % p.m, filter = plane % p.groups * p.m + m;
    const T* x = static_cast<const T*>(data[0]) + plane * p.c * p.in_plane;
    const T* w = static_cast<const T*>(data[1]) + filter * p.c * p.taps;
    T* y = static_cast<T*>(data[3]) + task * p.out_plane;
    const V bias = data[2] ? widen(static_cast<const T*>(data[2])[filter]) : V{};
    for (int64_t o = 0; o < p.out_plane; o++) {
      const int64_t z0 = o / (ay.out * ax.out) * az.stride - az.pad;
      const int64_t y0 = o / ax.out % ay.out * ay.stride - ay.pad;
      const int64_t x0 = o % ax.out * ax.stride - ax.pad;
      V sum = bias;
      for (int64_t c = 0; c < p.c; c++)
        for (int64_t tap = 0; tap < p.taps; tap++) {
          const int64_t iz = z0 + tap / (ay.kernel * ax.kernel) * az.dilation;
          const int64_t iy = y0 + tap / ax.kernel % ay.kernel * ay.dilation;
          const int64_t ix = x0 + tap % ax.kernel * ax.dilation;
          if (iz < 0 || iz >= az.in || iy < 0 || iy >= ay.in || ix < 0 || ix >= ax.in) continue;
          sum += widen(x[c * p.in_plane + (iz * ay.in + iy) * ax.in + ix]) *
                 widen(w[c * p.taps + tap]);
        }
      y[o] = narrow(sum);
    }
  }
}

double unchanged(double v) { return v; }
float widen_f16(f16_t v) { return to_float(v); }
float widen_bf16(bf16_t v) { return to_float(v); }

Plan prepare(const Call& call) {
  auto params = std::make_shared<Params>();
  GenericConv& p = params->conv = read_generic_conv(
      "conv_generic", calls::decode<calls::ConvGeneric>(call).conv, call.operands);
  Plan plan;
  const double flops = p.flops() * static_cast<double>(p.out_plane);
  plan.tasks = checked_mul(checked_mul(p.n, p.groups), p.m);
  plan.work = flops;
  switch (p.dtype) {
    case DType::f32: {
      const int64_t k_total = p.c * p.taps;
      params->panels = (p.out_plane + isa::kPanel - 1) / isa::kPanel;
      params->table = &POPRT_SELECT_ISA(gemm);
      params->shape.m = p.m;
      params->shape.lda = k_total;
      params->shape.ldc = params->shape.ld_residual = p.out_plane;
      params->shape.k_block = kBlockK;
      params->shape.in_order = call.reproducible;
      plan.run = run_f32;
      plan.tasks = checked_mul(checked_mul(p.n, p.groups), params->panels);
      plan.work = flops / 90.0 + static_cast<double>(plan.tasks) * static_cast<double>(k_total) *
                                     isa::kPanel * 0.3;
      plan.scratch_bytes = static_cast<size_t>(std::min(kBlockK, k_total) * isa::kPanel * 4 + 8192);
      break;
    }
    case DType::f64: plan.run = run_any<double, double, unchanged, unchanged>; break;
    case DType::f16: plan.run = run_any<f16_t, float, widen_f16, to_f16>; break;
    case DType::bf16: plan.run = run_any<bf16_t, float, widen_bf16, to_bf16>; break;
    default: fail(ErrorCode::unimplemented, "kernel conv_generic: dtype {}", dtype_name(p.dtype));
  }
  plan.params = params;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_generic", prepare};

}  // namespace poprt::kernels::conv_generic_kernel
