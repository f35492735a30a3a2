#include "onnx/import.h"

#include "base/log.h"
#include "ir/verifier.h"
#include "onnx/limits.h"
#include "support.h"

namespace poprt::onnx {
namespace {

void set_floats(pb::TensorProto& t, const std::string& name, std::vector<float> values) {
  t.set_name(name);
  t.set_data_type(pb::TensorProto::FLOAT);
  t.add_dims(static_cast<int64_t>(values.size()));
  for (const float v : values) t.add_float_data(v);
}

// Returns a model with If; both branches have the output "r".
pb::ModelProto if_model(const std::function<void(pb::GraphProto&)>& then_body) {
  pb::ModelProto model = base_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_value(g.mutable_input(), "c", {}, pb::TensorProto::BOOL);
  add_input(g, "x");
  add_output(g, "y");
  pb::NodeProto& n = add_node(g, "If", {"c"}, {"y"}, "if");
  pb::GraphProto& then_graph =
      *add_attribute(n, "then_branch", pb::AttributeProto::GRAPH).mutable_g();
  then_graph.set_name("then");
  then_body(then_graph);
  pb::GraphProto& else_graph =
      *add_attribute(n, "else_branch", pb::AttributeProto::GRAPH).mutable_g();
  else_graph.set_name("else");
  add_node(else_graph, "Neg", {"x"}, {"e"});
  add_output(else_graph, "e");
  return model;
}

// No node can read its result, so it disappears.
TEST(Import, AConstantWithoutAName) {
  pb::ModelProto model = relu_model();
  pb::NodeProto& n = add_node(*model.mutable_graph(), "Constant", {}, {""});
  add_attribute(n, "value_float", pb::AttributeProto::FLOAT).set_f(1);
  const auto graph = import_proto(model);
  EXPECT_EQ(graph->nodes().size(), 1u);
  for (const ir::Value* v : graph->values()) EXPECT_FALSE(v->is_constant());
}

TEST(Import, KeepsStructureTypesAndMetadata) {
  pb::ModelProto model = relu_model();
  model.set_producer_name("me");
  model.set_producer_version("1.0");
  model.set_model_version(7);
  model.set_doc_string("doc");
  model.mutable_graph()->set_doc_string("graph doc");
  auto* prop = model.add_metadata_props();
  prop->set_key("author");
  prop->set_value("x");
  auto* dim = model.mutable_graph()
                  ->mutable_input(0)
                  ->mutable_type()
                  ->mutable_tensor_type()
                  ->mutable_shape()
                  ->add_dim();
  dim->set_dim_param("N");
  const auto g = import_proto(model);
  ASSERT_EQ(g->inputs().size(), 1u);
  EXPECT_EQ(ir::type_string(g->inputs()[0]->type), "f32[2,N]");
  EXPECT_EQ(g->inputs()[0]->type.shape, (Shape{2, kUnknownDim}));
  ASSERT_EQ(g->node_count(), 1u);
  EXPECT_EQ(g->nodes()[0]->name, "relu");
  EXPECT_EQ(g->nodes()[0]->opset(), 17);
  EXPECT_EQ(g->outputs()[0]->name(), "y");
  EXPECT_EQ(ir::type_string(g->outputs()[0]->type), "f32[2]");
  const std::map<std::string, std::string> expected = {
      {"ir_version", "8"},    {"producer_name", "me"}, {"producer_version", "1.0"},
      {"model_version", "7"}, {"doc_string", "doc"},   {"graph.doc_string", "graph doc"},
      {"prop.author", "x"}};
  EXPECT_EQ(g->metadata, expected);
}

TEST(Import, ADimensionThatIsCalledUnknownIsEqualToNone) {
  pb::ModelProto model = relu_model();
  auto* shape = model.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->clear_dim();
  for (const char* name : {"?", "?", "None", "-1", "N"}) shape->add_dim()->set_dim_param(name);
  const auto g = import_proto(model);
  EXPECT_EQ(ir::type_string(g->inputs()[0]->type), "f32[?,?,?,?,N]");
  for (int i = 0; i < 5; i++) shape->mutable_dim(i)->set_dim_param("?");
  EXPECT_TRUE(import_proto(model)->inputs()[0]->type.symbols.empty());
}

TEST(Import, ReadsValueInfo) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_node(g, "Neg", {"x"}, {"z"});
  add_value(g.mutable_value_info(), "z", {4, 5}, pb::TensorProto::FLOAT16);
  EXPECT_EQ(ir::type_string(import_proto(model)->find("z")->type), "f16[4,5]");
}

TEST(Import, InitializersThatAreInputsAreConstants) {
  pb::ModelProto model = base_model(6, 3);
  pb::GraphProto& g = *model.mutable_graph();
  add_input(g, "x");
  add_input(g, "w");
  add_output(g, "y");
  set_floats(*g.add_initializer(), "w", {1, 2});
  add_node(g, "Add", {"x", "w"}, {"y"});
  const auto graph = import_proto(model);
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_TRUE(graph->find("w")->is_constant());
  g.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(7);
  expect_import_error(ErrorCode::invalid_argument, {"'w'", "s64[2]", "f32[2]"}, model);
}

TEST(Import, SparseInitializer) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  auto* s = g.add_sparse_initializer();
  s->add_dims(4);
  set_floats(*s->mutable_values(), "s", {3});
  s->mutable_indices()->set_data_type(7);
  s->mutable_indices()->add_dims(1);
  s->mutable_indices()->add_int64_data(2);
  add_node(g, "Neg", {"s"}, {"z"});
  EXPECT_EQ(import_proto(model)->find("s")->constant().to_doubles(),
            (std::vector<double>{0, 0, 3, 0}));
}

