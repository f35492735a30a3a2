// pool_generic (calls/pool_generic.h). A task is one plane. For f32 without indices, rows are
// pooled as vectors, and a window over the whole plane is a reduction. Everything else, such as Lp
// pooling with p > 2, uses plain loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/pool_generic.h"
#include "kernels/common/reduction.h"
#include "kernels/isa/pool_plane.h"
#include "kernels/isa/reduce.h"
#include "kernels/kernel.h"

namespace poprt::kernels::pool_generic_kernel {
namespace {

constexpr uint64_t kMaxScratch = 1 << 22;  // floats

using calls::Pooling;
using Axis = calls::PoolingAxis;

struct Params {
  Pooling kind = Pooling::max;
  int64_t p = 2;
  bool count_padding = false, column_major = false;
  std::array<Axis, 3> axis;
  int64_t in_plane, out_plane;
  const isa::PlanePoolTable* table;
  const isa::ReduceTable* reduce;
  Reduction reduction;
  isa::PlanePool plane;
  std::array<std::vector<float>, 3> counts;
};

struct Range {
  // Taps [first, end) are inside the input, the first `counted` ones inside input or padding.
  int64_t first, end, counted;
};
Range range_of(const Axis& a, int64_t out) {
  const int64_t origin = out * a.stride - a.pad;
  const auto below = [&](int64_t limit) {
    return std::clamp<int64_t>((limit - origin + a.dilation - 1) / a.dilation, 0, a.kernel);
  };
  Range r{below(0), 0, below(a.in + a.pad_end)};
  r.end = std::max(r.first, below(a.in));
  return r;
}

template <class T>
auto widen(T v) {
  if constexpr (std::is_same_v<T, f16_t> || std::is_same_v<T, bf16_t>)
    return to_float(v);
  else
    return v;
}
template <class T, class V>
T narrow(V v) {
  if constexpr (std::is_same_v<T, f16_t>)
    return to_f16(v);
  else if constexpr (std::is_same_v<T, bf16_t>)
    return to_bf16(v);
  else
    return static_cast<T>(v);
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end, std::byte*) noexcept {
  using V = decltype(widen(T{}));
  const auto& p = *static_cast<const Params*>(params);
  const auto& [az, ay, ax] = p.axis;
  for (int64_t plane = begin; plane < end; plane++) {
    const T* x = static_cast<const T*>(data[0]) + plane * p.in_plane;
    T* y = static_cast<T*>(data[1]) + plane * p.out_plane;
    int64_t* indices = data[2] ? static_cast<int64_t*>(data[2]) + plane * p.out_plane : nullptr;
    for (int64_t oz = 0; oz < az.out; oz++) {
      const Range rz = range_of(az, oz);
      for (int64_t oy = 0; oy < ay.out; oy++) {
        const Range ry = range_of(ay, oy);
        for (int64_t ox = 0; ox < ax.out; ox++) {
          const Range rx = range_of(ax, ox);
          V best = p.kind == Pooling::max
                       ? std::numeric_limits<V>::has_infinity
                             ? static_cast<V>(-std::numeric_limits<V>::infinity())
                             : std::numeric_limits<V>::lowest()
                       : V{};
          int64_t at = -1, seen = 0;
          for (int64_t kz = rz.first; kz < rz.end; kz++)
            for (int64_t ky = ry.first; ky < ry.end; ky++)
              for (int64_t kx = rx.first; kx < rx.end; kx++) {
                const int64_t iz = oz * az.stride - az.pad + kz * az.dilation;
                const int64_t iy = oy * ay.stride - ay.pad + ky * ay.dilation;
                const int64_t ix = ox * ax.stride - ax.pad + kx * ax.dilation;
                const V v = widen(x[(iz * ay.in + iy) * ax.in + ix]);
                seen++;
                if (p.kind == Pooling::max) {
                  if (at < 0 || v > best || v != v) {
                    best = v;
                    at = p.column_major ? (ix * ay.in + iy) * az.in + iz
                                        : (iz * ay.in + iy) * ax.in + ix;
                  }
                } else if (p.kind == Pooling::average) {
                  best = static_cast<V>(best + v);
                } else if constexpr (std::is_floating_point_v<V>) {
                  best += p.p == 1   ? std::abs(v)
                          : p.p == 2 ? v * v
                                     : std::pow(std::abs(v), static_cast<V>(p.p));
                }
              }
          if (p.kind == Pooling::average) {
            const int64_t count = p.count_padding ? rz.counted * ry.counted * rx.counted : seen;
            best = static_cast<V>(best / static_cast<V>(std::max<int64_t>(count, 1)));
          } else if (p.kind == Pooling::lp) {
            if constexpr (std::is_floating_point_v<V>)
              best = p.p == 1   ? best
                     : p.p == 2 ? std::sqrt(best)
                                : std::pow(best, V{1} / static_cast<V>(p.p));
          }
          *y++ = narrow<T>(best);
          if (indices) *indices++ = plane * p.in_plane + at;
        }
      }
    }
  }
}

void run_planes(const void* params, void* const* data, int64_t begin, int64_t end,
                std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t plane = begin; plane < end; plane++)
    p.table->plane(p.plane, static_cast<const float*>(data[0]) + plane * p.in_plane,
                   static_cast<float*>(data[1]) + plane * p.out_plane,
                   reinterpret_cast<float*>(scratch));
}

void run_whole(const void* params, void* const* data, int64_t begin, int64_t end,
               std::byte*) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  for (int64_t plane = begin; plane < end; plane++)
    static_cast<float*>(data[1])[plane] =
        p.reduce->row(static_cast<int64_t>(p.reduction),
                      static_cast<const float*>(data[0]) + plane * p.in_plane, p.in_plane);
}

