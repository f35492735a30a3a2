// Names, depths, attributes and arity of functions that are inlined, to the letter.
#include <google/protobuf/unknown_field_set.h>

#include "ir/verifier.h"
#include "onnx/functions.h"
#include "onnx/limits.h"
#include "support.h"

namespace poprt::onnx {
namespace {

pb::FunctionProto& add_function(pb::ModelProto& model, const std::string& name,
                                const std::vector<std::string>& ins,
                                const std::vector<std::string>& outs) {
  auto* f = model.add_functions();
  f->set_domain("local");
  f->set_name(name);
  for (const auto& i : ins) f->add_input(i);
  for (const auto& o : outs) f->add_output(o);
  for (const auto& import : model.opset_import()) *f->add_opset_import() = import;
  return *f;
}

pb::NodeProto& add_call(auto& owner, const std::string& name, const std::vector<std::string>& ins,
                        const std::vector<std::string>& outs, const std::string& node = "") {
  pb::NodeProto& n = add_node(owner, name, ins, outs, node);
  n.set_domain("local");
  return n;
}

// With input x and output y, which nothing makes yet.
pb::ModelProto empty_model() {
  pb::ModelProto model = base_model();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_input(*model.mutable_graph(), "x");
  add_output(*model.mutable_graph(), "y");
  return model;
}

std::string refusal(const pb::ModelProto& model) {
  try {
    import_proto(model);
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}

std::string text(const ir::Graph& g) {
  std::string out;
  for (const ir::Node* n : g.nodes()) {
    for (const ir::Value* v : n->outputs()) out += v->name() + " ";
    out += "= " + n->op_type;
    for (const ir::Value* v : n->inputs()) out += " " + (v ? v->name() : std::string("-"));
    out += "; ";
  }
  return out;
}

TEST(FunctionDetails, ACallHasNoMoreThanTheFunction) {
  const auto said = [](const std::vector<std::string>& ins, const std::vector<std::string>& outs) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a", "b"}, {"r", "s", "t"});
    for (const char* o : {"r", "s", "t"}) add_node(f, "Add", {"a", "b"}, {o});
    add_call(*model.mutable_graph(), "F", ins, outs, "call");
    return refusal(model);
  };
  const std::string has = "local.F node 'call': function 'F' has 2 inputs and 3 outputs, the call ";
  EXPECT_EQ(said({"x", "x"}, {"y", "p", "q"}), "taken");
  EXPECT_EQ(said({"x", "x", "x"}, {"y"}), has + "3 and 1");
  EXPECT_EQ(said({"x"}, {"y", "p", "q", "r"}), has + "1 and 4");
}

TEST(FunctionDetails, ResultsThatTheCallLeavesOutKeepTheNamesOfTheBody) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r", "s", "t"});
  add_node(f, "Abs", {"a"}, {"r"}, "abs");
  add_node(f, "Exp", {"r"}, {"s"});
  add_node(f, "Neg", {"s"}, {"t"}, "neg");
  add_call(*model.mutable_graph(), "F", {"x"}, {"", "y"}, "call");
  const auto g = import_proto(model);
  EXPECT_EQ(text(*g), "call/r = Abs x; y = Exp call/r; call/t = Neg y; ");
  EXPECT_EQ(g->nodes()[0]->name, "call/abs");
  EXPECT_EQ(g->nodes()[1]->name, "call/");
}

TEST(FunctionDetails, ArgumentsThatAreLeftOutAreNotReturned) {
  const auto model_of = [](bool in_body) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a", "b"}, {in_body ? "r" : "b"});
    auto& n = add_node(f, "If", {"a"}, {"r"}, "if");
    add_output(*add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g(), in_body ? "b" : "a");
    add_call(*model.mutable_graph(), "F", {"x", ""}, {"y"}, "call");
    return model;
  };
  EXPECT_EQ(refusal(model_of(false)),
            "local.F node 'call': function 'F' returns argument 'b', which the call leaves out");
  EXPECT_EQ(refusal(model_of(true)),
            "local.F node 'call': in function 'F': If node 'if': attribute 'g': subgraph '': graph "
            "output 'b': it is an argument that the caller left out");
}

