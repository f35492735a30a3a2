// non_max_suppression (calls/non_max_suppression.h). One task.
#include <algorithm>
#include <array>

#include "kernels/calls/non_max_suppression.h"
#include "kernels/common/operands.h"
#include "kernels/isa/boxes.h"

namespace poprt::kernels::non_max_suppression_kernel {
namespace {

struct Params : calls::NonMaxSuppression {
  const isa::BoxesTable* table;
  int64_t stride;  // distance of two numbers of a box in `chosen`, in floats
};

// The corners in ascending order.
std::array<float, 4> corners(const Params& p, const float* box) {
  if (p.center) {
    const float hw = box[2] / 2, hh = box[3] / 2;
    return {box[0] - hw, box[1] - hh, box[0] + hw, box[1] + hh};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

using Box = std::array<float, isa::kBoxNumbers>;

Box box_of(const Params& p, const float* box) {
  const auto c = corners(p, box);
  return {c[0], c[1], c[2], c[3], (c[2] - c[0]) * (c[3] - c[1])};
}

// Whether box `a` and box k of `chosen` are the same object.
bool overlaps(const Params& p, const Box& a, const float* chosen, int64_t k) {
  const auto b = [&](int64_t number) { return chosen[number * p.stride + k]; };
  const float w = std::min(a[2], b(2)) - std::max(a[0], b(0)),
              h = std::min(a[3], b(3)) - std::max(a[1], b(1));
  if (w <= 0 || h <= 0) return false;
  const float both = w * h;
  return a[4] > 0 && b(4) > 0 && both / (a[4] + b(4) - both) > p.iou;
}

// The same for any of the first n boxes of `chosen`.
bool overlaps_any(const Params& p, const Box& a, const float* chosen, int64_t n) {
  const auto next = [&](int64_t from) {
    return p.table->overlapping(chosen, p.stride, from, n, a.data(), p.iou);
  };
  int64_t k = next(0);
  while (k < n && !overlaps(p, a, chosen, k)) k = next(k + 1);
  return k < n;
}

struct Candidate {
  float score;
  int32_t box;
};

void run(const void* params, void* const* data, int64_t, int64_t, std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto* boxes = static_cast<const float*>(data[0]);
  const auto* scores = static_cast<const float*>(data[1]);
  auto* y = static_cast<int64_t*>(data[2]);
  auto* order = reinterpret_cast<Candidate*>(scratch);
  auto* all = reinterpret_cast<Box*>(order + p.b);
  auto* chosen = reinterpret_cast<float*>(all + p.b);  // [corners, area][stride]
  int64_t row = 0;
  for (int64_t plane = 0; plane < p.n * p.c && row < p.rows; plane++) {
    const float* s = scores + plane * p.b;
    if (plane % p.c == 0)
      for (int64_t i = 0; i < p.b; i++) all[i] = box_of(p, boxes + (plane / p.c * p.b + i) * 4);
    int64_t candidates = 0, found = 0;
    for (int64_t i = 0; i < p.b; i++)
      if (s[i] > p.score) order[candidates++] = {s[i], static_cast<int32_t>(i)};
    const auto before = [](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : a.box < b.box;
    };
    // The candidates are sorted in parts, because most of them are never needed.
    int64_t sorted = 0;
    for (int64_t i = 0; i < candidates && found < p.most && row < p.rows; i++) {
      if (i == sorted) {
        sorted = std::min(candidates, i + 2 * std::min(p.most, candidates) + 16);
        if (sorted < candidates)
          std::nth_element(order + i, order + sorted, order + candidates, before);
        std::sort(order + i, order + sorted, before);
      }
      const Box& box = all[order[i].box];
      if (overlaps_any(p, box, chosen, found)) continue;
      for (int64_t k = 0; k < isa::kBoxNumbers; k++)
        chosen[k * p.stride + found] = box[static_cast<size_t>(k)];
      found++;
      y[row * 3] = plane / p.c;
      y[row * 3 + 1] = plane % p.c;
      y[row * 3 + 2] = order[i].box;
      row++;
    }
  }
  std::fill(y + row * 3, y + p.rows * 3, int64_t{-1});
}

Plan prepare(const Call& call) {
  const Operands r("non_max_suppression", call, 3);
  auto p = std::make_shared<Params>(
      Params{calls::decode<calls::NonMaxSuppression>(call), &POPRT_SELECT_ISA(boxes), 0});
  r.needs(0, DType::f32, {p->n, p->b, 4});
  r.needs(1, DType::f32, {p->n, p->c, p->b});
  r.needs(2, DType::s64, {p->rows, 3});
  Plan plan;
  plan.run = run;
  const int64_t planes = checked_mul(p->n, p->c);
  if (planes == 0 || p->b == 0) p->n = p->b = 0;  // no plane has a candidate
  p->stride = checked_add(p->b, int64_t{16});
  plan.work = static_cast<double>(planes) * static_cast<double>(p->b) * 20;
  plan.scratch_bytes = static_cast<size_t>(
      checked_add(checked_mul(p->b, static_cast<int64_t>(sizeof(Candidate) + sizeof(Box))),
                  checked_mul(p->stride, static_cast<int64_t>(sizeof(Box)))));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"non_max_suppression", prepare};

}  // namespace poprt::kernels::non_max_suppression_kernel
