// col2im (calls/col2im.h). A task is one plane.
#include <algorithm>

#include "kernels/calls/col2im.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::col2im_kernel {
namespace {

struct Params {
  int64_t taps = 1, blocks = 1, pixels = 1;
  std::vector<calls::Col2imAxis> axes;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t plane = begin; plane < end; plane++) {
    const T* x = static_cast<const T*>(data[0]) + plane * p.taps * p.blocks;
    T* y = static_cast<T*>(data[1]) + plane * p.pixels;
    std::fill(y, y + p.pixels, T{0});
    const auto& [image_x, blocks_x, kernel_x, stride_x, pad_x, dilation_x] = p.axes.back();
    const int64_t rows = p.blocks / blocks_x;
    for (int64_t tap = 0; tap < p.taps; tap++) {
      // Blocks [first, last) of a row are inside the image.
      const int64_t shift = tap % kernel_x * dilation_x - pad_x;
      const auto below = [&](int64_t limit) {
        return std::clamp<int64_t>((limit - shift + stride_x - 1) / stride_x, 0, blocks_x);
      };
      const int64_t first = below(0), last = below(image_x);
      for (int64_t row = 0; row < rows; row++) {
        int64_t t = tap / kernel_x, b = row, at = 0, step = image_x;
        bool inside = true;
        for (size_t d = p.axes.size() - 1; d-- > 0;) {
          const auto& [image, blocks, kernel, stride, pad, dilation] = p.axes[d];
          const int64_t i = b % blocks * stride - pad + t % kernel * dilation;
          inside = inside && i >= 0 && i < image;
          at += i * step;
          step *= image;
          t /= kernel;
          b /= blocks;
        }
        if (!inside) continue;
        const T* from = x + tap * p.blocks + row * blocks_x;
        if (stride_x == 1)
          for (int64_t i = first; i < last; i++) y[at + shift + i] += from[i];
        else
          for (int64_t i = first; i < last; i++) y[at + shift + i * stride_x] += from[i];
      }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("col2im", call, 2);
  auto p = std::make_shared<Params>();
  const auto [planes, axes] = calls::decode<calls::Col2im>(call);
  p->axes = axes;
  for (const calls::Col2imAxis& a : axes) {
    p->pixels = checked_mul(p->pixels, a.image);
    p->blocks = checked_mul(p->blocks, a.blocks);
    p->taps = checked_mul(p->taps, a.kernel);
  }
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {planes, p->taps, p->blocks});
  r.needs(1, t, {planes, p->pixels});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = planes;
  plan.work = static_cast<double>(planes) * static_cast<double>(p->taps) *
              static_cast<double>(p->blocks) * 0.3;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"col2im", prepare};

}  // namespace poprt::kernels::col2im_kernel
