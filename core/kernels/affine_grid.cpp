// affine_grid: operands [theta, grid], f32 theta [N, rank, rank + 1], grid [N, spatial..., rank]:
// theta times the position (x last dimension first, in [-1, 1], then 1) of each point. ints: [N,
// rank (2 or 3), align_corners, spatial...]. A task is one image.
#include <array>
#include <vector>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  size_t rank;
  bool align;
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t points = 1;
  std::vector<float> x;  // positions along the last dimension
};

float position(const Params& p, size_t d, int64_t i) {
  const auto k = static_cast<float>(i), size = static_cast<float>(p.size[d]);
  return p.align ? (p.size[d] == 1 ? 0.0f : -1.0f + 2.0f * k / (size - 1.0f))
                 : (2.0f * k + 1.0f) / size - 1.0f;
}

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto rank = static_cast<int64_t>(p.rank);
  for (int64_t n = begin; n < end; n++) {
    const float* theta = static_cast<const float*>(data[0]) + n * rank * (rank + 1);
    float* grid = static_cast<float*>(data[1]) + n * p.points * rank;
    const int64_t width = p.size[p.rank - 1];
    for (int64_t row = 0; row < p.points; row += width) {
      // What a row shares: the offset and the other dimensions.
      float base[3], step[3];
      for (int64_t r = 0; r < rank; r++) {
        const float* t = theta + r * (rank + 1);
        base[r] = t[rank];
        step[r] = t[0];
        int64_t rest = row / width;
        for (size_t d = p.rank - 1; d-- > 0;) {
          base[r] += t[p.rank - 1 - d] * position(p, d, rest % p.size[d]);
          rest /= p.size[d];
        }
      }
      float* to = grid + row * rank;
      for (int64_t i = 0; i < width; i++) {
        const float at = p.x[static_cast<size_t>(i)];
        if (rank == 2) {
          to[2 * i] = base[0] + step[0] * at;
          to[2 * i + 1] = base[1] + step[1] * at;
        } else {
          for (int64_t r = 0; r < 3; r++) to[3 * i + r] = base[r] + step[r] * at;
        }
      }
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("affine_grid", call, 2, 3);
  auto p = std::make_shared<Params>();
  const int64_t n = r.size(0), rank = r.size(1);
  r.check((rank == 2 || rank == 3) && call.ints.size() == static_cast<size_t>(3 + rank),
          "rank must be 2 or 3");
  p->rank = static_cast<size_t>(rank);
  p->align = r.flag(2);
  for (size_t d = 0; d < p->rank; d++) {
    p->size[d] = r.size(3 + d);
    p->points = checked_mul(p->points, p->size[d]);
  }
  r.needs(0, DType::f32, {n, rank, rank + 1});
  r.needs(1, DType::f32, {n, p->points, rank});
  if (n && p->points)
    for (int64_t i = 0; i < p->size[p->rank - 1]; i++) p->x.push_back(position(*p, p->rank - 1, i));
  Plan plan;
  plan.run = run;
  plan.tasks = n;
  plan.work = static_cast<double>(n) * static_cast<double>(p->points) * 10;
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel affine_grid_kernel;
const Kernel affine_grid_kernel = {"affine_grid", prepare};

}  // namespace poprt::kernels
