#include "exec/support/shard_trial.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "onnx/export.h"
#include "runtime/runner/model_runner.h"

namespace poprt::cli {
namespace {

// Two convolutions that no pass makes one, and a node with two inputs between them.
constexpr const char* kConvolutions = R"(graph "g" opset {"": 17} {
  input %x : f32[1,4,16,16]
  const %a : f32[4,4,3,3] = fill 0.5
  const %b : f32[8,4,3,3] = fill 0.25
  %p : f32[1,4,16,16] = Conv(%x, %a) {pads = [1, 1, 1, 1]} "first"
  %q : f32[1,4,16,16] = Add(%p, %x) "sum"
  %y : f32[1,8,14,14] = Conv(%q, %b) "second"
  output %y
}
)";

TEST(ShardTrial, TimesAreByNode) {
  const auto graph = ir::parse_text(kConvolutions);
  const std::string before = ir::to_text(*graph);
  const std::map<std::string, double> times = node_times(*graph);
  double most = 0;
  for (const auto& [name, ns] : times) most = std::max(most, ns);
  EXPECT_GT(most, 0);
  ASSERT_TRUE(times.contains("second"));
  EXPECT_GT(times.at("second"), 0);
  EXPECT_EQ(ir::to_text(*graph), before);
}

TEST(ShardTrial, CutsAreAttributesOfACopy) {
  const auto graph = ir::parse_text(kConvolutions);
  const std::string before = ir::to_text(*graph);
  const auto cut = cut_graph(*graph, {{"sum"}, {}});
  EXPECT_EQ(ir::to_text(*graph), before);
  const std::string text = ir::to_text(*cut);
  EXPECT_NE(text, before);
  for (const char* part : {"{__ipu_number = 0, __pipeline_stage = 0} \"sum\"",
                           "{__ipu_number = 1, __pipeline_stage = 1} \"second\""})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  const auto three = ir::to_text(*cut_graph(*graph, {{"first"}, {"sum"}, {}}));
  EXPECT_NE(three, text);
}

TEST(ShardTrial, PlanIsCompiledForItsIpusAndMeasured) {
  const auto graph = ir::parse_text(kConvolutions);
  const std::vector<SubGraph> parts = sub_graphs(*graph);
  ASSERT_EQ(parts.size(), 2);
  Candidate c = compile_plan(*graph, parts, {1, 2});
  EXPECT_EQ(c.plan, (Plan{1, 2}));
  EXPECT_EQ(c.cuts, (std::vector<std::vector<std::string>>{{"sum"}, {}}));
  ASSERT_EQ(c.bytes.size(), 2);
  EXPECT_GE(c.bytes[0], 4 * 4 * 9 * 4);
  EXPECT_GE(c.bytes[1], 8 * 4 * 9 * 4);
  measure_candidate(c, 5);
  EXPECT_GT(c.per_second, 0);
  EXPECT_GT(c.latency_ms, 0);
}

}  // namespace
}  // namespace poprt::cli
