// non_max_suppression: operands [boxes, scores, y]: f32 boxes [N, B, 4] and scores [N, C, B] to s64
// rows (image, class, box) in y [rows, 3], best first within a class; rows past the last one are
// -1. ints: [N, C, B, most per class, center format, rows]. floats: [IoU threshold, score
// threshold]. One task.
#include <algorithm>
#include <array>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t n, c, b, most, rows;
  bool center;
  float iou, score;
};

// Corners in order.
std::array<float, 4> corners(const Params& p, const float* box) {
  if (p.center) {
    const float hw = box[2] / 2, hh = box[3] / 2;
    return {box[0] - hw, box[1] - hh, box[0] + hw, box[1] + hh};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

bool overlaps(const Params& p, const float* box_a, const float* box_b) {
  const auto a = corners(p, box_a), b = corners(p, box_b);
  const float w = std::min(a[2], b[2]) - std::max(a[0], b[0]),
              h = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (w <= 0 || h <= 0) return false;
  const float both = w * h, area_a = (a[2] - a[0]) * (a[3] - a[1]),
              area_b = (b[2] - b[0]) * (b[3] - b[1]);
  return area_a > 0 && area_b > 0 && both / (area_a + area_b - both) > p.iou;
}

void run(const void* params, void* const* data, int64_t, int64_t, std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* boxes = static_cast<const float*>(data[0]);
  const auto* scores = static_cast<const float*>(data[1]);
  auto* y = static_cast<int64_t*>(data[2]);
  auto *order = reinterpret_cast<int64_t*>(scratch), *chosen = order + p.b;
  int64_t row = 0;
  for (int64_t plane = 0; plane < p.n * p.c && row < p.rows; plane++) {
    const float* s = scores + plane * p.b;
    const float* from = boxes + plane / p.c * p.b * 4;
    int64_t candidates = 0, found = 0;
    for (int64_t i = 0; i < p.b; i++)
      if (s[i] > p.score) order[candidates++] = i;
    std::sort(order, order + candidates,
              [&](int64_t a, int64_t b) { return s[a] != s[b] ? s[a] > s[b] : a < b; });
    for (int64_t i = 0; i < candidates && found < p.most && row < p.rows; i++) {
      bool keep = true;
      for (int64_t k = 0; keep && k < found; k++)
        keep = !overlaps(p, from + order[i] * 4, from + chosen[k] * 4);
      if (!keep) continue;
      chosen[found++] = order[i];
      y[row * 3] = plane / p.c;
      y[row * 3 + 1] = plane % p.c;
      y[row * 3 + 2] = order[i];
      row++;
    }
  }
  std::fill(y + row * 3, y + p.rows * 3, int64_t{-1});
}

Plan prepare(const Call& call) {
  const CallReader r("non_max_suppression", call, 3, 6, 2);
  auto p = std::make_shared<Params>(Params{r.size(0), r.size(1), r.size(2), r.size(3), r.size(5),
                                           r.flag(4), r.real(0), r.real(1)});
  r.needs(0, DType::f32, {p->n, p->b, 4});
  r.needs(1, DType::f32, {p->n, p->c, p->b});
  r.needs(2, DType::s64, {p->rows, 3});
  Plan plan;
  plan.run = run;
  plan.work = static_cast<double>(p->n * p->c) * static_cast<double>(p->b) * 20;
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::s64, checked_mul(p->b, int64_t{2})));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel non_max_suppression_kernel;
const Kernel non_max_suppression_kernel = {"non_max_suppression", prepare};

}  // namespace poprt::kernels
