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

void pack_conv_transpose(const ConvWeights& w, std::span<float> packed) {
  float* to = packed.data();
  for (int64_t tap = 0; tap < w.taps(); tap++)
    for (int64_t block = 0; block < w.blocks(); block++)
      for (int64_t c = 0; c < w.c; c++)
        for (int64_t oc = block * 16; oc < block * 16 + 16; oc++)
          *to++ = oc < w.m ? w.values[static_cast<size_t>((c * w.m + oc) * w.taps() + tap)] : 0.0f;
}

void pack_conv_winograd(const ConvWeights& w, int64_t tile, std::span<float> packed) {
  // G of F(2x2,3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015),
  // and of F(4x4,3x3) at the points of isa/winograd.cpp.
  static constexpr double kG2[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  constexpr double kRoot2 = 1.4142135623730950488;
  static constexpr double kG4[6][3] = {{1, 0, 0},
                                       {-2. / 3, -kRoot2 / 3, -1. / 3},
                                       {-2. / 3, kRoot2 / 3, -1. / 3},
                                       {1. / 6, kRoot2 / 6, 1. / 3},
                                       {1. / 6, -kRoot2 / 6, 1. / 3},
                                       {0, 0, 1}};
  const auto* g = tile == 2 ? kG2 : kG4;
  const int64_t a = tile + 2;
  constexpr int64_t kLanes = 16;
  // Sixteen output channels at a time: every row below is one vector, every store one cache line.
  for (int64_t block = 0; block < w.blocks(); block++) {
    const int64_t lanes = std::min(kLanes, w.m - block * kLanes);
    float* const to = packed.data() + block * a * a * w.c * kLanes;
    for (int64_t c = 0; c < w.c; c++) {
      double taps[9][kLanes] = {}, half[6][3][kLanes] = {};
      for (int64_t l = 0; l < lanes; l++)
        for (int64_t t = 0; t < 9; t++)
          taps[t][l] = static_cast<double>(w.at(0, block * kLanes + l, c, t));
      for (int64_t i = 0; i < a; i++)
        for (int64_t x = 0; x < 3; x++)
          for (int64_t y = 0; y < 3; y++)
            for (int64_t l = 0; l < kLanes; l++) half[i][x][l] += g[i][y] * taps[y * 3 + x][l];
      for (int64_t i = 0; i < a; i++)
        for (int64_t j = 0; j < a; j++) {
          double v[kLanes] = {};
          for (int64_t x = 0; x < 3; x++)
            for (int64_t l = 0; l < kLanes; l++) v[l] += half[i][x][l] * g[j][x];
          float* const row = to + ((i * a + j) * w.c + c) * kLanes;
          for (int64_t l = 0; l < kLanes; l++) row[l] = static_cast<float>(v[l]);
        }
    }
  }
}

}  // namespace poprt::kernels
