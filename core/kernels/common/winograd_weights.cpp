#include "kernels/common/winograd_weights.h"

#include <algorithm>
#include <array>

namespace poprt::kernels {
namespace {

constexpr int kLanes = 16;
using Lanes = std::array<double, kLanes>;

// The transformation G g of F(2x2,3x3) (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2015). The rows of G are (1, 0, 0), (.5, .5, .5), (.5, -.5, .5), (0, 0, 1).
inline void transform2(const Lanes* g, Lanes* to) {
  for (size_t l = 0; l < kLanes; l++) {
    const double even = .5 * g[0][l] + .5 * g[2][l], odd = .5 * g[1][l];
    to[0][l] = g[0][l];
    to[1][l] = even + odd;
    to[2][l] = even - odd;
    to[3][l] = g[2][l];
  }
}

// The transformation of F(4x4,3x3) at the points of kernels/isa/winograd.cpp. The rows of G are (1,
// 0, 0), (-2/3, -+r/3, -1/3), (1/6, +-r/6, 1/3), (0, 0, 1), where r is the square root of 2.
inline void transform4(const Lanes* g, Lanes* to) {
  constexpr double kRoot2 = 1.4142135623730950488;
  for (size_t l = 0; l < kLanes; l++) {
    const double even = -2. / 3 * g[0][l] - 1. / 3 * g[2][l], odd = kRoot2 / 3 * g[1][l];
    const double far_even = 1. / 6 * g[0][l] + 1. / 3 * g[2][l], far_odd = kRoot2 / 6 * g[1][l];
    to[0][l] = g[0][l];
    to[1][l] = even - odd;
    to[2][l] = even + odd;
    to[3][l] = far_even + far_odd;
    to[4][l] = far_even - far_odd;
    to[5][l] = g[2][l];
  }
}

// Transforms the columns of the window, then the rows of the result.
template <int kTile>
inline void pack(int64_t channels, int64_t lanes, const float* plain, float* packed) {
  constexpr int kPositions = kTile + 2;
  const auto transform = [](const Lanes* g, Lanes* to) {
    kTile == 2 ? transform2(g, to) : transform4(g, to);
  };
  Lanes window[3][3] = {}, half[3][kPositions], turned[kPositions][3], row[kPositions];
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t l = 0; l < lanes; l++) {
      const float* taps = plain + (l * channels + c) * 9;
      for (int t = 0; t < 9; t++)  // transposed, because `transform` works along rows
        window[t % 3][t / 3][static_cast<size_t>(l)] = static_cast<double>(taps[t]);
    }
    for (int x = 0; x < 3; x++) transform(window[x], half[x]);
    for (int i = 0; i < kPositions; i++)
      for (int x = 0; x < 3; x++) turned[i][x] = half[x][i];
    for (int i = 0; i < kPositions; i++) {
      transform(turned[i], row);
      for (int j = 0; j < kPositions; j++) {
        float* const to = packed + ((i * kPositions + j) * channels + c) * kLanes;
        for (size_t l = 0; l < kLanes; l++) to[l] = static_cast<float>(row[j][l]);
      }
    }
  }
}

}  // namespace

// The AVX2 version computes the same bits because it does not fuse multiplications and additions.
// It is not compiled with ThreadSanitizer: the dynamic linker chooses a version before
// ThreadSanitizer is initialised, which intercepts that call, so the program would crash before
// main.
#if defined(__x86_64__) && defined(__clang__)
#if !__has_feature(thread_sanitizer)
__attribute__((target_clones("avx2", "default"), flatten))
#endif
#endif
void pack_winograd_block(const WinogradWeights& w, std::span<const float> plain,
                         std::span<float> packed) {
  const auto lanes = static_cast<int64_t>(plain.size()) / (9 * w.c);
  if (w.tile == 2)
    pack<2>(w.c, lanes, plain.data(), packed.data());
  else
    pack<4>(w.c, lanes, plain.data(), packed.data());
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
