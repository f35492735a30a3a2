#include "passes/common/branches.h"

#include <algorithm>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kBody = R"(
  input %on : bool[]
  input %x : f32[2]
  input %z : f32[2]
  const %k : f32[2] = [1.0, 2.0]
  %a = Neg(%x)
  %y = If(%on) {else_branch = graph "e" { %n = Add(%a, %k) "sum" %m = If(%on) {else_branch = graph "f" { %p = Abs(%z) output %p }, then_branch = graph "g" { %q = Exp(%n) output %q }} "inner" output %m }, then_branch = graph "t" { const %c : f32[2] = [5.0, 6.0] %i = Mul(%x, %c) "product" output %i }} "choice"
  %b = Sqrt(%y)
  output %b
)";

std::string names_of(const std::unordered_set<const ir::Value*>& values) {
  std::vector<std::string> names;
  for (const ir::Value* v : values) names.push_back(v->name());
  std::ranges::sort(names);
  std::string text;
  for (const std::string& name : names) text += name + " ";
  return text;
}

TEST(Branches, AreFoundByTheNameOfTheirAttribute) {
  const auto graph = parsed(kBody);
  ir::Node& choice = *graph->nodes()[1];
  EXPECT_EQ(passes::branch_of(choice, "then_branch")->name, "t");
  EXPECT_EQ(passes::branch_of(choice, "else_branch")->name, "e");
  EXPECT_EQ(passes::branch_of(choice, "body"), nullptr);
  choice.attributes["body"] = int64_t{1};
  EXPECT_EQ(passes::branch_of(choice, "body"), nullptr);
}

// The values may be at any depth and of any graph.
TEST(Branches, ValuesReadIncludeReadsOfBodies) {
  const auto graph = parsed(kBody);
  EXPECT_EQ(names_of(passes::values_read(*graph->nodes()[0])), "x ");
  EXPECT_EQ(names_of(passes::values_read(*graph->nodes()[1])), "a c k n on x z ");
}

TEST(Branches, AFunctionOfItsInputsIsPure) {
  const auto graph = parsed(kBody);
  EXPECT_TRUE(passes::is_pure(*graph->nodes()[0]));
  EXPECT_FALSE(passes::is_pure(*graph->nodes()[1]));
  const auto others = parsed(R"(
    input %x : f32[2]
    %r = RandomNormalLike(%x)
    %y = Neg(%r)
    output %y
  )");
  EXPECT_FALSE(passes::is_pure(*others->nodes()[0]));
  others->nodes()[1]->op_type = "NoSuchOperator";
  EXPECT_FALSE(passes::is_pure(*others->nodes()[1]));
}

TEST(Branches, MoveBeforeANodeWithTheirContents) {
  const auto graph = parsed(kBody);
  ir::Node& choice = *graph->nodes()[1];
  const auto then = passes::branch_of(choice, "then_branch"),
             other = passes::branch_of(choice, "else_branch");
  const auto made = passes::inline_graph(*then, *graph, &choice);
  EXPECT_EQ(ops_of(*graph), "Neg Mul If Sqrt");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0]->producer(), graph->nodes()[1]);
  EXPECT_EQ(&made[0]->graph(), graph.get());
  EXPECT_EQ(made[0]->name(), "i");
  EXPECT_EQ(made[0]->shape(), Shape{2});
  EXPECT_EQ(graph->nodes()[1]->name, "product");
  EXPECT_EQ(graph->nodes()[1]->input(1)->constant().to_doubles(), (std::vector<double>{5, 6}));
  EXPECT_EQ(&graph->nodes()[1]->input(1)->graph(), graph.get());

  const auto rest = passes::inline_graph(*other, *graph, nullptr);  // null: appends the nodes
  EXPECT_EQ(ops_of(*graph), "Neg Mul If Sqrt Add If");
  const ir::Node& inner = *graph->nodes()[5];
  EXPECT_EQ(inner.name, "inner");
  EXPECT_EQ(rest[0], inner.output());
  const auto deepest = passes::branch_of(inner, "then_branch");
  ASSERT_NE(deepest, nullptr);
  EXPECT_EQ(deepest->parent, graph.get());
  EXPECT_EQ(deepest->nodes()[0]->input(0), graph->nodes()[4]->output());
}

}  // namespace
}  // namespace poprt::test