// Names of the model that a name made from a body's would take.
TEST(FunctionDetails, NamesOfTheWholeModelAreTaken) {
  using Fill = void (*)(pb::GraphProto&);
  const Fill takes[] = {
      [](pb::GraphProto& g) { add_input(g, "call/t"); },
      [](pb::GraphProto& g) {
        g.add_initializer()->set_name("call/t");
        g.mutable_initializer(0)->set_data_type(1);
        g.mutable_initializer(0)->add_float_data(1);
      },
      [](pb::GraphProto& g) {
        auto& s = *g.add_sparse_initializer();
        s.add_dims(1);
        s.mutable_values()->set_name("call/t");
        s.mutable_values()->set_data_type(1);
        s.mutable_values()->add_dims(0);
      },
      [](pb::GraphProto& g) { add_node(g, "Abs", {"x"}, {"other", "call/t"}); },
      [](pb::GraphProto& g) {
        pb::NodeProto& n = add_node(g, "If", {"x"}, {"i"});
        auto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g();
        add_node(body, "Abs", {"x"}, {"call/t"});
        add_output(body, "call/t");
      },
      [](pb::GraphProto& g) {
        pb::NodeProto& n = add_node(g, "If", {"x"}, {"i"});
        auto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPHS).add_graphs();
        add_node(body, "Abs", {"x"}, {"call/t"});
        add_output(body, "call/t");
      }};
  for (size_t i = 0; i < std::size(takes); i++) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a"}, {"r"});
    add_node(f, "Relu", {"a"}, {"t"});
    add_node(f, "Neg", {"t"}, {"r"});
    add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
    takes[i](*model.mutable_graph());
    EXPECT_EQ(text(*import_proto(model)).substr(0, 40),
              "call/t_0 = Relu x; y = Neg call/t_0; " + text(*import_proto(model)).substr(37, 3))
        << i;
  }
}

TEST(FunctionDetails, LongNamesAreCut) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  const std::string most(256, 't');
  add_node(f, "Relu", {"a"}, {most + "end"}, most + "end");
  add_node(f, "Neg", {most + "end"}, {"r"});
  const auto name_with = [&](const std::string& call) {
    pb::ModelProto called = model;
    add_call(*called.mutable_graph(), "F", {"x"}, {"y"}, call);
    const auto g = import_proto(called);
    EXPECT_EQ(g->nodes()[0]->name, g->nodes()[0]->output()->name());
    return g->nodes()[0]->name;
  };
  EXPECT_EQ(name_with("call"), "call/" + most);
  EXPECT_EQ(name_with(""), "F/" + most) << "a call without a name";
  const std::string call(255, 'c');
  EXPECT_EQ(name_with(call), call + "/" + most) << "just not too long";
  EXPECT_EQ(name_with(call + "c"), std::string(32, 'c') + "/" + most);
}

// A chain of calls whose last function holds an If with a body.
pb::ModelProto chain_with_body(int functions) {
  pb::ModelProto model = empty_model();
  for (int level = 0; level < functions; level++) {
    auto& f = add_function(model, "F" + std::to_string(level), {"a"}, {"r"});
    if (level + 1 < functions) {
      add_call(f, "F" + std::to_string(level + 1), {"a"}, {"r"});
      continue;
    }
    auto& n = add_node(f, "If", {"a"}, {"r"});
    add_output(*add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g(), "a");
  }
  add_call(*model.mutable_graph(), "F0", {"x"}, {"y"});
  return model;
}

TEST(FunctionDetails, BodiesOfFunctionsCountAsDepth) {
  EXPECT_EQ(refusal(chain_with_body(kMaxDepth - 1)), "taken");
  EXPECT_NE(refusal(chain_with_body(kMaxDepth)).find("nested deeper than 128"), std::string::npos);
}

TEST(FunctionDetails, CallsInBodiesCountAsDepth) {
  // A call in a body in a function that the graph calls: each takes one.
  const auto chain = [](int functions) {
    pb::ModelProto model = empty_model();
    for (int level = 0; level < functions; level++) {
      auto& f = add_function(model, "F" + std::to_string(level), {"a"}, {"r"});
      if (level + 1 == functions) {
        add_node(f, "Relu", {"a"}, {"r"});
      } else if (level < 2) {
        auto& n = add_node(f, "If", {"a"}, {"r"});
        auto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g();
        add_call(body, "F" + std::to_string(level + 1), {"a"}, {"e"});
        add_output(body, "e");
      } else {
        add_call(f, "F" + std::to_string(level + 1), {"a"}, {"r"});
      }
    }
    add_call(*model.mutable_graph(), "F0", {"x"}, {"y"});
    return refusal(model);
  };
  EXPECT_EQ(chain(kMaxDepth - 2), "taken");
  EXPECT_NE(chain(kMaxDepth - 1).find("nested deeper than 128"), std::string::npos);
}

