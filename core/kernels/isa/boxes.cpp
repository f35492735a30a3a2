#include "kernels/isa/boxes.h"

#include "kernels/isa/isa.h"
#include "kernels/isa/vec.h"

namespace poprt::kernels::isa {
namespace {

// The first lane that is not zero, or 16.
POPRT_INLINE int64_t first_lane(i32x16 v) {
#if defined(__AVX512F__)
  const __mmask16 mask =
      _mm512_test_epi32_mask(reinterpret_cast<__m512i>(v), reinterpret_cast<__m512i>(v));
  return __builtin_ctz(static_cast<unsigned>(mask) | 0x10000u);
#else
  int32_t any = 0;
  for (int i = 0; i < 16; i++) any |= v[i];
  if (!any) return 16;
  int64_t i = 0;
  while (!v[i]) i++;
  return i;
#endif
}

int64_t overlapping(const float* boxes, int64_t stride, int64_t from, int64_t n, const float* box,
                    float least) noexcept {
  if (!(box[4] > 0)) return n;
  constexpr float kRounding = 1.0001f;  // more than the relative error of both sides
  const f32x16 y1 = splat(box[0]), x1 = splat(box[1]), y2 = splat(box[2]), x2 = splat(box[3]);
  for (int64_t k = from; k < n; k += 16) {
    const float* b = boxes + k;
    const f32x16 height = vmin(y2, load(b + 2 * stride)) - vmax(y1, load(b)),
                 width = vmin(x2, load(b + 3 * stride)) - vmax(x1, load(b + stride));
    const f32x16 area = load(b + 4 * stride), both = height * width;
    const f32x16 needed = (box[4] + area - both) * least;
    const int64_t lane =
        first_lane((height > 0) & (width > 0) & (area > 0) & (both * kRounding > needed));
    if (lane < 16) return k + lane < n ? k + lane : n;
  }
  return n;
}

}  // namespace

extern const BoxesTable POPRT_ISA_NAME(boxes);
const BoxesTable POPRT_ISA_NAME(boxes) = {overlapping};

}  // namespace poprt::kernels::isa
