// conv_transpose_generic (calls/conv_transpose_generic.h, common/conv_generic.h). For f32, a task
// multiplies the transposed weights of a few output channels by the pixels and adds each product at
// the place of its tap. For other types, and for few channels, a task is an output plane, summed in
// scratch.
#include <algorithm>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/conv_transpose_generic.h"
#include "kernels/common/conv_generic.h"
#include "kernels/isa/gemm.h"

namespace poprt::kernels::conv_transpose_generic_kernel {
namespace {

constexpr int64_t kBlockK = 512, kChannels = 16;  // input channels of a product, output channels

struct Params {
  GenericConv conv;
  isa::GemmShape shape;
  const isa::GemmTable* table;
  int64_t blocks;
};

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

template <class T, class V, V (*widen)(T), T (*narrow)(V)>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const GenericConv& p = static_cast<const Params*>(params)->conv;
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

// Adds the sums of `count` input pixels from `pixel` on, for one channel and tap.
void scatter(const GenericConv& p, const float* from, int64_t pixel, int64_t count, int64_t tap,
             float* y) {
  const auto& [az, ay, ax] = p.axis;
  const int64_t sz = tap / (ay.kernel * ax.kernel) * az.dilation - az.pad;
  const int64_t sy = tap / ax.kernel % ay.kernel * ay.dilation - ay.pad;
  const int64_t sx = tap % ax.kernel * ax.dilation - ax.pad;
  const int64_t low = std::clamp<int64_t>(ceil_div(-sx, ax.stride), 0, ax.in);
  const int64_t high = std::clamp<int64_t>(ceil_div(ax.out - sx, ax.stride), low, ax.in);
  int64_t ix = pixel % ax.in, iy = pixel / ax.in % ay.in, iz = pixel / ax.in / ay.in;
  while (count > 0) {
    const int64_t n = std::min(count, ax.in - ix);
    const int64_t oz = iz * az.stride + sz, oy = iy * ay.stride + sy;
    if (oz >= 0 && oz < az.out && oy >= 0 && oy < ay.out) {
      float* to = y + (oz * ay.out + oy) * ax.out + sx;
      const float* row = from - ix;
      const int64_t first = std::max(ix, low), last = std::min(ix + n, high);
      if (ax.stride == 1)
        for (int64_t i = first; i < last; i++) to[i] += row[i];
      else if (ax.stride == 2)
        for (int64_t i = first; i < last; i++) to[2 * i] += row[i];
      else
        for (int64_t i = first; i < last; i++) to[i * ax.stride] += row[i];
    }
    from += n;
    count -= n;
    ix = 0;
    if (++iy == ay.in) {
      iy = 0;
      iz++;
    }
  }
}

void run_f32(const void* params, void* const* data, int64_t begin, int64_t end,
             std::byte* scratch) noexcept {
  const auto& [p, shape0, table, blocks] = *static_cast<const Params*>(params);
  auto* weights = reinterpret_cast<float*>(scratch);
  float* panel = weights + kChannels * p.taps * p.c;
  float* sums = panel + std::min(kBlockK, p.c) * isa::kPanel;
  for (int64_t task = begin; task < end; task++) {
    const int64_t plane = task / blocks, m0 = task % blocks * kChannels,
                  channels = std::min(kChannels, p.m - m0), group = plane % p.groups;
    const float* x = static_cast<const float*>(data[0]) + plane * p.c * p.in_plane;
    const float* w = static_cast<const float*>(data[1]) + (group * p.c * p.m + m0) * p.taps;
    float* y = static_cast<float*>(data[3]) + (plane * p.m + m0) * p.out_plane;
    const auto* bias = static_cast<const float*>(data[2]);
    for (int64_t m = 0; m < channels; m++)
      std::fill_n(y + m * p.out_plane, p.out_plane, bias ? bias[group * p.m + m0 + m] : 0.0f);
    const int64_t rows = channels * p.taps;
    for (int64_t c = 0; c < p.c; c++)
      for (int64_t r = 0; r < rows; r++) weights[r * p.c + c] = w[c * p.m * p.taps + r];
    for (int64_t pixel = 0; pixel < p.in_plane; pixel += isa::kPanel) {
      isa::GemmShape shape = shape0;
      shape.m = rows;
      shape.n = std::min(isa::kPanel, p.in_plane - pixel);
      for (int64_t k = 0; k < p.c; k += kBlockK) {
        shape.k = std::min(kBlockK, p.c - k);
        table->pack(x, p.in_plane, 1, p.in_plane, pixel, k, k + shape.k, panel);
        table->run(shape, weights + k, panel, nullptr, k ? sums : nullptr, sums, 0, rows, 0, 1);
      }
      for (int64_t r = 0; r < rows; r++)
        scatter(p, sums + r * isa::kPanel, pixel, shape.n, r % p.taps,
                y + r / p.taps * p.out_plane);
    }
  }
}

float same_f32(float v) { return v; }
double same_f64(double v) { return v; }
float widen_f16(f16_t v) { return to_float(v); }
float widen_bf16(bf16_t v) { return to_float(v); }

Plan prepare(const Call& call) {
  auto params = std::make_shared<Params>();
  params->conv =
      read_generic_conv("conv_transpose_generic",
                        calls::decode<calls::ConvTransposeGeneric>(call).conv, call.operands);
  const GenericConv* p = &params->conv;
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
  // With few channels, the loops over pixels are as fast. The upper limits bound the scratch
  // memory.
  const double weights = static_cast<double>(p->taps) * static_cast<double>(p->c);
  if (p->dtype == DType::f32 && p->c >= 4 && p->m * p->taps >= 4 && weights < 1 << 20 &&
      p->taps <= 4096) {
    params->table = &POPRT_SELECT_ISA(gemm);
    params->blocks = (p->m + kChannels - 1) / kChannels;
    params->shape.lda = p->c;
    params->shape.ldc = params->shape.ld_residual = isa::kPanel;
    params->shape.k_block = kBlockK;
    params->shape.in_order = call.reproducible;
    plan.run = run_f32;
    plan.tasks = checked_mul(checked_mul(p->n, p->groups), params->blocks);
    plan.work = p->flops() * static_cast<double>(p->in_plane) / 40;
    plan.scratch_bytes = static_cast<size_t>(kChannels * p->taps * (p->c + isa::kPanel) +
                                             std::min(kBlockK, p->c) * isa::kPanel) *
                             4 +
                         8192;
  }
  plan.params = std::move(params);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"conv_transpose_generic", prepare};

}  // namespace poprt::kernels::conv_transpose_generic_kernel
