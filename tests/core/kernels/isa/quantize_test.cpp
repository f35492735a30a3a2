// Compares rows of quantized numbers of every instruction set of this CPU with plain loops, for all
// lengths of the tail: all bits are equal, and nothing is written after the row.
#include "kernels/isa/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/kernels/isa/conv_case.h"
#include "core/kernels/isa/random_bytes.h"

namespace poprt::kernels {
namespace {

using isa::Whole;

constexpr int64_t kMost = 150;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<const isa::QuantizeTable*> builds() { return test::POPRT_BUILDS(quantize); }

// Scales are powers of two, so that quotients and products are exact.
struct Rows {
  std::vector<float> x, scale, zero;
  std::vector<int32_t> sums;

  explicit Rows(uint32_t seed) {
    std::mt19937 rng(seed);
    for (int64_t i = 0; i < kMost; i++) {
      x.push_back(static_cast<float>(static_cast<int>(rng() % 4001) - 2000) / 4);
      scale.push_back(std::ldexp(1.0f, static_cast<int>(rng() % 5) - 2));
      zero.push_back(static_cast<float>(static_cast<int>(rng() % 9) - 4));
      sums.push_back(static_cast<int32_t>(rng() % 2001) - 1000);
    }
    x[3] = x[kMost - 1] = kNan;
    x[4] = 1e30f;
    x[5] = -1e30f;
  }
};

double saturated(double v, double low, double high) {
  return std::isnan(v) ? 0 : std::clamp(v, low, high);
}

template <class T>
void expect_quantizes(const isa::QuantizeTable& t, Whole to) {
  const Rows r(1);
  const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (const bool many : {false, true})
    for (int64_t n = 0; n < 70; n++) {
      std::vector<T> y(static_cast<size_t>(n) + 1, T{77});
      t.quantize(to, y.data(), r.x.data(), r.scale.data(), r.zero.data(), many, n);
      for (size_t i = 0; i < y.size() - 1; i++) {
        const size_t k = many ? i : 0;
        const double quotient =
            std::nearbyint(static_cast<double>(r.x[i]) / static_cast<double>(r.scale[k]));
        const double want = saturated(quotient + static_cast<double>(r.zero[k]), low, high);
        ASSERT_EQ(static_cast<double>(y[i]), want) << n << " " << i << " " << many;
      }
      ASSERT_EQ(y.back(), T{77}) << n;
    }
}

template <class T>
void expect_dequantizes(const isa::QuantizeTable& t, Whole from) {
  const Rows r(2);
  std::mt19937 rng(3);
  std::vector<T> x;
  for (int64_t i = 0; i < kMost; i++) x.push_back(static_cast<T>(rng() % 65536));
  for (const bool many : {false, true})
    for (int64_t n = 0; n < 70; n++) {
      std::vector<float> y(static_cast<size_t>(n) + 1, 77);
      t.dequantize(from, y.data(), x.data(), r.scale.data(), r.zero.data(), many, n);
      for (size_t i = 0; i < y.size() - 1; i++) {
        const size_t k = many ? i : 0;
        ASSERT_EQ(y[i], (static_cast<float>(x[i]) - r.zero[k]) * r.scale[k]) << n << " " << i;
      }
      ASSERT_EQ(y.back(), 77) << n;
    }
}

template <class T>
void expect_requantizes(const isa::QuantizeTable& t, Whole to) {
  const Rows r(4);
  const double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (const bool many : {false, true})
    for (int64_t n = 0; n < 70; n++) {
      std::vector<T> y(static_cast<size_t>(n) + 1, T{77});
      t.requantize(to, y.data(), r.sums.data(), r.scale.data(), 3, many, n);
      for (size_t i = 0; i < y.size() - 1; i++) {
        const double scale = static_cast<double>(r.scale[many ? i : 0]);
        const double want = saturated(std::nearbyint(r.sums[i] * scale) + 3, low, high);
        ASSERT_EQ(static_cast<double>(y[i]), want) << n << " " << i;
      }
      ASSERT_EQ(y.back(), T{77}) << n;
    }
}

TEST(QuantizeRows, OfEveryTypeAndLength) {
  for (const isa::QuantizeTable* t : builds()) {
    expect_quantizes<int8_t>(*t, Whole::s8);
    expect_quantizes<uint8_t>(*t, Whole::u8);
    expect_quantizes<int16_t>(*t, Whole::s16);
    expect_quantizes<uint16_t>(*t, Whole::u16);
    expect_dequantizes<int8_t>(*t, Whole::s8);
    expect_dequantizes<uint8_t>(*t, Whole::u8);
    expect_dequantizes<int16_t>(*t, Whole::s16);
    expect_dequantizes<uint16_t>(*t, Whole::u16);
    expect_dequantizes<int32_t>(*t, Whole::s32);
    expect_requantizes<int8_t>(*t, Whole::s8);
    expect_requantizes<uint8_t>(*t, Whole::u8);
  }
}

// The minimum and the maximum may be at any place, also among the given bounds; NaN is ignored.
TEST(QuantizeRows, RangesHoldEveryElement) {
  for (const isa::QuantizeTable* t : builds())
    for (int64_t n = 0; n < kMost; n++)
      for (int64_t at = 0; at < std::max<int64_t>(n, 1); at++) {
        std::vector<float> x(static_cast<size_t>(n), 2);
        float low = 1, high = 3;
        if (n) x[static_cast<size_t>(at)] = -5, x[static_cast<size_t>(n - 1 - at)] = 8;
        if (n > 2 && at != n / 2 && n - 1 - at != n / 2) x[static_cast<size_t>(n / 2)] = kNan;
        t->range(x.data(), n, &low, &high);
        const bool both = n && at != n - 1 - at;
        ASSERT_EQ(low, both ? -5 : 1) << n << " " << at;
        ASSERT_EQ(high, n ? 8 : 3) << n << " " << at;
      }
}

TEST(QuantizeRows, SumsAndMapsOfBytes) {
  const auto x = random_bytes(40 * 21, 5), table = random_bytes(256, 6);
  for (const isa::QuantizeTable* t : builds()) {
    for (const bool is_signed : {false, true})
      for (const int64_t inner : {1, 2, 15, 16, 17, 21})
        for (const int64_t n : {0, 1, 2, 17, 40}) {
          std::vector<int32_t> sums(static_cast<size_t>(inner) + 1, 77);
          t->sum(is_signed, x.data(), n, inner, sums.data());
          for (int64_t i = 0; i < inner; i++) {
            int32_t want = 0;
            for (int64_t k = 0; k < n; k++) {
              const uint8_t byte = x[static_cast<size_t>(k * inner + i)];
              want += is_signed ? static_cast<int8_t>(byte) : byte;
            }
            ASSERT_EQ(sums[static_cast<size_t>(i)], want) << n << " rows of " << inner;
          }
          ASSERT_EQ(sums.back(), 77);
        }
    for (int64_t n = 0; n < 200; n++) {
      std::vector<uint8_t> y(static_cast<size_t>(n) + 1, 77);
      t->map(can_use_vbmi(), table.data(), x.data(), y.data(), n);
      for (size_t i = 0; i < y.size() - 1; i++) ASSERT_EQ(y[i], table[x[i]]) << n << " " << i;
      ASSERT_EQ(y.back(), 77) << n;
    }
  }
}

}  // namespace
}  // namespace poprt::kernels
