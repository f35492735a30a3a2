#include "onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include "base/log.h"
#include "ir/verifier.h"
#include "onnx/limits.h"
#include "support.h"

namespace poprt::onnx {
namespace {

pb::FunctionProto& add_function(pb::ModelProto& model, const std::string& name,
                                const std::vector<std::string>& ins,
                                const std::vector<std::string>& outs, int64_t opset = 17) {
  auto* f = model.add_functions();
  f->set_domain("local");
  f->set_name(name);
  for (const auto& i : ins) f->add_input(i);
  for (const auto& o : outs) f->add_output(o);
  auto* import = f->add_opset_import();
  import->set_domain("");
  import->set_version(opset);
  import = f->add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  return *f;
}

pb::NodeProto& local(pb::NodeProto& node) {
  node.set_domain("local");
  return node;
}

// y = local.F(x); each test fills the body of F.
struct Model {
  pb::ModelProto model = base_model(17, 8);
  pb::NodeProto* call;
  Model() {
    auto* import = model.add_opset_import();
    import->set_domain("local");
    import->set_version(1);
    add_input(*model.mutable_graph(), "x");
    add_output(*model.mutable_graph(), "y");
    call = &local(add_node(*model.mutable_graph(), "F", {"x"}, {"y"}, "call"));
  }
};

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

TEST(Functions, AreInlined) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  add_node(f, "Relu", {"a"}, {"t"}, "inner");
  add_node(f, "Neg", {"t"}, {"r"});
  const auto g = import_proto(m.model);
  EXPECT_EQ(text(*g), "call/t = Relu x; y = Neg call/t; ");
  EXPECT_EQ(g->nodes()[0]->name, "call/inner");
  EXPECT_EQ(g->outputs()[0]->name(), "y");
  EXPECT_EQ(ir::type_string(g->outputs()[0]->type), "f32[2]");
}

// The protobuf classes have no field for value_info of IR 10.
void declare_inside(pb::FunctionProto& f, const std::string& name, std::vector<int64_t> dims) {
  pb::GraphProto holder;
  add_value(holder.mutable_value_info(), name, std::move(dims));
  f.mutable_unknown_fields()->AddLengthDelimited(12, holder.value_info(0).SerializeAsString());
}

TEST(Functions, DeclareTheirValues) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  add_node(f, "Relu", {"a"}, {"t"}, "inner");
  add_node(f, "Neg", {"t"}, {"r"});
  declare_inside(f, "t", {7});
  const auto g = import_proto(m.model);
  EXPECT_EQ(ir::type_string(g->find("call/t")->type), "f32[7]");
}

TEST(Functions, DeclareTheirArgumentsAndResultsAsTheCallerDoes) {
  for (const char* name : {"a", "r"}) {
    Model m;
    auto& f = add_function(m.model, "F", {"a"}, {"r"});
    add_node(f, "Relu", {"a"}, {"r"});
    declare_inside(f, name, {7});
    expect_error(ErrorCode::invalid_argument, {"it is declared both"},
                 [&] { import_proto(m.model); });
  }
}

TEST(Functions, CallingTwiceMakesUniqueNamesAndSharesConstants) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  auto& c = add_node(f, "Constant", {}, {"k"});
  auto& t = *add_attribute(c, "value", pb::AttributeProto::TENSOR).mutable_t();
  t.set_data_type(1);
  t.add_dims(2);
  t.set_raw_data(std::string(8, '\0'));
  add_node(f, "Add", {"a", "k"}, {"r"});
  local(add_node(*m.model.mutable_graph(), "F", {"y"}, {"z"}, "call"));
  const auto g = import_proto(m.model);
  EXPECT_EQ(text(*g), "y = Add x call/k; z = Add y call/k_0; ");
  EXPECT_EQ(g->find("call/k")->constant().data(), g->find("call/k_0")->constant().data());
}

TEST(Functions, Nest) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  local(add_node(f, "G", {"a"}, {"s"}, "one"));
  local(add_node(f, "G", {"s"}, {"r"}, "two"));
  auto& inner = add_function(m.model, "G", {"b"}, {"c"});
  add_node(inner, "Abs", {"b"}, {"u"});
  add_node(inner, "Exp", {"u"}, {"c"});
  EXPECT_EQ(text(*import_proto(m.model)),
            "call/one/u = Abs x; call/s = Exp call/one/u; call/two/u = Abs call/s; y = Exp "
            "call/two/u; ");
}

