// The exact results of importing declarations, containers and names.
#include "ir/text.h"
#include "onnx/elem_type.h"
#include "onnx/limits.h"
#include "support.h"

namespace poprt::onnx {
namespace {

pb::TypeProto tensor_type(int32_t elem_type, std::vector<int64_t> dims) {
  pb::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(elem_type);
  type.mutable_tensor_type()->mutable_shape();
  for (const int64_t d : dims)
    type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(d);
  return type;
}

pb::TypeProto sequence_of(const pb::TypeProto& element) {
  pb::TypeProto type;
  *type.mutable_sequence_type()->mutable_elem_type() = element;
  return type;
}

pb::TypeProto optional_of(const pb::TypeProto& element) {
  pb::TypeProto type;
  *type.mutable_optional_type()->mutable_elem_type() = element;
  return type;
}

pb::TypeProto map_type() {
  pb::TypeProto type;
  type.mutable_map_type()->set_key_type(pb::TensorProto::INT64);
  return type;
}

pb::ModelProto with_inputs(const std::vector<std::pair<std::string, pb::TypeProto>>& inputs) {
  pb::ModelProto model = relu_model();
  for (const auto& [name, type] : inputs) {
    auto* input = model.mutable_graph()->add_input();
    input->set_name(name);
    *input->mutable_type() = type;
  }
  return model;
}

TEST(GraphBuilder, InputsThatAreContainersAreNodes) {
  const pb::TypeProto t = tensor_type(pb::TensorProto::INT64, {-1, 3});
  pb::TypeProto bare;
  bare.mutable_tensor_type()->set_elem_type(pb::TensorProto::FLOAT);
  const auto g = import_proto(with_inputs({{"s", sequence_of(t)},
                                           {"z", t},
                                           {"o", optional_of(bare)},
                                           {"os", optional_of(sequence_of(t))},
                                           {"m", map_type()},
                                           {"ss", sequence_of(sequence_of(t))},
                                           {"om", optional_of(map_type())},
                                           {"oss", optional_of(sequence_of(sequence_of(t)))}}));
  g->metadata.clear();
  g->opsets.clear();
  EXPECT_EQ(ir::to_text(*g), R"(graph "g" {
  input %x : f32[2]
  input %z : s64[?,3]
  input %m : ?
  input %ss : ?
  input %om : ?
  input %oss : ?
  %s : ? = poprt.ContainerInput() {element = 11, kind = "sequence", position = 1, shape = [-1, 3]} "s"
  %o : ? = poprt.ContainerInput() {element = 1, kind = "optional", position = 3} "o"
  %os : ? = poprt.ContainerInput() {element = 11, kind = "optional_sequence", position = 4, shape = [-1, 3]} "os"
  %y : f32[2] = Relu(%x) "relu"
  output %y
}
)");
}

TEST(GraphBuilder, InputsOfBodiesAreNone) {
  pb::ModelProto model = relu_model();
  pb::NodeProto& n = add_node(*model.mutable_graph(), "Loop", {"", "", "x"}, {"l"});
  pb::GraphProto& body = *add_attribute(n, "body", pb::AttributeProto::GRAPH).mutable_g();
  auto* input = body.add_input();
  input->set_name("s");
  *input->mutable_type() = sequence_of(tensor_type(1, {}));
  add_output(body, "s");
  const auto g = import_proto(model);
  const auto& sub = **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[1]->find_attr("body"));
  EXPECT_EQ(sub.node_count(), 0u);
  ASSERT_EQ(sub.inputs().size(), 1u);
  EXPECT_EQ(sub.outputs()[0], sub.inputs()[0]);
}

