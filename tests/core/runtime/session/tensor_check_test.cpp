#include "runtime/session/tensor_check.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"

namespace poprt::runtime {
namespace {

constexpr RequestRows kBatches{}, kAny{RequestRows::any, 0, 0};

// The message for memory of this type and shape, or an empty text.
std::string check_message(const Shape& expected, const RequestRows& rows, const Shape& found,
                          DType dtype = DType::f32) {
  try {
    check_tensor({"x", DType::f32, expected}, rows, {dtype, found}, "input");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.message();
  }
  return "";
}

TEST(CheckTensor, BatchesUseTheFirstOrAnExtraDimension) {
  for (const Shape& good : {Shape{2, 8, 10}, {4, 8, 10}, {2, 2, 8, 10}, {1, 2, 8, 10}})
    EXPECT_EQ(check_message({2, 8, 10}, kBatches, good), "") << shape_string(good);
  for (const Shape& bad : {Shape{1, 8, 10},
                           {3, 8, 10},
                           {2, 8, 11},
                           {2, 9, 10},
                           {0, 8, 10},
                           {-2, 8, 10},
                           {2, 8},
                           {0, 2, 8, 10},
                           {-1, 2, 8, 10},
                           {2, 2, 8, 9},
                           {2, 3, 8, 10},
                           {1, 1, 2, 8, 10},
                           {}})
    EXPECT_EQ(check_message({2, 8, 10}, kBatches, bad)
                  .rfind("input 'x': expected f32[2,8,10], given f32" + shape_string(bad), 0),
              0u);
  EXPECT_EQ(check_message({8, 10}, kBatches, {3, 10}),
            "input 'x': expected f32[8,10], given f32[3,10]; given 3 rows, compiled for 8: if "
            "the model has variable dimensions, use `shapes` on_demand with it or with a PopEF "
            "file that contains it (`embed_source`), or compile it at several shapes "
            "(`input_shape`)");
  constexpr RequestRows kMayBatch{.may_batch = true};
  EXPECT_EQ(check_message({8, 10}, kMayBatch, {3, 10}),
            "input 'x': expected f32[8,10], given f32[3,10]; given 3 rows, compiled for 8: give "
            "the runner `batching_dim` 0; or if the model has variable dimensions, use `shapes` "
            "on_demand with it or with a PopEF file that contains it (`embed_source`), or compile "
            "it at several shapes (`input_shape`)");
  EXPECT_EQ(check_message({8, 10}, kBatches, {3, 11}),
            "input 'x': expected f32[8,10], given f32[3,11]");
  EXPECT_EQ(check_message({0, 4}, kBatches, {0, 4}), "");
  EXPECT_NE(check_message({0, 4}, kBatches, {2, 4}), "");
  EXPECT_EQ(check_message({}, kBatches, {}), "");
  EXPECT_EQ(check_message({}, kBatches, {3}), "");
  EXPECT_NE(check_message({}, kBatches, {0}), "");
  EXPECT_NE(check_message({}, kBatches, {1, 1}), "");
  EXPECT_NE(check_message({1}, kBatches, {}), "");
}

TEST(CheckTensor, RowsLieAlongOneDimension) {
  const RequestRows along{RequestRows::along, 1, 0};
  for (const Shape& good : {Shape{2, 1, 10}, {2, 8, 10}, {2, 99, 10}})
    EXPECT_EQ(check_message({2, 8, 10}, along, good), "") << shape_string(good);
  for (const Shape& bad : {Shape{2, 0, 10},
                           {2, -1, 10},
                           {1, 8, 10},
                           {2, 8, 9},
                           {2, 8},
                           {8},
                           {2, 8, 10, 1},
                           {1, 2, 8, 10}})
    EXPECT_EQ(check_message({2, 8, 10}, along, bad),
              "input 'x': expected f32[2,8,10] (any number along dimension 1), given f32" +
                  shape_string(bad));
}

// Descriptions of compiled-in replicas have a dimension that requests do not have.
TEST(CheckTensor, LeadingDimensionsAreLeftOut) {
  const RequestRows along{RequestRows::along, 0, 1};
  EXPECT_EQ(check_message({3, 8, 10}, along, {5, 10}), "");
  EXPECT_EQ(check_message({3, 8, 10}, along, {3, 8, 10}),
            "input 'x': expected f32[8,10] (any number along dimension 0), given f32[3,8,10]");
  EXPECT_EQ(check_message({3}, along, {4}), "") << "there is none to leave out";
  EXPECT_EQ(check_message({3, 8}, along, {4}), "");
}

TEST(CheckTensor, TypesAreTheSameWhateverTheRows) {
  EXPECT_EQ(check_message({2}, kAny, {7, 7}), "");
  EXPECT_EQ(check_message({2}, kAny, {2}, DType::s32), "input 'x': expected f32[2], given s32[2]");
  EXPECT_EQ(check_message({2}, kBatches, {2}, DType::f16),
            "input 'x': expected f32[2], given f16[2]");
}

// Compares with the place of each element, for every part of small shapes.
TEST(Crop, MovesTheRealPartTogether) {
  for (const Shape& shape : {Shape{5}, {3, 4}, {2, 3, 4}, {3, 1, 2, 3}}) {
    const auto all = static_cast<size_t>(element_count(shape));
    Shape real(shape.size(), 0);
    for (;;) {
      std::vector<uint16_t> data(all), wanted;
      std::iota(data.begin(), data.end(), uint16_t{1});
      for (size_t i = 0; i < all; i++) {
        size_t rest = i;
        bool inside = true;
        for (size_t d = shape.size(); d-- > 0; rest /= static_cast<size_t>(shape[d]))
          inside = inside && rest % static_cast<size_t>(shape[d]) < static_cast<size_t>(real[d]);
        if (inside) wanted.push_back(data[i]);
      }
      crop(reinterpret_cast<std::byte*>(data.data()), DType::u16, shape, real);
      data.resize(wanted.size());
      ASSERT_EQ(data, wanted) << shape_string(real) << " of " << shape_string(shape);
      size_t d = 0;
      while (d < shape.size() && ++real[d] > shape[d]) real[d++] = 0;
      if (d == shape.size()) break;
    }
  }
  uint8_t number = 7;
  crop(reinterpret_cast<std::byte*>(&number), DType::u8, {}, {});
  EXPECT_EQ(number, 7);
}

}  // namespace
}  // namespace poprt::runtime