TEST(Functions, ReadCallAttributes) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  f.add_attribute("slope");
  f.add_attribute("absent");
  auto& n = add_node(f, "LeakyRelu", {"a"}, {"r"});
  add_attribute(n, "alpha", pb::AttributeProto::FLOAT).set_ref_attr_name("slope");
  add_attribute(n, "beta", pb::AttributeProto::FLOAT).set_ref_attr_name("absent");
  add_attribute(*m.call, "slope", pb::AttributeProto::FLOAT).set_f(0.25f);
  const auto g = import_proto(m.model);
  EXPECT_EQ(g->nodes()[0]->float_attr("alpha", 0), 0.25f);
  EXPECT_EQ(g->nodes()[0]->find_attr("beta"), nullptr);
}

// attribute_proto (IR 9) is newer than the proto classes.
TEST(Functions, ReadDefaultAttributes) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  pb::AttributeProto fallback;
  fallback.set_name("slope");
  fallback.set_type(pb::AttributeProto::FLOAT);
  fallback.set_f(0.5f);
  f.mutable_unknown_fields()->AddLengthDelimited(11, fallback.SerializeAsString());
  auto& n = add_node(f, "LeakyRelu", {"a"}, {"r"});
  add_attribute(n, "alpha", pb::AttributeProto::FLOAT).set_ref_attr_name("slope");
  EXPECT_EQ(import_proto(m.model)->nodes()[0]->float_attr("alpha", 0), 0.5f);
  add_attribute(*m.call, "slope", pb::AttributeProto::FLOAT).set_f(2.f);
  EXPECT_EQ(import_proto(m.model)->nodes()[0]->float_attr("alpha", 0), 2.f);
}

TEST(Functions, AreDistinguishedByOverload) {
  Model m;
  for (const std::string overload : {"", "v2"}) {
    auto& f = add_function(m.model, "F", {"a"}, {"r"});
    f.mutable_unknown_fields()->AddLengthDelimited(13, overload);
    add_node(f, overload.empty() ? "Abs" : "Exp", {"a"}, {"r"});
  }
  EXPECT_EQ(text(*import_proto(m.model)), "y = Abs x; ");
  m.call->mutable_unknown_fields()->AddLengthDelimited(8, "v2");
  EXPECT_EQ(text(*import_proto(m.model)), "y = Exp x; ");
}

TEST(Functions, OptionalArgumentsMayBeLeftOut) {
  Model m;
  auto& f = add_function(m.model, "F", {"a", "b", "c"}, {"r", "unused"});
  add_node(f, "Clip", {"a", "b", "c"}, {"r"});
  add_node(f, "Neg", {"a"}, {"unused"});
  m.call->add_input("");
  EXPECT_EQ(import_proto(m.model)->nodes()[0]->inputs().size(), 1u);
}

TEST(Functions, HandBackArgumentsThroughIdentity) {
  Model m;
  add_function(m.model, "F", {"a"}, {"a"});
  EXPECT_EQ(text(*import_proto(m.model)), "y = Identity x; ");
  Model twice;
  twice.call->add_output("y2");
  auto& f = add_function(twice.model, "F", {"a"}, {"r", "r"});
  add_node(f, "Relu", {"a"}, {"r"});
  EXPECT_EQ(text(*import_proto(twice.model)), "y = Relu x; y2 = Identity y; ");
}

