// affine_grid: operands [theta, grid], f32 theta [N, rank, rank + 1], grid [N, spatial..., rank]:
// theta times the position (x last dimension first, in [-1, 1], then 1) of each point. ints: [N,
// rank (2 or 3), align_corners, spatial...]. A task is one image.
#include <array>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  size_t rank;
  bool align;
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t points = 1;
};

void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto rank = static_cast<int64_t>(p.rank);
  for (int64_t n = begin; n < end; n++) {
    const float* theta = static_cast<const float*>(data[0]) + n * rank * (rank + 1);
    float* grid = static_cast<float*>(data[1]) + n * p.points * rank;
    for (int64_t i = 0; i < p.points; i++) {
      float at[3];
      int64_t rest = i;
      for (size_t d = p.rank; d-- > 0;) {
        const auto k = static_cast<float>(rest % p.size[d]), size = static_cast<float>(p.size[d]);
        rest /= p.size[d];
        at[p.rank - 1 - d] = p.align ? (p.size[d] == 1 ? 0.0f : -1.0f + 2.0f * k / (size - 1.0f))
                                     : (2.0f * k + 1.0f) / size - 1.0f;
      }
      for (int64_t r = 0; r < rank; r++) {
        float v = theta[r * (rank + 1) + rank];
        for (int64_t c = 0; c < rank; c++) v += theta[r * (rank + 1) + c] * at[c];
        grid[i * rank + r] = v;
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
