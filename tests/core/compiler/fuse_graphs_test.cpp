#include "compiler/fuse_graphs.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "compiler/flow/class_labels.h"
#include "compiler/onnx_metadata.h"
#include "ir/text.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

constexpr const char* kScale = R"(graph "scale" opset {"": 17} {
  input %x : f32[2]
  const %k : f32[2] = [2.0, 3.0]
  %y : f32[2] = Mul(%x, %k) "times"
  output %y
}
)";

// Its branches read values of the outer graph.
constexpr const char* kChoice = R"(graph "choice" opset {"": 17, "ai.onnx.ml": 3} {
  input %x : f32[2]
  input %c : bool[]
  %a : f32[2] = Neg(%x)
  %y : f32[2] = If(%c) {else_branch = graph "e" { %n : f32[2] = Abs(%a) "inside" output %n }, then_branch = graph "t" { %m : f32[2] = Exp(%x) output %m }} "choose"
  output %y
  output %a
}
)";

std::unique_ptr<ir::Graph> fused(std::vector<std::string> texts, std::vector<std::string> names) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  for (const std::string& text : texts) graphs.push_back(ir::parse_text(text));
  return fuse_graphs(std::move(graphs), names);
}

std::string fusion_message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.message();
  }
  return "taken";
}

TEST(FuseGraphs, FusedModelsPrefixTheirNames) {
  const auto graph = fused({kScale, kChoice}, {"first", "second"});
  EXPECT_EQ(graph->name, "model_fusion");
  std::vector<std::string> inputs, outputs, nodes;
  for (const ir::Value* v : graph->inputs()) inputs.push_back(v->name());
  for (const ir::Value* v : graph->outputs()) outputs.push_back(v->name());
  for (const ir::Node* n : graph->nodes()) nodes.push_back(n->name + ":" + n->op_type);
  EXPECT_EQ(inputs, (std::vector<std::string>{"graph0/x", "graph1/x", "graph1/c", "index"}));
  EXPECT_EQ(outputs, (std::vector<std::string>{"graph0/y", "graph1/y", "graph1/a"}));
  EXPECT_EQ(nodes, (std::vector<std::string>{"graph0/times:Mul", ":Neg", "graph1/choose:If"}));
  EXPECT_EQ(ir::type_string(graph->inputs().back()->type), "u32[1]");
  EXPECT_TRUE(graph->inputs().back()->uses().empty());
  EXPECT_EQ(graph->opsets.at(""), 17);
  EXPECT_EQ(graph->opsets.at("ai.onnx.ml"), 3);
  EXPECT_EQ(fused_graph_count(*graph), 2u);
  EXPECT_EQ(fused_names(*graph), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(graph->metadata.at("producer_name"), "poprt");
  const ir::Node& choose = *graph->nodes()[2];
  ir::for_each_subgraph(choose, [&](const ir::Graph& sub) {
    EXPECT_EQ(sub.parent, graph.get());
    const ir::Node& n = *sub.nodes()[0];
    EXPECT_TRUE(n.output()->name().starts_with("graph1/"));
    EXPECT_EQ(n.input(0), graph->find(n.is("Abs") ? "graph1/a" : "graph1/x"));
    EXPECT_EQ(n.name, n.is("Abs") ? "graph1/inside" : "");
  });
}

TEST(FuseGraphs, ANameMayHaveThePrefixAlready) {
  const auto graph = fused({R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    input %"graph0/x" : f32[2]
    %y : f32[2] = Sub(%x, %"graph0/x")
    output %y
  })"},
                           {"one"});
  std::vector<std::string> inputs;
  for (const ir::Value* v : graph->inputs()) inputs.push_back(v->name());
  EXPECT_EQ(inputs, (std::vector<std::string>{"graph0/x", "graph0/graph0/x", "index"}));
}