TEST(Import, ConstantNodesBecomeConstants) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  auto constant = [&](const std::string& key, pb::AttributeProto::AttributeType type) {
    return &add_attribute(add_node(g, "Constant", {}, {key}), key, type);
  };
  set_floats(*constant("value", pb::AttributeProto::TENSOR)->mutable_t(), "", {1, 2});
  constant("value_float", pb::AttributeProto::FLOAT)->set_f(0.5f);
  constant("value_int", pb::AttributeProto::INT)->set_i(-3);
  constant("value_string", pb::AttributeProto::STRING)->set_s("s");
  auto* floats = constant("value_floats", pb::AttributeProto::FLOATS);
  floats->add_floats(1);
  floats->add_floats(2);
  constant("value_ints", pb::AttributeProto::INTS)->add_ints(9);
  constant("value_strings", pb::AttributeProto::STRINGS)->add_strings("t");
  auto* sparse =
      constant("sparse_value", pb::AttributeProto::SPARSE_TENSOR)->mutable_sparse_tensor();
  sparse->add_dims(2);
  set_floats(*sparse->mutable_values(), "", {7});
  sparse->mutable_indices()->set_data_type(7);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(1);

  const auto graph = import_proto(model);
  EXPECT_EQ(graph->node_count(), 1u);
  auto value = [&](const char* name) { return graph->find(name)->constant(); };
  EXPECT_EQ(value("value").to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_TRUE(value("value_float").same_as(Tensor::scalar(0.5f)));
  EXPECT_TRUE(value("value_int").same_as(Tensor::scalar<int64_t>(-3)));
  EXPECT_TRUE(value("value_string").same_as(Tensor::strings({}, {"s"})));
  EXPECT_TRUE(value("value_floats").same_as(Tensor::of<float>({2}, {1, 2})));
  EXPECT_TRUE(value("value_ints").same_as(Tensor::of<int64_t>({1}, {9})));
  EXPECT_TRUE(value("value_strings").same_as(Tensor::strings({1}, {"t"})));
  EXPECT_EQ(value("sparse_value").to_doubles(), (std::vector<double>{0, 7}));
}

TEST(Import, RefusesBadConstantNodes) {
  pb::ModelProto none = relu_model();
  add_node(*none.mutable_graph(), "Constant", {}, {"c"});
  expect_import_error(ErrorCode::invalid_argument, {"Constant", "'c'", "one value"}, none);
  pb::ModelProto wrong = none;
  add_attribute(*wrong.mutable_graph()->mutable_node(1), "value_int", pb::AttributeProto::FLOAT)
      .set_f(1);
  expect_import_error(ErrorCode::invalid_argument, {"value_int", "type"}, wrong);
}