// The opset of an Identity that the importer adds is not the one of the model's operators.
TEST(Functions, ArgumentsHandedBackDoNotDecideTheOpset) {
  const auto model_of = [](bool calls, bool relu) {
    pb::ModelProto model;
    model.set_ir_version(8);
    auto* import = model.add_opset_import();
    import->set_domain("local");
    import->set_version(1);
    auto& graph = *model.mutable_graph();
    add_input(graph, "x");
    add_output(graph, "y");
    add_function(model, "F", {"a"}, {"a"}).clear_opset_import();
    const std::string between = relu ? "t" : "y";
    if (calls) local(add_node(graph, "F", {"x"}, {between}));
    if (relu) add_node(graph, "Relu", {calls ? "t" : "x"}, {"y"});
    return model.SerializeAsString();
  };
  static std::vector<std::string> warnings;
  for (const bool calls : {false, true}) {
    const std::string bytes = model_of(calls, true);
    warnings.clear();
    set_log_receiver([](int32_t, const char* message) { warnings.push_back(message); });
    const auto graph = import_bytes(bytes_of(bytes));
    set_log_receiver(nullptr);
    EXPECT_EQ(graph->opsets.at(""), kMaxOpset);
    EXPECT_EQ(warnings.size(), 1u);
    EXPECT_THROW(import_bytes(bytes_of(bytes), std::nullopt, {.strict = true}), Error);
  }
  // This model uses no operator of ai.onnx itself.
  const std::string bytes = model_of(true, false);
  EXPECT_TRUE(import_bytes(bytes_of(bytes), std::nullopt, {.strict = true})->opsets.contains(""));
}

TEST(Functions, BodiesHaveSubgraphs) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  f.add_attribute("body");
  f.add_attribute("slope");
  auto& n = add_node(f, "If", {"a"}, {"r"});
  auto& then_graph = *add_attribute(n, "then_branch", pb::AttributeProto::GRAPH).mutable_g();
  auto& leaky = add_node(then_graph, "LeakyRelu", {"a"}, {"t"});
  add_attribute(leaky, "alpha", pb::AttributeProto::FLOAT).set_ref_attr_name("slope");
  add_output(then_graph, "t");
  add_attribute(n, "else_branch", pb::AttributeProto::GRAPH).set_ref_attr_name("body");
  auto& body = *add_attribute(*m.call, "body", pb::AttributeProto::GRAPH).mutable_g();
  body.set_name("given");
  add_node(body, "Exp", {"x"}, {"e"});
  add_output(body, "e");
  add_attribute(*m.call, "slope", pb::AttributeProto::FLOAT).set_f(0.75f);
  const auto g = import_proto(m.model);
  ASSERT_EQ(g->node_count(), 1u);
  const auto& sub = [&](const char* key) -> const ir::Graph& {
    return **std::get_if<std::shared_ptr<ir::Graph>>(g->nodes()[0]->find_attr(key));
  };
  EXPECT_EQ(sub("then_branch").nodes()[0]->float_attr("alpha", 0), 0.75f);
  EXPECT_EQ(sub("then_branch").nodes()[0]->input(0), g->find("x"));
  EXPECT_EQ(sub("else_branch").nodes()[0]->input(0), g->find("x"));
  EXPECT_EQ(sub("else_branch").parent, g.get());
  EXPECT_EQ(g->find("x")->uses().size(), 3u);
}

TEST(Functions, CannotReadValuesOfTheCaller) {
  Model m;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  add_node(f, "Relu", {"x"}, {"r"});
  expect_import_error(ErrorCode::invalid_argument, {"'call'", "function 'F'", "'x'"}, m.model);
}

TEST(Functions, RefuseRecursion) {
  Model direct;
  auto& f = add_function(direct.model, "F", {"a"}, {"r"});
  local(add_node(f, "F", {"a"}, {"r"}));
  expect_import_error(ErrorCode::invalid_argument, {"'F'", "calls itself"}, direct.model);
  Model mutual;
  auto& g1 = add_function(mutual.model, "F", {"a"}, {"r"});
  local(add_node(g1, "G", {"a"}, {"r"}));
  auto& g2 = add_function(mutual.model, "G", {"a"}, {"r"});
  local(add_node(g2, "F", {"a"}, {"r"}));
  expect_import_error(ErrorCode::invalid_argument, {"calls itself"}, mutual.model);
}

TEST(Functions, BoundExpansion) {
  // Each level doubles: 2^40 nodes.
  Model m;
  for (int level = 0; level < 40; level++) {
    auto& f = add_function(m.model, level ? "F" + std::to_string(level) : "F", {"a"}, {"r"});
    const std::string next = "F" + std::to_string(level + 1);
    local(add_node(f, next, {"a"}, {"t"}));
    local(add_node(f, next, {"t"}, {"r"}));
  }
  auto& last = add_function(m.model, "F40", {"a"}, {"r"});
  add_node(last, "Relu", {"a"}, {"r"});
  expect_import_error(ErrorCode::resource_exhausted, {std::to_string(kMaxInlinedNodes)}, m.model);
}

