// max_roi_pool (calls/max_roi_pool.h). A task is one region.
#include <algorithm>
#include <cmath>

#include "kernels/calls/max_roi_pool.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::max_roi_pool_kernel {
namespace {

using Params = calls::MaxRoiPool;

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t r = begin; r < end; r++) {
    const T* roi = static_cast<const T*>(data[1]) + r * 5;
    T* y = static_cast<T*>(data[2]) + r * p.c * p.oh * p.ow;
    std::fill(y, y + p.c * p.oh * p.ow, T{0});
    if (!(roi[0] >= 0 && roi[0] < static_cast<T>(p.n))) continue;
    const T* x = static_cast<const T*>(data[0]) + static_cast<int64_t>(roi[0]) * p.c * p.h * p.w;
    const auto edge = [&](T v) {
      v = std::round(v * static_cast<T>(p.scale));
      return v == v ? static_cast<int64_t>(std::clamp(v, T{-1e9}, T{1e9})) : int64_t{0};
    };
    const int64_t x1 = edge(roi[1]), y1 = edge(roi[2]);
    const auto width = static_cast<T>(std::max<int64_t>(edge(roi[3]) - x1 + 1, 1));
    const auto height = static_cast<T>(std::max<int64_t>(edge(roi[4]) - y1 + 1, 1));
    const T bin_h = height / static_cast<T>(p.oh), bin_w = width / static_cast<T>(p.ow);
    const auto at = [](T v, int64_t base, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(v) + base, 0, size);
    };
    for (int64_t i = 0; i < p.oh * p.ow; i++) {
      const auto by = static_cast<T>(i / p.ow), bx = static_cast<T>(i % p.ow);
      const int64_t h0 = at(std::floor(by * bin_h), y1, p.h),
                    h1 = at(std::ceil((by + 1) * bin_h), y1, p.h);
      const int64_t w0 = at(std::floor(bx * bin_w), x1, p.w),
                    w1 = at(std::ceil((bx + 1) * bin_w), x1, p.w);
      if (h0 >= h1 || w0 >= w1) continue;
      for (int64_t c = 0; c < p.c; c++) {
        T best = x[(c * p.h + h0) * p.w + w0];
        for (int64_t row = h0; row < h1; row++)
          for (int64_t column = w0; column < w1; column++)
            best = std::max(best, x[(c * p.h + row) * p.w + column]);
        y[c * p.oh * p.ow + i] = best;
      }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("max_roi_pool", call, 3);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t rois = p->rois;
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {p->n, p->c, p->h, p->w});
  r.needs(1, t, {rois, 5});
  r.needs(2, t, {rois, p->c, p->oh, p->ow});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = p->c ? rois : 0;
  plan.work = static_cast<double>(rois) * static_cast<double>(p->c) * static_cast<double>(p->oh) *
              static_cast<double>(p->ow) * 40;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"max_roi_pool", prepare};

}  // namespace poprt::kernels::max_roi_pool_kernel