TEST(Import, ReadsEveryAttributeType) {
  pb::ModelProto model = relu_model();
  pb::NodeProto& n = *model.mutable_graph()->mutable_node(0);
  add_attribute(n, "f", pb::AttributeProto::FLOAT).set_f(1.5f);
  add_attribute(n, "i", pb::AttributeProto::INT).set_i(-4);
  add_attribute(n, "zero", pb::AttributeProto::INT);  // proto3 writers leave a zero out
  add_attribute(n, "s", pb::AttributeProto::STRING).set_s("str");
  set_floats(*add_attribute(n, "t", pb::AttributeProto::TENSOR).mutable_t(), "", {1});
  add_attribute(n, "fs", pb::AttributeProto::FLOATS).add_floats(2);
  add_attribute(n, "is", pb::AttributeProto::INTS).add_ints(3);
  add_attribute(n, "none", pb::AttributeProto::INTS);
  add_attribute(n, "ss", pb::AttributeProto::STRINGS).add_strings("a");
  set_floats(*add_attribute(n, "ts", pb::AttributeProto::TENSORS).add_tensors(), "", {1});
  auto* untyped = n.add_attribute();  // IR version 1 files
  untyped->set_name("untyped");
  untyped->set_i(5);
  const auto g = import_proto(model);
  const ir::Node& node = *g->nodes()[0];
  EXPECT_EQ(node.float_attr("f", 0), 1.5f);
  EXPECT_EQ(node.int_attr("i", 0), -4);
  EXPECT_EQ(node.int_attr("zero", 9), 0);
  EXPECT_EQ(node.string_attr("s", ""), "str");
  EXPECT_EQ(std::get<Tensor>(*node.find_attr("t")).to_doubles(), std::vector<double>{1});
  EXPECT_EQ(node.floats_attr("fs"), std::vector<float>{2});
  EXPECT_EQ(node.ints_attr("is"), std::vector<int64_t>{3});
  EXPECT_EQ(node.ints_attr("none", {1}), std::vector<int64_t>{});
  EXPECT_EQ(std::get<std::vector<Tensor>>(*node.find_attr("ts")).size(), 1u);
  EXPECT_EQ(node.int_attr("untyped", 0), 5);
}

TEST(Import, RefusesBadAttributes) {
  auto with = [](const std::function<void(pb::NodeProto&)>& edit) {
    pb::ModelProto model = relu_model();
    edit(*model.mutable_graph()->mutable_node(0));
    return model;
  };
  expect_import_error(
      ErrorCode::invalid_argument, {"'relu'", "'a'", "INT", "FLOATS"},
      with([](auto& n) { add_attribute(n, "a", pb::AttributeProto::INT).add_floats(1); }));
  expect_import_error(ErrorCode::invalid_argument, {"'a'", "twice"}, with([](auto& n) {
                        add_attribute(n, "a", pb::AttributeProto::INT).set_i(1);
                        add_attribute(n, "a", pb::AttributeProto::INT).set_i(1);
                      }));
  expect_import_error(ErrorCode::invalid_argument, {"'a'", "no value"},
                      with([](auto& n) { add_attribute(n, "a", pb::AttributeProto::TENSOR); }));
  expect_import_error(ErrorCode::invalid_argument, {"'a'"},
                      with([](auto& n) { n.add_attribute()->set_name("a"); }));
  expect_import_error(ErrorCode::invalid_argument, {"outside of a function"}, with([](auto& n) {
                        add_attribute(n, "a", pb::AttributeProto::INT).set_ref_attr_name("b");
                      }));
  expect_import_error(ErrorCode::unimplemented, {"TYPE_PROTO"}, with([](auto& n) {
                        add_attribute(n, "a", pb::AttributeProto::TYPE_PROTO).mutable_tp();
                      }));
}