// A reference to an attribute of the call.
void refer(pb::NodeProto& node, const std::string& name, const std::string& to,
           pb::AttributeProto::AttributeType type = pb::AttributeProto::GRAPH) {
  add_attribute(node, name, type).set_ref_attr_name(to);
}

// Calls of functions, each with a graph that contains the graph of the call before: in both
// branches of an If, or in one.
Model nested_arguments(int calls, bool twice, const std::string& deep = "then_branch") {
  Model m;
  for (int level = 0; level < calls; level++) {
    auto& f = add_function(m.model, level ? "F" + std::to_string(level) : "F", {"a"}, {"r"});
    f.add_attribute("g");
    pb::GraphProto body;
    body.set_name("body");
    const bool last = level + 1 == calls;
    auto& n = last ? add_node(f, "If", {"a"}, {"r"}) : add_node(body, "If", {"a"}, {"t"});
    refer(n, deep, "g");
    const std::string shallow = deep == "then_branch" ? "else_branch" : "then_branch";
    if (twice) {
      refer(n, shallow, "g");
    } else {
      auto& other = *add_attribute(n, shallow, pb::AttributeProto::GRAPH).mutable_g();
      add_node(other, "Abs", {"a"}, {"e"});
      add_output(other, "e");
    }
    if (last) break;
    add_output(body, "t");
    auto& call = local(add_node(f, "F" + std::to_string(level + 1), {"a"}, {"r"}));
    *add_attribute(call, "g", pb::AttributeProto::GRAPH).mutable_g() = body;
  }
  auto& given = *add_attribute(*m.call, "g", pb::AttributeProto::GRAPH).mutable_g();
  add_node(given, "Exp", {"x"}, {"e"});
  add_output(given, "e");
  return m;
}

// Without the limit, the graph of 25 calls would have 2^25 nodes.
TEST(Functions, BoundCopiesOfGraphs) {
  EXPECT_EQ(import_proto(nested_arguments(6, true).model)->node_count(), 1u);
  expect_import_error(ErrorCode::resource_exhausted, {std::to_string(kMaxInlinedNodes)},
                      nested_arguments(25, true).model);
}

TEST(Functions, BoundTheDepthOfCopiedGraphs) {
  for (const char* deep : {"then_branch", "else_branch"}) {
    const auto graph = import_proto(nested_arguments(ir::kMaxSubgraphDepth, false, deep).model);
    EXPECT_NO_THROW(ir::verify(*graph));
    expect_import_error(ErrorCode::resource_exhausted, {"subgraphs are nested deeper"},
                        nested_arguments(ir::kMaxSubgraphDepth + 1, false, deep).model);
  }
}

// Texts count with their lengths: 100 copies of 1000 bytes are few, and those of 8 MB are too many.
TEST(Functions, BoundCopiesOfTexts) {
  Model m;
  constexpr size_t kCopy = size_t{8} << 20;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  f.add_attribute("text");
  std::string last = "a";
  for (size_t i = 0; i <= kMaxInlinedBytes / kCopy; i++) {
    const std::string next = "r" + std::to_string(i);
    refer(local(add_node(f, "G", {last}, {next})), "text", "text", pb::AttributeProto::STRING);
    last = next;
  }
  f.set_output(0, last);
  add_node(add_function(m.model, "G", {"a"}, {"r"}), "Relu", {"a"}, {"r"});
  auto& text = add_attribute(*m.call, "text", pb::AttributeProto::STRING);
  text.set_s(std::string(1000, 't'));
  EXPECT_NO_THROW(import_proto(m.model));
  text.set_s(std::string(kCopy, 't'));
  expect_import_error(ErrorCode::resource_exhausted, {std::to_string(kMaxInlinedBytes)}, m.model);
}