TEST(GraphBuilder, OutputsThatAreContainersAreNoted) {
  const auto noted = [](const pb::TypeProto& type) {
    pb::ModelProto model = relu_model();
    *model.mutable_graph()->mutable_output(0)->mutable_type() = type;
    const auto g = import_proto(model);
    const auto found = g->metadata.find("declared.y");
    return found == g->metadata.end() ? std::string("nothing") : found->second;
  };
  const pb::TypeProto t = tensor_type(pb::TensorProto::FLOAT16, {2, -1});
  EXPECT_EQ(noted(t), "nothing");
  EXPECT_EQ(noted(sequence_of(t)), "sequence f16[2,?]");
  EXPECT_EQ(noted(optional_of(t)), "optional f16[2,?]");
  EXPECT_EQ(noted(optional_of(sequence_of(t))), "optional_sequence f16[2,?]");
  EXPECT_EQ(noted(sequence_of(sequence_of(t))), "nothing");
  EXPECT_EQ(noted(optional_of(sequence_of(sequence_of(t)))), "nothing");
  EXPECT_EQ(noted(map_type()), "nothing");
}

TEST(GraphBuilder, TypesAreOfSizesThatThereAre) {
  const auto type_of = [](const pb::TypeProto& type) {
    pb::ModelProto model = with_inputs({{"z", type}});
    const std::string message = refusal(model);
    return message == "taken" ? ir::type_string(import_proto(model)->find("z")->type) : message;
  };
  EXPECT_EQ(type_of(tensor_type(1, std::vector<int64_t>(64, 1))).substr(0, 8), "f32[1,1,");
  EXPECT_EQ(type_of(tensor_type(1, std::vector<int64_t>(65, 1))),
            "graph input 'z': it has 65 dimensions, at most 64 are supported");
  EXPECT_EQ(type_of(tensor_type(1, {0, 4})), "f32[0,4]");
  // The same if another dimension is zero.
  EXPECT_NE(type_of(tensor_type(1, {0, INT64_MAX, 2})).find("overflow"), std::string::npos);
  EXPECT_NE(type_of(tensor_type(1, {INT64_MAX, 0, 2})).find("overflow"), std::string::npos);
  // The number of elements fits into 64 bits, but not the number of their bits.
  EXPECT_NE(type_of(tensor_type(1, {int64_t{1} << 59})).find("overflow"), std::string::npos);
  EXPECT_EQ(type_of(tensor_type(1, {int64_t{1} << 58})), "f32[288230376151711744]");
  EXPECT_EQ(type_of(tensor_type(0, {2})), "undefined[2]");
  pb::TypeProto named = tensor_type(1, {7});
  named.mutable_tensor_type()->mutable_shape()->add_dim();
  named.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("N");
  EXPECT_EQ(type_of(named), "f32[7,?,N]");
}

// y = local.F(x): `inside` is the type that the function states for its result, `outside` the type
// that the caller states.
pb::ModelProto declared_twice(const pb::TypeProto& inside, const pb::TypeProto& outside) {
  pb::ModelProto model = base_model();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_input(*model.mutable_graph(), "x");
  auto* y = model.mutable_graph()->add_output();
  y->set_name("y");
  *y->mutable_type() = outside;
  add_node(*model.mutable_graph(), "F", {"x"}, {"y"}).set_domain("local");
  auto* f = model.add_functions();
  f->set_domain("local");
  f->set_name("F");
  f->add_input("a");
  f->add_output("r");
  *f->add_opset_import() = model.opset_import(0);
  add_node(*f, "Relu", {"a"}, {"r"});
  pb::ValueInfoProto info;
  info.set_name("r");
  *info.mutable_type() = inside;
  f->mutable_unknown_fields()->AddLengthDelimited(12, info.SerializeAsString());
  return model;
}

TEST(GraphBuilder, MergesDeclarationsOfOneValue) {
  const auto both = [](const pb::TypeProto& inside, const pb::TypeProto& outside) {
    const auto g = import_proto(declared_twice(inside, outside));
    const ir::ValueType& type = g->outputs()[0]->type;
    std::string text = ir::type_string(type);
    for (const std::string& s : type.symbols) text += " " + (s.empty() ? "-" : s);
    return text;
  };
  pb::TypeProto named = tensor_type(1, {-1, -1, 4});
  named.mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  pb::TypeProto other = named;
  other.mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("M");
  pb::TypeProto bare;
  bare.mutable_tensor_type()->set_elem_type(1);
  const pb::TypeProto nothing = tensor_type(0, {2, 3, 4});
  const pb::TypeProto unknown = tensor_type(1, {-1, 3, -1});
  EXPECT_EQ(both(unknown, bare), "f32[?,3,?]");
  EXPECT_EQ(both(bare, unknown), "f32[?,3,?]");
  EXPECT_EQ(both(bare, nothing), "f32[2,3,4]");
  EXPECT_EQ(both(nothing, bare), "f32[2,3,4]");
  EXPECT_EQ(both(unknown, tensor_type(1, {2, -1, -1})), "f32[2,3,?]");
  EXPECT_EQ(both(unknown, named), "f32[N,3,4] N - -");
  EXPECT_EQ(both(named, unknown), "f32[N,3,4] N - -");
  EXPECT_EQ(both(named, other), "f32[N,?,4] N - -");
  EXPECT_EQ(both(named, nothing), "f32[2,3,4] N - -");
}

