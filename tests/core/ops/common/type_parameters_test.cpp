#include "ops/common/type_parameters.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/run_node.h"

namespace poprt::ops {
namespace {

std::string message_of_types(const std::string& op, int64_t opset, std::vector<DType> inputs,
                             const std::string& domain = "") {
  test::NodeCase c{.op = op, .opset = opset, .domain = domain};
  for (const DType t : inputs)
    c.inputs.push_back(t == DType::undefined ? Tensor() : Tensor::zeros(t, {1}));
  const auto g = test::build_node(c);
  try {
    check_type_parameters(*g->node);
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

TEST(TypeParameters, InputsOfOneParameterAreOfOneType) {
  const DType f32 = DType::f32, s64 = DType::s64, none = DType::undefined;
  EXPECT_EQ(message_of_types("Gemm", 13, {f32, f32, f32}), "");
  EXPECT_NE(
      message_of_types("Gemm", 13, {f32, f32, s64}).find("input 'in0' is f32 and 'in2' is s64"),
      std::string::npos);
  EXPECT_EQ(message_of_types("Gather", 13, {f32, s64}), "");
  EXPECT_NE(message_of_types("Where", 9, {DType::boolean, f32, s64}), "");
  EXPECT_EQ(message_of_types("Clip", 13, {f32, none, f32}), "");
  EXPECT_NE(message_of_types("Clip", 13, {f32, none, s64}), "");
}

TEST(TypeParameters, ListsAreOfOneType) {
  EXPECT_EQ(message_of_types("Concat", 13, {DType::u8, DType::u8, DType::u8}), "");
  EXPECT_NE(message_of_types("Concat", 13, {DType::u8, DType::u8, DType::s8}).find("'in2' is s8"),
            std::string::npos);
}

TEST(TypeParameters, BelongToAnOpset) {
  EXPECT_NE(message_of_types("Pow", 7, {DType::f32, DType::s64}), "");
  EXPECT_EQ(message_of_types("Pow", 12, {DType::f32, DType::s64}), "");
}

TEST(TypeParameters, IncludeOtherDomains) {
  const DType u8 = DType::u8, s8 = DType::s8, f32 = DType::f32;
  EXPECT_EQ(message_of_types("QLinearAdd", 1, {u8, f32, u8, u8, f32, u8, f32, u8}, "com.microsoft"),
            "");
  EXPECT_NE(message_of_types("QLinearAdd", 1, {u8, f32, u8, s8, f32, s8, f32, u8}, "com.microsoft"),
            "");
  EXPECT_EQ(message_of_types("NoSuchOperator", 1, {u8, f32}, "com.microsoft"), "");
}

}  // namespace
}  // namespace poprt::ops