// Each of many calls gets a copy of a long list.
TEST(Functions, BoundCopiesOfLists) {
  Model m;
  constexpr size_t kCopy = size_t{8} << 20;
  auto& f = add_function(m.model, "F", {"a"}, {"r"});
  f.add_attribute("list");
  std::string last = "a";
  for (size_t i = 0; i <= kMaxInlinedBytes / kCopy; i++) {
    const std::string next = "r" + std::to_string(i);
    refer(local(add_node(f, "G", {last}, {next})), "list", "list", pb::AttributeProto::INTS);
    last = next;
  }
  f.set_output(0, last);
  add_node(add_function(m.model, "G", {"a"}, {"r"}), "Relu", {"a"}, {"r"});
  auto& list = add_attribute(*m.call, "list", pb::AttributeProto::INTS);
  for (const size_t fits : {size_t{1}, kCopy / sizeof(int64_t)}) {
    list.mutable_ints()->Resize(static_cast<int>(fits), 0);
    if (fits == 1)
      EXPECT_NO_THROW(import_proto(m.model));
    else
      expect_import_error(ErrorCode::resource_exhausted, {std::to_string(kMaxInlinedBytes)},
                          m.model);
  }
}

// A model whose functions call each other, the last one two operators.
Model chain_of(int functions) {
  Model deep;
  for (int level = 0; level < functions; level++) {
    auto& f = add_function(deep.model, level ? "F" + std::to_string(level) : "F", {"a"}, {"r"});
    if (level + 1 < functions) {
      local(add_node(f, "F" + std::to_string(level + 1), {"a"}, {"r"}, std::string(1000, 'n')));
      continue;
    }
    add_node(f, "Relu", {"a"}, {"t"});
    add_node(f, "Neg", {"t"}, {"r"});
  }
  return deep;
}

TEST(Functions, BoundDepth) {
  for (const int functions : {kMaxDepth + 1, 500})
    expect_import_error(ErrorCode::resource_exhausted, {"nested deeper"},
                        chain_of(functions).model);
  // Names of calls are shortened, because they would contain the names of all levels.
  const std::string t = std::string(32, 'n') + "/t";
  EXPECT_EQ(text(*import_proto(chain_of(kMaxDepth).model)), t + " = Relu x; y = Neg " + t + "; ");
}

TEST(Functions, RefuseMalformed) {
  Model many;
  auto& f = add_function(many.model, "F", {}, {"r"});
  add_node(f, "Relu", {"r"}, {"q"});
  expect_import_error(ErrorCode::invalid_argument, {"'F'", "inputs"}, many.model);
  Model dup;
  add_function(dup.model, "F", {"a"}, {"a"});
  add_function(dup.model, "F", {"a"}, {"a"});
  expect_import_error(ErrorCode::invalid_argument, {"'F'", "twice"}, dup.model);
  Model formal;
  add_function(formal.model, "F", {"a", "a"}, {"a"});
  expect_import_error(ErrorCode::invalid_argument, {"'a'", "twice"}, formal.model);
  Model dangling;
  add_function(dangling.model, "F", {"a"}, {"nothing"});
  expect_import_error(ErrorCode::invalid_argument, {"'nothing'"}, dangling.model);
  Model cycle;
  auto& loop = add_function(cycle.model, "F", {"a"}, {"r"});
  add_node(loop, "Relu", {"r"}, {"r"});
  expect_import_error(ErrorCode::invalid_argument, {"function 'F'", "cycle"}, cycle.model);
}

TEST(Functions, OpsetsMayDifferWhereOperatorsAreDefinedAlike) {
  for (const int64_t opset : {14, 16, 18, 27}) {
    Model m;
    auto& f = add_function(m.model, "F", {"a"}, {"r"}, opset);
    add_node(f, "Relu", {"a"}, {"r"});
    EXPECT_EQ(text(*import_proto(m.model)), "y = Relu x; ");
  }
}

