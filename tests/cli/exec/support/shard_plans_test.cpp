#include "exec/support/shard_plans.h"

#include <algorithm>

#include "cli/command_line.h"
#include "ir/text.h"

namespace poprt::cli {
namespace {

using Names = std::vector<std::string>;

std::unique_ptr<ir::Graph> parsed(const std::string& body) {
  return ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n");
}

// Two nodes with two inputs, and one after them.
std::unique_ptr<ir::Graph> chain() {
  return parsed(R"(
  input %x : f32[2,4]
  const %w : f32[4,4] = fill 1.0
  const %v : f32[4,5] = fill 1.0
  const %s : s64[2] = [2, 5]
  %a : f32[2,4] = MatMul(%x, %w) "a"
  %b : f32[2,4] = Relu(%a) "b"
  %c : f32[2,4] = Add(%a, %b) "c"
  %d : f32[2,5] = MatMul(%c, %v) "d"
  %r : f32[2,5] = Reshape(%d, %s) "r"
  %e : f32[2,5] = Add(%r, %d) "e"
  %f : f32[2,5] = Neg(%e) "f"
  output %f
)");
}

std::unique_ptr<ir::Graph> branches() {
  return parsed(R"(
  input %x : f32[2]
  %p : f32[2] = Add(%x, %x) "p"
  %q : f32[2] = Mul(%x, %x) "q"
  %r : f32[2] = Add(%p, %q) "r"
  output %r
)");
}

TEST(ShardPlans, PartsEndWhereValuesMeet) {
  const auto graph = chain();
  const auto parts = sub_graphs(*graph);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].cut + parts[1].cut + parts[2].cut, "cef");
  const auto sorted = [&](size_t i) {
    auto nodes = parts[i].nodes;
    std::ranges::sort(nodes);
    return nodes;
  };
  EXPECT_EQ(sorted(0), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(sorted(1), (std::vector<size_t>{3, 4, 5}));
  EXPECT_EQ(sorted(2), std::vector<size_t>{6});
  // A product of m x k x n has 2mkn operations, other nodes one for each element; the constant of a
  // shape is no weight.
  EXPECT_EQ(parts[0].flops, 2 * 2 * 4 * 4 + 8 + 8);
  EXPECT_EQ(parts[1].flops, 2 * 2 * 4 * 5 + 10);
  EXPECT_EQ(parts[2].flops, 10);
  EXPECT_EQ(parts[0].bytes, 64U);
  EXPECT_EQ(parts[1].bytes, 80U);
  EXPECT_EQ(parts[2].bytes, 0U);
}

TEST(ShardPlans, WhereNoneMeetEveryNodeIsAPart) {
  const auto graph = parsed(R"(
  input %x : f32[N]
  const %w : f32[1] = [1.0]
  %a : f32[N] = Add(%x, %w) "a"
  %b : f32[N] = Relu(%a) "b"
  output %b
)");
  const auto parts = sub_graphs(*graph);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].cut + parts[1].cut, "ab");
  EXPECT_EQ(parts[0].nodes, std::vector<size_t>{0});
  EXPECT_EQ(parts[0].flops + parts[1].flops, 0);  // because shapes are not known
  EXPECT_EQ(parts[0].bytes, 4U);
}

TEST(ShardPlans, NodesAreCountedWhereAllShapesAreKnown) {
  const auto graph = parsed(R"(
  input %x : f32[2,3]
  %n : s64[2,N] = NonZero(%x) "n"
  %f : f32[2,N] = Cast(%n) {to = 1} "f"
  %r : f32[2,N] = Exp(%f) "r"
  %s : f32[2] = ReduceSum(%r) {keepdims = 0} "s"
  output %s
)");
  for (const SubGraph& part : sub_graphs(*graph)) EXPECT_EQ(part.flops, 0) << part.cut;
}

TEST(ShardPlans, TheLargestPartIsAsSmallAsCanBe) {
  EXPECT_EQ(balanced({1, 2, 3, 4, 5}, 1), Plan{5});
  EXPECT_EQ(balanced({1, 2, 3, 4, 5}, 2), (Plan{3, 5}));
  EXPECT_EQ(balanced({1, 2, 3, 4, 5}, 3), (Plan{3, 4, 5}));
  EXPECT_EQ(balanced({1, 2, 3, 4, 5}, 5), (Plan{1, 2, 3, 4, 5}));
  EXPECT_EQ(balanced({9, 1, 1, 1}, 2), (Plan{1, 4}));
  EXPECT_EQ(balanced({1, 1, 1, 9}, 2), (Plan{3, 4}));
  EXPECT_EQ(balanced({5, 0, 0, 5, 1}, 2), (Plan{1, 5}));  // the first of several
  EXPECT_EQ(message_of<Usage>([] { (void)balanced({1, 2}, 3); }),
            "--num_ipus: the model has 2 places for cuts, found 3");
}

// Compares the plan with all ways to cut.
TEST(ShardPlans, NoOtherWayIsBetter) {
  const std::vector<double> amounts = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto largest = [&](const Plan& plan) {
    double most = 0;
    for (size_t i = 0; i < plan.size(); i++) {
      double sum = 0;
      for (size_t k = i ? plan[i - 1] : 0; k < plan[i]; k++) sum += amounts[k];
      most = std::max(most, sum);
    }
    return most;
  };
  double best = 1e9;
  for (size_t a = 1; a < 7; a++)
    for (size_t b = a + 1; b < 8; b++) best = std::min(best, largest({a, b, 8}));
  EXPECT_EQ(largest(balanced(amounts, 3)), best);
}

TEST(ShardPlans, CutsListTheCutPointsOfEachIpu) {
  const auto line = chain();
  const auto parts = sub_graphs(*line);
  EXPECT_EQ(cuts_of(*line, parts, {1, 3}), (std::vector<Names>{{"c"}, {}}));
  EXPECT_EQ(cuts_of(*line, parts, {2, 3}), (std::vector<Names>{{"e"}, {}}));
  EXPECT_EQ(cuts_of(*line, parts, {3}), std::vector<Names>{{}});
  const auto two = branches();
  const auto both = sub_graphs(*two);
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(cuts_of(*two, both, {2, 3}), (std::vector<Names>{{"p", "q"}, {}}));
  EXPECT_EQ(cuts_of(*two, both, {1, 2, 3}), (std::vector<Names>{{"p"}, {"q"}, {}}));
}

TEST(ShardPlans, TimesMatchTheNodes) {
  const auto graph = chain();
  auto parts = sub_graphs(*graph);
  parts[2].nanoseconds = 5;
  set_times(*graph, {{"a", 1}, {"c", 2}, {"e", 4}, {"other", 8}}, parts);
  EXPECT_EQ(parts[0].nanoseconds, 3);
  EXPECT_EQ(parts[1].nanoseconds, 4);
  EXPECT_EQ(parts[2].nanoseconds, 0);
}

}  // namespace
}  // namespace poprt::cli
