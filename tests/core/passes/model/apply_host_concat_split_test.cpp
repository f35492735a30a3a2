#include "core/passes/pass_case.h"
#include "passes/common/build.h"

namespace poprt::test {
namespace {

TEST(ApplyHostConcatSplit, ThePartsOfTheJoinedInputAreTheOldOnes) {
  constexpr const char* kText = R"(
    input %a : f32[2,3]
    input %b : f32[2,3]
    input %c : f32[2,3]
    %p = Sub(%a, %b)
    %y = Mul(%p, %c)
    output %y
  )";
  const auto original = parsed(kText), graph = parsed(kText);
  const std::vector<passes::PassCall> calls{
      {&passes::pass_of("apply_host_concat_split"), {{"merged_inputs", "fp32,[2,3]"}}}};
  passes::run_passes(*graph, calls);
  ASSERT_EQ(graph->inputs().size(), 1u);
  const auto feeds = random_feeds(*original);
  std::vector<Tensor> parts;
  for (const char* name : {"a", "b", "c"}) parts.push_back(feeds.at(name).reshaped({1, 2, 3}));
  const std::map<std::string, Tensor> joined{
      {graph->inputs()[0]->name(), passes::concat_of(parts, 0)}};
  expect_close(evaluate_graph(*original, feeds).at("y"), evaluate_graph(*graph, joined).at("y"), 0);
}

TEST(ApplyHostConcatSplit, ModelDescribesTheJoinedInputsForTheRunner) {
  const auto graph = parsed(R"(
    input %"a\"1" : s32[2]
    input %"b 2\t\\" : s32[2]
    %y = Add(%"a\"1", %"b 2\t\\")
    output %y
  )");
  const std::vector<passes::PassCall> calls{
      {&passes::pass_of("apply_host_concat_split"), {{"merged_inputs", "int32,[2],5"}}}};
  passes::run_passes(*graph, calls);
  EXPECT_EQ(graph->metadata.at("prop.HostConcatRunnerConfig"),
            R"({"hcsr_a\"1": {"tensor_name": "hcsr_a\"1", "input_tensor_names": ["a\"1", )"
            R"("b 2\u0009\\"], )"
            R"("shape": [2, 2]}})");
  EXPECT_EQ(graph->opsets.at("ai.graphcore"), 1);
}

std::unique_ptr<ir::Graph> joined(const std::string& text, const std::string& groups) {
  auto graph = parsed(text);
  const std::vector<passes::PassCall> calls{
      {&passes::pass_of("apply_host_concat_split"), {{"merged_inputs", groups}}}};
  passes::run_passes(*graph, calls);
  return graph;
}

constexpr const char* kTwoGroups = R"(
  input %a : f32[2]
  input %b : f32[2]
  input %c : s32[3]
  input %d : s32[3]
  %y = Add(%a, %b)
  %z = Add(%c, %d)
  output %y
  output %z
)";

TEST(ApplyHostConcatSplit, ModelDescribesEachGroup) {
  EXPECT_EQ(joined(kTwoGroups, "fp32,[2]\nint32,[3]")->metadata.at("prop.HostConcatRunnerConfig"),
            R"({"hcsr_a": {"tensor_name": "hcsr_a", "input_tensor_names": ["a", "b"], )"
            R"("shape": [2, 2]}, "hcsr_c": {"tensor_name": "hcsr_c", )"
            R"("input_tensor_names": ["c", "d"], "shape": [2, 3]}})");
  const auto alone = joined("input %a : f32[2]\n%y = Neg(%a)\noutput %y\n", "fp32,[2]");
  EXPECT_EQ(alone->metadata.count("prop.HostConcatRunnerConfig"), 0u);
}

TEST(ApplyHostConcatSplit, InputsWithAValueStay) {
  const auto graph = parsed(kTwoGroups);
  graph->find("b")->set_constant(Tensor::zeros(DType::f32, {2}));
  const std::vector<passes::PassCall> calls{
      {&passes::pass_of("apply_host_concat_split"), {{"merged_inputs", "fp32,[2]"}}}};
  passes::run_passes(*graph, calls);
  EXPECT_EQ(graph->inputs()[0]->name(), "a");
  EXPECT_EQ(graph->find("hcsr_a"), nullptr);
}

TEST(ApplyHostConcatSplit, TheGroupsMustBeGiven) {
  const auto graph = parsed(kTwoGroups);
  const std::vector<passes::PassCall> calls{{&passes::pass_of("apply_host_concat_split"), {}}};
  EXPECT_THROW(passes::run_passes(*graph, calls), Error);
}

}  // namespace
}  // namespace poprt::test
