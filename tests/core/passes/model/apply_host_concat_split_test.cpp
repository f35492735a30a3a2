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
    input %b : s32[2]
    %y = Add(%"a\"1", %b)
    output %y
  )");
  const std::vector<passes::PassCall> calls{
      {&passes::pass_of("apply_host_concat_split"), {{"merged_inputs", "int32,[2],5"}}}};
  passes::run_passes(*graph, calls);
  EXPECT_EQ(graph->metadata.at("prop.HostConcatRunnerConfig"),
            R"({"hcsr_a\"1": {"tensor_name": "hcsr_a\"1", "input_tensor_names": ["a\"1", "b"], )"
            R"("shape": [2, 2]}})");
}

}  // namespace
}  // namespace poprt::test
