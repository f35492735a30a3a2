// affine_grid (calls/affine_grid.h). A task is one image.
#include <array>
#include <vector>

#include "kernels/calls/affine_grid.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::affine_grid_kernel {
namespace {

template <class T>
struct Params {
  size_t rank;
  bool align;
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t points = 1;
  std::vector<T> x;  // positions along the last dimension
};

template <class T>
T position(const Params<T>& p, size_t d, int64_t i) {
  const auto k = static_cast<T>(i), size = static_cast<T>(p.size[d]);
  return p.align ? (p.size[d] == 1 ? T{0} : -1 + 2 * k / (size - 1)) : (2 * k + 1) / size - 1;
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  const auto& p = *static_cast<const Params<T>*>(params);
  const auto rank = static_cast<int64_t>(p.rank);
  for (int64_t n = begin; n < end; n++) {
    const T* theta = static_cast<const T*>(data[0]) + n * rank * (rank + 1);
    T* grid = static_cast<T*>(data[1]) + n * p.points * rank;
    const int64_t width = p.size[p.rank - 1];
    for (int64_t row = 0; row < p.points; row += width) {
      // Common to all points of a row: the offset and the contribution of the other dimensions.
      T base[3], step[3];
      for (int64_t r = 0; r < rank; r++) {
        const T* t = theta + r * (rank + 1);
        base[r] = t[rank];
        step[r] = t[0];
        int64_t rest = row / width;
        for (size_t d = p.rank - 1; d-- > 0;) {
          base[r] += t[p.rank - 1 - d] * position(p, d, rest % p.size[d]);
          rest /= p.size[d];
        }
      }
      T* to = grid + row * rank;
      for (int64_t i = 0; i < width; i++) {
        const T at = p.x[static_cast<size_t>(i)];
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

template <class T>
Plan plan_of(const Operands& r, const Call& call) {
  constexpr DType t = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
  auto p = std::make_shared<Params<T>>();
  const auto c = calls::decode<calls::AffineGrid>(call);
  const int64_t n = c.n, rank = static_cast<int64_t>(c.size.size());
  p->rank = c.size.size();
  p->align = c.align_corners;
  for (size_t d = 0; d < p->rank; d++) {
    p->size[d] = c.size[d];
    p->points = checked_mul(p->points, p->size[d]);
  }
  r.needs(0, t, {n, rank, rank + 1});
  r.needs(1, t, {n, p->points, rank});
  if (n && p->points)
    for (int64_t i = 0; i < p->size[p->rank - 1]; i++) p->x.push_back(position(*p, p->rank - 1, i));
  Plan plan;
  plan.run = run<T>;
  plan.tasks = p->points ? n : 0;
  plan.work = static_cast<double>(n) * static_cast<double>(p->points) * 10;
  plan.params = std::move(p);
  return plan;
}

Plan prepare(const Call& call) {
  const Operands r("affine_grid", call, 2);
  return r.has(0) && r.dtype(0) == DType::f64 ? plan_of<double>(r, call) : plan_of<float>(r, call);
}

}  // namespace

extern const Kernel def;
const Kernel def = {"affine_grid", prepare};

}  // namespace poprt::kernels::affine_grid_kernel
