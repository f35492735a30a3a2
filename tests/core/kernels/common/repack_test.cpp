// Weights that are converted from their packed form are equal to weights that are packed after
// rounding.
#include "kernels/common/repack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/common/pack_conv.h"
#include "kernels/common/pack_matmul.h"
#include "kernels/common/pack_narrow.h"

namespace poprt::kernels {
namespace {

using isa::NarrowFormat;

std::vector<float> random_weights(int64_t count) {
  std::mt19937 generator(static_cast<unsigned>(count));
  std::normal_distribution<float> values;
  std::vector<float> w(static_cast<size_t>(count));
  for (float& v : w) v = values(generator);
  return w;
}

template <class T>
bool are_equal(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(Repack, MatmulIsPackedRoundedWeights) {
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{1, 1},
                             {3, 5},
                             {4, 16},
                             {7, 17},
                             {13, 47},
                             {8, 48},
                             {33, 49},
                             {6, 97},
                             {5, 145}}) {
    const std::vector<float> w = random_weights(k * n);
    std::vector<float> packed(static_cast<size_t>(matmul_panels(n) * k * kMatmulPanel));
    pack_matmul(w, n, 1, k, n, 1, packed);
    for (const NarrowFormat format : {NarrowFormat::f16, NarrowFormat::bf16}) {
      std::vector<uint16_t> halves;
      for (const float v : w)
        halves.push_back(format == NarrowFormat::bf16 ? to_bf16(v).bits : to_f16(v).bits);
      const auto bytes = static_cast<size_t>(packed_narrow_bytes(format, k, n));
      std::vector<uint16_t> expected(bytes / 2, 1), found(bytes / 2, 2);
      pack_narrow_halves(halves, format, {k, n, n, 1}, expected);
      repack_matmul(packed, k, n, format, std::as_writable_bytes(std::span(found)));
      EXPECT_TRUE(are_equal(expected, found)) << k << "x" << n;
    }
  }
}

TEST(Repack, HalvesBecomePairsOfBf16) {
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 16}, {9, 33}}) {
    std::vector<uint16_t> halves, rounded;
    for (const float v : random_weights(k * n)) {
      halves.push_back(to_f16(v).bits);
      rounded.push_back(to_bf16(to_float(to_f16(v))).bits);
    }
    const auto count = static_cast<size_t>(packed_narrow_bytes(NarrowFormat::f16, k, n) / 2);
    std::vector<uint16_t> panels(count), expected(count, 1), found(count, 2);
    pack_narrow_halves(halves, NarrowFormat::f16, {k, n, n, 1}, panels);
    pack_narrow_halves(rounded, NarrowFormat::bf16, {k, n, n, 1}, expected);
    repack_halves({reinterpret_cast<const f16_t*>(panels.data()), count}, k, n,
                  {reinterpret_cast<bf16_t*>(found.data()), count});
    EXPECT_TRUE(are_equal(expected, found)) << k << "x" << n;
  }
}

TEST(Repack, ConvolutionsArePackedRoundedWeights) {
  struct Sizes {
    int64_t groups, m, c, kh, kw;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1},
                         {1, 16, 16, 3, 3},
                         {1, 17, 35, 3, 2},
                         {2, 32, 16, 1, 1},
                         {1, 40, 31, 5, 1}}) {
    const std::vector<float> w = random_weights(s.groups * s.m * s.c * s.kh * s.kw);
    const ConvWeights weights{w, s.groups, s.m, s.c, s.kh, s.kw};
    const int64_t blocks = s.groups * weights.blocks(), taps = weights.taps();
    std::vector<float> packed(static_cast<size_t>(blocks * s.c * taps * 16));
    pack_conv(weights, packed);
    const auto count = static_cast<size_t>(blocks * ((s.c + 1) / 2 * 2) * taps * 16);
    std::vector<bf16_t> expected(count, bf16_t{1}), found(count, bf16_t{2});
    pack_conv_bf16(weights, expected);
    repack_conv(packed, blocks, s.c, taps, found);
    EXPECT_TRUE(are_equal(expected, found)) << s.m << " filters of " << s.c << " channels";
  }
}

TEST(Repack, StemsArePackedRoundedWeights) {
  for (const auto& [m, c, taps] :
       {std::tuple<int64_t, int64_t, int64_t>{16, 3, 49}, {64, 1, 9}, {33, 4, 1}, {5, 15, 9}}) {
    const std::vector<float> w = random_weights(m * c * taps);
    const ConvWeights as_taps{w, 1, m, c * taps, 1, 1}, weights{w, 1, m, c, 1, taps};
    std::vector<float> packed(static_cast<size_t>(weights.blocks() * c * taps * 16));
    pack_conv(as_taps, packed);
    const auto count = static_cast<size_t>(weights.blocks() * ((c + 1) / 2 * 2) * taps * 16);
    std::vector<bf16_t> expected(count, bf16_t{1}), found(count, bf16_t{2});
    pack_conv_stem_bf16(weights, expected);
    repack_conv_stem(packed, weights.blocks(), c, taps, found);
    EXPECT_TRUE(are_equal(expected, found)) << m << " filters of " << c << " channels";
  }
}

}  // namespace
}  // namespace poprt::kernels
