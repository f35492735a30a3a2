// grid_sample: operands [x, grid, y], f32: x [N, C, spatial...] read at grid [N, points, rank]
// (last dimension first, -1 to 1), y [N, C, points]. ints: [N, C, points, rank (1-3), mode (0
// linear, 1 nearest, 2 cubic), padding (0 zeros, 1 border, 2 reflection), align_corners,
// spatial...]. Cubic: a = -0.75. A task is one point of one image.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t c, points;
  size_t rank;
  int64_t mode, padding;
  bool align;
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t pixels = 1;
};

float reflect(float x, float low, float high) {
  const float range = high - low;
  if (range <= 0) return low;
  if (x < low || x > high) {
    float d = std::fmod(std::fabs(x - low), 2 * range);
    if (d > range) d = 2 * range - d;
    x = low + d;
  }
  return x;
}

// An index as the padding maps it; -1 for zero.
int64_t pad_index(const Params& p, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if (p.padding == 0) return -1;
  if (p.padding == 1) return std::clamp<int64_t>(i, 0, size - 1);
  const float low = p.align ? 0.0f : -0.5f,
              high = static_cast<float>(size) - (p.align ? 1.0f : 0.5f);
  return std::clamp<int64_t>(std::llround(reflect(static_cast<float>(i), low, high)), 0, size - 1);
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  constexpr float kA = -0.75f;
  for (int64_t task = begin; task < end; task++) {
    const int64_t n = task / p.points, point = task % p.points;
    const float* grid = static_cast<const float*>(data[1]) + task * static_cast<int64_t>(p.rank);
    const float* x = static_cast<const float*>(data[0]) + n * p.c * p.pixels;
    float* y = static_cast<float*>(data[2]) + n * p.c * p.points + point;
    int64_t index[3][4];
    float weight[3][4];
    int taps = p.mode == 0 ? 2 : p.mode == 1 ? 1 : 4;
    for (size_t d = 0; d < p.rank; d++) {
      const auto size = static_cast<float>(p.size[d]);
      float at = grid[p.rank - 1 - d];
      at = p.align ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
      // Far or NaN coordinates must fit an integer.
      at = at == at ? std::clamp(at, -1e9f, 1e9f) : -1e9f;
      if (p.mode != 2 && p.padding == 1) at = std::clamp(at, 0.0f, size - 1);
      if (p.mode != 2 && p.padding == 2)
        at = p.align ? reflect(at, 0, size - 1)
                     : std::clamp(reflect(at, -0.5f, size - 0.5f), -0.5f, size - 0.5f);
      const float base = p.mode == 1 ? std::nearbyint(at) : std::floor(at), t = at - base;
      const auto first = static_cast<int64_t>(base) - (p.mode == 2 ? 1 : 0);
      for (int k = 0; k < taps; k++) index[d][k] = pad_index(p, first + k, p.size[d]);
      if (p.mode == 1) {
        weight[d][0] = 1;
      } else if (p.mode == 0) {
        weight[d][0] = 1 - t;
        weight[d][1] = t;
      } else {
        const auto near = [](float v) { return ((kA + 2) * v - (kA + 3)) * v * v + 1; };
        const auto far = [](float v) { return ((kA * v - 5 * kA) * v + 8 * kA) * v - 4 * kA; };
        weight[d][0] = far(t + 1);
        weight[d][1] = near(t);
        weight[d][2] = near(1 - t);
        weight[d][3] = far(2 - t);
      }
    }
    int64_t combinations = 1;
    for (size_t d = 0; d < p.rank; d++) combinations *= taps;
    for (int64_t c = 0; c < p.c; c++) y[c * p.points] = 0;
    for (int64_t k = 0; k < combinations; k++) {
      int64_t rest = k, at = 0, step = 1;
      float w = 1;
      bool inside = true;
      for (size_t d = p.rank; d-- > 0;) {
        const int64_t i = index[d][rest % taps];
        w *= weight[d][rest % taps];
        rest /= taps;
        inside = inside && i >= 0;
        at += i * step;
        step *= p.size[d];
      }
      for (int64_t c = 0; inside && c < p.c; c++) y[c * p.points] += w * x[c * p.pixels + at];
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("grid_sample", call, 3, 7);
  auto p = std::make_shared<Params>();
  const int64_t n = r.size(0), rank = r.size(3);
  p->c = r.size(1);
  p->points = r.size(2);
  r.check(rank >= 1 && rank <= 3 && call.ints.size() == static_cast<size_t>(7 + rank), "bad rank");
  p->rank = static_cast<size_t>(rank);
  p->mode = r.size(4);
  p->padding = r.size(5);
  r.check(p->mode <= 2 && p->padding <= 2, "bad mode");
  p->align = r.flag(6);
  for (size_t d = 0; d < p->rank; d++) {
    p->size[d] = r.size(7 + d, 1);
    r.check(p->size[d] < (int64_t{1} << 30), "a size is out of range");
    p->pixels = checked_mul(p->pixels, p->size[d]);
  }
  r.needs(0, DType::f32, {n, p->c, p->pixels});
  r.needs(1, DType::f32, {n, p->points, rank});
  r.needs(2, DType::f32, {n, p->c, p->points});
  Plan plan;
  plan.run = run;
  plan.tasks = n * p->points;
  plan.work = static_cast<double>(plan.tasks) * (30 + static_cast<double>(p->c) * 16);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel grid_sample_kernel;
const Kernel grid_sample_kernel = {"grid_sample", prepare};

}  // namespace poprt::kernels
