// Compares 8-bit products of every instruction set that this CPU has with plain loops: all bits are
// equal.
#include "kernels/isa/vnni.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/kernels/isa/random_bytes.h"
#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

struct Build {
  const char* name;
  const isa::VnniTable* table;
  bool vnni;
};

std::vector<Build> builds() {
  std::vector<Build> all = {{"baseline", &isa::vnni_baseline, false}};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back({"avx2", &isa::vnni_avx2, false});
  if (cpu_isa() >= Isa::avx512) all.push_back({"avx512", &isa::vnni_avx512, false});
  if (can_use_vnni()) all.push_back({"avx512 vnni", &isa::vnni_avx512, true});
#endif
  return all;
}

int32_t as(uint8_t byte, bool is_signed) { return is_signed ? static_cast<int8_t>(byte) : byte; }

TEST(Vnni, MultiplyIsExact) {
  constexpr int64_t kSteps = 37;
  const auto rows = random_bytes(6 * 4 * kSteps, 1);
  const auto panel = random_bytes(static_cast<size_t>((kSteps + 1) * isa::kVnniBytes), 2);
  std::vector<int32_t> offsets;  // overlapping steps in another order
  for (int64_t i = 0; i < kSteps; i++)
    offsets.push_back(static_cast<int32_t>((kSteps - 1 - i) * isa::kVnniBytes + 4 * (i % 7)));
  for (const Build& b : builds())
    for (const auto signs :
         {isa::VnniSigns::panel, isa::VnniSigns::panel_flip_rows, isa::VnniSigns::rows})
      for (int64_t n = 1; n <= isa::kVnniRows; n++)
        for (const bool offset : {false, true}) {
          const bool add = n % 2 != 0, rows_signed = signs == isa::VnniSigns::rows;
          std::vector<int32_t> sums(isa::kVnniRows * isa::kVnniPanel, 5);
          b.table->multiply(signs, b.vnni, rows.data(), 4 * kSteps, n,
                            {panel.data(), offset ? offsets.data() : nullptr, kSteps}, add,
                            sums.data());
          for (int64_t r = 0; r < isa::kVnniRows; r++)
            for (int64_t j = 0; j < isa::kVnniPanel; j++) {
              int32_t want = r >= n || add ? 5 : 0;
              for (int64_t k = 0; r < n && k < 4 * kSteps; k++) {
                const int64_t at =
                    offset ? offsets[static_cast<size_t>(k / 4)] : k / 4 * isa::kVnniBytes;
                uint8_t row = rows[static_cast<size_t>(r * 4 * kSteps + k)];
                if (signs == isa::VnniSigns::panel_flip_rows) row ^= 0x80;
                want += as(row, rows_signed) *
                        as(panel[static_cast<size_t>(at + 4 * j + k % 4)], !rows_signed);
              }
              ASSERT_EQ(sums[static_cast<size_t>(r * isa::kVnniPanel + j)], want)
                  << b.name << " signs " << static_cast<int>(signs) << " row " << r << " column "
                  << j;
            }
        }
}

TEST(Vnni, SumsOfRowsAndColumnsAreExact) {
  constexpr int64_t kSteps = 150;  // more than a piece
  const auto panel = random_bytes(static_cast<size_t>(kSteps * isa::kVnniBytes), 3);
  for (const Build& b : builds()) {
    for (const bool is_signed : {false, true}) {
      int32_t sums[isa::kVnniPanel];
      b.table->column_sums(is_signed, b.vnni, {panel.data(), nullptr, kSteps}, sums);
      for (int64_t j = 0; j < isa::kVnniPanel; j++) {
        int32_t want = 0;
        for (int64_t k = 0; k < 4 * kSteps; k++)
          want +=
              as(panel[static_cast<size_t>(k / 4 * isa::kVnniBytes + 4 * j + k % 4)], is_signed);
        ASSERT_EQ(sums[j], want) << b.name;
      }
    }
    int32_t want = 0;
    for (int64_t i = 0; i < 1001; i++) want += panel[static_cast<size_t>(i)] ^ 0x80;
    EXPECT_EQ(b.table->row_sum(panel.data(), 1001, 0x80), want) << b.name;
  }
}

TEST(Vnni, InterleavePutsFourRowsSideBySide) {
  const auto from = random_bytes(4 * 100, 4);
  for (const Build& b : builds())
    for (int64_t rows = 1; rows <= 4; rows++)
      for (const int64_t n : {1, 15, 16, 50, 99}) {
        std::vector<uint8_t> to(4 * 100, 77);
        b.table->interleave(from.data(), 100, rows, n, 0x80, to.data());
        for (int64_t i = 0; i < 400; i++) {
          const int64_t t = i % 4, j = i / 4;
          const int want = j >= n     ? 77
                           : t < rows ? from[static_cast<size_t>(t * 100 + j)] ^ 0x80
                                      : 0;
          ASSERT_EQ(to[static_cast<size_t>(i)], want) << b.name << " element " << i;
        }
      }
}

