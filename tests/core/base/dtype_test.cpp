#include "base/dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/error.h"

namespace poprt {
namespace {

TEST(DType, NamesRoundTripAndDiffer) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; i++) {
    const auto dtype = static_cast<DType>(i);
    names.insert(dtype_name(dtype));
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kDTypeCount));
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_name(static_cast<DType>(200)), "invalid");
}

TEST(DType, SizesInBytesRoundUp) {
  EXPECT_EQ(dtype_bytes(DType::f32, 3), 12u);
  EXPECT_EQ(dtype_bytes(DType::s4, 3), 2u);
  EXPECT_EQ(dtype_bytes(DType::u2, 5), 2u);
  EXPECT_EQ(dtype_bytes(DType::boolean, 5), 5u);
  EXPECT_EQ(dtype_bytes(DType::c128, 2), 32u);
  EXPECT_EQ(dtype_bytes(DType::string, 4), 0u);
}

TEST(DType, SizeOverflowIsAnError) {
  EXPECT_THROW(dtype_bytes(DType::f64, std::numeric_limits<int64_t>::max()), Error);
  EXPECT_THROW(dtype_bytes(DType::f32, -1), Error);
}

TEST(DType, KindsDoNotOverlap) {
  for (int i = 0; i < kDTypeCount; i++) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_FALSE(is_float(dtype) && is_integer(dtype)) << dtype_name(dtype);
    const bool signed_integer = is_integer(dtype) && dtype_name(dtype)[0] == 's';
    EXPECT_EQ(is_signed(dtype), is_float(dtype) || signed_integer) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace poprt
