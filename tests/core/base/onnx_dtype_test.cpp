#include "base/onnx_dtype.h"

#include <gtest/gtest.h>

namespace poprt {
namespace {

TEST(OnnxDType, NumbersMatchOnnx) {
  EXPECT_EQ(dtype_from_onnx(1), DType::f32);
  EXPECT_EQ(dtype_from_onnx(7), DType::s64);
  EXPECT_EQ(dtype_from_onnx(10), DType::f16);
  EXPECT_EQ(dtype_from_onnx(16), DType::bf16);
  EXPECT_EQ(dtype_from_onnx(22), DType::s4);
  EXPECT_EQ(dtype_from_onnx(24), DType::f8e8m0);
}

TEST(OnnxDType, EveryNumberRoundTrips) {
  int64_t number = 1;
  while (const auto dtype = dtype_from_onnx(number)) EXPECT_EQ(onnx_from_dtype(*dtype), number++);
  EXPECT_EQ(number, 27);
}

TEST(OnnxDType, UnknownNumbersAndQuartersHaveNoEquivalent) {
  for (const int64_t number : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{27}, INT64_MAX})
    EXPECT_EQ(dtype_from_onnx(number), std::nullopt);
  for (const DType dtype : {DType::undefined, DType::f8_143, DType::f8_152})
    EXPECT_EQ(onnx_from_dtype(dtype), std::nullopt);
}

}  // namespace
}  // namespace poprt
