#include "model/node_errors.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(errors[3].value, "d");
  EXPECT_EQ(errors[3].relative, 0);
  for (const NodeError& e : node_errors(left, left, 3, progress))
    EXPECT_EQ(e.relative, 0) << e.value;
}

TEST_F(NodeErrors, RefusesModelsThatCannotBeCompared) {
  const Document net = load("n.ir", kSampleText), other = load("o.ir", kOtherText),
                 popef = load("p.popef", sample_popef());
  EXPECT_THROW(node_errors(net, popef, 1, progress), Error);
  std::string renamed = kSampleText;
  for (size_t at = 0; (at = renamed.find("%x", at)) != std::string::npos;) renamed[at + 1] = 'z';
  try {
    node_errors(net, load("z.ir", renamed), 1, progress);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("have different inputs"), std::string::npos);
  }
  // The inputs have one name, but the graphs have no common value.
  EXPECT_THROW(node_errors(net, other, 1, progress), Error);
}

}  // namespace
}  // namespace poprt::inspector
