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

TEST(ClassLabels, UseTheNameOfTheOutputAfterIdentity) {
  const Executable e =
      test::compile_text(classifier(kLinear, "%y : ? = Identity(%label)\n output %y"));
  EXPECT_EQ(result(e).at("y").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(e.notes.contains("class_labels/y"));
}

TEST(ClassLabels, LeaveNoNoteIfUnread) {
  EXPECT_TRUE(test::compile_text(classifier(kLinear, "")).notes.empty());
}

TEST(ClassLabels, MayBeHandedOnAndCompared) {
  const Executable e = test::compile_text(classifier(kLinear, R"(
    const %s : s64[2] = [3, 1]
    const %cat : string[1] = ["cat"]
    const %bird : string[1] = ["bird"]
    %y : ? = Reshape(%label, %s)
    %is_cat : ? = Equal(%y, %cat)
    %is_bird : ? = Equal(%bird, %label)
    output %y
    output %is_cat
    output %is_bird)"));
  const Values r = result(e);
  EXPECT_EQ(r.at("y").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(r.at("is_cat").to_int64s(), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(r.at("is_bird").to_int64s(), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(e.notes.at("class_labels/y"), R"(["cat","a \"dog\"","\n","bird"])");
}

// scikit-learn's converter writes GaussianNB, MLPClassifier, KNeighborsClassifier ... in this way.
TEST(ClassLabels, AreTakenFromAConstantListByAnIndex) {
  for (const char* taken : {"ai.onnx.ml.ArrayFeatureExtractor(%list, %i)", "Gather(%list, %i)"}) {
    const Executable e =
        test::compile_text(fmt::format(R"(graph "g" opset {{"": 17, "ai.onnx.ml": 1}} {{
      input %x : f32[3,2]
      const %list : string[2] = ["no", "yes"]
      const %s : s64[1] = [-1]
      %i : ? = ArgMax(%x) {{axis = 1, keepdims = 0}}
      %t : ? = {}
      %r : ? = Reshape(%t, %s)
      %text : ? = Cast(%r) {{to = 8}}
      %y : string[?] = Identity(%text)
      output %y
    }})",
                                       taken));
    EXPECT_EQ(result(e).at("y").to_int64s(), (std::vector<int64_t>{0, 1, 0})) << taken;
    EXPECT_EQ(e.notes.at("class_labels/y"), R"(["no","yes"])");
  }
}

TEST(ClassLabels, AreLookedUpInBothDirections) {
  const Executable e = test::compile_text(R"(graph "g" opset {"": 17, "ai.onnx.ml": 2} {
    input %x : f32[3,2]
    %i : ? = ArgMax(%x) {axis = 1, keepdims = 0}
    %t : ? = ai.onnx.ml.LabelEncoder(%i) {keys_int64s = [1, 7], values_strings = ["one", "seven"], default_string = "none"}
    %n : ? = ai.onnx.ml.LabelEncoder(%t) {keys_strings = ["none", "one", "two"], values_int64s = [40, 41, 42], default_int64 = -5}
    output %t
    output %n
  })");
  EXPECT_EQ(result(e).at("t").to_int64s(), (std::vector<int64_t>{2, 0, 2}));
  EXPECT_EQ(result(e).at("n").to_int64s(), (std::vector<int64_t>{40, 41, 40}));
  EXPECT_EQ(e.notes.at("class_labels/t"), R"(["one","seven","none","two"])");
}