TEST(Import, OmittedInputsAndOutputs) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_node(g, "LSTM", {"x", "x", "x", "", "", "y", ""}, {"", "h", ""});
  // A name that a generated one might take.
  add_node(g, "Neg", {"x"}, {"_omitted"});
  const auto graph = import_proto(model);
  const ir::Node& lstm = *graph->nodes()[1];
  ASSERT_EQ(lstm.inputs().size(), 6u);
  EXPECT_EQ(lstm.input(3), nullptr);
  EXPECT_EQ(lstm.input(5)->name(), "y");
  ASSERT_EQ(lstm.outputs().size(), 2u);
  EXPECT_TRUE(lstm.output(0)->name().starts_with(kOmittedName));
  EXPECT_EQ(lstm.output(1)->name(), "h");
  EXPECT_EQ(graph->nodes()[2]->output()->name(), "_omitted");
}

TEST(Import, SortsNodes) {
  pb::ModelProto model = base_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_input(g, "x");
  add_output(g, "c");
  add_node(g, "Neg", {"b"}, {"c"});
  add_node(g, "Abs", {"a"}, {"b"});
  add_node(g, "Relu", {"x"}, {"a"});
  std::string ops;
  const auto graph = import_proto(model);
  for (const ir::Node* n : graph->nodes()) ops += n->op_type + " ";
  EXPECT_EQ(ops, "Relu Abs Neg ");
}

TEST(Import, SubgraphsReadOuterValues) {
  const auto g = import_proto(if_model([](pb::GraphProto& body) {
    add_node(body, "Relu", {"x"}, {"r"});
    add_output(body, "r");
  }));
  const ir::Node& n = *g->nodes()[0];
  const ir::Graph& body = **std::get_if<std::shared_ptr<ir::Graph>>(n.find_attr("then_branch"));
  EXPECT_EQ(body.parent, g.get());
  EXPECT_EQ(body.name, "then");
  EXPECT_EQ(body.nodes()[0]->input(0), g->find("x"));
  EXPECT_EQ(body.nodes()[0]->opset(), 17);
  EXPECT_EQ(g->find("x")->uses().size(), 2u);
}

TEST(Import, SubgraphMayReadTheResultOfALaterNode) {
  pb::ModelProto model = if_model([](pb::GraphProto& body) {
    add_node(body, "Relu", {"late"}, {"r"});
    add_output(body, "r");
  });
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"late"});
  const auto g = import_proto(model);
  EXPECT_EQ(g->nodes()[0]->op_type, "Neg");
}

TEST(Import, SubgraphHidesOuterNames) {
  const auto g = import_proto(if_model([](pb::GraphProto& body) {
    add_node(body, "Relu", {"x"}, {"t"});
    pb::NodeProto& inner = add_node(body, "If", {"c"}, {"r"});
    for (const char* key : {"then_branch", "else_branch"}) {
      pb::GraphProto& deep = *add_attribute(inner, key, pb::AttributeProto::GRAPH).mutable_g();
      add_node(deep, "Abs", {"t"}, {"u"});
      add_node(deep, "Neg", {"u"}, {"x"});  // another x
      add_node(deep, "Exp", {"x"}, {"v"});
      add_output(deep, "v");
    }
    add_output(body, "r");
  }));
  const ir::Graph& body =
      **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[0]->find_attr("then_branch"));
  const ir::Graph& deep =
      **std::get_if<std::shared_ptr<ir::Graph>>(body.nodes()[1]->find_attr("then_branch"));
  ir::Value* inner_x = deep.nodes()[1]->output();
  EXPECT_NE(inner_x->name(), "x");
  EXPECT_EQ(deep.nodes()[2]->input(0), inner_x);
  EXPECT_EQ(deep.nodes()[0]->input(0), body.nodes()[0]->output());
}

TEST(Import, ASubgraphOutputOfTheOuterGraphGetsAnIdentity) {
  const auto g = import_proto(if_model([](pb::GraphProto& body) { add_output(body, "x"); }));
  const ir::Graph& body =
      **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[0]->find_attr("then_branch"));
  ASSERT_EQ(body.node_count(), 1u);
  EXPECT_TRUE(body.nodes()[0]->is("Identity"));
  EXPECT_EQ(body.outputs()[0], body.nodes()[0]->output());
  EXPECT_EQ(body.nodes()[0]->input(0), g->find("x"));
}

