#include "ir/types_agree.h"

#include <gtest/gtest.h>

namespace poprt::ir {
namespace {

TEST(TypesAgree, UnknownPartsAgreeWithAnything) {
  const ValueType known = ValueType::of(DType::f32, {2, 3});
  EXPECT_TRUE(types_agree(known, known));
  EXPECT_TRUE(types_agree({}, known));
  EXPECT_TRUE(types_agree(known, {DType::f32, false, {}, {}}));
  EXPECT_TRUE(types_agree(known, {DType::undefined, true, {2, 3}, {}}));
  EXPECT_TRUE(types_agree(known, {DType::f32, true, {kUnknownDim, 3}, {"N", ""}}));
  EXPECT_TRUE(types_agree({DType::f32, true, {kUnknownDim, 3}, {}}, known));
}

TEST(TypesAgree, AnotherElementTypeRankOrNumberDoesNot) {
  const ValueType known = ValueType::of(DType::f32, {2, 3});
  EXPECT_FALSE(types_agree(known, ValueType::of(DType::f16, {2, 3})));
  EXPECT_FALSE(types_agree(known, {DType::s32, false, {}, {}}));
  EXPECT_FALSE(types_agree(known, ValueType::of(DType::f32, {2, 4})));
  EXPECT_FALSE(types_agree(known, ValueType::of(DType::f32, {2})));
  EXPECT_FALSE(types_agree(known, ValueType::of(DType::f32, {2, 3, 1})));
  EXPECT_FALSE(types_agree(ValueType::of(DType::f32, {}), ValueType::of(DType::f32, {1})));
  EXPECT_FALSE(types_agree(known, {DType::f32, true, {kUnknownDim, 4}, {}}));
}

}  // namespace
}  // namespace poprt::ir
