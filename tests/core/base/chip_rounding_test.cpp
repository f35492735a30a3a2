// Conversions to halves and 8-bit floats, compared with gfloat (tests/data/quarters/make.py), and
// with their average if they are stochastic.
#include "base/chip_rounding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/half.h"
#include "base/quarter.h"

namespace poprt {
namespace {

DType format_named(const std::string& name) {
  return name == "F143" ? DType::f8_143 : DType::f8_152;
}

// Returns the lines of a kind, split into words.
std::vector<std::vector<std::string>> probes(const std::string& kind) {
  std::ifstream file(POPRT_TEST_DATA "/quarters/gfloat.txt");
  std::vector<std::vector<std::string>> found;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    if (!list.empty() && list[0] == kind) found.push_back(list);
  }
  return found;
}

float half_at(uint32_t bits) { return to_float(f16_t{static_cast<uint16_t>(bits)}); }

TEST(ChipRounding, EveryCodeAtEveryScaleIsThatOfTheDocuments) {
  const auto values = probes("value");
  ASSERT_EQ(values.size(), 512u);
  for (int scale = -32; scale < 32; scale++)
    for (const auto& words : values) {
      const uint8_t code[] = {static_cast<uint8_t>(std::stoi(words[2], nullptr, 16))};
      float got = 0;
      decode_quarters(format_named(words[1]), scale, code, std::span(&got, 1));
      const double expected = std::ldexp(std::strtod(words[3].c_str(), nullptr), scale);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got)) << words[1] << " " << words[2];
      else
        ASSERT_EQ(static_cast<double>(got), expected)
            << words[1] << " " << words[2] << " " << scale;
    }
}

TEST(ChipRounding, EveryHalfBecomesTheCodeOfTheDocuments) {
  std::map<std::pair<std::string, std::string>, std::array<int, 65536>> codes;
  std::map<std::pair<std::string, std::string>, uint32_t> next;
  const auto runs = probes("run");
  ASSERT_GT(runs.size(), 1000u);
  for (const auto& words : runs) {
    auto& table = codes[{words[1], words[2]}];
    const auto first = static_cast<uint32_t>(std::stoul(words[3], nullptr, 16));
    for (size_t i = first; i < table.size(); i++) table[i] = std::stoi(words[4], nullptr, 16);
  }
  ASSERT_EQ(codes.size(), 4u);
  for (const auto& [of, table] : codes) {
    ChipRounding rounding(of.second == "largest");
    for (uint32_t bits = 0; bits < 65536; bits++)
      ASSERT_EQ(rounding.quarter(half_at(bits), format_named(of.first), 0), table[bits])
          << of.first << " " << of.second << " of half " << bits;
  }
}

TEST(ChipRounding, EveryHalfAtEveryScaleBecomesTheCodeOfTheDocuments) {
  const auto hashes = probes("hash");
  ASSERT_EQ(hashes.size(), 2u * 2u * 64u);
  for (const auto& words : hashes) {
    ChipRounding rounding(words[2] == "largest");
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t bits = 0; bits < 65536; bits++) {
      hash ^= rounding.quarter(half_at(bits), format_named(words[1]), std::stoi(words[3]));
      hash *= 0x100000001b3u;
    }
    EXPECT_EQ(hash, std::stoull(words[4], nullptr, 16)) << words[1] << words[2] << words[3];
  }
}

// The fast emulator saturates, and its infinities become the largest number.
TEST(ChipRounding, TheFastEmulatorConvertsFiniteHalvesAlike) {
  for (const DType dtype : {DType::f8_143, DType::f8_152})
    for (const int scale : {-32, -5, 0, 3, 31}) {
      ChipRounding rounding(true);
      for (uint32_t bits = 0; bits < 65536; bits++) {
        const float value[] = {half_at(bits)};
        if (!std::isfinite(value[0])) continue;
        uint8_t code = 0;
        encode_quarters(dtype, scale, value, std::span(&code, 1));
        ASSERT_EQ(code, rounding.quarter(value[0], dtype, scale)) << bits << " " << scale;
      }
    }
}