TEST(Import, SubgraphValuesAreInvisibleOutside) {
  pb::ModelProto model = if_model([](pb::GraphProto& body) {
    add_node(body, "Relu", {"x"}, {"r"});
    add_output(body, "r");
  });
  add_node(*model.mutable_graph(), "Neg", {"r"}, {"z"});
  expect_import_error(ErrorCode::invalid_argument, {"Neg", "'r'", "nothing defines"}, model);
}

TEST(Import, RefusesDuplicateNames) {
  auto with = [](const std::function<void(pb::GraphProto&)>& edit) {
    pb::ModelProto model = relu_model();
    edit(*model.mutable_graph());
    return model;
  };
  expect_import_error(ErrorCode::invalid_argument, {"'y'", "made twice"},
                      with([](auto& g) { add_node(g, "Neg", {"x"}, {"y"}); }));
  expect_import_error(ErrorCode::invalid_argument, {"'x'", "defined twice"},
                      with([](auto& g) { add_node(g, "RandomNormal", {}, {"x"}); }));
  expect_import_error(ErrorCode::invalid_argument, {"'x'", "defined twice"},
                      with([](auto& g) { add_input(g, "x"); }));
  expect_import_error(ErrorCode::invalid_argument, {"initializer 'w'", "twice"}, with([](auto& g) {
                        set_floats(*g.add_initializer(), "w", {1});
                        set_floats(*g.add_initializer(), "w", {1});
                      }));
}

TEST(Import, RefusesUndefinedInputsAndOutputs) {
  pb::ModelProto input = relu_model();
  input.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  expect_import_error(ErrorCode::invalid_argument, {"Relu node 'relu'", "'nowhere'"}, input);
  pb::ModelProto output = relu_model();
  output.mutable_graph()->mutable_output(0)->set_name("nowhere");
  expect_import_error(ErrorCode::invalid_argument, {"graph output 'nowhere'"}, output);
}

TEST(Import, EscapesNamesInMessages) {
  pb::ModelProto model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_input(0, "a\nb\x1b[31m" + std::string(500, 'x'));
  expect_import_error(ErrorCode::invalid_argument, {"a\\x0ab\\x1b[31m", "..."}, model);
}

TEST(Import, RefusesCycles) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_node(g, "Add", {"x", "c"}, {"a"});
  add_node(g, "Neg", {"a"}, {"b"});
  add_node(g, "Neg", {"b"}, {"c"});
  expect_import_error(ErrorCode::invalid_argument, {"cycle of 3 nodes", "'a'", "'b'", "'c'"},
                      model);
  pb::ModelProto self = relu_model();
  add_node(*self.mutable_graph(), "Neg", {"s"}, {"s"});
  expect_import_error(ErrorCode::invalid_argument, {"cycle", "'s'"}, self);
}

