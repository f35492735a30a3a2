// Compares conversions of every instruction set that this CPU has with the rule of each pair of
// types.
#include "kernels/isa/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernels/common/instruction_set.h"

namespace poprt::kernels {
namespace {

using isa::Number;

std::vector<const isa::CastTable*> builds() {
  std::vector<const isa::CastTable*> all = {&isa::cast_baseline};
#if defined(POPRT_HAS_ISA_avx512)
  if (cpu_isa() >= Isa::avx2) all.push_back(&isa::cast_avx2);
  if (cpu_isa() >= Isa::avx512) all.push_back(&isa::cast_avx512);
#endif
  return all;
}

template <class To>
Number number() {
  if constexpr (std::is_same_v<To, float>) return Number::f32;
  if constexpr (std::is_same_v<To, double>) return Number::f64;
  if constexpr (std::is_same_v<To, int8_t>) return Number::s8;
  if constexpr (std::is_same_v<To, uint8_t>) return Number::u8;
  if constexpr (std::is_same_v<To, int16_t>) return Number::s16;
  if constexpr (std::is_same_v<To, uint16_t>) return Number::u16;
  if constexpr (std::is_same_v<To, int32_t>) return Number::s32;
  if constexpr (std::is_same_v<To, uint32_t>) return Number::u32;
  if constexpr (std::is_same_v<To, int64_t>) return Number::s64;
  if constexpr (std::is_same_v<To, uint64_t>) return Number::u64;
  return Number::boolean;
}

// Floats become s32 first, or s64 if To is u32 or has 64 bits, and narrower integers keep the low
// bits. A float outside the range of that type becomes its least value.
template <class To, class From>
To expected(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double t = std::trunc(static_cast<double>(v));
    if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>)
      return static_cast<To>(t >= -0x1p63 && t < 0x1p63 ? static_cast<int64_t>(t)
                                                        : std::numeric_limits<int64_t>::min());
    else
      return static_cast<To>(t >= -0x1p31 && t < 0x1p31 ? static_cast<int32_t>(t)
                                                        : std::numeric_limits<int32_t>::min());
  } else {
    return static_cast<To>(v);
  }
}

template <class From>
std::vector<From> samples() {
  std::mt19937_64 rng(1);
  std::vector<From> v;
  if constexpr (std::is_floating_point_v<From>) {
    for (const double x :
         {0.0,           -0.0,          0.5,           -0.5,         0.9999,       127.5,
          -128.9,        255.9,         256.0,         65535.5,      2147483647.0, 2147483648.0,
          -2147483648.0, -2147483648.5, -2147483649.0, 4294967295.0, 9.2e18,       9.3e18,
          -9.3e18,       1e30,          -1e30})
      v.push_back(static_cast<From>(x));
    v.push_back(std::numeric_limits<From>::infinity());
    v.push_back(-std::numeric_limits<From>::infinity());
    v.push_back(std::numeric_limits<From>::quiet_NaN());
    while (v.size() < 117)
      v.push_back(static_cast<From>(std::ldexp(static_cast<double>(static_cast<int64_t>(rng())),
                                               -static_cast<int>(rng() % 70))));
  } else {
    v = {0, 1, std::numeric_limits<From>::min(), std::numeric_limits<From>::max()};
    while (v.size() < 117) v.push_back(static_cast<From>(rng()));
  }
  return v;
}

template <class From, class To>
void check() {
  const auto x = samples<From>();
  for (const isa::CastTable* table : builds()) {
    const isa::CastRow row = table->find(number<From>(), number<To>());
    ASSERT_NE(row, nullptr);
    std::vector<std::byte> y(x.size() * sizeof(To));
    row(y.data(), x.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); i++) {
      To got;
      std::memcpy(&got, y.data() + i * sizeof(To), sizeof(To));
      const To want = expected<To>(x[i]);
      if (want != want) {
        EXPECT_NE(got, got);
        continue;
      }
      ASSERT_EQ(got, want) << "of " << +x[i];
    }
  }
}

template <class From>
void check_all() {
  check<From, float>();
  check<From, double>();
  check<From, int8_t>();
  check<From, uint8_t>();
  check<From, int16_t>();
  check<From, uint16_t>();
  check<From, int32_t>();
  check<From, uint32_t>();
  check<From, int64_t>();
  check<From, bool>();
  if constexpr (std::is_integral_v<From>) check<From, uint64_t>();
}

TEST(Cast, EveryPairOfNumbers) {
  check_all<float>();
  check_all<double>();
  check_all<int8_t>();
  check_all<uint8_t>();
  check_all<int16_t>();
  check_all<uint16_t>();
  check_all<int32_t>();
  check_all<uint32_t>();
  check_all<int64_t>();
  check_all<uint64_t>();
}

TEST(Cast, SixteenBitFloatsThereAndBack) {
  const auto x = samples<float>();
  for (const isa::CastTable* table : builds())
    for (const bool brain : {false, true}) {
      const Number number = brain ? Number::bf16 : Number::f16;
      std::vector<uint16_t> half(x.size());
      std::vector<float> back(x.size());
      const auto n = static_cast<int64_t>(x.size());
      table->find(Number::f32, number)(half.data(), x.data(), n);
      table->find(number, Number::f32)(back.data(), half.data(), n);
      for (size_t i = 0; i < x.size(); i++) {
        const float want = brain ? to_float(to_bf16(x[i])) : to_float(to_f16(x[i]));
        if (want != want)
          EXPECT_NE(back[i], back[i]);
        else
          EXPECT_EQ(back[i], want) << "of " << x[i];
      }
    }
}

}  // namespace
}  // namespace poprt::kernels
