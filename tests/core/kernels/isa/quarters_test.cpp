// Compares rounding to 8-bit floats, on every instruction set that this CPU has, with the
// conversion of single numbers in the rest of the library. kernels/common/convert_block.h selects
// the formats.
#include "kernels/isa/quarters.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/quarter.h"
#include "kernels/common/convert_block.h"
#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

constexpr DType kTypes[] = {DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2,
                            DType::f8e5m2fnuz, DType::f8_143,     DType::f8_152};

// Every code, the values half way between codes and their neighbours, and numbers of all
// magnitudes.
std::vector<float> numbers(DType type) {
  std::vector<float> v = {0.0f, -0.0f, 1e-30f, -1e-30f, 1e30f, -1e30f};
  for (int c = 0; c < 255; c++) {
    const float a = quarter_to_float(type, static_cast<uint8_t>(c)),
                b = quarter_to_float(type, static_cast<uint8_t>(c + 1)), middle = (a + b) / 2;
    for (const float x : {a, middle}) {
      if (!(x - x == 0)) continue;
      v.insert(v.end(), {x, std::nextafterf(x, 1e30f), std::nextafterf(x, -1e30f), x * 1.01f});
    }
  }
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  v.insert(v.end(), {kInf, -kInf, kNan, -kNan, std::numeric_limits<float>::max()});
  std::mt19937 rng(1);
  for (int i = 0; i < 5000; i++) {
    const auto bits = static_cast<uint32_t>(rng());
    const float x = std::bit_cast<float>(bits);
    if (x != 0 && std::fabs(x) < 1e-37f) continue;  // compute threads flush these
    v.push_back(x);
  }
  return v;
}

TEST(Quarters, RoundAsSingleNumbers) {
  for (const DType t : kTypes)
    for (const bool saturate : {false, true}) {
      const std::vector<float> x = numbers(t);
      std::vector<uint8_t> y(x.size());
      from_floats(t, y.data(), 0, static_cast<int64_t>(x.size()), x.data(), saturate);
      for (size_t i = 0; i < x.size(); i++)
        ASSERT_EQ(y[i], float_to_quarter(t, x[i], saturate))
            << dtype_name(t) << " " << x[i] << (saturate ? " saturated" : "");
    }
}

TEST(Quarters, InstructionSetsAgree) {
  const isa::QuarterFormat format = {3, 7, 0x7e, 0x7e, 0xfe, 0x7f, 0xff, true};  // f8e4m3fn
  const std::vector<float> x = numbers(DType::f8e4m3fn);
  const auto n = static_cast<int64_t>(x.size());
  std::vector<const isa::QuarterTable*> builds = {&isa::quarters_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) builds.push_back(&isa::quarters_avx2);
  if (cpu_isa() >= Isa::avx512) builds.push_back(&isa::quarters_avx512);
#endif
  for (const isa::QuarterTable* table : builds) {
    std::vector<uint8_t> y(x.size() + 1, 0x55);
    table->round(format, x.data(), y.data(), n);
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_EQ(y[i], float_to_quarter(DType::f8e4m3fn, x[i], true)) << x[i];
    EXPECT_EQ(y[x.size()], 0x55);
  }
}

TEST(Quarters, CodesWidenAsSingleCodes) {
  std::vector<uint8_t> codes(256);
  for (size_t c = 0; c < codes.size(); c++) codes[c] = static_cast<uint8_t>(c);
  for (const DType t : kTypes) {
    std::vector<float> y(codes.size());
    to_floats(t, codes.data(), 0, 256, y.data());
    for (size_t c = 0; c < codes.size(); c++) {
      const float wanted = quarter_to_float(t, codes[c]);
      EXPECT_TRUE(y[c] == wanted || (y[c] != y[c] && wanted != wanted)) << dtype_name(t) << c;
    }
  }
}

}  // namespace
}  // namespace poprt::kernels