TEST(Vnni, TakeSkipsQuads) {
  const auto from = random_bytes(4 * 200, 8);
  for (const Build& b : builds())
    for (const int64_t stride : {1, 2, 3})
      for (const int64_t n : {1, 16, 37, 64}) {
        std::vector<uint8_t> to(4 * 65, 77);
        b.table->take(to.data(), from.data(), stride, n);
        for (int64_t i = 0; i < 4 * 65; i++)
          ASSERT_EQ(to[static_cast<size_t>(i)],
                    i / 4 < n ? from[static_cast<size_t>(i / 4 * stride * 4 + i % 4)] : 77)
              << b.name << " stride " << stride << " byte " << i;
      }
}

TEST(Vnni, SumsBecomeNumbers) {
  std::mt19937 rng(6);
  std::vector<int32_t> sums(isa::kVnniPanel), columns(isa::kVnniPanel);
  std::vector<float> scales(isa::kVnniPanel), bias(isa::kVnniPanel);
  for (size_t j = 0; j < sums.size(); j++) {
    sums[j] = static_cast<int32_t>(rng() % 100000) - 50000;
    columns[j] = static_cast<int32_t>(rng() % 200) - 100;
    scales[j] = 0.25f * static_cast<float>(1 + rng() % 4);
    bias[j] = static_cast<float>(rng() % 100);
  }
  for (const Build& b : builds())
    for (const bool one : {false, true})
      for (const bool has_bias : {false, true})
        for (const int64_t n : {1, 20, 64}) {
          std::vector<float> y(isa::kVnniPanel + 1, 77);
          b.table->real(y.data(), sums.data(), n, 130, columns.data(), 0.5f, scales.data(), one,
                        has_bias ? bias.data() : nullptr);
          for (size_t j = 0; j < y.size(); j++) {
            float want = 77;
            if (static_cast<int64_t>(j) < n)
              want = static_cast<float>(sums[j] - 130 * columns[j]) * 0.5f * scales[one ? 0 : j] +
                     (has_bias ? bias[j] : 0.0f);
            ASSERT_EQ(y[j], want) << b.name << " column " << j << " of " << n;
          }
        }
}

TEST(Vnni, FilterRowIsExact) {
  std::mt19937 rng(5);
  std::vector<float> x(400);
  for (float& v : x) v = static_cast<float>(static_cast<int>(rng() % 511) - 255);
  const int32_t offsets[] = {0, 3, 1, 40, 17};
  const float weights[] = {255, -255, 3, 0, -77};
  for (const Build& b : builds())
    for (const int64_t stride : {1, 2, 3}) {
      int32_t y[50];
      b.table->filter_row(x.data(), offsets, weights, 5, stride, 50, -9, y);
      for (int64_t j = 0; j < 50; j++) {
        double want = -9;
        for (int t = 0; t < 5; t++)
          want += static_cast<double>(weights[t]) *
                  static_cast<double>(x[static_cast<size_t>(j * stride + offsets[t])]);
        ASSERT_EQ(y[j], static_cast<int32_t>(want)) << b.name << " stride " << stride;
      }
    }
}

TEST(Vnni, BytesAreRoundedAndSaturated) {
  std::mt19937 rng(7);
  std::vector<int32_t> sums(isa::kVnniPanel), columns(isa::kVnniPanel);
  for (int trial = 0; trial < 200; trial++) {
    for (int32_t& s : sums) s = static_cast<int32_t>(rng() % 200000) - 100000;
    for (int32_t& c : columns) c = static_cast<int32_t>(rng() % 1000);
    const int32_t row_zero = trial % 3 ? static_cast<int32_t>(rng() % 256) - 128 : 0;
    const int32_t rest = static_cast<int32_t>(rng() % 4000) - 2000;
    // Halves are among the results: ties go to even.
    const float scale = trial % 2 ? 0.5f / static_cast<float>(1 << rng() % 12) : 0.00137f;
    const float low = trial % 4 < 2 ? -128.0f : 0.0f;
    const float zero = low + static_cast<float>(rng() % 256);
    for (const Build& b : builds()) {
      std::vector<uint8_t> out(isa::kVnniPanel + 1, 0xa5);
      b.table->correct_bytes(out.data(), sums.data(), row_zero, columns.data(), rest, scale, zero,
                             low);
      for (size_t j = 0; j < sums.size(); j++) {
        const float sum = static_cast<float>(sums[j] - row_zero * columns[j] - rest);
        const float want = std::clamp(std::nearbyint(sum * scale) + zero, low, low + 255);
        ASSERT_EQ(as(out[j], low < 0), static_cast<int32_t>(want))
            << b.name << " trial " << trial << " column " << j;
      }
      EXPECT_EQ(out.back(), 0xa5);
    }
  }
}

}  // namespace
}  // namespace poprt::kernels
