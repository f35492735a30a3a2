#include "model/node_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "inspector/sample_files.h"

namespace poprt::inspector {
namespace {

class NodeErrors : public testing::Test {
 protected:
  Document load(const std::string& name, const std::string& text) {
    return load_document(folder.write(name, text), progress);
  }
  SampleFolder folder{"node_errors"};
  Progress progress;
};

// One weight of the second model differs, so its product and all later values differ.
TEST_F(NodeErrors, FollowTheOrderOfTheGraph) {
  const std::string head = R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %a : f32[2,2] = Abs(%x) "a"
  )";
  const std::string tail = R"(%c : f32[2,2] = Mul(%a, %b) "c"
  %d : f32[2,2] = Add(%a, %a) "d"
  output %c
  output %d
}
)";
  const auto weight = [&](const char* value) {
    return head + "const %w : f32[1] = [" + value + "]\n%b : f32[2,2] = Mul(%a, %w) \"b\"\n" + tail;
  };
  const Document left = load("l.ir", weight("2.0")), right = load("r.ir", weight("2.5"));
  const auto errors = node_errors(left, right, 3, progress);
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors[0].value, "a");
  EXPECT_EQ(errors[0].relative, 0);
  EXPECT_EQ(errors[1].value, "b");
  EXPECT_NEAR(errors[1].relative, 0.25, 1e-6);
  EXPECT_GT(errors[1].largest, 0);
  EXPECT_NEAR(errors[2].relative, 0.25, 1e-6);
  // |2.5 a - 2 a| and |a| times that
  EXPECT_NEAR(errors[2].largest, 2 * errors[1].largest * errors[1].largest, 1e-5);
  EXPECT_EQ(errors[3].largest, 0);
  EXPECT_EQ(errors[3].value, "d");
  EXPECT_EQ(errors[3].relative, 0);
  for (const NodeError& e : node_errors(left, left, 3, progress))
    EXPECT_EQ(e.relative, 0) << e.value;
}

TEST_F(NodeErrors, ListsValuesOfFloatingPointThatBothCompute) {
  const std::string head = "graph \"g\" opset {\"\": 17} {\ninput %x : f32[2]\n";
  const std::string tail = "%zero : f32[2] = Sub(%x, %x)\noutput %zero\noutput %i\noutput %j\n}\n";
  const Document left =
                     load("l.ir",
                          head +
                              "%i : f32[2] = Cast(%x) {to = 1}\n%j : s32[2] = Cast(%x) {to = 6}\n"
                              "%k : f32[2] = Neg(%x)\n%left : f32[2] = Abs(%k)\noutput %left\n" +
                              tail),
                 right =
                     load("r.ir",
                          head +
                              "%i : s32[2] = Cast(%x) {to = 6}\n%j : f32[2] = Cast(%x) {to = 1}\n"
                              "const %k : f32[2] = [1.0, 2.0]\n"
                              "%right : f32[2] = Add(%x, %k)\noutput %right\n" +
                              tail);
  for (const auto& errors :
       {node_errors(left, right, 3, progress), node_errors(right, left, 3, progress)}) {
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].value, "zero");
    EXPECT_EQ(errors[0].relative, 0) << "equal zeros";
  }
}

TEST_F(NodeErrors, ReportsTheShapesThatDiffer) {
  const auto text = [](const std::string& shape) {
    return "graph \"g\" opset {\"\": 17} {\ninput %x : f32[2,2]\nconst %s : s64[2] = [" + shape +
           "]\n%b : f32[" + shape + "] = Reshape(%x, %s)\n%c : f32[2,2] = Abs(%x)\n" +
           "output %b\noutput %c\n}\n";
  };
  const auto errors =
      node_errors(load("l.ir", text("4,1")), load("r.ir", text("1,4")), 3, progress);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].value, "b");
  EXPECT_EQ(errors[0].problem, "left is f32 4×1, right is f32 1×4");
  EXPECT_TRUE(std::isnan(errors[0].relative));
  EXPECT_EQ(errors[1].problem, "");
  EXPECT_EQ(errors[1].relative, 0);
}

std::string text_of(const std::string& body) {
  return "graph \"g\" opset {\"\": 17} {\ninput %x : f32[2,2]\n" + body + "}\n";
}

TEST_F(NodeErrors, FollowTheLeftGraph) {
  const std::string b = "%b : f32[2,2] = Neg(%x)\n", c = "%c : f32[2,2] = Abs(%x)\n",
                    outputs = "output %b\noutput %c\n";
  const Document left = load("l.ir", text_of(c + b + outputs)),
                 right = load("r.ir", text_of(b + c + outputs));
  const auto errors = node_errors(left, right, 3, progress);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].value, "c");
  EXPECT_EQ(errors[1].value, "b");
}

TEST_F(NodeErrors, RefusesModelsThatCannotBeCompared) {
  const Document net = load("n.ir", kSampleText), other = load("o.ir", kOtherText),
                 popef = load("p.popef", sample_popef());
  const auto message = [&](const Document& left, const Document& right) {
    try {
      node_errors(left, right, 1, progress);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("nothing is refused");
  };
  EXPECT_EQ(message(net, popef), "p.popef has no graph; the errors of nodes need .onnx or IR text");
  EXPECT_EQ(message(popef, net), message(net, popef));
  std::string renamed = kSampleText;
  for (size_t at = 0; (at = renamed.find("%x", at)) != std::string::npos;) renamed[at + 1] = 'z';
  EXPECT_EQ(message(net, load("z.ir", renamed)), "n.ir and z.ir have different inputs");
  // The inputs have one name, but the graphs have no common value.
  EXPECT_EQ(message(net, other), "n.ir and o.ir have no common value of floating point");
  // The result is declared as a tensor, but is a sequence.
  const Document wrong =
      load("w.ir", text_of("%b : f32[2,2] = SequenceConstruct(%x)\noutput %b\n"));
  EXPECT_TRUE(message(wrong, wrong).starts_with("w.ir does not compile: "))
      << message(wrong, wrong);
}

}  // namespace
}  // namespace poprt::inspector