TEST(GraphBuilder, InputsAndTheLastDeclarationStay) {
  pb::ModelProto model = relu_model();
  pb::GraphProto& g = *model.mutable_graph();
  g.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->Clear();
  add_value(g.mutable_value_info(), "x", {2});
  add_value(g.mutable_value_info(), "y", {2});
  *g.mutable_output(0)->mutable_type() = tensor_type(1, {-1});
  g.add_value_info()->set_name("y");  // without a type
  const auto graph = import_proto(model);
  EXPECT_EQ(ir::type_string(graph->find("x")->type), "f32[?]")
      << "nothing else states the type of an input";
  EXPECT_EQ(ir::type_string(graph->find("y")->type), "f32[?]") << "the last one counts";
}

TEST(GraphBuilder, ADeclarationThatContradictsNamesTheValue) {
  pb::ModelProto model = relu_model();
  add_value(model.mutable_graph()->mutable_value_info(), "y", {3});
  EXPECT_EQ(refusal(model), "type of value 'y': it is declared both f32[3] and f32[2]");
  model = relu_model();
  add_value(model.mutable_graph()->mutable_value_info(), "x", {3});
  EXPECT_EQ(refusal(model), "type of value 'x': it is declared both f32[2] and f32[3]");
}

TEST(GraphBuilder, NodesAreNamedAsTheyCanBe) {
  const auto message_for = [](const std::string& domain, const std::string& op,
                              const std::string& name, const std::vector<std::string>& outs) {
    pb::ModelProto model = relu_model();
    add_node(*model.mutable_graph(), op, {"none"}, outs, name).set_domain(domain);
    model.mutable_graph()->mutable_node()->SwapElements(0, 1);
    const std::string text = refusal(model);
    return text.substr(0, text.find(": "));
  };
  EXPECT_EQ(message_for("", "Neg", "n", {"o"}), "Neg node 'n'");
  EXPECT_EQ(message_for("", "Neg", "", {"o", "p"}), "Neg node that makes 'o'");
  EXPECT_EQ(message_for("", "Neg", "", {}), "Neg node");
  EXPECT_EQ(message_for("d", "Neg", "n", {}), "d.Neg node 'n'");
  EXPECT_EQ(message_for("", "A \x1f\x7f~", "n", {}), "A ??~ node 'n'");
  const std::string most(118, 'o');
  EXPECT_EQ(message_for("d", most, "n", {}), "d." + most + " node 'n'");
  EXPECT_EQ(message_for("d", most + "p", "n", {}), "d." + most + " node 'n'");
}

