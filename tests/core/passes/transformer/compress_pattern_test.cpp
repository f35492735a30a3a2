#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(CompressPattern, PutsKeptElementsBeforeZeros) {
  const auto graph = parsed(R"(
    input %x : f32[3,6]
    input %m : bool[6]
    %y = Compress(%x, %m) {axis = 1}
    output %y
  )");
  run(*graph, {"compress_pattern"});
  EXPECT_EQ(ops_of(*graph), "ai.graphcore.MaskCompress");
  for (uint32_t seed = 1; seed <= 4; seed++) {
    const auto feeds = random_feeds(*graph, seed);
    const auto x = feeds.at("x").values<float>();
    const auto m = feeds.at("m").values<bool>();
    std::vector<float> expected;
    for (size_t row = 0; row < 3; row++) {
      for (size_t i = 0; i < 6; i++)
        if (m[i]) expected.push_back(x[row * 6 + i]);
      expected.resize(6 * (row + 1));
    }
    expect_close(evaluate_graph(*graph, feeds).at("y"), Tensor::of<float>({3, 6}, expected), 0);
  }
}

TEST(CompressPattern, KeepsSumsOfKeptElements) {
  const auto graph = parsed(R"(
    input %x : f32[4]
    input %m : bool[4]
    %c = Compress(%x, %m) {axis = 0}
    %y = ReduceL1(%c)
    output %y
  )");
  run(*graph, {"compress_pattern"});
  const auto feeds = random_feeds(*graph);
  double sum = 0;
  for (size_t i = 0; i < 4; i++)
    if (feeds.at("m").values<bool>()[i])
      sum += std::abs(static_cast<double>(feeds.at("x").values<float>()[i]));
  EXPECT_NEAR(evaluate_graph(*graph, feeds).at("y").to_doubles()[0], sum, 1e-5);
}

TEST(CompressPattern, LeavesTheResultOfABranch) {
  const auto graph = parsed(R"(
    input %x : f32[3,6]
    input %m : bool[6]
    input %p : bool[]
    %y = If(%p) {then_branch = graph "t" { %c = Compress(%x, %m) {axis = 1} output %c },
                 else_branch = graph "e" { %d = Neg(%x) output %d }}
    %z = Exp(%y)
    output %z
  )");
  const std::string before = ir::to_text(*graph);
  run(*graph, {"compress_pattern"});
  EXPECT_EQ(ir::to_text(*graph), before);
}

// Sums over other axes have a result for each element that is kept.
TEST(CompressPattern, LeavesSumsOverOtherAxes) {
  for (const char* sum : {"ReduceL1(%c) {axes = [0]}", "ReduceL1(%c) {axes = [-2], keepdims = 0}",
                          "ReduceSum(%c, %none) {noop_with_empty_axes = 1}"}) {
    const auto graph = parsed(std::string(R"(
    input %x : f32[3,6]
    input %m : bool[6]
    const %none : s64[0] = []
    %c = Compress(%x, %m) {axis = 1}
    %y = )") + sum + "\n%z = Exp(%y)\noutput %z");
    const std::string before = ops_of(*graph);
    run(*graph, {"compress_pattern"});
    EXPECT_EQ(ops_of(*graph), before) << sum;
  }
  const auto graph = parsed(R"(
    input %x : f32[3,6]
    input %m : bool[6]
    %c = Compress(%x, %m) {axis = 1}
    %y = ReduceL1(%c) {axes = [-1]}
    output %y
  )");
  run(*graph, {"compress_pattern"});
  EXPECT_EQ(ops_of(*graph), "ai.graphcore.MaskCompress ReduceL1");
}

}  // namespace
}  // namespace poprt::test
