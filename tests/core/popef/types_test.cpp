#include "popef/types.h"

#include <gtest/gtest.h>

#include <limits>

#include "popef/error.h"

namespace poprt::popef {
namespace {

TEST(DataType, FifteenTypesWithTheirSizes) {
  const std::pair<DataType, uint64_t> expected[] = {
      {DataType::BOOL, 1}, {DataType::F8, 1},    {DataType::F16, 2},  {DataType::F32, 4},
      {DataType::F64, 8},  {DataType::S8, 1},    {DataType::U8, 1},   {DataType::S16, 2},
      {DataType::U16, 2},  {DataType::S32, 4},   {DataType::U32, 4},  {DataType::S64, 8},
      {DataType::U64, 8},  {DataType::F8143, 1}, {DataType::F8152, 1}};
  ASSERT_EQ(std::size(expected), kDataTypeCount);
  for (const auto& [type, bytes] : expected) {
    EXPECT_EQ(data_type_bytes(type), bytes) << data_type_name(type);
    if (type != DataType::F8) {
      EXPECT_EQ(data_type_of(dtype_of(type)), type);
    }
  }
}

TEST(DataType, OthersAreRefused) {
  for (const DType dtype : {DType::bf16, DType::s4, DType::string, DType::c64, DType::undefined})
    EXPECT_THROW(data_type_of(dtype), SizeError);
  EXPECT_THROW(data_type_bytes(static_cast<DataType>(15)), FormatError);
}

TEST(TensorInfo, SizeIsProductTimesElement) {
  EXPECT_EQ(TensorInfo(DataType::F64, {}).sizeInBytes(), 8u);
  EXPECT_EQ(TensorInfo(DataType::F16, {3, 5}).sizeInBytes(), 30u);
  EXPECT_EQ(TensorInfo(DataType::F16, {3, 0}).sizeInBytes(), 0u);
  EXPECT_THROW((void)TensorInfo(DataType::F16, {-1}).sizeInBytes(), SizeError);
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_THROW((void)TensorInfo(DataType::F16, {big, 4}).sizeInBytes(), SizeError);
}

TEST(TensorInfo, RankMatters) {
  EXPECT_NE(TensorInfo(DataType::F32, {1, 1, 1}), TensorInfo(DataType::F32, {1}));
  EXPECT_EQ(TensorInfo(DataType::F32, {1}), TensorInfo(DataType::F32, {1}));
}

TEST(Error, EveryClassIsARuntimeError) {
  EXPECT_THROW(raise<FormatError>("x"), std::runtime_error);
  EXPECT_THROW(raise<VersionError>("x"), std::runtime_error);
  EXPECT_THROW(raise<LinkError>("x"), std::runtime_error);
  EXPECT_THROW(raise<InactiveWriterError>("x"), std::runtime_error);
  EXPECT_THROW(raise<SizeError>("x"), std::runtime_error);
  EXPECT_THROW(throw FileError(ErrorCode::not_found, "x"), std::runtime_error);
}

}  // namespace
}  // namespace poprt::popef