// The same holds if the node also reads labels that could be numbers, or follows such a node.
TEST(ClassLabels, NamesAReaderThatCannotUseNumbers) {
  const std::string cat = "const %cat : string[1] = [\"cat\"]\n";
  const std::string other = "%n : ? = StringNormalizer(%label)\n output %n\n",
                    joined = "%c : ? = Concat(%label, %cat) {axis = 0}\n";
  for (const std::string& rest :
       {cat + joined + other + "output %c", cat + other + joined + "output %c",
        cat + joined + "%n : ? = StringNormalizer(%c)\n output %n",
        cat + joined + "%d : ? = Concat(%c, %cat) {axis = 0}\n output %d\n" + other})
    try {
      test::compile_text(classifier(kLinear, rest));
      ADD_FAILURE() << "compiled: " << rest;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unimplemented);
      EXPECT_NE(e.message().find("its class labels are strings and StringNormalizer"),
                std::string::npos)
          << e.message();
    }
  // The node is in a branch, which is another graph.
  try {
    test::compile_text(classifier(kLinear,
                                  "input %go : bool[]\n%y : ? = If(%go) {then_branch = graph \"t\" "
                                  "{ %a : ? = Identity(%label) "
                                  "output %a }, else_branch = graph \"e\" { %b : ? = "
                                  "Identity(%label) output %b }}\noutput %y"));
    ADD_FAILURE() << "compiled";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("its class labels are strings and Identity"), std::string::npos)
        << e.message();
  }
}

// A value that does not depend on an input stays text.
TEST(ClassLabels, TextThatIsChosenWhenTheModelIsCompiledStaysText) {
  const std::string body = R"(
    input %x : f32[2]
    const %list : string[2] = ["no", "yes"]
    const %at : s64[1] = [1]
    %t : ? = Gather(%list, %at)
    %y : ? = Neg(%x)
    output %t
    output %y
  )";
  Options options;
  Values text;
  options.constant_outputs = &text;
  const Executable e = compile_body(body, options);
  EXPECT_EQ(text.at("t").string_values(), std::vector<std::string>{"yes"});
  EXPECT_TRUE(e.notes.empty());
  ASSERT_EQ(e.program.outputs.size(), 1u);
}

// Two classifiers with connected labels share one list; an unconnected one has a separate list.
TEST(ClassLabels, ThatMeetAreNumberedByOneList) {
  const Executable e = test::compile_text(R"(graph "g" opset {"": 17, "ai.onnx.ml": 1} {
    input %x : f32[3,2]
    %a : ?, %p : ? = ai.onnx.ml.LinearClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts = [0.0, 0.0, 0.0], classlabels_strings = ["cat", "dog", "cow"]}
    %b : ?, %q : ? = ai.onnx.ml.LinearClassifier(%x) {coefficients = [-1.0, -1.0, 1.0, 0.0, 0.0, 1.0], intercepts = [0.0, 0.0, 0.0], classlabels_strings = ["dog", "hen", "cat"]}
    %c : ?, %r : ? = ai.onnx.ml.LinearClassifier(%x) {coefficients = [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], intercepts = [0.0, 0.0, 0.0], classlabels_strings = ["hen", "dog", "cow"]}
    %same : ? = Equal(%a, %b)
    output %a
    output %b
    output %c
    output %same
  })");
  // The rows (2, 1), (-1, 3), (-2, -3) give cat dog cow, hen cat dog, hen dog cow.
  const Values got = result(e);
  EXPECT_EQ(e.notes.at("class_labels/a"), R"(["cat","dog","cow","hen"])");
  EXPECT_EQ(e.notes.at("class_labels/b"), R"(["cat","dog","cow","hen"])");
  EXPECT_EQ(e.notes.at("class_labels/c"), R"(["hen","dog","cow"])");
  EXPECT_EQ(got.at("a").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(got.at("b").to_int64s(), (std::vector<int64_t>{3, 0, 1}));
  EXPECT_EQ(got.at("c").to_int64s(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(got.at("same").to_int64s(), (std::vector<int64_t>{0, 0, 0}));
}

TEST(ClassLabels, ThatOthersReadAreRefused) {
  try {
    test::compile_text(classifier(kLinear, "%y : ? = StringNormalizer(%label)\n output %y"));
    FAIL() << "compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    for (const char* fact : {"LinearClassifier", "StringNormalizer", "'label'", "index"})
      EXPECT_NE(e.message().find(fact), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::compiler