TEST(Import, ReadsLongChains) {
  pb::ModelProto model = base_model();
  pb::GraphProto& g = *model.mutable_graph();
  add_input(g, "v0");
  constexpr int kLength = 60000;
  // Back to front, so that it is sorted too.
  for (int i = kLength; i > 0; i--)
    add_node(g, "Relu", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  add_output(g, "v" + std::to_string(kLength));
  EXPECT_EQ(import_proto(model)->node_count(), static_cast<size_t>(kLength));
}

TEST(Import, ChecksVersionsAndOpsets) {
  pb::ModelProto model = relu_model();
  for (const int64_t bad : {-1, 0, 2, 15, 1 << 30}) {
    model.set_ir_version(bad);
    EXPECT_THROW(import_proto(model), Error) << bad;
  }
  for (int64_t good = kMinIrVersion; good <= kMaxIrVersion; good++) {
    model.set_ir_version(good);
    EXPECT_NO_THROW(import_proto(model)) << good;
  }
  model.mutable_opset_import(0)->set_version(kMaxOpset);
  EXPECT_EQ(import_proto(model)->nodes()[0]->opset(), kMaxOpset);
  model.mutable_opset_import(0)->set_version(kMaxOpset + 1);
  expect_import_error(ErrorCode::unimplemented, {"opset 29", "28"}, model);
  for (const int64_t bad : {-3, 0}) {
    model.mutable_opset_import(0)->set_version(bad);
    expect_import_error(ErrorCode::invalid_argument, {"opset_import"}, model);
  }
  model.clear_opset_import();
  expect_import_error(ErrorCode::invalid_argument, {"no opset_import"}, model);
}

TEST(Import, ChecksDomains) {
  pb::ModelProto model = relu_model();
  // Unused imports do no harm, "ai.onnx" is the default domain.
  auto* import = model.add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  const auto g = import_proto(model);
  EXPECT_TRUE(g->nodes()[0]->is("Relu"));
  EXPECT_EQ(g->opsets, (std::map<std::string, int64_t>{{"", 17}, {"com.microsoft", 1}}));

  pb::ModelProto conflict = model;
  import = conflict.add_opset_import();
  import->set_domain("");
  import->set_version(11);
  EXPECT_EQ(import_proto(conflict)->opsets.at(""), 11) << "the last one counts";
  import->set_version(0);
  expect_import_error(ErrorCode::invalid_argument, {"Relu", "version 0, at least 1 is expected"},
                      conflict);
  conflict.mutable_opset_import(1)->set_version(0);
  import->set_version(17);
  EXPECT_EQ(import_proto(conflict)->opsets, (std::map<std::string, int64_t>{{"", 17}}))
      << "no operator of com.microsoft";

  model.mutable_graph()->mutable_node(0)->set_domain("other");
  expect_import_error(ErrorCode::invalid_argument, {"other.Relu", "'other'", "opset"}, model);
}

TEST(Import, RefusesBadTypes) {
  auto with = [](int64_t dim, int32_t elem_type) {
    pb::ModelProto model = relu_model();
    add_value(model.mutable_graph()->mutable_value_info(), "unused", {dim, dim}, elem_type);
    return model;
  };
  EXPECT_NO_THROW(import_proto(with(3, 1)));
  expect_import_error(ErrorCode::out_of_range, {"'unused'", "overflow"}, with(INT64_MAX, 1));
  expect_import_error(ErrorCode::invalid_argument, {"'unused'", "77"}, with(1, 77));
}

TEST(Import, NegativeDimensionsAreUnknown) {
  pb::ModelProto model = if_model([](pb::GraphProto& body) {
    add_node(body, "Relu", {"x"}, {"r"});
    add_value(body.mutable_value_info(), "r", {-1, 3});
    add_output(body, "r", {-1, 3});
  });
  pb::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "z", {-1, 3, -7, 0});
  add_node(graph, "Neg", {"z"}, {"v"});
  add_value(graph.mutable_value_info(), "v", {-1, 3, INT64_MIN, 0});
  add_output(graph, "w", {-1});
  add_node(graph, "Abs", {"z"}, {"w"});
  const auto g = import_proto(model);
  EXPECT_EQ(ir::type_string(g->find("z")->type), "f32[?,3,?,0]");
  EXPECT_EQ(ir::type_string(g->find("v")->type), "f32[?,3,?,0]");
  EXPECT_EQ(ir::type_string(g->find("w")->type), "f32[?]");
  const ir::Graph& body =
      **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[0]->find_attr("then_branch"));
  EXPECT_EQ(ir::type_string(body.outputs()[0]->type), "f32[?,3]");
  ir::verify(*g);
}

TEST(Import, NegativeDimensionsOfElementsAreUnknown) {
  pb::ModelProto model = relu_model();
  auto* input = model.mutable_graph()->add_input();
  input->set_name("s");
  auto* element = input->mutable_type()
                      ->mutable_optional_type()
                      ->mutable_elem_type()
                      ->mutable_sequence_type()
                      ->mutable_elem_type()
                      ->mutable_tensor_type();
  element->set_elem_type(pb::TensorProto::FLOAT);
  element->mutable_shape()->add_dim()->set_dim_value(-1);
  element->mutable_shape()->add_dim()->set_dim_value(4);
  const auto g = import_proto(model);
  EXPECT_EQ(g->nodes()[0]->ints_attr("shape"), (Shape{kUnknownDim, 4}));
}

// The messages that a log receiver received.
std::string received;

// The warnings of importing the model, one a line.
std::string warnings_of(const pb::ModelProto& model) {
  received.clear();
  set_log_receiver([](int32_t, const char* message) { received += std::string(message) + "\n"; });
  import_proto(model);
  set_log_receiver(nullptr);
  return received;
}

