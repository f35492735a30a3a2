// deform_conv: operands [x, w, offset, bias?, mask?, y], f32: a 2D convolution whose taps read x
// bilinearly at their place plus offset [N, offset_groups, taps, 2 (y, x), oh, ow], times mask [N,
// offset_groups, taps, oh, ow]. ints: [N, C, H, W, M, oh, ow, kh, kw, stride y, x, pad y, x,
// dilation y, x, groups, offset_groups]. A task is one output pixel of one image.
#include <cmath>

#include "kernels/common/call_reader.h"

namespace poprt::kernels {
namespace {

struct Params {
  int64_t n, c, h, w, m, oh, ow, kh, kw, sy, sx, py, px, dy, dx, groups, offset_groups;
};

float bilinear(const Params& p, const float* plane, float y, float x) {
  if (!(y > -1 && y < static_cast<float>(p.h) && x > -1 && x < static_cast<float>(p.w))) return 0;
  const float fy = std::floor(y), fx = std::floor(x), ly = y - fy, lx = x - fx;
  const auto y0 = static_cast<int64_t>(fy), x0 = static_cast<int64_t>(fx);
  const auto at = [&](int64_t r, int64_t c) {
    return r >= 0 && r < p.h && c >= 0 && c < p.w ? plane[r * p.w + c] : 0.0f;
  };
  return (1 - ly) * ((1 - lx) * at(y0, x0) + lx * at(y0, x0 + 1)) +
         ly * ((1 - lx) * at(y0 + 1, x0) + lx * at(y0 + 1, x0 + 1));
}

void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  const auto f = [&](size_t i) { return static_cast<const float*>(data[i]); };
  auto* column = reinterpret_cast<float*>(scratch);
  const int64_t pixels = p.oh * p.ow, taps = p.kh * p.kw;
  const int64_t cg = p.c / p.groups, mg = p.m / p.groups, per_offset = p.c / p.offset_groups;
  for (int64_t task = begin; task < end; task++) {
    const int64_t n = task / pixels, pixel = task % pixels;
    for (int64_t c = 0; c < p.c; c++) {
      const int64_t group = n * p.offset_groups + c / per_offset;
      const float* plane = f(0) + (n * p.c + c) * p.h * p.w;
      for (int64_t t = 0; t < taps; t++) {
        const float* offset = f(2) + (group * taps + t) * 2 * pixels + pixel;
        const int64_t y = pixel / p.ow * p.sy - p.py + t / p.kw * p.dy;
        const int64_t x = pixel % p.ow * p.sx - p.px + t % p.kw * p.dx;
        float v = bilinear(p, plane, static_cast<float>(y) + offset[0],
                           static_cast<float>(x) + offset[pixels]);
        if (data[4]) v *= f(4)[(group * taps + t) * pixels + pixel];
        column[c * taps + t] = v;
      }
    }
    for (int64_t m = 0; m < p.m; m++) {
      const float* w = f(1) + m * cg * taps;
      const float* from = column + m / mg * cg * taps;
      float sum = data[3] ? f(3)[m] : 0.0f;
      for (int64_t k = 0; k < cg * taps; k++) sum += w[k] * from[k];
      static_cast<float*>(data[5])[(n * p.m + m) * pixels + pixel] = sum;
    }
  }
}

Plan prepare(const Call& call) {
  const CallReader r("deform_conv", call, 6, 17);
  auto p = std::make_shared<Params>();
  int64_t* fields[] = {
      &p->n,  &p->c,  &p->h,  &p->w,  &p->m,  &p->oh, &p->ow,     &p->kh,           &p->kw,
      &p->sy, &p->sx, &p->py, &p->px, &p->dy, &p->dx, &p->groups, &p->offset_groups};
  for (size_t i = 0; i < 17; i++) {
    *fields[i] = r.size(i, i == 11 || i == 12 ? 0 : 1);
    r.check(*fields[i] < (int64_t{1} << 31), "a size is out of range");
  }
  r.check(p->c % p->groups == 0 && p->m % p->groups == 0 && p->c % p->offset_groups == 0,
          "channels do not divide into groups");
  const int64_t taps = checked_mul(p->kh, p->kw), pixels = checked_mul(p->oh, p->ow);
  r.needs(0, DType::f32, {p->n, p->c, p->h, p->w});
  r.needs(1, DType::f32, {p->m, p->c / p->groups, taps});
  r.needs(2, DType::f32, {p->n, p->offset_groups, taps, 2, pixels});
  r.may(3, DType::f32, {p->m});
  r.may(4, DType::f32, {p->n, p->offset_groups, taps, pixels});
  r.needs(5, DType::f32, {p->n, p->m, pixels});
  Plan plan;
  plan.run = run;
  plan.tasks = checked_mul(p->n, pixels);
  plan.work = static_cast<double>(plan.tasks) * static_cast<double>(p->c * taps) *
              (10 + static_cast<double>(p->m / p->groups));
  plan.scratch_bytes = static_cast<size_t>(dtype_bytes(DType::f32, checked_mul(p->c, taps)));
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel deform_conv_kernel;
const Kernel deform_conv_kernel = {"deform_conv", prepare};

}  // namespace poprt::kernels
