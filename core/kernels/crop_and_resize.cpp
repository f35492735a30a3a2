// crop_and_resize (calls/crop_and_resize.h). A task is one region.
#include <algorithm>
#include <cmath>

#include "kernels/calls/crop_and_resize.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::crop_and_resize_kernel {
namespace {

using Params = calls::CropAndResize;

// The place of a row or column of the crop in x, and the weight of the next one.
struct Place {
  int64_t at = -1, next = 0;  // at: -1 is outside
  float part = 0;
};

// Computes in float and in the same steps as ONNX Runtime, because rounding decides which of two
// points is nearest. A region that ends at 1 must end at the last point, not beyond it because of
// rounding.
Place place(bool nearest, float low, float high, int64_t i, int64_t count, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  const auto steps = static_cast<float>(count - 1);
  const float v = count == 1 ? 0.5f * (low + high) * last
                  : i == count - 1
                      ? high * last
                      : low * last + static_cast<float>(i) * ((high - low) * last / steps);
  if (!(v >= 0 && v <= last)) return {};
  Place p;
  // A large size may have been rounded up.
  p.at = std::min(static_cast<int64_t>(nearest ? v + 0.5f : v), size - 1);
  p.next = std::min(p.at + 1, size - 1);
  if (!nearest) p.part = v - static_cast<float>(p.at);
  return p;
}

// A neighbour with weight 0 is skipped because it may be inf or NaN.
float mix(float a, float b, float part) { return part == 0 ? a : a + (b - a) * part; }

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto* columns = reinterpret_cast<Place*>(scratch);
  for (int64_t r = begin; r < end; r++) {
    float* y = static_cast<float*>(data[3]) + r * p.c * p.oh * p.ow;
    const int64_t image = load_index(data[2], false, r);
    if (image < 0 || image >= p.n) {
      std::fill(y, y + p.c * p.oh * p.ow, p.outside);
      continue;
    }
    const float* x = static_cast<const float*>(data[0]) + image * p.c * p.h * p.w;
    const float* roi = static_cast<const float*>(data[1]) + r * 4;
    for (int64_t i = 0; i < p.ow; i++) columns[i] = place(p.nearest, roi[1], roi[3], i, p.ow, p.w);
    for (int64_t oy = 0; oy < p.oh; oy++) {
      const Place row = place(p.nearest, roi[0], roi[2], oy, p.oh, p.h);
      for (int64_t c = 0; c < p.c; c++) {
        float* to = y + (c * p.oh + oy) * p.ow;
        if (row.at < 0) {
          std::fill(to, to + p.ow, p.outside);
          continue;
        }
        const float *top = x + (c * p.h + row.at) * p.w, *bottom = x + (c * p.h + row.next) * p.w;
        for (int64_t i = 0; i < p.ow; i++) {
          const Place& column = columns[i];
          if (column.at < 0) {
            to[i] = p.outside;
            continue;
          }
          const float a = mix(top[column.at], top[column.next], column.part);
          const float b = mix(bottom[column.at], bottom[column.next], column.part);
          to[i] = mix(a, b, row.part);
        }
      }
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("crop_and_resize", call, 4);
  auto p = std::make_shared<Params>(calls::decode<Params>(call));
  const int64_t rois = p->rois;
  r.needs(0, DType::f32, {p->n, p->c, p->h, p->w});
  r.needs(1, DType::f32, {rois, 4});
  r.needs(2, DType::s32, {rois});
  r.needs(3, DType::f32, {rois, p->c, p->oh, p->ow});
  Plan plan;
  plan.run = run;
  plan.tasks = p->c ? rois : 0;
  plan.scratch_bytes = static_cast<size_t>(p->ow) * sizeof(Place);
  plan.work = static_cast<double>(rois) * static_cast<double>(p->c) * static_cast<double>(p->oh) *
              static_cast<double>(p->ow) * 2;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"crop_and_resize", prepare};

}  // namespace poprt::kernels::crop_and_resize_kernel