// The behaviour is that of ONNX Runtime. One warning names both opsets, and --strict refuses the
// model.
TEST(Functions, TheOpsetOfTheModelDefinesTheOperatorsOfFunctions) {
  Model split;  // Split 18 has num_outputs
  auto& f = add_function(split.model, "F", {"a"}, {"r"}, 18);
  add_node(f, "Relu", {"a"}, {"t"});
  add_node(f, "Split", {"t"}, {"s"});
  add_node(f, "Split", {"s"}, {"r"});
  static std::vector<std::string> warnings;
  warnings.clear();
  set_log_receiver([](int32_t, const char* message) { warnings.push_back(message); });
  const auto graph = import_proto(split.model);
  set_log_receiver(nullptr);
  EXPECT_EQ(graph->opsets.at(""), 17);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(
      warnings[0],
      "the function imports opset 18 of domain 'ai.onnx', the model 17, and 'Split' is "
      "defined by opset 18 in the one and 13 in the other; as in ONNX Runtime, functions have "
      "the definitions of the model's opset");
  const std::string bytes = split.model.SerializeAsString();
  EXPECT_THROW(import_bytes(bytes_of(bytes), std::nullopt, {.strict = true}), Error);
  Model other;
  add_node(add_function(other.model, "F", {"a"}, {"r"}, 13), "Relu", {"a"}, {"r"});
  EXPECT_EQ(text(*import_proto(other.model)), "y = Relu x; ");
}

TEST(Functions, ADomainThatOnlyTheFunctionImportsJoinsTheModels) {
  Model fresh;
  auto& g = add_function(fresh.model, "F", {"a"}, {"r"});
  auto* import = g.add_opset_import();
  import->set_domain("custom");
  import->set_version(3);
  add_node(g, "Op", {"a"}, {"r"}).set_domain("custom");
  EXPECT_EQ(import_proto(fresh.model)->opsets.at("custom"), 3);
}

TEST(Functions, TakeTheModelsImportOfAKnownDomainAndImportTheStandardOneThemselves) {
  const auto model = [](const char* domain, const char* op) {
    Model m;
    auto* import = m.model.add_opset_import();
    import->set_domain("ai.onnx.ml");
    import->set_version(3);
    auto& f = add_function(m.model, "F", {"a"}, {"r"});
    f.clear_opset_import();
    add_node(f, op, {"a"}, {"r"}).set_domain(domain);
    return m.model;
  };
  EXPECT_EQ(import_proto(model("ai.onnx.ml", "Scaler"))->opsets.at("ai.onnx.ml"), 3);
  EXPECT_EQ(import_proto(model("com.microsoft", "Gelu"))->opsets.at("com.microsoft"), 1);
  expect_import_error(ErrorCode::invalid_argument,
                      {"function 'F'", "imports no opset of domain 'ai.onnx'"}, model("", "Relu"));
}

pb::NodeProto& add_call(auto& owner, const std::string& name, const std::vector<std::string>& ins,
                        const std::vector<std::string>& outs, const std::string& node = "") {
  pb::NodeProto& n = add_node(owner, name, ins, outs, node);
  n.set_domain("local");
  return n;
}

// Returns a model with input x and output y, which no node produces yet.
pb::ModelProto empty_model() {
  pb::ModelProto model = base_model();
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  add_input(*model.mutable_graph(), "x");
  add_output(*model.mutable_graph(), "y");
  return model;
}

TEST(Functions, ACallHasNoMoreThanTheFunction) {
  const auto message_for = [](const std::vector<std::string>& ins,
                              const std::vector<std::string>& outs) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a", "b"}, {"r", "s", "t"});
    for (const char* o : {"r", "s", "t"}) add_node(f, "Add", {"a", "b"}, {o});
    add_call(*model.mutable_graph(), "F", ins, outs, "call");
    return refusal(model);
  };
  const std::string has = "local.F node 'call': function 'F' has 2 inputs and 3 outputs, the call ";
  EXPECT_EQ(message_for({"x", "x"}, {"y", "p", "q"}), "taken");
  EXPECT_EQ(message_for({"x", "x", "x"}, {"y"}), has + "3 and 1");
  EXPECT_EQ(message_for({"x"}, {"y", "p", "q", "r"}), has + "1 and 4");
}