TEST(ChipRounding, HalvesThatOverflow) {
  for (const std::optional<uint64_t> seed :
       {std::optional<uint64_t>(), std::optional<uint64_t>(1)}) {
    ChipRounding nan(false, seed), largest(true, seed);
    EXPECT_EQ(nan.half(65504), 65504);
    EXPECT_TRUE(std::isnan(nan.half(65536)));
    EXPECT_EQ(largest.half(-1e30f), -65504);
    EXPECT_TRUE(std::isnan(largest.half(INFINITY)));
    EXPECT_TRUE(std::isnan(largest.half(std::nanf(""))));
    EXPECT_EQ(nan.quarter(INFINITY, DType::f8_143, 0), 0x80);
    EXPECT_EQ(largest.quarter(INFINITY, DType::f8_143, 0), 0x80);
    EXPECT_EQ(nan.quarter(300, DType::f8_143, 0), 0x80);
    EXPECT_EQ(largest.quarter(-300, DType::f8_143, 0), 0xff);
    EXPECT_EQ(largest.quarter(-0.0f, DType::f8_152, 0), 0);
  }
}

// -- Stochastic rounding --------------------------------------------------------------------------

TEST(ChipRounding, StochasticHalvesAreUnbiased) {
  ChipRounding rounding(false, 7);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::uniform_int_distribution<int> exponent(-20, 14);
  double sum = 0;
  constexpr int kDraws = 10'000'000;
  for (int i = 0; i < kDraws; i++) {
    const int e = exponent(random);
    const auto x = static_cast<float>(std::ldexp(mantissa(random), e) * (i & 1 ? 1 : -1));
    const double step = std::ldexp(1.0, std::max(e - 10, -24));
    const double error = (static_cast<double>(rounding.half(x)) - x) / step * (i & 1 ? 1 : -1);
    ASSERT_LT(std::fabs(error), 1) << x;
    sum += error;
  }
  EXPECT_LT(std::fabs(sum / kDraws), 1e-3);
}

TEST(ChipRounding, StochasticQuartersAreUnbiased) {
  for (const DType dtype : {DType::f8_143, DType::f8_152}) {
    ChipRounding rounding(true, 11);
    const uint8_t codes[] = {0, 1, 5, 0x20, 0x47, 0x7e};
    double sum = 0;
    int draws = 0;
    for (const uint8_t code : codes) {
      const float low = quarter_to_float(dtype, code),
                  high = quarter_to_float(dtype, static_cast<uint8_t>(code + 1));
      for (const float part : {0.125f, 0.5f, 0.75f})
        for (int i = 0; i < 600'000; i++, draws++) {
          const float x = low + part * (high - low);
          const float y = quarter_to_float(dtype, rounding.quarter(x, dtype, 0));
          ASSERT_TRUE(y == low || y == high) << x;
          sum += static_cast<double>((y - x) / (high - low));
        }
    }
    EXPECT_GT(draws, 10'000'000);
    EXPECT_LT(std::fabs(sum / draws), 1e-3) << dtype_name(dtype);
  }
}

// The published outputs of SplitMix64 for seed 0 begin with e220a8397b1dcdaf, 6e789e6aa1b965f4 and
// 06c45d188009454f. A number is rounded up if its fraction is more than the upper half of the bits.
TEST(ChipRounding, DrawsAreThoseOfSplitMix64) {
  const double draws[] = {0xe220a839 * 0x1p-32, 0x6e789e6a * 0x1p-32, 0x06c45d18 * 0x1p-32};
  for (const bool above : {false, true}) {
    ChipRounding rounding(false, 0);
    for (const double draw : draws) {
      const double fraction = (std::floor(draw * 8192) + (above ? 1 : 0)) / 8192;
      EXPECT_EQ(rounding.half(static_cast<float>(1 + fraction * 0x1p-10)),
                above ? 1 + 0x1p-10f : 1.0f)
          << draw;
    }
  }
}

TEST(ChipRounding, SeedsDecideTheSequence) {
  const auto drawn = [](uint64_t seed) {
    ChipRounding rounding(false, seed);
    std::vector<float> list;
    for (int i = 0; i < 100; i++) list.push_back(rounding.half(1 + 0x1p-11f));
    return list;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  ChipRounding rounding(false, 5);
  for (uint32_t bits = 0; bits < 0x7c00; bits++)
    ASSERT_EQ(rounding.half(half_at(bits)), half_at(bits)) << "halves are exact";
}

}  // namespace
}  // namespace poprt
