#include "compiler/flow/class_labels.h"

#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

std::string classifier(std::string_view operation, std::string_view rest) {
  return fmt::format(R"(graph "g" opset {{"": 17, "ai.onnx.ml": 1}} {{
    input %x : f32[3,2]
    %label : ?, %scores : ? = ai.onnx.ml.{}
    {}
    output %scores
  }})",
                     operation, rest);
}

const std::string kLinear =
    "LinearClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts = [0.0, "
    "0.0, "
    "0.0], classlabels_strings = [\"cat\", \"a \\\"dog\\\"\", \"\\n\"]}";
const std::string kTree =
    "TreeEnsembleClassifier(%x) {nodes_nodeids = [0, 1, 2], nodes_treeids = [0, 0, 0], "
    "nodes_featureids = [0, 0, 0], nodes_modes = [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], "
    "nodes_values "
    "= [0.0, 0.0, 0.0], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], class_ids = "
    "[0, 2], class_nodeids = [1, 2], class_treeids = [0, 0], class_weights = [1.0, 1.0], "
    "classlabels_strings = [\"low\", \"middle\", \"high\"]}";
const std::string kSvm =
    "SVMClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], rho = [0.0], kernel_type "
    "= "
    "\"LINEAR\", classlabels_strings = [\"left\", \"right\", \"down\"]}";

Values result(const Executable& e) {
  return run(e, {{"x", Tensor::of<float>({3, 2}, {2, 1, -1, 3, -2, -3})}});
}

TEST(ClassLabels, AnOutputBecomesTheIndex) {
  const Executable e = test::compile_text(classifier(kLinear, "output %label"));
  EXPECT_EQ(result(e).at("label").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(result(e).at("label").dtype(), DType::s64);
  EXPECT_EQ(
      e.notes,
      (std::map<std::string, std::string>{{"class_labels/label", R"(["cat","a \"dog\"","\n"])"}}));
}

TEST(ClassLabels, OfTreesAndSupportVectors) {
  const Executable tree = test::compile_text(classifier(kTree, "output %label"));
  EXPECT_EQ(result(tree).at("label").to_int64s(), (std::vector<int64_t>{2, 0, 0}));
  EXPECT_EQ(tree.notes.at("class_labels/label"), R"(["low","middle","high"])");
  const Executable svm = test::compile_text(classifier(kSvm, "output %label"));
  EXPECT_EQ(result(svm).at("label").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(svm.notes.at("class_labels/label"), R"(["left","right","down"])");
}

TEST(ClassLabels, HaveTheNameOfTheOutputBehindIdentity) {
  const Executable e =
      test::compile_text(classifier(kLinear, "%y : ? = Identity(%label)\n output %y"));
  EXPECT_EQ(result(e).at("y").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(e.notes.contains("class_labels/y"));
}

TEST(ClassLabels, ThatNobodyReadsLeaveNoNote) {
  EXPECT_TRUE(test::compile_text(classifier(kLinear, "")).notes.empty());
}

TEST(ClassLabels, ThatAreReadAreRefused) {
  try {
    test::compile_text(classifier(
        kLinear, "const %s : s64[2] = [3, 1]\n %y : ? = Reshape(%label, %s)\n output %y"));
    FAIL() << "compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    for (const char* fact : {"LinearClassifier", "Reshape", "'label'", "index"})
      EXPECT_NE(e.message().find(fact), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::compiler
