#include "program/open_shapes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace poprt::program {
namespace {

TEST(OpenShapes, AreReadAsTheyWereWritten) {
  const OpenShapes shapes{
      {{"ids", DType::s64, {kOpen, 16}, {"batch", ""}}, {"scale", DType::f32, {}, {}}},
      {{"y", DType::f16, {kOpen, kOpen}, {"batch", ""}}}};
  const OpenShapes read = read_open_shapes(note_of_open_shapes(shapes));
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_EQ(read.inputs[0].name, "ids");
  EXPECT_EQ(read.inputs[0].dtype, DType::s64);
  EXPECT_EQ(read.inputs[0].shape, (Shape{kOpen, 16}));
  EXPECT_EQ(read.inputs[0].names, (std::vector<std::string>{"batch", ""}));
  EXPECT_TRUE(read.inputs[1].shape.empty());
  ASSERT_EQ(read.outputs.size(), 1u);
  EXPECT_EQ(read.outputs[0].names, (std::vector<std::string>{"batch", ""}));
}

TEST(OpenShapes, DamagedNotesAreRefused) {
  const std::string x = R"({"name": "x", "type": 1, "shape": [-1], "names": ["n"]})";
  const auto note = [](const std::string& inputs) {
    return R"({"inputs": [)" + inputs + R"(], "outputs": []})";
  };
  EXPECT_EQ(read_open_shapes(note(x)).inputs.size(), 1u);
  for (const std::string& damaged :
       {std::string("no JSON"), std::string("[]"), note("1"), note(x + "," + x),
        note(R"({"name": "x", "type": 1, "shape": [-2], "names": ["n"]})"),
        note(R"({"name": "x", "type": 1, "shape": [-1], "names": [""]})"),
        note(R"({"name": "x", "type": 1, "shape": [3], "names": ["n"]})"),
        note(R"({"name": "x", "type": 1, "shape": [3, 4], "names": [""]})"),
        note(R"({"name": "x", "type": 99, "shape": [3], "names": [""]})"),
        note(R"({"name": "x", "type": 0, "shape": [3], "names": [""]})"),
        note(R"({"name": "x", "type": 1, "shape": [1.5], "names": [""]})")}) {
    try {
      read_open_shapes(damaged);
      ADD_FAILURE() << damaged;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss) << damaged;
    }
  }
}

}  // namespace
}  // namespace poprt::program
