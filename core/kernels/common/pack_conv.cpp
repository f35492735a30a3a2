#include "kernels/common/pack_conv.h"

#include <algorithm>

#include "base/winograd_weights.h"

namespace poprt::kernels {

void pack_conv(const ConvWeights& w, std::span<float> packed) {
  float* to = packed.data();
  for (int64_t g = 0; g < w.groups; g++)
    for (int64_t block = 0; block < w.blocks(); block++)
      for (int64_t c0 = 0; c0 < w.c; c0 += 16)
        for (int64_t tap = 0; tap < w.taps(); tap++)
          for (int64_t c = c0; c < std::min(w.c, c0 + 16); c++)
            for (int64_t oc = block * 16; oc < block * 16 + 16; oc++)
              *to++ = oc < w.m ? w.at(g, oc, c, tap) : 0.0f;
}

void pack_conv_transpose(const ConvWeights& w, std::span<float> packed) {
  float* to = packed.data();
  for (int64_t tap = 0; tap < w.taps(); tap++)
    for (int64_t block = 0; block < w.blocks(); block++)
      for (int64_t c = 0; c < w.c; c++)
        for (int64_t oc = block * 16; oc < block * 16 + 16; oc++)
          *to++ = oc < w.m ? w.values[static_cast<size_t>((c * w.m + oc) * w.taps() + tap)] : 0.0f;
}

void pack_conv_winograd(const ConvWeights& w, int64_t tile, std::span<float> packed) {
  const WinogradWeights form{w.m, w.c, tile};
  const int64_t row = w.c * 9, each = form.block_floats();
  for (int64_t block = 0; block < w.blocks(); block++) {
    const int64_t lanes = std::min<int64_t>(16, w.m - block * 16);
    pack_winograd_block(
        form,
        w.values.subspan(static_cast<size_t>(block * 16 * row), static_cast<size_t>(lanes * row)),
        packed.subspan(static_cast<size_t>(block * each), static_cast<size_t>(each)));
  }
}

}  // namespace poprt::kernels
