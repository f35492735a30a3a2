// deform_conv (calls/deform_conv.h). A task is a panel of output pixels of one image.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/calls/deform_conv.h"
#include "kernels/common/operands.h"
#include "kernels/isa/gemm.h"

namespace poprt::kernels::deform_conv_kernel {
namespace {

struct Params : calls::DeformConv {
  int64_t panels = 0;
  isa::GemmShape shape;
  const isa::GemmTable* table = &POPRT_SELECT_ISA(gemm);
};

// The four neighbours that a tap reads in a plane, for each of up to kPanel pixels, and their
// weights. A neighbour outside the plane has place -1.
template <class T>
struct Taps {
  int32_t at[4][isa::kPanel];
  T weight[4][isa::kPanel];
};

template <class T>
void place(const Params& p, T y, T x, T scale, int64_t j, Taps<T>& t) {
  for (int k = 0; k < 4; k++) {
    t.at[k][j] = -1;
    t.weight[k][j] = 0;
  }
  if (!(y > -1 && y < static_cast<T>(p.h) && x > -1 && x < static_cast<T>(p.w))) return;
  const T fy = std::floor(y), fx = std::floor(x), ly = y - fy, lx = x - fx;
  const auto y0 = static_cast<int64_t>(fy), x0 = static_cast<int64_t>(fx);
  const T weights[4] = {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
  for (int64_t k = 0; k < 4; k++) {
    const int64_t r = y0 + k / 2, c = x0 + k % 2;
    if (r < 0 || r >= p.h || c < 0 || c >= p.w) continue;
    t.at[k][j] = static_cast<int32_t>(r * p.w + c);
    t.weight[k][j] = weights[k] * scale;
  }
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto f = [&](size_t i) { return static_cast<const T*>(data[i]); };
  auto* panel = reinterpret_cast<T*>(scratch);  // [channel][tap][kPanel]
  const int64_t pixels = p.oh * p.ow, taps = p.kh * p.kw;
  const int64_t cg = p.c / p.groups, mg = p.m / p.groups, per_offset = p.c / p.offset_groups;
  Taps<T> t;
  for (int64_t task = begin; task < end; task++) {
    const int64_t n = task / p.panels, first = task % p.panels * isa::kPanel;
    const int64_t count = std::min(isa::kPanel, pixels - first);
    for (int64_t og = 0; og < p.offset_groups; og++)
      for (int64_t tap = 0; tap < taps; tap++) {
        const int64_t group = (n * p.offset_groups + og) * taps + tap;
        const T* offset = f(2) + group * 2 * pixels + first;
        for (int64_t j = 0; j < count; j++) {
          const int64_t pixel = first + j;
          const int64_t y = pixel / p.ow * p.sy - p.py + tap / p.kw * p.dy;
          const int64_t x = pixel % p.ow * p.sx - p.px + tap % p.kw * p.dx;
          place(p, static_cast<T>(y) + offset[j], static_cast<T>(x) + offset[pixels + j],
                data[4] ? f(4)[group * pixels + pixel] : T{1}, j, t);
        }
        for (int64_t c = og * per_offset; c < (og + 1) * per_offset; c++) {
          const T* plane = f(0) + (n * p.c + c) * p.h * p.w;
          T* to = panel + (c * taps + tap) * isa::kPanel;
          // Padding is 0, whatever the pixels of the plane are; 0 times an infinite pixel is NaN.
          const auto value = [&](int k, int64_t j) {
            const int32_t at = t.at[k][j];
            return at < 0 ? T{0} : t.weight[k][j] * plane[at];
          };
          for (int64_t j = 0; j < count; j++)
            to[j] = value(0, j) + value(1, j) + (value(2, j) + value(3, j));
          std::fill(to + count, to + isa::kPanel, T{0});
        }
      }
    for (int64_t g = 0; g < p.groups; g++) {
      [[maybe_unused]] isa::GemmShape shape = p.shape;
      shape.n = count;
      T* y = static_cast<T*>(data[5]) + (n * p.m + g * mg) * pixels + first;
      const T* weights = f(1) + g * mg * cg * taps;
      const T* read = panel + g * cg * taps * isa::kPanel;
      if constexpr (std::is_same_v<T, float>)
        p.table->run(shape, weights, read, nullptr, nullptr, y, 0, mg, 0, 1);
      else
        for (int64_t m = 0; m < mg; m++)
          for (int64_t j = 0; j < count; j++) {
            T sum = 0;
            for (int64_t k = 0; k < cg * taps; k++)
              sum += weights[m * cg * taps + k] * read[k * isa::kPanel + j];
            y[m * pixels + j] = sum;
          }
      if (data[3])
        for (int64_t m = 0; m < mg; m++)
          for (int64_t j = 0; j < count; j++) y[m * pixels + j] += f(3)[g * mg + m];
    }
  }
}

Plan prepare(const Call& call) {
  const Operands r("deform_conv", call, 6);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::DeformConv>(call)});
  const int64_t taps = checked_mul(p->kh, p->kw), pixels = checked_mul(p->oh, p->ow);
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {p->n, p->c, p->h, p->w});
  r.needs(1, t, {p->m, p->c / p->groups, taps});
  r.needs(2, t, {p->n, p->offset_groups, taps, 2, pixels});
  r.needs_if_present(3, t, {p->m});
  r.needs_if_present(4, t, {p->n, p->offset_groups, taps, pixels});
  r.needs(5, t, {p->n, p->m, pixels});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  p->panels = (pixels + isa::kPanel - 1) / isa::kPanel;
  p->shape.m = p->m / p->groups;
  p->shape.k = p->shape.lda = p->c / p->groups * taps;
  p->shape.ldc = p->shape.ld_residual = pixels;
  p->shape.k_block = 512;
  p->shape.in_order = call.reproducible;
  plan.tasks = checked_mul(p->n, p->panels);
  plan.work = static_cast<double>(plan.tasks) * static_cast<double>(p->c * taps) * isa::kPanel *
              (2 + static_cast<double>(p->m / p->groups) / 40);
  plan.scratch_bytes =
      static_cast<size_t>(dtype_bytes(t, Operands::product({p->c, taps, isa::kPanel})) + 8192);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"deform_conv", prepare};

}  // namespace poprt::kernels::deform_conv_kernel
