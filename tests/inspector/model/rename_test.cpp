#include "model/rename.h"

#include <gtest/gtest.h>

#include "inspector/sample_files.h"
#include "ir/text.h"
#include "ir/types_agree.h"
#include "ir/verifier.h"
#include "onnx/export.h"
#include "onnx/import.h"

namespace poprt::inspector {
namespace {

constexpr const char* kBranches = R"(graph "g" opset {"": 17} {
  input %x : f32[2]
  input %c : bool[]
  %y : f32[2] = If(%c) {then_branch = graph "t" {
    %b : f32[2] = Neg(%x) "inner"
    output %b
  }, else_branch = graph "e" {
    %b : f32[2] = Abs(%x) "inner2"
    output %b
  }} "branch"
  output %y
}
)";

std::string message_of(const ir::Graph& graph, const Renames& names, ErrorCode code) {
  try {
    renamed(graph, names);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "no error";
}

TEST(Rename, NodesValuesInputsOutputsAndWeightsGetNewNames) {
  const SampleFolder folder("rename");
  const auto graph = ir::parse_text(kSampleText);
  const auto copy = renamed(
      *graph, {{{"b", "act"}, {"d", "sum"}}, {{"x", "image"}, {"d", "scores"}, {"w", "weight"}}});
  ir::verify(*copy);
  const auto path = folder.path / "renamed.onnx";
  onnx::export_file(*copy, path);
  const auto back = onnx::import_file(path);
  EXPECT_EQ(back->inputs()[0]->name(), "image");
  EXPECT_EQ(back->outputs()[0]->name(), "scores");
  EXPECT_TRUE(back->find("weight")->is_constant());
  EXPECT_EQ(back->find("w"), nullptr);
  EXPECT_EQ(back->find("b")->producer()->name, "act");
  EXPECT_EQ(back->find("scores")->producer()->name, "sum");
  EXPECT_EQ(back->find("scores")->producer()->op_type, "Add");
  EXPECT_EQ(back->find("c")->producer()->name, "/block/Sigmoid") << "others keep their names";
  EXPECT_NE(graph->find("x"), nullptr) << "the graph itself is not changed";
}

TEST(Rename, ValuesExchangeTheirNames) {
  const auto graph = ir::parse_text(kSampleText);
  const auto copy = renamed(*graph, {{}, {{"a", "b"}, {"b", "a"}}});
  ir::verify(*copy);
  EXPECT_EQ(copy->find("b")->producer()->op_type, "MatMul");
  EXPECT_EQ(copy->find("a")->producer()->op_type, "Relu");
}

TEST(Rename, RefusesNamesThatOthersHave) {
  const auto graph = ir::parse_text(kSampleText);
  EXPECT_NE(message_of(*graph, {{}, {{"a", "c"}}}, ErrorCode::invalid_argument)
                .find("another value has the name 'c'"),
            std::string::npos);
  EXPECT_NE(message_of(*graph, {{}, {{"a", "z"}, {"b", "z"}}}, ErrorCode::invalid_argument)
                .find("another value has the name 'z'"),
            std::string::npos);
  EXPECT_NE(message_of(*graph, {{{"b", "/Add"}}, {}}, ErrorCode::invalid_argument)
                .find("another node has the name '/Add'"),
            std::string::npos);
  EXPECT_NE(message_of(*graph, {{}, {{"a", ""}}}, ErrorCode::invalid_argument)
                .find("the new name of 'a' is empty"),
            std::string::npos);
  EXPECT_NE(message_of(*graph, {{}, {{"gone", "z"}}}, ErrorCode::not_found)
                .find("the graph has no value 'gone'"),
            std::string::npos);
  EXPECT_NE(message_of(*graph, {{{"gone", "z"}}, {}}, ErrorCode::not_found)
                .find("no node computes 'gone'"),
            std::string::npos);
}

TEST(Rename, ReachesBranchesAndRefusesToHideOuterValues) {
  const auto graph = ir::parse_text(kBranches);
  const auto copy = renamed(*graph, {{{"b", "both"}}, {{"x", "in"}, {"b", "result"}}});
  ir::verify(*copy);
  int branches = 0;
  ir::for_each_subgraph(*copy->nodes()[0], [&](ir::Graph& branch) {
    branches++;
    EXPECT_EQ(branch.outputs()[0]->name(), "result");
    EXPECT_EQ(branch.nodes()[0]->inputs()[0]->name(), "in");
  });
  EXPECT_EQ(branches, 2);
  for (const auto& [from, to] : {std::pair("b", "x"), {"x", "b"}})
    EXPECT_NE(message_of(*graph, {{}, {{from, to}}}, ErrorCode::invalid_argument)
                  .find("another value has the name"),
              std::string::npos)
        << from;
}

TEST(Rename, DeclaredSequencesFollowTheirValues) {
  const auto graph = ir::parse_text(kSampleText);
  graph->metadata[ir::kDeclaredContainer + std::string("d")] = "sequence f32[?]";
  const auto copy = renamed(*graph, {{}, {{"d", "list"}}});
  EXPECT_EQ(copy->metadata.at(ir::kDeclaredContainer + std::string("list")), "sequence f32[?]");
  EXPECT_FALSE(copy->metadata.contains(ir::kDeclaredContainer + std::string("d")));
}

}  // namespace
}  // namespace poprt::inspector
