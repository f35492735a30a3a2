#include "kernels/common/winograd_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace poprt::kernels {
namespace {

// G of F(2x2,3x3) and F(4x4,3x3) as tables.
std::vector<std::vector<double>> table(int64_t tile) {
  const double r = std::sqrt(2.0);
  if (tile == 2) return {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  return {{1, 0, 0},
          {-2. / 3, -r / 3, -1. / 3},
          {-2. / 3, r / 3, -1. / 3},
          {1. / 6, r / 6, 1. / 3},
          {1. / 6, -r / 6, 1. / 3},
          {0, 0, 1}};
}

// Expects that every element is (G g G^T)[i][j] of its window, summed in double, and zero if the
// block has no output channel there.
void expect_packed(int64_t m, int64_t c, int64_t tile) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const WinogradWeights w{m, c, tile};
  std::vector<float> plain(static_cast<size_t>(w.plain_floats()));
  for (float& x : plain) x = normal(random);
  const auto g = table(tile);
  const int64_t a = tile + 2;
  for (int64_t block = 0; block < w.blocks(); block++) {
    const int64_t lanes = std::min<int64_t>(16, m - block * 16);
    std::vector<float> packed(static_cast<size_t>(w.block_floats()), NAN);
    pack_winograd_block(w,
                        std::span(plain).subspan(static_cast<size_t>(block * 16 * c * 9),
                                                 static_cast<size_t>(lanes * c * 9)),
                        packed);
    for (int64_t i = 0; i < a; i++)
      for (int64_t j = 0; j < a; j++)
        for (int64_t k = 0; k < c; k++)
          for (int64_t l = 0; l < 16; l++) {
            double sum = 0;
            for (int64_t y = 0; l < lanes && y < 3; y++)
              for (int64_t x = 0; x < 3; x++)
                sum += g[static_cast<size_t>(i)][static_cast<size_t>(y)] *
                       g[static_cast<size_t>(j)][static_cast<size_t>(x)] *
                       static_cast<double>(
                           plain[static_cast<size_t>(((block * 16 + l) * c + k) * 9 + y * 3 + x)]);
            const float found = packed[static_cast<size_t>(((i * a + j) * c + k) * 16 + l)];
            ASSERT_NEAR(static_cast<double>(found), sum, 1e-6 * (1 + std::abs(sum)))
                << m << " " << c << " " << tile << " at " << i << " " << j << " " << k << " " << l;
          }
  }
}

TEST(WinogradWeights, MatchTheFormula) {
  for (const int64_t tile : {2, 4})
    for (const auto& [m, c] : {std::pair<int64_t, int64_t>{16, 16}, {5, 3}, {33, 7}, {1, 1}})
      expect_packed(m, c, tile);
}

}  // namespace
}  // namespace poprt::kernels