TEST(FuseGraphs, APartIsTheModelAgain) {
  const auto graph = fused({kScale, kChoice, kScale}, {"a", "b", "c"});
  for (const size_t k : {size_t{0}, size_t{1}, size_t{2}}) {
    const auto part = split_graph(*graph, k);
    EXPECT_FALSE(fused_graph_count(*part));
    const auto model = ir::parse_text(k == 1 ? kChoice : kScale);
    part->name = model->name;
    part->opsets = model->opsets;
    part->metadata.clear();
    std::string text = ir::to_text(*part);
    const std::string prefix = graph_prefix(k);
    for (size_t at; (at = text.find(prefix)) != text.npos;) text.erase(at, prefix.size());
    EXPECT_EQ(text, ir::to_text(*model)) << k;
  }
  EXPECT_EQ(fusion_message([&] { split_graph(*graph, 3); }),
            "the fused model has no output 'graph3/...'");
  ir::Graph& g = *graph;
  ir::Node* reader = g.find("graph0/y")->producer();
  reader->set_input(0, g.find("graph1/x"));
  EXPECT_EQ(fusion_message([&] { split_graph(g, 0); }),
            "the fused model's graph 0 reads input 'graph1/x', which is not its own");
}

TEST(FuseGraphs, MetadataIsKeptUnderThePrefixAndTheLatestVersion) {
  const std::string labels = std::string(kOwnProperty) + std::string(kClassLabels);
  const auto version_of = [&](const char* first, const char* second) {
    std::vector<std::unique_ptr<ir::Graph>> graphs;
    for (const char* version : {first, second}) {
      graphs.push_back(ir::parse_text(kScale));
      graphs.back()->metadata = {{"ir_version", version}};
    }
    return fuse_graphs(std::move(graphs), {"a", "b"})->metadata.at("ir_version");
  };
  EXPECT_EQ(version_of("8", "10"), "10");
  EXPECT_EQ(version_of("10", "9"), "10");
  EXPECT_EQ(version_of("7", "8"), "8");
  EXPECT_EQ(version_of("8", "7"), "8");
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  graphs.push_back(ir::parse_text(kScale));
  graphs.push_back(ir::parse_text(kScale));
  graphs[1]->metadata = {{"producer_version", "3"},
                         {"prop.author", "me"},
                         {labels + "y", "[\"cat\"]"},
                         {std::string(kOwnProperty) + "other", "own"}};
  const auto graph = fuse_graphs(std::move(graphs), {"a", "b"});
  auto wanted = decltype(graph->metadata){{"prop.graph1/producer_version", "3"},
                                          {"prop.graph1/author", "me"},
                                          {labels + "graph1/y", "[\"cat\"]"},
                                          {"producer_name", "poprt"},
                                          {"prop.poprt.model_fusion", "[\"a\",\"b\"]"}};
  EXPECT_EQ(graph->metadata, wanted);
}

TEST(FuseGraphs, RefusesModelsThatCannotBeFused) {
  EXPECT_EQ(fusion_message([] { fused({}, {}); }), "there are no models to fuse");
  std::string newer = kScale;
  newer.replace(newer.find("17"), 2, "18");
  EXPECT_EQ(fusion_message([&] { fused({kScale, newer}, {"a", "b"}); }),
            "model 'b' imports version 18 of domain 'ai.onnx', the models before it version 17: "
            "convert them to one (convert_version) before they are fused");
  std::string other = newer;
  other.replace(other.find("\"\""), 2, "\"ai.onnx\"");
  for (const auto& [a, b] : {std::pair<std::string, std::string>(kScale, other), {other, kScale}})
    EXPECT_NE(fusion_message([&] { fused({a, b}, {"a", "b"}); }).find("of domain 'ai.onnx', the"),
              std::string::npos);
  EXPECT_EQ(fusion_message([] {
              std::vector<std::unique_ptr<ir::Graph>> graphs;
              graphs.push_back(fused({kScale}, {"a"}));
              fuse_graphs(std::move(graphs), {"again"});
            }),
            "model 'again' is already fused");
  const auto names = [](const std::string& json) {
    const auto graph = ir::parse_text(kScale);
    graph->metadata["prop.poprt.model_fusion"] = json;
    return fusion_message([&] { fused_names(*graph); });
  };
  std::string many = "[\"a\"";
  for (int i = 1; i < 1024; i++) many += ",\"a\"";
  EXPECT_EQ(names("[\"a\"]"), "taken");
  EXPECT_EQ(names(many + "]"), "taken");
  const std::string damaged =
      "metadata 'poprt.model_fusion' is not a JSON array of 1 to 1024 names; fuse the models again";
  for (const std::string& json : {many + ",\"a\"]", std::string("[]"), std::string("{}"),
                                  std::string("[\"a\",1]"), std::string("[")})
    EXPECT_EQ(names(json), damaged) << json.substr(0, 20);
  EXPECT_TRUE(fused_names(*ir::parse_text(kScale)).empty());
}

}  // namespace
}  // namespace poprt::compiler
