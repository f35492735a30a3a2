// Compares products with narrow weights of every instruction set that this CPU has, for all
// formats, 1 to 17 rows and odd sizes, with sums in double.
#include "kernels/isa/narrow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/quarter.h"
#include "kernels/common/half_products.h"
#include "kernels/common/instruction_set.h"
#include "kernels/common/pack_narrow.h"

namespace poprt::kernels {
namespace {

using isa::NarrowFormat;

struct NarrowBuild {
  const char* name;
  const isa::NarrowTable* table;
  bool vnni;
};

std::vector<NarrowBuild> narrow_builds() {
  std::vector<NarrowBuild> all = {{"baseline", &isa::narrow_baseline, false}};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back({"avx2", &isa::narrow_avx2, false});
  if (cpu_isa() >= Isa::avx512) all.push_back({"avx512", &isa::narrow_avx512, false});
  if (can_use_vnni()) all.push_back({"avx512 vnni", &isa::narrow_avx512, true});
#endif
  return all;
}

// A product with random operands: x [m, k] times (q - zero) * scale, and a bias and a residual.
struct NarrowProduct {
  isa::NarrowShape shape = {};
  std::vector<float> x, w, bias, residual, y;  // w is [k, n], widened
  std::vector<std::byte> panels;
  std::vector<float> scales;
  std::vector<f16_t> half_scales;
  std::vector<uint8_t> zeros, rows;
  bool has_zeros = false;

  NarrowProduct(NarrowFormat format, int64_t m, int64_t n, int64_t k, int64_t block,
                bool zero_points, bool half, uint32_t seed)
      : has_zeros(zero_points) {
    std::mt19937 rng(seed);
    const auto real = [&] {
      return static_cast<float>(static_cast<int>(rng() % 2001) - 1000) / 500;
    };
    const auto fill = [&](std::vector<float>& v, int64_t count) {
      v.resize(static_cast<size_t>(count));
      for (float& f : v) f = real();
    };
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.format = format;
    shape.block = block ? block : (k + 15) / 16 * 16;
    shape.blocks = (k + shape.block - 1) / shape.block;
    shape.zero = zero_points               ? 1
                 : isa::is_integer(format) ? 1 << (isa::narrow_bits(format) - 1)
                                           : 0;
    shape.half_scales = half;
    shape.part = 16;
    while (shape.part < 128 && shape.block % (2 * shape.part) == 0) shape.part *= 2;
    shape.parts = (k + shape.part - 1) / shape.part;
    fill(x, m * k);
    const int64_t columns = narrow_panels(n) * isa::kNarrowPanel;
    fill(bias, columns);
    fill(residual, m * n);
    y.assign(static_cast<size_t>(m * n), NAN);
    w.resize(static_cast<size_t>(k * n));
    panels.resize(static_cast<size_t>(packed_narrow_bytes(format, k, n)));
    if (isa::is_integer(format))
      integers(rng);
    else if (isa::narrow_bits(format) == 16)
      halves(rng, format);
    else
      quarters(rng, DType::f8_143);
  }

  // Every code except NaN, with one scale for each column. A code is read as an f16 with another
  // bias.
  void quarters(std::mt19937& rng, DType type) {
    const double by = 0x1p7;
    scales.resize(static_cast<size_t>(narrow_panels(shape.n) * isa::kNarrowPanel));
    for (float& s : scales) {
      s = static_cast<float>(1 + rng() % 8) / 8;
      half_scales.push_back(to_f16(s));
    }
    std::vector<uint8_t> codes;
    for (size_t i = 0; i < w.size(); i++) {
      uint8_t code = 0x80;
      while (code == 0x80) code = static_cast<uint8_t>(rng());
      codes.push_back(code);
      w[i] = static_cast<float>(static_cast<double>(quarter_to_float(type, code)) / by) *
             scales[i % static_cast<size_t>(shape.n)];
    }
    pack_narrow_bytes(codes, {shape.k, shape.n, shape.n, 1}, panels);
  }