TEST(Functions, ResultsThatTheCallLeavesOutKeepTheNamesOfTheBody) {
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

TEST(Functions, ArgumentsThatAreLeftOutAreNotReturned) {
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

// The model has names that are equal to names derived from a body.
TEST(Functions, NamesOfTheWholeModelAreTaken) {
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

TEST(Functions, LongNamesAreCut) {
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

TEST(Functions, BodiesOfFunctionsCountAsDepth) {
  EXPECT_EQ(refusal(chain_with_body(kMaxDepth - 1)), "taken");
  EXPECT_NE(refusal(chain_with_body(kMaxDepth)).find("nested deeper than 128"), std::string::npos);
}

TEST(Functions, CallsInBodiesCountAsDepth) {
  // The graph calls a function with a body that contains a call: each one counts.
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

TEST(Functions, NamesOfBodiesInFunctionsHaveThePrefix) {
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

TEST(Functions, ListsOfGraphsAreHandedOn) {
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

TEST(Functions, DefaultsAreNoGraphs) {
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

TEST(Functions, ErrorsNameDamagedFieldsOfNewerVersions) {
  for (const auto& [number, name] : {std::pair{11, "attribute_proto"}, {12, "value_info"}}) {
    pb::ModelProto model = empty_model();
    auto& f = add_function(model, "F", {"a"}, {"r"});
    add_node(f, "Relu", {"a"}, {"r"});
    f.mutable_unknown_fields()->AddVarint(number, 7);  // of another type, so it is ignored
    add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
    EXPECT_EQ(refusal(model), "taken");
    f.mutable_unknown_fields()->AddLengthDelimited(number, "");
    f.mutable_unknown_fields()->AddLengthDelimited(number, "\xff");
    EXPECT_EQ(refusal(model), fmt::format("function 'F': its {} 2 is damaged", name));
  }
}

TEST(Functions, OverloadsAreWords) {
  pb::ModelProto model = empty_model();
  auto& f = add_function(model, "F", {"a"}, {"r"});
  add_node(f, "Relu", {"a"}, {"r"});
  pb::NodeProto& call = add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  call.mutable_unknown_fields()->AddVarint(8, 7);
  call.mutable_unknown_fields()->AddLengthDelimited(9, "v2");
  EXPECT_EQ(text(*import_proto(model)), "y = Relu x; ");
}

TEST(Functions, OpsetsOfFunctionsAreCheckedBeforeAnyCall) {
  pb::ModelProto model = empty_model();
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  auto& f = add_function(model, "F", {"a"}, {"r"});
  f.mutable_opset_import(0)->set_version(0);
  EXPECT_EQ(refusal(model), "taken") << "no operator of the domain is used";
  f.mutable_opset_import(0)->set_version(29);
  EXPECT_EQ(refusal(model),
            "function 'F': opset 29 is not supported, the newest that is known is 28");
  f.mutable_opset_import(0)->set_version(1);
  f.mutable_opset_import(1)->set_version(1000);
  EXPECT_EQ(refusal(model), "taken");
  *f.add_opset_import() = f.opset_import(1);
  EXPECT_EQ(refusal(model), "taken") << "said twice alike";
  f.mutable_opset_import(2)->set_version(999);
  EXPECT_EQ(refusal(model), "taken") << "the last one counts";
  f.clear_name();
  EXPECT_EQ(refusal(model), "function '': it has no name");
}

TEST(Functions, SparseTensorsOfAFunctionAreReadOnce) {
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

TEST(Functions, AnIdentityBringsTheStandardDomain) {
  pb::ModelProto model = empty_model();
  model.mutable_opset_import()->SwapElements(0, 1);
  model.mutable_opset_import()->RemoveLast();
  add_function(model, "F", {"a"}, {"a"});
  add_call(*model.mutable_graph(), "F", {"x"}, {"y"}, "call");
  const auto g = import_proto(model);
  EXPECT_EQ(text(*g), "y = Identity x; ");
  EXPECT_EQ(g->opsets, (std::map<std::string, int64_t>{{"", 13}, {"local", 1}}));
}

TEST(Functions, ErrorsNameDomainsThatAFunctionDoesNotImport) {
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
  EXPECT_EQ(refusal(model), "taken");
  const std::string bytes = model.SerializeAsString();
  EXPECT_EQ(
      message_of_action([&] { import_bytes(bytes_of(bytes), std::nullopt, {.strict = true}); }),
      "local.F node 'call': in function 'F': custom.Op node 'n': the function imports opset "
      "2 of domain 'custom', the model 3, and 'Op' has no published definition to compare; "
      "convert the model, or its function, to one opset");
}

TEST(Functions, TheMostNodesMayBeInlined) {
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
