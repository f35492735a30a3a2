#include "onnx/elem_type.h"

#include "support.h"

namespace poprt::onnx {
namespace {

TEST(ElemType, NamesAreQuotedAndCut) {
  EXPECT_EQ(quote_name(""), "''");
  EXPECT_EQ(quote_name("a b~"), "'a b~'");
  EXPECT_EQ(quote_name(std::string("\0\x1f \x7f\xc3\xa4", 6)), "'\\x00\\x1f \\x7f\xc3\xa4'");
  const std::string most(120, 'n');
  EXPECT_EQ(quote_name(most), "'" + most + "'");
  EXPECT_EQ(quote_name(most + "m"), "'" + most + "...'");
}

TEST(ElemType, OthersAreRefused) {
  expect_error(ErrorCode::invalid_argument, {"unknown element type -1"},
               [] { dtype_from_elem_type(-1); });
  expect_error(ErrorCode::unimplemented, {"ONNX has no element type for f8_143"},
               [] { elem_type_from_dtype(DType::f8_143); });
}

}  // namespace
}  // namespace poprt::onnx