  void integers(std::mt19937& rng) {
    const int64_t n = shape.n, k = shape.k, bits = isa::narrow_bits(shape.format),
                  mask = (1 << bits) - 1;
    const auto count = static_cast<size_t>(narrow_panels(n) * isa::kNarrowPanel * shape.blocks);
    scales.resize(count);
    for (float& s : scales) {
      s = static_cast<float>(1 + rng() % 100) / 256;
      half_scales.push_back(to_f16(s));
    }
    zeros.resize(count);
    for (uint8_t& z : zeros) z = static_cast<uint8_t>(static_cast<int64_t>(rng()) & mask);
    std::vector<std::byte> packed(static_cast<size_t>((k * n * bits + 7) / 8));
    for (int64_t j = 0; j < n; j++)  // column after column
      for (int64_t i = 0; i < k; i++) {
        const auto q = static_cast<int64_t>(rng()) & mask;
        const int64_t at = j * k + i;
        packed[static_cast<size_t>(at * bits / 8)] |= static_cast<std::byte>(q << (at * bits % 8));
        const auto place =
            static_cast<size_t>((j / 16 * shape.blocks + i / shape.block) * 16 + j % 16);
        const int64_t zero = has_zeros ? zeros[place] : shape.zero;
        w[static_cast<size_t>(i * n + j)] = static_cast<float>(q - zero) * scales[place];
      }
    pack_narrow_integers(packed, false, shape.format, {k, n, 1, k}, panels);
  }

  void halves(std::mt19937& rng, NarrowFormat format) {
    std::vector<uint16_t> numbers;
    for (float& v : w) {
      v = static_cast<float>(static_cast<int>(rng() % 255) - 127) / 64;
      numbers.push_back(format == NarrowFormat::f16 ? to_f16(v).bits : to_bf16(v).bits);
    }
    pack_narrow_halves(numbers, format, {shape.k, shape.n, shape.n, 1},
                       {reinterpret_cast<uint16_t*>(panels.data()), panels.size() / 2});
  }

  isa::NarrowOperands operands() {
    return {x.data(),
            reinterpret_cast<const uint8_t*>(panels.data()),
            scales.empty() ? nullptr
                           : (shape.half_scales ? static_cast<const void*>(half_scales.data())
                                                : scales.data()),
            has_zeros ? zeros.data() : nullptr,
            bias.data(),
            residual.data(),
            y.data(),
            rows.data()};
  }

  void run_widened(const NarrowBuild& b) {
    std::vector<float> buffer(isa::kNarrowBuffer, NAN);
    const int64_t panel_count = narrow_panels(shape.n);
    b.table->widened(shape, operands(), {0, shape.m, 0, panel_count / 2}, buffer.data());
    b.table->widened(shape, operands(), {0, shape.m, panel_count / 2, panel_count}, buffer.data());
  }
  void run_bytes(const NarrowBuild& b) {
    rows.assign(static_cast<size_t>(shape.m * isa::narrow_row_bytes(shape)), 0x55);
    b.table->to_bytes(shape, x.data(), rows.data(), 0, shape.m);
    b.table->bytes(b.vnni, shape, operands(), {0, shape.m, 0, narrow_panels(shape.n)});
  }

  void run_halves(const NarrowBuild& b, bool native) {
    const int64_t stride = isa::narrow_half_bytes(shape.k), panel_count = narrow_panels(shape.n);
    rows.assign(static_cast<size_t>(shape.m * stride), 0x55);
    b.table->to_halves(shape, x.data(), rows.data(), 0, shape.m);
    std::vector<float> buffer(isa::kNarrowBuffer, NAN);
    const int64_t middle = panel_count / 2 / 4 * 4;
    b.table->halves(native, shape, operands(), {0, shape.m, 0, middle}, buffer.data());
    b.table->halves(native, shape, operands(), {0, shape.m, middle, panel_count}, buffer.data());
  }

  void run_pairs(const NarrowBuild& b) {
    rows.assign(static_cast<size_t>(shape.m * isa::narrow_pair_bytes(shape.k)), 0x55);
    b.table->to_pairs(shape, x.data(), rows.data(), 0, shape.m);
    b.table->pairs(shape, operands(), {0, shape.m, 0, narrow_panels(shape.n)});
  }

