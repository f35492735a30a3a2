#include "onnx/operator_doc.h"

#include <gtest/gtest.h>

namespace poprt::onnx {
namespace {

TEST(OperatorDoc, ReturnsTheDocumentationOfOnnx) {
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

// A paragraph becomes one line, code and lists keep their lines, and no line begins or ends with
// blanks.
TEST(OperatorDoc, ParagraphsAreLines) {
  const auto line_of = [](const std::string& text, const std::string& part) {
    const size_t at = text.find(part);
    if (at == text.npos) return std::string("'" + part + "' is not in: " + text);
    const size_t begin = text.rfind('\n', at) + 1;  // 0 where there is none
    return text.substr(begin, std::min(text.find('\n', at), text.size()) - begin);
  };
  const auto gemm = operator_doc("", "Gemm", 13);
  EXPECT_EQ(gemm->text.substr(0, gemm->text.find('\n')),
            "General Matrix multiplication: "
            "https://en.wikipedia.org/wiki/Basic_Linear_Algebra_Subprograms#Level_3");
  EXPECT_EQ(line_of(gemm->text, "A' = transpose"), "A' = transpose(A) if transA else A");
  EXPECT_EQ(line_of(gemm->text, "B' = transpose"), "B' = transpose(B) if transB else B");
  for (const char* op : {"Gemm", "Conv", "Loop", "Reshape", "LSTM", "Einsum", "Slice"}) {
    const auto doc = operator_doc("", op, 17);
    ASSERT_TRUE(doc) << op;
    for (size_t begin = 0, end = 0; begin < doc->text.size(); begin = end + 1) {
      end = std::min(doc->text.find('\n', begin), doc->text.size());
      const std::string line = doc->text.substr(begin, end - begin);
      EXPECT_FALSE(line.empty()) << op;
      EXPECT_EQ(line.find_first_not_of(" \t\r"), 0u) << op << ": " << line;
      EXPECT_EQ(line.find_last_not_of(" \t\r"), line.size() - 1) << op << ": " << line;
    }
    EXPECT_FALSE(doc->inputs.empty());
    EXPECT_FALSE(doc->outputs.empty());
    EXPECT_FALSE(doc->outputs[0].text.empty());
  }
}

TEST(OperatorDoc, IsNotThereForOthers) {
  EXPECT_FALSE(operator_doc("", "NoSuchOperator", 17));
  EXPECT_FALSE(operator_doc("com.microsoft", "FusedConv", 1));
}

}  // namespace
}  // namespace poprt::onnx
