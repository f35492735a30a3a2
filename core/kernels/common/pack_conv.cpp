#include "kernels/common/pack_conv.h"

#include <algorithm>

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

namespace {

// Writes channels [c0, c1) of a tap of a block of filters, in pairs.
bf16_t* pack_pairs(const ConvWeights& w, int64_t group, int64_t block, int64_t c0, int64_t c1,
                   int64_t tap, bf16_t* to) {
  for (int64_t c = c0; c < c1; c += 2)
    for (int64_t oc = block * 16; oc < block * 16 + 16; oc++)
      for (int64_t i = c; i < c + 2; i++)
        *to++ = to_bf16(oc < w.m && i < w.c ? w.at(group, oc, i, tap) : 0.0f);
  return to;
}

}  // namespace

void pack_conv_bf16(const ConvWeights& w, std::span<bf16_t> packed) {
  bf16_t* to = packed.data();
  for (int64_t g = 0; g < w.groups; g++)
    for (int64_t block = 0; block < w.blocks(); block++)
      for (int64_t c0 = 0; c0 < w.c; c0 += 16)
        for (int64_t tap = 0; tap < w.taps(); tap++)
          to = pack_pairs(w, g, block, c0, std::min(w.c, c0 + 16), tap, to);
}

void pack_conv_stem_bf16(const ConvWeights& w, std::span<bf16_t> packed) {
  bf16_t* to = packed.data();
  for (int64_t block = 0; block < w.blocks(); block++)
    for (int64_t tap = 0; tap < w.taps(); tap++) to = pack_pairs(w, 0, block, 0, w.c, tap, to);
}

void pack_conv_transpose(const ConvWeights& w, std::span<float> packed) {
  float* to = packed.data();
  for (int64_t tap = 0; tap < w.taps(); tap++)
    for (int64_t block = 0; block < w.blocks(); block++)
      for (int64_t c = 0; c < w.c; c++)
        for (int64_t oc = block * 16; oc < block * 16 + 16; oc++)
          *to++ = oc < w.m ? w.values[static_cast<size_t>((c * w.m + oc) * w.taps() + tap)] : 0.0f;
}

namespace {

// Writes [group][block][(channel block, tap, channel)][16], where at(group, filter, channel, tap)
// is the weight.
template <class At>
float* pack_taps(int64_t groups, int64_t m, int64_t c, int64_t taps, float* to, const At& at) {
  for (int64_t g = 0; g < groups; g++)
    for (int64_t begin = 0; begin < m; begin += 16)
      for (int64_t c0 = 0; c0 < c; c0 += 16)
        for (int64_t tap = 0; tap < taps; tap++)
          for (int64_t channel = c0; channel < std::min(c, c0 + 16); channel++)
            for (int64_t oc = begin; oc < begin + 16; oc++)
              *to++ = oc < m ? at(g, oc, channel, tap) : 0.0f;
  return to;
}

// Element (group, channel, filter, ky, kx) of the weights of ConvTranspose.
float transposed_at(const ConvWeights& w, int64_t group, int64_t channel, int64_t oc, int64_t ky,
                    int64_t kx) {
  const int64_t row = ((group * w.c + channel) * w.m + oc) * w.kh + ky;
  return w.values[static_cast<size_t>(row * w.kw + kx)];
}

}  // namespace

void pack_transposed_phases(const ConvWeights& w, const TransposedAxis& height,
                            const TransposedAxis& width, std::span<float> packed) {
  float* to = packed.data();
  for (const AxisPhase& y : axis_phases(height))
    for (const AxisPhase& x : axis_phases(width))
      to = pack_taps(w.groups, w.m, w.c, y.taps * x.taps, to,
                     [&](int64_t g, int64_t oc, int64_t channel, int64_t tap) {
                       return transposed_at(w, g, channel, oc, y.last - tap / x.taps * y.step,
                                            x.last - tap % x.taps * x.step);
                     });
}

int64_t transposed_floats(const ConvWeights& w, const TransposedAxis& height,
                          const TransposedAxis& width) {
  int64_t rows = 0, columns = 0;
  for (const AxisPhase& p : axis_phases(height)) rows += p.taps;
  for (const AxisPhase& p : axis_phases(width)) columns += p.taps;
  return w.groups * w.blocks() * 16 * w.c * rows * columns;
}

void pack_merged_phases(const ConvWeights& w, const TransposedAxis& height,
                        const TransposedAxis& width, std::span<float> packed) {
  const AxisPhase y = merged_phase(height), x = merged_phase(width);
  pack_taps(1, height.stride * width.stride * w.m, w.c, y.taps * x.taps, packed.data(),
            [&](int64_t, int64_t lane, int64_t channel, int64_t tap) {
              const int64_t phase = lane / w.m;
              const int64_t ky = phase / width.stride + (y.taps - 1 - tap / x.taps) * height.stride;
              const int64_t kx = phase % width.stride + (x.taps - 1 - tap % x.taps) * width.stride;
              return ky < w.kh && kx < w.kw ? transposed_at(w, 0, channel, lane % w.m, ky, kx)
                                            : 0.0f;
            });
}

}  // namespace poprt::kernels