  // Compares with sums in double. A product may have an error of `relative` times its magnitude,
  // and with `in_bytes` half a step of its row: the largest x of the part / 254 times the weight.
  void expect(const char* what, bool in_bytes, double relative = 0) const {
    const int64_t n = shape.n, k = shape.k;
    for (int64_t r = 0; r < shape.m; r++)
      for (int64_t j = 0; j < n; j++) {
        const double first = static_cast<double>(bias[static_cast<size_t>(j)]),
                     second = static_cast<double>(residual[static_cast<size_t>(r * n + j)]);
        double want = first + second, magnitude = std::abs(first) + std::abs(second), steps = 0;
        for (int64_t begin = 0; begin < k; begin += shape.part) {
          double most = 0, weights = 0;
          for (int64_t i = begin; i < std::min(k, begin + shape.part); i++) {
            const double xv = static_cast<double>(x[static_cast<size_t>(r * k + i)]),
                         wv = static_cast<double>(w[static_cast<size_t>(i * n + j)]);
            want += xv * wv;
            magnitude += std::abs(xv * wv);
            most = std::max(most, std::abs(xv));
            weights += std::abs(wv);
          }
          steps += most / 254 * weights;
        }
        const double bound = (static_cast<double>(k + 16) * 0x1p-24 + relative) * magnitude +
                             (in_bytes ? steps * 1.001 : 0);
        ASSERT_NEAR(static_cast<double>(y[static_cast<size_t>(r * n + j)]), want, bound)
            << what << " row " << r << " column " << j << " of " << shape.m << "x" << n << "x" << k
            << ", format " << static_cast<int>(shape.format) << ", block " << shape.block;
      }
  }
};

constexpr int64_t kSizes[][3] = {  // n, k, block
    {1, 1, 16},     {16, 32, 32}, {17, 33, 16}, {50, 257, 32},
    {33, 300, 128}, {20, 515, 0}, {100, 64, 64}};
constexpr NarrowFormat kFormats[] = {NarrowFormat::u2,  NarrowFormat::u4,   NarrowFormat::u8,
                                     NarrowFormat::f16, NarrowFormat::bf16, NarrowFormat::f8_143};

TEST(Narrow, ProductsInF32AreAsExactAsSumsOfF32) {
  for (const NarrowBuild& b : narrow_builds())
    for (const NarrowFormat format : kFormats)
      for (const auto& [n, k, block] : kSizes)
        for (int64_t m = 1; m <= 17; m++) {
          const bool odd = m % 2 != 0;
          NarrowProduct p(format, m, n, k, isa::is_integer(format) ? block : 0,
                          isa::is_integer(format) && odd, m % 3 == 0, static_cast<uint32_t>(m));
          p.run_widened(b);
          ASSERT_NO_FATAL_FAILURE(p.expect(b.name, false));
        }
}

TEST(Narrow, ProductsOfBytesRoundOnlyTheRows) {
  for (const NarrowBuild& b : narrow_builds()) {
    if (!b.table->bytes) continue;
    for (const NarrowFormat format : {NarrowFormat::u2, NarrowFormat::u4, NarrowFormat::u8})
      for (const auto& [n, k, block] : kSizes)
        for (int64_t m = 1; m <= 17; m++) {
          if (format == NarrowFormat::u8 && !b.vnni) continue;
          NarrowProduct p(format, m, n, k, block, m % 2 != 0, m % 3 == 0, static_cast<uint32_t>(m));
          p.run_bytes(b);
          ASSERT_NO_FATAL_FAILURE(p.expect(b.name, true));
        }
  }
}

TEST(Narrow, ProductsOfBf16RoundOnlyTheRows) {
  for (const NarrowBuild& b : narrow_builds()) {
    if (!b.table->pairs || !can_use_bf16()) continue;
    for (const auto& [n, k, block] : kSizes)
      for (int64_t m = 1; m <= 17; m++) {
        NarrowProduct p(NarrowFormat::bf16, m, n, k, 0, false, false, static_cast<uint32_t>(m));
        p.run_pairs(b);
        ASSERT_NO_FATAL_FAILURE(p.expect(b.name, false, 0x1p-8));
      }
    // More values of k than a part of the weights.
    NarrowProduct p(NarrowFormat::bf16, 9, 70, 2100, 0, false, false, 1);
    p.run_pairs(b);
    ASSERT_NO_FATAL_FAILURE(p.expect(b.name, false, 0x1p-8));
  }
}

// The builds with products of f16: the emulated ones, and on a CPU that has them the native ones.
template <class F>
void with_half_builds(F f) {
  bool any = false;
  for (const NarrowBuild& b : narrow_builds()) {
    if (!b.table->halves || any) continue;
    any = true;
    f(b, false);
    if (can_use_half_products()) f(b, true);
  }
  if (!any) GTEST_SKIP() << "the CPU has no AVX-512";
}

// x * w + sum of numbers of f16, rounded once to f16. A long double has all bits of the sum.
double fma_of_halves(double x, double w, double sum) {
  const long double exact =
      static_cast<long double>(x) * static_cast<long double>(w) + static_cast<long double>(sum);
  if (exact == 0) return 0;
  const long double step = std::ldexp(1.0L, std::max(std::ilogb(exact) - 10, -24));
  return static_cast<double>(std::nearbyint(exact / step) * step);
}

double as_half(double v) { return static_cast<double>(to_float(to_f16(static_cast<float>(v)))); }

// Sets operands of many magnitudes.
void fill_wide(NarrowProduct& p, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  for (float& v : p.x) v = normal(rng) * std::ldexp(1.0f, static_cast<int>(rng() % 40) - 30);
  std::vector<uint16_t> halves;
  for (float& v : p.w) {
    const f16_t half = to_f16(normal(rng) * std::ldexp(1.0f, static_cast<int>(rng() % 24) - 20));
    v = to_float(half);
    halves.push_back(half.bits);
  }
  pack_narrow_halves(halves, NarrowFormat::f16, {p.shape.k, p.shape.n, p.shape.n, 1},
                     {reinterpret_cast<uint16_t*>(p.panels.data()), p.panels.size() / 2});
}

// The result of row r and column j, with the roundings that isa/narrow_halves.h states.
float rounded_result(const NarrowProduct& p, int64_t r, int64_t j) {
  const auto [n, k] = std::pair(p.shape.n, p.shape.k);
  float top = 0;
  for (int64_t i = 0; i < k; i++)
    top = std::max(top, std::abs(p.x[static_cast<size_t>(r * k + i)]));
  const int exponent = std::ilogb(top) - 4;  // the largest magnitude becomes 16 to 32
  float sum = 0;
  for (int64_t begin = 0; begin < k; begin += 32) {
    double part = 0;
    for (int64_t i = begin; i < std::min(k, begin + 32); i++)
      part = fma_of_halves(
          as_half(std::ldexp(static_cast<double>(p.x[static_cast<size_t>(r * k + i)]), -exponent)),
          static_cast<double>(p.w[static_cast<size_t>(i * n + j)]), part);
    sum += static_cast<float>(part);
  }
  return std::fma(sum, std::ldexp(1.0f, exponent), p.bias[static_cast<size_t>(j)]) +
         p.residual[static_cast<size_t>(r * n + j)];
}

TEST(NarrowHalves, EveryMultiplyAddIsRoundedOnceToF16) {
  with_half_builds([](const NarrowBuild& b, bool native) {
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{5, 17, 31},
                                  {13, 70, 68},
                                  {1, 1, 1},
                                  {24, 33, 100},
                                  {7, 64, 530}}) {
      NarrowProduct p(NarrowFormat::f16, m, n, k, 0, false, false, 1);
      fill_wide(p, static_cast<uint32_t>(k));
      p.run_halves(b, native);
      for (int64_t r = 0; r < m; r++)
        for (int64_t j = 0; j < n; j++)
          ASSERT_EQ(p.y[static_cast<size_t>(r * n + j)], rounded_result(p, r, j))
              << "native " << native << ", row " << r << ", column " << j << " of " << m << "x" << n
              << "x" << k;
    }
  });
}