void expect_strict_error(const char* part, const pb::ModelProto& model) {
  expect_error(ErrorCode::invalid_argument, {part}, [&] {
    const std::string bytes = model.SerializeAsString();
    import_bytes(bytes_of(bytes), std::nullopt, {.strict = true});
  });
}

TEST(Import, ADomainWithoutImportGetsTheFirstSufficientVersion) {
  using Names = std::vector<const char*>;
  const auto with = [](const char* domain, const char* op, const Names& attributes) {
    pb::ModelProto model = relu_model();
    for (const char* output : {"a", "b"}) {
      pb::NodeProto& n = add_node(*model.mutable_graph(), op, {"x"}, {output});
      n.set_domain(domain);
      for (const char* a : attributes) add_attribute(n, a, pb::AttributeProto::INT).set_i(1);
    }
    return model;
  };
  for (const auto& [domain, op, attributes, version] :
       {std::tuple("com.microsoft", "FusedMatMul", Names{"transA"}, 1),
        {"ai.onnx.ml", "Scaler", Names{}, 1},
        {"ai.onnx.ml", "LabelEncoder", Names{"default_int64"}, 1},
        {"ai.onnx.ml", "LabelEncoder", Names{"keys_int64s"}, 2},
        {"ai.graphcore", "Silu", Names{}, 1},
        {"ai.onnx.preview.training", "Adam", Names{}, 1}}) {
    const pb::ModelProto model = with(domain, op, attributes);
    EXPECT_EQ(import_proto(model)->opsets.at(domain), version) << domain << " " << op;
    const std::string warnings = warnings_of(model);
    EXPECT_NE(warnings.find(
                  fmt::format("imports no opset of domain '{}'; {} is assumed", domain, version)),
              std::string::npos)
        << warnings;
    EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
    expect_strict_error(domain, model);
  }
}

TEST(Import, TheStandardDomainWithoutImportIsTheNewest) {
  pb::ModelProto model = relu_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  model.mutable_opset_import(0)->set_version(1);
  EXPECT_EQ(import_proto(model)->nodes()[0]->opset(), kMaxOpset);
  EXPECT_NE(warnings_of(model).find("domain 'ai.onnx'; 28 is assumed"), std::string::npos);
  expect_strict_error("'ai.onnx'", model);
}

TEST(Import, AnIfWithoutOutputsDisappears) {
  pb::ModelProto model =
      if_model([](pb::GraphProto& body) { add_node(body, "Relu", {"x"}, {"r"}); });
  model.mutable_graph()->mutable_node(0)->clear_output();
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"y"});
  const auto g = import_proto(model);
  ASSERT_EQ(g->node_count(), 1u);
  EXPECT_TRUE(g->nodes()[0]->is("Neg"));
  ir::verify(*g);
}

TEST(Import, RefusesEmptyPieces) {
  expect_import_error(ErrorCode::invalid_argument, {"no output"}, base_model());
  pb::ModelProto model = relu_model();
  model.clear_graph();
  expect_import_error(ErrorCode::invalid_argument, {"no graph"}, model);
  pb::ModelProto no_op = relu_model();
  no_op.mutable_graph()->mutable_node(0)->clear_op_type();
  expect_import_error(ErrorCode::invalid_argument, {"'relu'", "op_type"}, no_op);
  pb::ModelProto no_output = relu_model();
  add_node(*no_output.mutable_graph(), "Neg", {"x"}, {});
  expect_import_error(ErrorCode::invalid_argument, {"Neg", "no output"}, no_output);
}

TEST(Import, BoundsNesting) {
  // Depths above our limit, around the limit of protobuf's parser, and far beyond both.
  for (const int depth : {30, 33, 60, 65, 66, 67, 70, 1000}) {
    pb::ModelProto model = relu_model();
    pb::GraphProto* g = model.mutable_graph();
    for (int i = 0; i < depth; i++) {
      pb::NodeProto& n = add_node(*g, "If", {"x"}, {"v" + std::to_string(i)});
      g = add_attribute(n, "then_branch", pb::AttributeProto::GRAPH).mutable_g();
      add_output(*g, "x");
    }
    if (depth <= ir::kMaxSubgraphDepth)
      ir::verify(*import_proto(model));
    else
      EXPECT_THROW(import_proto(model), Error) << depth;
  }
}

