// grid_sample (calls/grid_sample.h). A task is a block of points of one image.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/calls/grid_sample.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::grid_sample_kernel {
namespace {

using calls::SampleMode;
using calls::SamplePadding;

struct Params {
  int64_t c = 0, points = 0;
  size_t rank = 0;
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  bool align = false;
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t pixels = 1;
  int taps = 1;
  int64_t combinations = 1, blocks = 0;
};

template <class T>
T reflect(T x, T low, T high) {
  const T range = high - low;
  if (range <= 0) return low;
  if (x < low || x > high) {
    T d = std::fmod(std::fabs(x - low), 2 * range);
    if (d > range) d = 2 * range - d;
    x = low + d;
  }
  return x;
}

// Maps an index according to the padding mode; -1 means zero.
int64_t pad_index(const Params& p, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if (p.padding == SamplePadding::zeros) return -1;
  if (p.padding == SamplePadding::border) return std::clamp<int64_t>(i, 0, size - 1);
  const float low = p.align ? 0.0f : -0.5f,
              high = static_cast<float>(size) - (p.align ? 1.0f : 0.5f);
  return std::clamp<int64_t>(std::llround(reflect(static_cast<float>(i), low, high)), 0, size - 1);
}

constexpr int64_t kPoints = 64;  // the number of points of a task

// The reads of the points of a task along one dimension: `taps` places (-1: zero) and their
// weights.
template <class T>
struct Reads {
  int64_t index[4][kPoints];
  T weight[4][kPoints];
};

template <class T>
void read_along(const Params& p, size_t d, const T* grid, int64_t count, Reads<T>& r) {
  constexpr T kA = T{-0.75};
  const auto size = static_cast<T>(p.size[d]);
  for (int64_t j = 0; j < count; j++) {
    T at = grid[j * static_cast<int64_t>(p.rank) + static_cast<int64_t>(p.rank - 1 - d)];
    at = p.align ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
    // Distant or NaN coordinates are clamped because they must fit into an integer.
    at = at == at ? std::clamp(at, T{-1e9}, T{1e9}) : T{-1e9};
    if (p.mode != SampleMode::cubic && p.padding == SamplePadding::border)
      at = std::clamp(at, T{0}, size - 1);
    if (p.mode != SampleMode::cubic && p.padding == SamplePadding::reflection)
      at = p.align ? reflect(at, T{0}, size - 1)
                   : std::clamp(reflect(at, T{-0.5}, size - T{0.5}), T{-0.5}, size - T{0.5});
    const T base = p.mode == SampleMode::nearest ? std::nearbyint(at) : std::floor(at),
            t = at - base;
    const auto first = static_cast<int64_t>(base) - (p.mode == SampleMode::cubic ? 1 : 0);
    for (int k = 0; k < p.taps; k++) r.index[k][j] = pad_index(p, first + k, p.size[d]);
    if (p.mode == SampleMode::nearest) {
      r.weight[0][j] = 1;
    } else if (p.mode == SampleMode::linear) {
      r.weight[0][j] = 1 - t;
      r.weight[1][j] = t;
    } else {
      const auto near = [](T v) { return ((kA + 2) * v - (kA + 3)) * v * v + 1; };
      const auto far = [](T v) { return ((kA * v - 5 * kA) * v + 8 * kA) * v - 4 * kA; };
      r.weight[0][j] = far(t + 1);
      r.weight[1][j] = near(t);
      r.weight[2][j] = near(1 - t);
      r.weight[3][j] = far(2 - t);
    }
  }
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  Reads<T> reads[3];
  int64_t at[64][kPoints];  // for every combination of taps
  T weight[64][kPoints];
  for (int64_t task = begin; task < end; task++) {
    const int64_t n = task / p.blocks, point = task % p.blocks * kPoints,
                  count = std::min(kPoints, p.points - point);
    const T* grid =
        static_cast<const T*>(data[1]) + (n * p.points + point) * static_cast<int64_t>(p.rank);
    for (size_t d = 0; d < p.rank; d++) read_along(p, d, grid, count, reads[d]);
    for (int64_t k = 0; k < p.combinations; k++) {
      std::fill_n(at[k], count, 0);
      std::fill_n(weight[k], count, T{1});
      int64_t rest = k, step = 1;
      for (size_t d = p.rank; d-- > 0;) {
        const int64_t* index = reads[d].index[rest % p.taps];
        const T* w = reads[d].weight[rest % p.taps];
        for (int64_t j = 0; j < count; j++) {
          at[k][j] += index[j] < 0 ? 0 : index[j] * step;
          weight[k][j] *= index[j] < 0 ? T{0} : w[j];
        }
        rest /= p.taps;
        step *= p.size[d];
      }
    }
    for (int64_t c = 0; c < p.c; c++) {
      const T* x = static_cast<const T*>(data[0]) + (n * p.c + c) * p.pixels;
      T* y = static_cast<T*>(data[2]) + (n * p.c + c) * p.points + point;
      // A weight of zero may belong to a place outside the image, so its element is ignored.
      const auto value = [&](int64_t k, int64_t j) {
        const T w = weight[k][j], v = x[at[k][j]];
        return w == 0 ? T{0} : w * v;
      };
      if (p.combinations == 4) {
        for (int64_t j = 0; j < count; j++)
          y[j] = value(0, j) + value(1, j) + (value(2, j) + value(3, j));
        continue;
      }
      std::fill_n(y, count, T{0});
      for (int64_t k = 0; k < p.combinations; k++)
        for (int64_t j = 0; j < count; j++) y[j] += value(k, j);
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("grid_sample", call, 3);
  const auto c = calls::decode<calls::GridSample>(call);
  auto p = std::make_shared<Params>();
  const int64_t n = c.n, rank = static_cast<int64_t>(c.size.size());
  p->c = c.c;
  p->points = c.points;
  p->rank = c.size.size();
  p->mode = c.mode;
  p->padding = c.padding;
  p->align = c.align_corners;
  for (size_t d = 0; d < p->rank; d++) {
    p->size[d] = c.size[d];
    p->pixels = checked_mul(p->pixels, p->size[d]);
  }
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {n, p->c, p->pixels});
  r.needs(1, t, {n, p->points, rank});
  r.needs(2, t, {n, p->c, p->points});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  p->taps = p->mode == SampleMode::linear ? 2 : p->mode == SampleMode::nearest ? 1 : 4;
  for (size_t d = 0; d < p->rank; d++) p->combinations *= p->taps;
  p->blocks = (p->points + kPoints - 1) / kPoints;
  plan.tasks = n * p->blocks;
  plan.work = static_cast<double>(n * p->points) * static_cast<double>(p->combinations) *
              (3 + static_cast<double>(p->c));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"grid_sample", prepare};

}  // namespace poprt::kernels::grid_sample_kernel