TEST(NarrowHalves, ErrorsAreWithinTheStatedBound) {
  with_half_builds([](const NarrowBuild& b, bool native) {
    double square = 0, difference = 0;
    for (const auto& [n, k, block] : kSizes)
      for (int64_t m = 1; m <= 17; m++) {
        NarrowProduct p(NarrowFormat::f16, m, n, k, 0, false, false, static_cast<uint32_t>(m));
        p.run_halves(b, native);
        ASSERT_NO_FATAL_FAILURE(p.expect(b.name, false, 33 * 0x1p-11));
        const std::vector<float> rounded = p.y;
        p.run_widened(b);
        for (size_t i = 0; i < rounded.size(); i++) {
          square += static_cast<double>(p.y[i]) * static_cast<double>(p.y[i]);
          difference += std::pow(static_cast<double>(rounded[i] - p.y[i]), 2);
        }
      }
    EXPECT_LT(std::sqrt(difference / square), 1.5e-3);
    EXPECT_GT(difference, 0);
    // More rows than the buffer has room for, and more values of k than a part of the weights.
    NarrowProduct p(NarrowFormat::f16, 150, 20, 520, 0, false, false, 1);
    p.run_halves(b, native);
    ASSERT_NO_FATAL_FAILURE(p.expect(b.name, false, 33 * 0x1p-11));
  });
}