// Plans the vectorised version for f32 without indices, if there is one.
void plan_planes(Params& p, int64_t planes, Plan& plan) {
  if (p.kind == Pooling::lp && p.p > 2) return;
  bool whole = true;
  double rows = 1;
  for (size_t d = 0; d < 3; d++) {
    const Axis& a = p.axis[d];
    whole = whole && a.out == 1 && a.pad == 0 && a.kernel == a.in && a.dilation == 1;
    if (d < 2) rows *= static_cast<double>(a.kernel);
    p.plane.axis[d] = {a.in, a.out, a.kernel, a.stride, a.pad, a.dilation};
    p.plane.counts[d] = nullptr;
    if (p.kind != Pooling::average) continue;
    for (int64_t o = 0; o < a.out; o++) {
      const Range r = range_of(a, o);
      p.counts[d].push_back(
          static_cast<float>(std::max<int64_t>(1, p.count_padding ? r.counted : r.end - r.first)));
    }
    p.plane.counts[d] = p.counts[d].data();
  }
  if (whole) {
    p.reduce = &POPRT_SELECT_ISA(reduce);
    p.reduction = p.kind == Pooling::max       ? Reduction::max
                  : p.kind == Pooling::average ? Reduction::mean
                  : p.p == 1                   ? Reduction::l1
                                               : Reduction::l2;
    plan.run = run_whole;
    plan.work = static_cast<double>(planes) * (static_cast<double>(p.in_plane) * 0.06 + 10);
    return;
  }
  if (isa::plane_pool_scratch(p.plane.axis[2]) > kMaxScratch) return;
  p.table = &POPRT_SELECT_ISA(pool_plane);
  p.plane.kind = p.kind == Pooling::max       ? isa::PlanePooling::max
                 : p.kind == Pooling::average ? isa::PlanePooling::average
                 : p.p == 1                   ? isa::PlanePooling::l1
                                              : isa::PlanePooling::l2;
  const Axis& x = p.axis[2];
  plan.run = run_planes;
  plan.scratch_bytes = isa::plane_pool_scratch(p.plane.axis[2]) * 4;
  plan.work = static_cast<double>(planes) * static_cast<double>(p.axis[0].out * p.axis[1].out) *
              (rows * static_cast<double>(x.in) + static_cast<double>(x.out * x.kernel)) * 0.06;
}

Plan prepare(const Call& call) {
  constexpr std::string_view kName = "pool_generic";
  expect(call.operands.size() == 3, kName, "expected 3 operands");
  const auto c = calls::decode<calls::PoolGeneric>(call);
  const int64_t planes = c.planes;
  auto p = std::make_shared<Params>();
  p->kind = c.kind;
  p->count_padding = c.count_padding;
  p->p = c.p;
  p->column_major = c.column_major;
  std::copy_backward(c.axes.begin(), c.axes.end(), p->axis.end());
  double taps = 1;
  int64_t counted = 1;  // must fit 64 bits, because an average may count all taps
  for (const Axis& a : c.axes) {
    taps *= static_cast<double>(a.kernel);
    counted = checked_mul(counted, a.kernel);
  }
  p->in_plane = p->out_plane = 1;
  for (const Axis& a : p->axis) {
    p->in_plane = checked_mul(p->in_plane, a.in);
    p->out_plane = checked_mul(p->out_plane, a.out);
  }
  const Operand &x = call.operands[0], &y = call.operands[1], &indices = call.operands[2];
  expect(x.present && y.present && x.dtype == y.dtype &&
             dtype_bytes(x.dtype, checked_mul(planes, p->in_plane)) <= x.bytes &&
             dtype_bytes(y.dtype, checked_mul(planes, p->out_plane)) <= y.bytes,
         kName, "an operand is missing or too small");
  expect(!indices.present || (p->kind == Pooling::max && indices.dtype == DType::s64 &&
                              indices.bytes / 8 >= static_cast<uint64_t>(planes * p->out_plane)),
         kName, "indices are missing, too small or of another dtype");
  Plan plan;
  plan.outputs = 2;
  switch (x.dtype) {
    case DType::f32: plan.run = run<float>; break;
    case DType::f64: plan.run = run<double>; break;
    case DType::f16: plan.run = run<f16_t>; break;
    case DType::bf16: plan.run = run<bf16_t>; break;
    case DType::s8: plan.run = run<int8_t>; break;
    case DType::u8: plan.run = run<uint8_t>; break;
    default: fail(ErrorCode::unimplemented, "kernel {}: dtype {}", kName, dtype_name(x.dtype));
  }
  expect(p->kind == Pooling::max || is_float(x.dtype), kName, "averages require a float dtype");
  plan.tasks = p->out_plane ? planes : 0;
  plan.work = static_cast<double>(planes) * static_cast<double>(p->out_plane) * (taps * 2 + 5);
  if (plan.tasks && x.dtype == DType::f32 && !indices.present) plan_planes(*p, planes, plan);
  plan.params = p;
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"pool_generic", prepare};

}  // namespace poprt::kernels::pool_generic_kernel
