// roi_align (calls/roi_align.h). A task is one region.
#include <algorithm>
#include <cmath>

#include "kernels/calls/roi_align.h"
#include "kernels/common/elements.h"
#include "kernels/common/operands.h"

namespace poprt::kernels::roi_align_kernel {
namespace {

struct Params : calls::RoiAlign {
  bool wide = false;  // batch indices are s64
};

template <class T>
struct Tap {
  int64_t at[4];
  T weight[4];
};

// Returns false if the point is more than a pixel outside the image.
template <class T>
bool sample(const Params& p, T y, T x, Tap<T>& t) {
  if (!(y >= -1 && y <= static_cast<T>(p.h) && x >= -1 && x <= static_cast<T>(p.w))) return false;
  y = std::max(y, T{0});
  x = std::max(x, T{0});
  auto y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
  const int64_t y1 = std::min(y0 + 1, p.h - 1), x1 = std::min(x0 + 1, p.w - 1);
  if (y0 >= p.h - 1) y = static_cast<T>(y0 = p.h - 1);
  if (x0 >= p.w - 1) x = static_cast<T>(x0 = p.w - 1);
  const T ly = y - static_cast<T>(y0), lx = x - static_cast<T>(x0);
  t = {{y0 * p.w + x0, y0 * p.w + x1, y1 * p.w + x0, y1 * p.w + x1},
       {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
  return true;
}

// The positions of the samples of a region: gh by gw samples for each bin.
template <class T>
struct Region {
  T y1, x1, bin_h, bin_w;
  int64_t gh, gw;

  Region(const Params& p, const T* roi) {
    const T scale = static_cast<T>(p.scale), shift = p.half_pixel ? T{0.5} : T{0};
    x1 = roi[0] * scale - shift;
    y1 = roi[1] * scale - shift;
    T width = roi[2] * scale - shift - x1, height = roi[3] * scale - shift - y1;
    if (!p.half_pixel) {
      width = std::max(width, T{1});
      height = std::max(height, T{1});
    }
    bin_h = height / static_cast<T>(p.oh);
    bin_w = width / static_cast<T>(p.ow);
    // Limits the samples, because a hostile region could request an endless number.
    const auto samples = [&](T bin) {
      if (p.ratio > 0) return p.ratio;
      if (!(bin > 0)) return int64_t{0};
      return bin < 4096 ? static_cast<int64_t>(std::ceil(bin)) : int64_t{4096};
    };
    gh = samples(bin_h);
    gw = samples(bin_w);
  }
  T count() const { return static_cast<T>(std::max<int64_t>(gh * gw, 1)); }
  bool tap(const Params& p, int64_t bin, int64_t s, Tap<T>& t) const {
    const T y = y1 + static_cast<T>(bin / p.ow) * bin_h +
                (static_cast<T>(s / gw) + T{0.5}) * bin_h / static_cast<T>(gh);
    const T x = x1 + static_cast<T>(bin % p.ow) * bin_w +
                (static_cast<T>(s % gw) + T{0.5}) * bin_w / static_cast<T>(gw);
    return sample(p, y, x, t);
  }
};

// Reads the planes of all channels at one sample after the other.
template <class T>
void by_samples(const Params& p, const Region<T>& region, const T* x, T* y) {
  const T count = region.count();
  for (int64_t bin = 0; bin < p.oh * p.ow; bin++)
    for (int64_t s = 0; s < region.gh * region.gw; s++) {
      Tap<T> t;
      const bool inside = region.tap(p, bin, s, t);
      for (int64_t c = 0; c < p.c; c++) {
        const T* plane = x + c * p.h * p.w;
        T& to = y[c * p.oh * p.ow + bin];
        T v[4];
        for (int k = 0; k < 4; k++) v[k] = inside ? t.weight[k] * plane[t.at[k]] : T{0};
        if (!p.max) {
          to += (v[0] + v[1] + v[2] + v[3]) / count;
        } else {
          const T high = std::max(std::max(v[0], v[1]), std::max(v[2], v[3]));
          to = s == 0 ? high : std::max(to, high);
        }
      }
    }
}

constexpr int64_t kMostTaps = 2048, kMostPixels = 1024, kChannels = 32;

// The scratch of a task, sufficient for averages of few samples in a small part of the image.
template <class T>
struct Scratch {
  Tap<T> taps[kMostTaps];
  int64_t end[kMostTaps];  // the end of the taps of each bin
  T pixels[kMostPixels * kChannels];
};

// Copies the pixels that a region reads with channels last, some channels at a time, because all
// taps are the same for them. Returns false for maxima, and if there are too many taps or pixels.
template <class T>
bool by_channels(const Params& p, const Region<T>& region, const T* x, T* y, Scratch<T>& s) {
  const int64_t bins = p.oh * p.ow, samples = region.gh * region.gw;
  if (p.max || bins > kMostTaps || samples > kMostTaps || bins * samples > kMostTaps) return false;
  int64_t taps = 0, first = p.h * p.w, last = 0, left = p.w, right = 0;
  for (int64_t bin = 0; bin < bins; bin++) {
    for (int64_t i = 0; i < samples; i++) {
      Tap<T>& t = s.taps[taps];
      if (!region.tap(p, bin, i, t)) continue;
      taps++;
      first = std::min(first, t.at[0] / p.w);
      last = std::max(last, t.at[3] / p.w);
      left = std::min(left, t.at[0] % p.w);
      right = std::max(right, t.at[3] % p.w);
    }
    s.end[bin] = taps;
  }
  if (taps == 0) return true;
  const int64_t width = right - left + 1, height = last - first + 1;
  if (width * height > kMostPixels) return false;
  for (int64_t i = 0; i < taps; i++)
    for (int64_t& at : s.taps[i].at)
      at = ((at / p.w - first) * width + at % p.w - left) * kChannels;
  const T count = region.count();
  for (int64_t c0 = 0; c0 < p.c; c0 += kChannels) {
    const int64_t channels = std::min(kChannels, p.c - c0);
    for (int64_t c = 0; c < channels; c++) {
      const T* from = x + ((c0 + c) * p.h + first) * p.w + left;
      for (int64_t i = 0; i < height; i++)
        for (int64_t j = 0; j < width; j++)
          s.pixels[(i * width + j) * kChannels + c] = from[i * p.w + j];
    }
    for (int64_t bin = 0, i = 0; bin < bins; bin++) {
      T sum[kChannels] = {};
      for (; i < s.end[bin]; i++) {
        const Tap<T>& t = s.taps[i];
        const T *a = s.pixels + t.at[0], *b = s.pixels + t.at[1], *d = s.pixels + t.at[2],
                *e = s.pixels + t.at[3];
        for (int64_t c = 0; c < kChannels; c++)
          sum[c] +=
              t.weight[0] * a[c] + t.weight[1] * b[c] + t.weight[2] * d[c] + t.weight[3] * e[c];
      }
      for (int64_t c = 0; c < channels; c++) y[(c0 + c) * bins + bin] = sum[c] / count;
    }
  }
  return true;
}

template <class T>
void run(const void* params, void* const* data, int64_t begin, int64_t end,
         std::byte* scratch) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  auto& s = *reinterpret_cast<Scratch<T>*>(scratch);
  for (int64_t r = begin; r < end; r++) {
    T* y = static_cast<T*>(data[3]) + r * p.c * p.oh * p.ow;
    std::fill(y, y + p.c * p.oh * p.ow, T{0});
    const int64_t image = load_index(data[2], p.wide, r);
    if (image < 0 || image >= p.n) continue;
    const T* x = static_cast<const T*>(data[0]) + image * p.c * p.h * p.w;
    const Region<T> region(p, static_cast<const T*>(data[1]) + r * 4);
    if (!by_channels(p, region, x, y, s)) by_samples(p, region, x, y);
  }
}

Plan prepare(const Call& call) {
  const Operands r("roi_align", call, 4);
  auto p = std::make_shared<Params>(Params{calls::decode<calls::RoiAlign>(call)});
  const int64_t rois = p->rois;
  p->wide = r.dtype(2) == DType::s64;
  const DType t = r.has(0) && r.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  r.needs(0, t, {p->n, p->c, p->h, p->w});
  r.needs(1, t, {rois, 4});
  r.needs(2, p->wide ? DType::s64 : DType::s32, {rois});
  r.needs(3, t, {rois, p->c, p->oh, p->ow});
  Plan plan;
  plan.run = t == DType::f64 ? run<double> : run<float>;
  plan.tasks = p->c ? rois : 0;
  plan.work = static_cast<double>(rois) * static_cast<double>(p->c) * static_cast<double>(p->oh) *
              static_cast<double>(p->ow) * 40;
  plan.scratch_bytes = t == DType::f64 ? sizeof(Scratch<double>) : sizeof(Scratch<float>);
  plan.params = std::move(p);
  return plan;
}

}  // namespace

extern const Kernel def;
const Kernel def = {"roi_align", prepare};

}  // namespace poprt::kernels::roi_align_kernel