// Parts beyond 65504, and numbers that are not finite, are computed in f32, and only those rows.
TEST(NarrowHalves, RowsThatOverflowF16AreComputedInF32) {
  with_half_builds([](const NarrowBuild& b, bool native) {
    NarrowProduct p(NarrowFormat::f16, 6, 70, 100, 0, false, false, 3);
    p.run_halves(b, native);
    const std::vector<float> small = p.y;
    std::vector<uint16_t> halves;
    for (size_t i = 0; i < p.w.size(); i++) {  // column 3 has weights near the largest number
      if (i % 70 == 3) p.w[i] = 60000;
      halves.push_back(to_f16(p.w[i]).bits);
    }
    pack_narrow_halves(halves, NarrowFormat::f16, {100, 70, 70, 1},
                       {reinterpret_cast<uint16_t*>(p.panels.data()), p.panels.size() / 2});
    for (size_t i = 0; i < 100; i++) p.x[200 + i] = 1e6f;  // row 2 sums 6e12
    p.x[300] = INFINITY;
    p.x[400] = NAN;
    for (size_t i = 0; i < 100; i++) p.x[500 + i] = 0;
    p.run_halves(b, native);
    const std::vector<float> y = p.y;
    p.run_widened(b);
    for (size_t i = 0; i < y.size(); i++) {
      const size_t row = i / 70, column = i % 70;
      SCOPED_TRACE(testing::Message() << "row " << row << ", column " << column);
      ASSERT_EQ(std::isfinite(y[i]), std::isfinite(p.y[i]));
      ASSERT_EQ(std::isnan(y[i]), std::isnan(p.y[i]));
      if (row == 5) EXPECT_EQ(y[i], p.bias[column] + p.residual[i]) << "a row of zeros";
      if (row < 2 && column >= 64) EXPECT_EQ(y[i], small[i]) << "the panels have no large weight";
      if (row == 2 && column == 3) EXPECT_NEAR(y[i], 6e12f, 1e7f);
      if (row < 2 && column == 3)
        EXPECT_NEAR(y[i], p.y[i], std::abs(p.y[i]) * 1e-5f + 64) << "as exact as f32";
    }
  });
}

TEST(Narrow, RowsThatAreNotFiniteGiveNan) {
  for (const NarrowBuild& b : narrow_builds()) {
    if (!b.table->bytes) continue;
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      NarrowProduct p(NarrowFormat::u4, 3, 20, 64, 32, false, false, 1);
      p.x[64 + 40] = bad;
      p.run_bytes(b);
      for (int64_t j = 0; j < 20; j++) {
        EXPECT_TRUE(std::isfinite(p.y[static_cast<size_t>(j)])) << b.name;
        EXPECT_TRUE(std::isnan(p.y[static_cast<size_t>(20 + j)])) << b.name << " " << bad;
      }
    }
  }
}

TEST(Narrow, ARowOfZerosGivesTheBias) {
  for (const NarrowBuild& b : narrow_builds()) {
    if (!b.table->bytes) continue;
    NarrowProduct p(NarrowFormat::u4, 2, 20, 64, 32, true, false, 1);
    std::ranges::fill(p.x, 0.0f);
    p.run_bytes(b);
    for (size_t j = 0; j < 20; j++) EXPECT_EQ(p.y[j], p.bias[j] + p.residual[j]) << b.name;
  }
}

}  // namespace
}  // namespace poprt::kernels