TEST(GraphBuilder, ConstantsHaveNoInputOneOutputAndOneValue) {
  const auto message_for = [](const std::vector<std::string>& ins,
                              const std::vector<std::string>& outs,
                              const std::vector<std::string>& values) {
    pb::ModelProto model = relu_model();
    pb::NodeProto& n = add_node(*model.mutable_graph(), "Constant", ins, outs, "c");
    for (const std::string& v : values) add_attribute(n, v, pb::AttributeProto::INT).set_i(1);
    return refusal(model);
  };
  const std::string text = "Constant node 'c': expected no input, one output and one value, found ";
  EXPECT_EQ(message_for({}, {"k"}, {"value_int"}), "taken");
  EXPECT_EQ(message_for({}, {"k", ""}, {"value_int"}), "taken");
  EXPECT_EQ(message_for({"x"}, {"k"}, {"value_int"}), text + "1, 1 and 1");
  EXPECT_EQ(message_for({}, {"k", "l"}, {"value_int"}), text + "0, 2 and 1");
  EXPECT_EQ(message_for({}, {"k"}, {}), text + "0, 1 and 0");
  EXPECT_EQ(message_for({}, {"k"}, {"value_int", "value"}), text + "0, 1 and 2");
  EXPECT_EQ(message_for({}, {"k"}, {"word"}), "Constant node 'c': unknown attribute 'word'");
  for (const char* key : {"value", "sparse_value", "value_float", "value_string", "value_floats",
                          "value_ints", "value_strings"})
    EXPECT_EQ(message_for({}, {"k"}, {key}),
              "Constant node 'c': attribute '" + std::string(key) + "' has the wrong type");
  // A node of another domain is an ordinary node.
  pb::ModelProto model = relu_model();
  auto* import = model.add_opset_import();
  import->set_domain("d");
  import->set_version(1);
  add_node(*model.mutable_graph(), "Constant", {"x"}, {"k"}).set_domain("d");
  add_node(*model.mutable_graph(), "If", {"x"}, {}).set_domain("d");
  EXPECT_EQ(refusal(model), "d.If node: it has no output");
  model.mutable_graph()->mutable_node()->RemoveLast();
  EXPECT_EQ(import_proto(model)->node_count(), 2u);
}

TEST(GraphBuilder, TypesOfAttributesMatchTheirFields) {
  using Fill = void (*)(pb::AttributeProto&);
  const std::tuple<const char*, Fill, size_t> fields[] = {
      {"INT", [](auto& a) { a.set_i(1); }, ir::Attribute(int64_t{1}).index()},
      {"FLOAT", [](auto& a) { a.set_f(1); }, ir::Attribute(1.F).index()},
      {"STRING", [](auto& a) { a.set_s("s"); }, ir::Attribute(std::string()).index()},
      {"TENSOR",
       [](auto& a) {
         a.mutable_t()->set_data_type(1);
         a.mutable_t()->add_float_data(1);
       },
       ir::Attribute(Tensor()).index()},
      {"GRAPH", [](auto& a) { add_output(*a.mutable_g(), "x"); },
       ir::Attribute(std::shared_ptr<ir::Graph>()).index()},
      {"FLOATS", [](auto& a) { a.add_floats(1); }, ir::Attribute(std::vector<float>()).index()},
      {"INTS", [](auto& a) { a.add_ints(1); }, ir::Attribute(std::vector<int64_t>()).index()},
      {"STRINGS", [](auto& a) { a.add_strings("s"); },
       ir::Attribute(std::vector<std::string>()).index()},
      {"TENSORS",
       [](auto& a) {
         a.add_tensors()->set_data_type(1);
         a.mutable_tensors(0)->add_float_data(1);
       },
       ir::Attribute(std::vector<Tensor>()).index()},
      {"GRAPHS", [](auto& a) { add_output(*a.add_graphs(), "x"); },
       ir::Attribute(std::vector<std::shared_ptr<ir::Graph>>()).index()},
  };
  const auto with = [](Fill one, Fill other, pb::AttributeProto::AttributeType type) {
    pb::ModelProto model = relu_model();
    pb::AttributeProto& a = *model.mutable_graph()->mutable_node(0)->add_attribute();
    a.set_name("a");
    if (type != pb::AttributeProto::UNDEFINED) a.set_type(type);
    one(a);
    if (other) other(a);
    return model;
  };
  const std::string start = "Relu node 'relu': attribute 'a': ";
  for (const auto& [name, fill, index] : fields) {
    const auto g = import_proto(with(fill, nullptr, pb::AttributeProto::UNDEFINED));
    EXPECT_EQ(g->nodes()[0]->find_attr("a")->index(), index) << name;
    EXPECT_EQ(refusal(with(fill, nullptr, pb::AttributeProto::TYPE_PROTO)),
              start + "its type is TYPE_PROTO, it holds a value of type " + name);
    EXPECT_EQ(refusal(with(
                  fill, [](auto& a) { a.add_type_protos(); }, pb::AttributeProto::UNDEFINED)),
              start + "its type is " + name + ", it holds a value of type TYPE_PROTOS");
  }
  EXPECT_EQ(refusal(with([](auto& a) { a.add_sparse_tensors(); }, nullptr,
                         pb::AttributeProto::UNDEFINED)),
            start + "attributes of type SPARSE_TENSORS are not supported");
  EXPECT_EQ(refusal(with([](auto&) {}, nullptr, pb::AttributeProto::UNDEFINED)),
            start + "it has neither a known type nor a value");
  for (const auto type :
       {pb::AttributeProto::TENSOR, pb::AttributeProto::SPARSE_TENSOR, pb::AttributeProto::GRAPH})
    EXPECT_EQ(refusal(with([](auto&) {}, nullptr, type)), start + "it has no value");
}

