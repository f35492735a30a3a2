// Code that the tasks of blocked convolutions share: their ranges, and the walk over their inputs.
#pragma once

#include "kernels/isa/conv.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

POPRT_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
POPRT_INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Visits the inputs of one tap of `count` output pixels from `pixel` on: copy.pixels(first, step,
// n) for n pixels of the plane, and copy.zeros(n) for n pixels of the padding.
template <class Copy>
POPRT_INLINE void gather_tap(const ConvShape& s, int64_t tap, int64_t pixel, int64_t count,
                             Copy copy) {
  const int64_t kx = tap % s.kw, ky = tap / s.kw % s.kh, kz = tap / s.kw / s.kh;
  int64_t oz = pixel / s.ow / s.oh, oy = pixel / s.ow % s.oh, ox = pixel % s.ow;
  const int64_t shift = kx * s.dilation_w - s.pad_w;  // ix = ox * stride + shift
  // The output columns whose input column is inside the image.
  const int64_t first = shift >= 0 ? 0 : (-shift + s.stride_w - 1) / s.stride_w;
  const int64_t end = s.w - 1 - shift < 0 ? 0 : least(s.ow, (s.w - 1 - shift) / s.stride_w + 1);
  while (count > 0) {
    const int64_t run = least(count, s.ow - ox), stop = ox + run;
    const int64_t iz = oz * s.stride_d - s.pad_d + kz * s.dilation_d;
    const int64_t iy = oy * s.stride_h - s.pad_h + ky * s.dilation_h;
    int64_t a = stop, b = stop;
    if (iz >= 0 && iz < s.d && iy >= 0 && iy < s.h && first < end) {
      a = least(most(ox, first), stop);
      b = most(a, least(stop, end));
    }
    copy.zeros(a - ox);
    copy.pixels((iz * s.h + iy) * s.w + a * s.stride_w + shift, s.stride_w, b - a);
    copy.zeros(stop - b);
    count -= run;
    ox = 0;
    if (++oy < s.oh) continue;
    oy = 0;
    oz++;
  }
}

// The results of a task: pixels from `pixel` on of blocks [oc_begin, oc_end) of a group of an
// image.
struct BlockedTask {
  int64_t image, group, oc_begin, oc_end, pixel, pixels;
  BlockedTask(const ConvShape& s, const ConvBlocking& b, int64_t at) {
    pixel = at % b.pixel_tasks * b.pixels;
    at /= b.pixel_tasks;
    oc_begin = at % b.oc_tasks * b.oc_blocks;
    at /= b.oc_tasks;
    image = at % s.batch;
    group = at / s.batch;
    pixels = least(b.pixels, s.out_pixels() - pixel);
    oc_end = least(s.oc_blocks, oc_begin + b.oc_blocks);
  }
  // The number of the task's first block of output channels among the blocks of all groups, and
  // among the blocks of all images.
  int64_t block(const ConvShape& s) const { return group * s.oc_blocks + oc_begin; }
  int64_t block_of_all(const ConvShape& s) const { return image * s.image_y_blocks() + block(s); }
};

}  // namespace
}  // namespace poprt::kernels::isa
