#include "onnx/operator_doc.h"

#include <gtest/gtest.h>

namespace poprt::onnx {
namespace {

TEST(OperatorDoc, SaysWhatOnnxSays) {
  const auto doc = operator_doc("", "Gemm", 13);
  ASSERT_TRUE(doc);
  EXPECT_EQ(doc->since, 13);
  EXPECT_NE(doc->text.find("Compute Y = alpha"), std::string::npos) << doc->text;
  ASSERT_EQ(doc->inputs.size(), 3u);
  EXPECT_EQ(doc->inputs[2].name, "C");
  EXPECT_EQ(doc->attributes.size(), 4u);
  EXPECT_EQ(doc->attributes[0].name, "alpha");
}

TEST(OperatorDoc, IsThatOfTheOpset) {
  EXPECT_EQ(operator_doc("ai.onnx", "Relu", 13)->since, 13);
  EXPECT_EQ(operator_doc("ai.onnx", "Relu", 6)->since, 6);
  EXPECT_GE(operator_doc("ai.onnx", "Relu", 0)->since, 14);
}

TEST(OperatorDoc, IsNotThereForOthers) {
  EXPECT_FALSE(operator_doc("", "NoSuchOperator", 17));
  EXPECT_FALSE(operator_doc("com.microsoft", "FusedConv", 1));
}

}  // namespace
}  // namespace poprt::onnx
