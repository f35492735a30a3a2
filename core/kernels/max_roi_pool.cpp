// max_roi_pool: operands [x, rois, y], f32 x [N, C, H, W], rois [R, 5] (image, x1, y1, x2, y2, ends
// included), y [R, C, oh, ow]: the largest element per bin, 0 for an empty one. ints: [N, C, H, W,
// R, oh, ow]. floats: [spatial_scale]. A task is one region.
#include <algorithm>
#include <cmath>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t n, c, h, w, oh, ow;
  float scale;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t r = begin; r < end; r++) {
    const float* roi = static_cast<const float*>(data[1]) + r * 5;
    float* y = static_cast<float*>(data[2]) + r * p.c * p.oh * p.ow;
    std::fill(y, y + p.c * p.oh * p.ow, 0.0f);
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(p.n))) continue;
    const float* x =
        static_cast<const float*>(data[0]) + static_cast<int64_t>(roi[0]) * p.c * p.h * p.w;
    const auto edge = [&](float v) {
      v = std::round(v * p.scale);
      return v == v ? static_cast<int64_t>(std::clamp(v, -1e9f, 1e9f)) : int64_t{0};
    };
    const int64_t x1 = edge(roi[1]), y1 = edge(roi[2]);
    const auto width = static_cast<float>(std::max<int64_t>(edge(roi[3]) - x1 + 1, 1));
    const auto height = static_cast<float>(std::max<int64_t>(edge(roi[4]) - y1 + 1, 1));
    const float bin_h = height / static_cast<float>(p.oh), bin_w = width / static_cast<float>(p.ow);
    const auto at = [](float v, int64_t base, int64_t size) {
      return std::clamp<int64_t>(static_cast<int64_t>(v) + base, 0, size);
    };
    for (int64_t i = 0; i < p.oh * p.ow; i++) {
      const auto by = static_cast<float>(i / p.ow), bx = static_cast<float>(i % p.ow);
      const int64_t h0 = at(std::floor(by * bin_h), y1, p.h),
                    h1 = at(std::ceil((by + 1) * bin_h), y1, p.h);
      const int64_t w0 = at(std::floor(bx * bin_w), x1, p.w),
                    w1 = at(std::ceil((bx + 1) * bin_w), x1, p.w);
      if (h0 >= h1 || w0 >= w1) continue;
      for (int64_t c = 0; c < p.c; c++) {
        float best = x[(c * p.h + h0) * p.w + w0];
        for (int64_t row = h0; row < h1; row++)
          for (int64_t column = w0; column < w1; column++)
            best = std::max(best, x[(c * p.h + row) * p.w + column]);
        y[c * p.oh * p.ow + i] = best;
      }
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("max_roi_pool", call, 3, 7, 1);
  auto p = std::make_shared<Params>(
      Params{r.size(0), r.size(1), r.size(2), r.size(3), r.size(5, 1), r.size(6, 1), r.real(0)});
  const int64_t rois = r.size(4);
  r.needs(0, DType::f32, {p->n, p->c, p->h, p->w});
  r.needs(1, DType::f32, {rois, 5});
  r.needs(2, DType::f32, {rois, p->c, p->oh, p->ow});
  Plan plan;
  plan.run = run;
  plan.tasks = rois;
  plan.work = static_cast<double>(rois) * static_cast<double>(p->c) *
              static_cast<double>(p->oh * p->ow) * 40;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel max_roi_pool_kernel;
const Kernel max_roi_pool_kernel = {"max_roi_pool", prepare};

}  // namespace poprt::kernels