TEST(GraphBuilder, TheTypeOfAnAbsentOptionalIsLeftOut) {
  const auto message_for = [](const char* op, const char* key) {
    pb::ModelProto model = relu_model();
    pb::NodeProto& n = add_node(*model.mutable_graph(), op, {}, {"o"}, "n");
    add_attribute(n, key, pb::AttributeProto::TYPE_PROTO).mutable_tp();
    const std::string text = refusal(model);
    return text == "taken" ? std::to_string(import_proto(model)->nodes()[1]->attributes.size())
                           : text;
  };
  const std::string refused = "': attributes of type TYPE_PROTO are not supported";
  EXPECT_EQ(message_for("Optional", "type"), "0");
  EXPECT_EQ(message_for("Optional", "kind"), "Optional node 'n': attribute 'kind" + refused);
  EXPECT_EQ(message_for("Other", "type"), "Other node 'n': attribute 'type" + refused);
  pb::ModelProto model = relu_model();
  pb::NodeProto& n = add_node(*model.mutable_graph(), "Optional", {}, {"o"}, "n");
  add_attribute(n, "type", pb::AttributeProto::INT).set_i(1);
  EXPECT_EQ(import_proto(model)->nodes()[1]->int_attr("type", 0), 1);
}

TEST(GraphBuilder, OuterValuesReturnedByABodyKeepTheirType) {
  pb::ModelProto model = relu_model();
  pb::NodeProto& n = add_node(*model.mutable_graph(), "If", {"x"}, {"b"});
  pb::GraphProto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g();
  body.add_output()->set_name("x");
  add_output(body, "y", {-1});
  const auto g = import_proto(model);
  const auto& sub = **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[1]->find_attr("g"));
  EXPECT_EQ(sub.name, "graph") << "without a name of its own";
  ASSERT_EQ(sub.outputs().size(), 2u);
  EXPECT_EQ(ir::type_string(sub.outputs()[0]->type), "f32[2]");
  EXPECT_EQ(ir::type_string(sub.outputs()[1]->type), "f32[2]");
  EXPECT_EQ(sub.outputs()[0]->name(), "x_0");
  EXPECT_EQ(sub.outputs()[1]->name(), "y_0");
}

TEST(GraphBuilder, ABodyDeclaresAnOuterValueThatHasNoType) {
  pb::ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Custom", {"x"}, {"c"}).set_domain("ai.graphcore");
  pb::NodeProto& n = add_node(*model.mutable_graph(), "If", {"x"}, {"b"});
  pb::GraphProto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g();
  add_output(body, "c", {5});
  const auto g = import_proto(model);
  const auto& sub = **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[2]->find_attr("g"));
  EXPECT_EQ(ir::type_string(g->find("c")->type), "?");
  EXPECT_EQ(ir::type_string(sub.outputs().at(0)->type), "f32[5]");
}

TEST(GraphBuilder, InputsOutputsAndAttributesHaveNames) {
  pb::ModelProto model = relu_model();
  add_input(*model.mutable_graph(), "");
  EXPECT_EQ(refusal(model), "graph input '': it has no name");
  model = relu_model();
  add_output(*model.mutable_graph(), "");
  EXPECT_EQ(refusal(model), "graph output '': it has no name");
  model = relu_model();
  add_attribute(*model.mutable_graph()->mutable_node(0), "", pb::AttributeProto::INT).set_i(1);
  EXPECT_EQ(refusal(model), "Relu node 'relu': attribute '': it has no name");
}