TEST(FunctionDetails, NamesOfBodiesInFunctionsHaveThePrefix) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  auto& n = add_node(f, "If", {"a"}, {"r"}, "if");
  auto& body = *add_attribute(n, "g", pb::AttributeProto::GRAPH).mutable_g();
  add_node(body, "Abs", {"a"}, {"e"}, "abs");
  add_output(body, "e");
  add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  const auto g = import_proto(model);
  const auto& sub = **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[0]->find_attr("g"));
  EXPECT_EQ(text(sub), "call/e = Abs x; ");
  EXPECT_EQ(sub.nodes()[0]->name, "call/abs");
}

TEST(FunctionDetails, ListsOfGraphsAreHandedOn) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  add_node(f, "Op1", {"a"}, {"t"});
  auto& n = add_node(f, "Op2", {"t"}, {"r"});
  add_attribute(n, "own", pb::AttributeProto::GRAPHS).set_ref_attr_name("bodies");
  pb::NodeProto& call = add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  auto& bodies = add_attribute(call, "bodies", pb::AttributeProto::GRAPHS);
  for (const char* op : {"Exp", "Abs"}) {
    pb::GraphProto& body = *bodies.add_graphs();
    body.set_name(op);
    add_node(body, op, {"x"}, {std::string("e") + op});
    add_output(body, std::string("e") + op);
  }
  const auto g = import_proto(model);
  const auto& list =
      *std::get_if<std::vector<std::shared_ptr<ir::Graph>>>(g->nodes()[1]->find_attr("own"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]->name, "Exp");
  EXPECT_EQ(list[1]->name, "Abs");
  for (const auto& sub : list) {
    EXPECT_EQ(sub->parent, g.get());
    EXPECT_EQ(sub->nodes()[0]->input(0), g->find("x"));
  }
  ir::verify(*g);
}

// attribute_proto (IR 9) is newer than the proto classes.
void add_default(pb::FunctionProto& f, const pb::AttributeProto& a) {
  f.mutable_unknown_fields()->AddLengthDelimited(11, a.SerializeAsString());
}

TEST(FunctionDetails, DefaultsAreNoGraphs) {
  for (const bool list : {false, true}) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a"}, {"r"});
    add_node(f, "Relu", {"a"}, {"r"});
    pb::AttributeProto a;
    a.set_name("g");
    add_output(list ? *a.add_graphs() : *a.mutable_g(), "x");
    add_default(f, a);
    add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
    EXPECT_EQ(refusal(model),
              "local.F node 'call': default of attribute 'g': a graph is not supported here");
  }
}

TEST(FunctionDetails, FieldsOfNewerVersionsThatAreDamagedAreSaid) {
  for (const auto& [number, name] : {std::pair{11, "attribute_proto"}, {12, "value_info"}}) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a"}, {"r"});
    add_node(f, "Relu", {"a"}, {"r"});
    f.mutable_unknown_fields()->AddVarint(number, 7);  // of another type: no such field
    add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
    EXPECT_EQ(refusal(model), "taken");
    f.mutable_unknown_fields()->AddLengthDelimited(number, "");
    f.mutable_unknown_fields()->AddLengthDelimited(number, "\xff");
    EXPECT_EQ(refusal(model), fmt::format("function 'F': its {} 2 is damaged", name));
  }
}

TEST(FunctionDetails, OverloadsAreWords) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  add_node(f, "Relu", {"a"}, {"r"});
  pb::NodeProto& call = add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  call.mutable_unknown_fields()->AddVarint(8, 7);
  call.mutable_unknown_fields()->AddLengthDelimited(9, "v2");
  EXPECT_EQ(text(*import_proto(model)), "y = Relu x; ");
}