TEST(Import, SequenceTypedValuesHaveNoType) {
  pb::ModelProto model = relu_model();
  auto* v = model.mutable_graph()->add_input();
  v->set_name("seq");
  v->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  EXPECT_EQ(ir::type_string(import_proto(model)->find("seq")->type), "?");
}

TEST(Import, DeclarationsOfOneValueMustAgree) {
  const auto refused = [](const std::string& fact, auto&& declare) {
    pb::ModelProto model = relu_model();
    declare(*model.mutable_graph());
    expect_error(ErrorCode::invalid_argument, {fact}, [&] { import_proto(model); });
  };
  refused("it is declared both f32[2] and f32[3]", [](pb::GraphProto& g) {
    add_value(g.mutable_value_info(), "m", {2});
    add_value(g.mutable_value_info(), "m", {3});
  });
  refused("it is declared both f32[2] and s64[2]", [](pb::GraphProto& g) {
    add_value(g.mutable_output(), g.input(0).name(), {2}, pb::TensorProto::INT64);
  });
  refused("it is declared as f32[3], its initializer is s64[2]", [](pb::GraphProto& g) {
    auto& t = *g.add_initializer();
    t.set_name("w");
    t.set_data_type(pb::TensorProto::INT64);
    t.add_dims(2);
    t.add_int64_data(1);
    t.add_int64_data(2);
    add_value(g.mutable_value_info(), "w", {3});
  });
}

TEST(Import, MergesDeclaredTypes) {
  pb::ModelProto model = relu_model();
  const std::string y = model.graph().output(0).name();
  auto* dims = model.mutable_graph()
                   ->mutable_output(0)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape();
  dims->mutable_dim(0)->set_dim_param("N");
  add_value(model.mutable_graph()->mutable_value_info(), y, {2});
  EXPECT_EQ(import_proto(model)->find(y)->type.dtype, DType::f32);
}

TEST(Import, RecordsDeclaredContainerTypes) {
  pb::ModelProto model = relu_model();
  auto* type = model.mutable_graph()->mutable_output(0)->mutable_type();
  type->Clear();
  auto* tensor = type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type();
  tensor->set_elem_type(pb::TensorProto::INT64);
  tensor->mutable_shape()->add_dim()->set_dim_param("a name with spaces");
  const auto g = import_proto(model);
  EXPECT_EQ(g->metadata.at(ir::kDeclaredContainer + g->outputs()[0]->name()), "sequence s64[?]");
}

TEST(ImportFile, ErrorsDescribeInvalidFiles) {
  const TemporaryDirectory dir;
  expect_error(ErrorCode::not_found, {"none.onnx"}, [&] { import_file(dir / "none.onnx"); });
  expect_error(ErrorCode::invalid_argument, {dir.path().string()},
               [&] { import_file(dir.path()); });
  auto refused = [&](ErrorCode code, const std::string& part, const std::string& bytes) {
    write_file(dir / "m.onnx", bytes);
    expect_error(code, {"m.onnx", part}, [&] { import_file(dir / "m.onnx"); });
  };
  refused(ErrorCode::invalid_argument, "empty", "");
  refused(ErrorCode::invalid_argument, "not an ONNX model", "Hello, I am a text file.\n");
  refused(ErrorCode::invalid_argument, "not an ONNX model", std::string(100, '\0'));
  refused(ErrorCode::invalid_argument, "not an ONNX model", "\x89PNG\r\n\x1a\n");
  refused(ErrorCode::invalid_argument, "not an ONNX model", "PK\x03\x04 a zip file");
  const std::string good = relu_model().SerializeAsString();
  refused(ErrorCode::data_loss, "truncated", good.substr(0, good.size() - 10));
  refused(ErrorCode::data_loss, "damaged", good + "\x07garbage");
  refused(ErrorCode::data_loss, "group", good + "\x0b");
  write_file(dir / "m.onnx", good);
  EXPECT_EQ(import_file(dir / "m.onnx")->node_count(), 1u);
}

}  // namespace
}  // namespace poprt::onnx
