// col2im: operands [x, y], both f32 or both f64: x [planes, taps, blocks] holds windows of an
// image, y [planes, image] the sum of what falls on each pixel. ints: [planes, rank, then per
// spatial dimension: image, blocks, kernel, stride, pad, dilation]. A task is one plane.
#include <algorithm>
#include <array>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

constexpr size_t kMaxRank = 8;

struct Params {
  size_t rank;
  int64_t taps = 1, blocks = 1, pixels = 1;
  std::array<std::array<int64_t, 6>, kMaxRank> axis;
};

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t plane = begin; plane < end; plane++) {
    const T* x = static_cast<const T*>(data[0]) + plane * p.taps * p.blocks;
    T* y = static_cast<T*>(data[1]) + plane * p.pixels;
    std::fill(y, y + p.pixels, T{0});
    const auto& [image_x, blocks_x, kernel_x, stride_x, pad_x, dilation_x] = p.axis[p.rank - 1];
    const int64_t rows = p.blocks / blocks_x;
    for (int64_t tap = 0; tap < p.taps; tap++) {
      // Blocks [first, last) of a row fall inside the image.
      const int64_t shift = tap % kernel_x * dilation_x - pad_x;
      const auto below = [&](int64_t limit) {
        return std::clamp<int64_t>((limit - shift + stride_x - 1) / stride_x, 0, blocks_x);
      };
      const int64_t first = below(0), last = below(image_x);
      for (int64_t row = 0; row < rows; row++) {
        int64_t t = tap / kernel_x, b = row, at = 0, step = image_x;
        bool inside = true;
        for (size_t d = p.rank - 1; d-- > 0;) {
          const auto& [image, blocks, kernel, stride, pad, dilation] = p.axis[d];
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
  const CallReader r("col2im", call, 2, 2);
  auto p = std::make_shared<Params>();
  const int64_t planes = r.size(0);
  p->rank = static_cast<size_t>(r.size(1, 1));
  r.check(p->rank <= kMaxRank && call.ints.size() == 2 + 6 * p->rank, "bad rank");
  for (size_t d = 0; d < p->rank; d++) {
    for (size_t i = 0; i < 6; i++) {
      p->axis[d][i] = r.size(2 + 6 * d + i, i == 4 ? 0 : 1);
      r.check(p->axis[d][i] < (int64_t{1} << 31), "a size is out of range");
    }
    p->pixels = checked_mul(p->pixels, p->axis[d][0]);
    p->blocks = checked_mul(p->blocks, p->axis[d][1]);
    p->taps = checked_mul(p->taps, p->axis[d][2]);
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

extern const Kernel col2im_kernel;
const Kernel col2im_kernel = {"col2im", prepare};

}  // namespace poprt::kernels
