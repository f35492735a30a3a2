#include "onnx/convert_version.h"

#include "base/error.h"
#include "support.h"

namespace poprt::onnx {
namespace {

// y[3] = Squeeze(x[1,3]); the axes are an attribute until opset 12 and an input from 13 on.
pb::ModelProto squeeze_model() {
  pb::ModelProto model = base_model(11, 7);
  add_input(*model.mutable_graph(), "x", {1, 3});
  add_output(*model.mutable_graph(), "y", {3});
  auto& node = add_node(*model.mutable_graph(), "Squeeze", {"x"}, {"y"}, "squeeze");
  add_attribute(node, "axes", pb::AttributeProto::INTS).add_ints(0);
  return model;
}

std::string refusal(pb::ModelProto model, int64_t target) {
  const std::string before = model.SerializeAsString();
  try {
    convert_version(model, target);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unimplemented);
    EXPECT_EQ(model.SerializeAsString(), before);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(ConvertVersion, ChangesOpsetAndNodes) {
  pb::ModelProto model = squeeze_model();
  convert_version(model, 13);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  for (const auto& node : model.graph().node())
    if (node.op_type() == "Squeeze") EXPECT_EQ(node.input_size(), 2);
  EXPECT_EQ(model.graph().input(0).name(), "x");
  EXPECT_EQ(model.graph().output(0).name(), "y");
}

TEST(ConvertVersion, KeepsOtherDomains) {
  pb::ModelProto model = squeeze_model();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(3);
  convert_version(model, 12);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(0).version(), 12);
  EXPECT_EQ(model.opset_import(1).version(), 3);
}

TEST(ConvertVersion, DoesNothingAtTheTarget) {
  pb::ModelProto model = squeeze_model();
  const std::string before = model.SerializeAsString();
  convert_version(model, 11);
  EXPECT_EQ(model.SerializeAsString(), before);
}

TEST(ConvertVersion, RefusesUnknownOpsets) {
  const std::string why = refusal(squeeze_model(), 999);
  EXPECT_NE(why.find("opset 11 to 999"), std::string::npos) << why;
}

TEST(ConvertVersion, RefusesUnknownOperators) {
  pb::ModelProto model = squeeze_model();
  model.mutable_graph()->mutable_node(0)->set_op_type("Frobnicate");
  const std::string why = refusal(model, 13);
  EXPECT_NE(why.find("Frobnicate"), std::string::npos) << why;
}

TEST(ConvertVersion, RefusesSubgraphs) {
  pb::ModelProto model = squeeze_model();
  auto& node = add_node(*model.mutable_graph(), "If", {"c"}, {"z"}, "if");
  add_attribute(node, "then_branch", pb::AttributeProto::GRAPH).mutable_g()->set_name("t");
  const std::string why = refusal(model, 13);
  EXPECT_NE(why.find("'if'"), std::string::npos) << why;
}

TEST(ConvertVersion, RefusesExternalData) {
  pb::ModelProto model = squeeze_model();
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_location(pb::TensorProto::EXTERNAL);
  const std::string why = refusal(model, 13);
  EXPECT_NE(why.find("'w'"), std::string::npos) << why;
}

TEST(ConvertVersion, RefusesFunctions) {
  pb::ModelProto model = squeeze_model();
  model.add_functions()->set_name("F");
  const std::string why = refusal(model, 13);
  EXPECT_NE(why.find("functions"), std::string::npos) << why;
}

}  // namespace
}  // namespace poprt::onnx
