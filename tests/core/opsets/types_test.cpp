#include "opsets/types.h"

#include <gtest/gtest.h>

namespace poprt::opsets {
namespace {

TEST(OpsetTypes, ByDefinition) {
  EXPECT_TRUE(input_allows("Add", 13, 0, DType::bf16));
  EXPECT_FALSE(input_allows("Add", 12, 0, DType::bf16));
  EXPECT_FALSE(input_allows("Add", 13, 1, DType::u8));
  EXPECT_TRUE(input_allows("Add", 14, 1, DType::u8));
  EXPECT_FALSE(output_allows("Shape", 11, 0, DType::s32));
}

TEST(OpsetTypes, ListsTakeOneSet) {
  EXPECT_TRUE(input_allows("Max", 11, 7, DType::f32));
  EXPECT_FALSE(input_allows("Max", 11, 7, DType::s32));
}

TEST(OpsetTypes, SequencesAndOperatorsWithoutInputsTakeAnyType) {
  for (int t = 1; t < kDTypeCount; t++) {
    EXPECT_TRUE(input_allows("SequenceLength", 11, 0, static_cast<DType>(t))) << t;
    EXPECT_TRUE(input_allows("Constant", 11, 0, static_cast<DType>(t))) << t;
    EXPECT_EQ(output_allows("SequenceLength", 11, 0, static_cast<DType>(t)),
              static_cast<DType>(t) == DType::s64);
  }
}

TEST(OpsetTypes, UnknownTypesAreAllowed) {
  EXPECT_TRUE(input_allows("Frobnicate", 11, 0, DType::f32));
  EXPECT_FALSE(has_types("Frobnicate"));
  EXPECT_TRUE(has_types("Add"));
  EXPECT_TRUE(input_allows("Add", 11, 0, DType::undefined));
  EXPECT_TRUE(input_allows("Add", 11, 9, DType::u8));
}

}  // namespace
}  // namespace poprt::opsets
