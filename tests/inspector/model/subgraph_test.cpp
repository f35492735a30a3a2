#include "model/subgraph.h"

#include <gtest/gtest.h>

#include "inspector/sample_files.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "onnx/export.h"
#include "onnx/import.h"

namespace poprt::inspector {
namespace {

std::vector<std::string> names_of_values(const std::vector<ir::Value*>& values) {
  std::vector<std::string> names;
  for (const ir::Value* v : values) names.push_back(v->name());
  return names;
}
using Names = std::vector<std::string>;

TEST(Subgraph, CutsAtTheBordersOfThePart) {
  const auto graph = ir::parse_text(kSampleText);
  const auto part = cut_subgraph(*graph, {"b", "c"});
  ir::verify(*part);
  EXPECT_EQ(part->node_count(), 2u);
  EXPECT_EQ(names_of_values(part->inputs()), Names{"a"});
  EXPECT_EQ(names_of_values(part->outputs()), (Names{"b", "c"})) << "both are read by /Add";
  EXPECT_EQ(part->nodes()[0]->name, "/block/fc/Relu");
  EXPECT_EQ(part->find("w"), nullptr) << "the weight is not used";
  const auto first = cut_subgraph(*graph, {"a"});
  EXPECT_EQ(names_of_values(first->inputs()), Names{"x"});
  EXPECT_TRUE(first->find("w")->is_constant());
  EXPECT_EQ(graph->node_count(), 4u) << "the graph itself is not changed";
}

TEST(Subgraph, ThePartComputesTheSameAsInTheWhole) {
  const SampleFolder folder("subgraph");
  const auto graph = ir::parse_text(kSampleText);
  const auto all = cut_subgraph(*graph, {"a", "b", "c", "d"});
  EXPECT_EQ(ir::to_text(*all).substr(ir::to_text(*all).find('{')),
            ir::to_text(*graph).substr(ir::to_text(*graph).find('{')));
  const auto path = folder.path / "part.onnx";
  onnx::export_file(*cut_subgraph(*graph, {"c", "d"}), path);
  const auto back = onnx::import_file(path);
  EXPECT_EQ(names_of_values(back->inputs()), Names{"b"});
  EXPECT_EQ(names_of_values(back->outputs()), Names{"d"});
}

TEST(Subgraph, RefusesPartsWithoutNodesOrTypes) {
  const auto graph = ir::parse_text(kSampleText);
  EXPECT_THROW(cut_subgraph(*graph, {}), Error);
  EXPECT_THROW(cut_subgraph(*graph, {"x"}), Error) << "an input has no node";
  const auto open = ir::parse_text(
      "graph \"g\" opset {\"\": 17} {\n input %x : f32[2]\n %a : ? = Relu(%x) \"a\"\n %b : ? = "
      "Neg(%a) \"b\"\n output %b\n}\n");
  try {
    cut_subgraph(*open, {"b"});
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
    EXPECT_NE(std::string(e.what()).find("its type is not known"), std::string::npos);
  }
}

// The branches of "choose" read `z` of "before". The part with "choose" has the input `z`.
constexpr const char* kNestedBranches = R"(graph "g" opset {"": 17} {
  input %c : bool[]
  input %x : f32[2]
  const %w : f32[2] = [1.0, 2.0]
  %z : f32[2] = Mul(%x, %w) "before"
  %q : f32[2] = Abs(%x) "other"
  %y : f32[2] = If(%c) {else_branch = graph "e" {
    %i : f32[2] = If(%c) {else_branch = graph "ee" {
      %n : f32[2] = Neg(%z)
      output %n
    }, then_branch = graph "et" {
      %m : f32[2] = Sub(%q, %z)
      output %m
    }}
    output %i
  }, then_branch = graph "t" {
    %o : f32[2] = Add(%z, %w)
    output %o
  }} "choose"
  %v : f32[2] = Add(%y, %z) "after"
  output %v
})";

TEST(Subgraph, ValuesThatBranchesReadBecomeInputs) {
  const auto graph = ir::parse_text(kNestedBranches);
  const auto part = cut_subgraph(*graph, {"y"});
  ir::verify(*part);
  EXPECT_EQ(part->node_count(), 1u);
  EXPECT_EQ(names_of_values(part->inputs()), (Names{"c", "z", "q"}));
  EXPECT_EQ(names_of_values(part->outputs()), Names{"y"});
  EXPECT_EQ(part->find("z")->uses().size(), 3u);
  EXPECT_TRUE(part->find("w")->is_constant());
  const auto more = cut_subgraph(*graph, {"z", "y"});
  ir::verify(*more);
  EXPECT_EQ(names_of_values(more->inputs()), (Names{"c", "x", "q"}));
  EXPECT_EQ(names_of_values(more->outputs()), (Names{"z", "y"})) << "\"after\" reads both";
}

TEST(Subgraph, ResultsThatOnlyDroppedBranchesReadBecomeOutputs) {
  const auto graph = ir::parse_text(kNestedBranches);
  const auto part = cut_subgraph(*graph, {"q", "v"});
  ir::verify(*part);
  EXPECT_EQ(names_of_values(part->inputs()), (Names{"x", "y", "z"}));
  EXPECT_EQ(names_of_values(part->outputs()), (Names{"q", "v"}));
  const auto whole = cut_subgraph(*graph, {"q", "z", "y", "v"});
  EXPECT_EQ(names_of_values(whole->outputs()), Names{"v"}) << "branches of the part are inside";
}

TEST(Subgraph, ResultsOfNodesMatchOperators) {
  const GraphModel graph(*ir::parse_text(kSampleText));
  EXPECT_EQ(results_of_nodes(graph, {graph.find("x"), graph.find("/Add"), graph.find("b")}),
            (std::set<std::string>{"b", "d"}));
}

}  // namespace
}  // namespace poprt::inspector