TEST(GraphBuilder, AConstantHasItsDeclaredType) {
  const auto constant_declared = [](const std::vector<int64_t>& dims) {
    pb::ModelProto model = relu_model();
    pb::NodeProto& n = add_node(*model.mutable_graph(), "Constant", {}, {"c"}, "n");
    add_attribute(n, "value_floats", pb::AttributeProto::FLOATS).add_floats(1);
    add_value(model.mutable_graph()->mutable_value_info(), "c", dims);
    return refusal(model);
  };
  EXPECT_EQ(constant_declared({1}), "taken");
  EXPECT_EQ(constant_declared({7}),
            "Constant node 'n': type of value 'c': it is declared as f32[7], its initializer is "
            "f32[1]");
}

TEST(GraphBuilder, EachPieceOfTheHeadIsNeeded) {
  pb::ModelProto model = relu_model();
  model.clear_ir_version();
  EXPECT_EQ(refusal(model), "the model has no ir_version");
  model.clear_graph();
  EXPECT_EQ(refusal(model), "not an ONNX model: it has neither ir_version nor graph");
  model = relu_model();
  model.set_ir_version(15);
  EXPECT_EQ(refusal(model), "IR version 15 is not supported, expected 3 to 14");
  expect_import_error(ErrorCode::unimplemented, {"15"}, model);
  model.set_ir_version(2);
  expect_import_error(ErrorCode::invalid_argument, {"IR version 2 is not supported"}, model);
  const auto bytes = [](const std::string& s) {
    return message_of_action([&] { import_bytes(bytes_of(s)); });
  };
  EXPECT_EQ(bytes("PopEF "),
            "a PopEF file, not an ONNX model: it is compiled already, give it to a runner");
  EXPECT_EQ(bytes("PopEF").find("PopEF"), std::string::npos);
  EXPECT_EQ(bytes("PopEG ").find("PopEF"), std::string::npos);
}

TEST(GraphBuilder, CopiesTheMetadataOfTheModel) {
  pb::ModelProto model = relu_model();
  EXPECT_EQ(import_proto(model)->metadata,
            (std::map<std::string, std::string>{{"ir_version", "8"}}));
  model.set_model_version(0);
  model.set_domain("d");
  EXPECT_EQ(import_proto(model)->metadata,
            (std::map<std::string, std::string>{
                {"ir_version", "8"}, {"model_version", "0"}, {"domain", "d"}}));
  model.mutable_graph()->clear_name();
  EXPECT_EQ(import_proto(model)->name, "graph");
}

// An assumed opset is that of the attributes in use, wherever the node is.
TEST(GraphBuilder, AssumedOpsetsSeeBodiesAndFunctions) {
  const auto label_encoder = [](auto& owner, const std::string& in, const std::string& out) {
    pb::NodeProto& n = add_node(owner, "LabelEncoder", {in}, {out});
    n.set_domain("ai.onnx.ml");
    add_attribute(n, "keys_int64s", pb::AttributeProto::INTS).add_ints(1);
  };
  for (int place = 0; place < 6; place++) {
    pb::ModelProto model = relu_model();
    if (place > 3) label_encoder(*model.mutable_graph(), "x", "before");
    add_node(*model.mutable_graph(), "Scaler", {"x"}, {"s"}).set_domain("ai.onnx.ml");
    pb::NodeProto& n = add_node(*model.mutable_graph(), "If", {"x"}, {"i"});
    auto& a = add_attribute(
        n, "g", place % 4 == 1 ? pb::AttributeProto::GRAPHS : pb::AttributeProto::GRAPH);
    pb::GraphProto& body = place % 4 == 1 ? *a.add_graphs() : *a.mutable_g();
    if (place < 2) label_encoder(body, "x", "e");
    add_output(body, place < 2 ? "e" : "x");
    if (place == 2) label_encoder(*model.add_functions(), "x", "e");
    if (place == 2) model.mutable_functions(0)->set_name("f");
    if (place == 1) add_output(*a.add_graphs(), "x");
    EXPECT_EQ(import_proto(model)->opsets.at("ai.onnx.ml"), place == 3 ? 1 : 2) << place;
  }
}

}  // namespace
}  // namespace poprt::onnx