TEST(FunctionDetails, OpsetsOfFunctionsAreCheckedBeforeAnyCall) {
  pb::ModelProto model = empty_model();
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  auto& f = add_function(model, "F", {"a"}, {"r"});
  f.mutable_opset_import(0)->set_version(0);
  EXPECT_EQ(refusal(model),
            "function 'F': opset_import of domain '' has version 0, at least 1 is expected");
  f.mutable_opset_import(0)->set_version(28);
  EXPECT_EQ(refusal(model),
            "function 'F': opset 28 is not supported, the newest that is known is 27");
  f.mutable_opset_import(0)->set_version(1);
  f.mutable_opset_import(1)->set_version(1000);
  EXPECT_EQ(refusal(model), "taken");
  *f.add_opset_import() = f.opset_import(1);
  EXPECT_EQ(refusal(model), "taken") << "said twice alike";
  f.mutable_opset_import(2)->set_version(999);
  EXPECT_EQ(refusal(model),
            "function 'F': opset_import gives domain 'local' both version 1000 and 999");
  f.clear_name();
  EXPECT_EQ(refusal(model), "function '': it has no name");
}

TEST(FunctionDetails, SparseTensorsOfAFunctionAreReadOnce) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  auto& c = add_node(f, "Constant", {}, {"k"});
  auto& s =
      *add_attribute(c, "sparse_value", pb::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
  s.add_dims(2);
  s.mutable_values()->set_data_type(1);
  s.mutable_values()->add_dims(1);
  s.mutable_values()->add_float_data(7);
  s.mutable_indices()->set_data_type(7);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_int64_data(1);
  add_node(f, "Add", {"a", "k"}, {"r"});
  add_call(*model.mutable_graph(), "F", {"x"}, {"t"}, "call");
  add_call(*model.mutable_graph(), "F", {"t"}, {"y"}, "call");
  const auto g = import_proto(model);
  EXPECT_EQ(g->find("call/k_0")->constant().to_doubles(), (std::vector<double>{0, 7}));
  EXPECT_EQ(g->find("call/k")->constant().data(), g->find("call/k_0")->constant().data());
}

TEST(FunctionDetails, AnIdentityBringsTheStandardDomain) {
  pb::ModelProto model = empty_model();
  model.mutable_opset_import()->SwapElements(0, 1);
  model.mutable_opset_import()->RemoveLast();
  add_function(model, "F", {"a"}, {"a"});
  add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  const auto g = import_proto(model);
  EXPECT_EQ(text(*g), "y = Identity x; ");
  EXPECT_EQ(g->opsets, (std::map<std::string, int64_t>{{"", 13}, {"local", 1}}));
}

TEST(FunctionDetails, UnknownDomainsOfFunctionsAreSaid) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  add_node(f, "Op", {"a"}, {"r"}, "n").set_domain("custom");
  add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  EXPECT_EQ(refusal(model),
            "local.F node 'call': in function 'F': custom.Op node 'n': the function imports no "
            "opset of domain 'custom', which it uses");
  auto* own = f.add_opset_import();
  own->set_domain("custom");
  own->set_version(2);
  auto* other = model.add_opset_import();
  other->set_domain("custom");
  other->set_version(3);
  EXPECT_EQ(refusal(model),
            "local.F node 'call': in function 'F': custom.Op node 'n': the function imports opset "
            "2 of domain 'custom', the model 3, and 'Op' has no published definition to compare; a "
            "function is inlined where both define its operators alike: convert the model, or its "
            "function, to one opset; to ask for more, open an issue with this line");
}

TEST(FunctionDetails, TheMostNodesMayBeInlined) {
  // 400 calls of 499 nodes, the calls themselves in a function: 200 000 with those.
  const auto model_of = [](int more) {
    pb::ModelProto model = empty_model();
    auto& outer = add_function(model, "F", {"a"}, {"r"});
    for (int i = 0; i < 400; i++) add_call(outer, "G", {"a"}, {i ? "" : "r"});
    for (int i = 0; i < more; i++) add_node(outer, "Abs", {"a"}, {""});
    auto& inner = add_function(model, "G", {"b"}, {"c"});
    add_node(inner, "Abs", {"b"}, {"c"});
    for (int i = 1; i < 499; i++) add_node(inner, "Abs", {"c"}, {""});
    add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
    return model;
  };
  EXPECT_EQ(import_proto(model_of(0))->node_count(), 400u * 499u);
  EXPECT_NE(refusal(model_of(1)).find("inlining functions adds more than 200000 nodes"),
            std::string::npos);
}

}  // namespace
}  // namespace poprt::onnx
