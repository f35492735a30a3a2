#include "ir/match.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace poprt::ir {
namespace {

TEST(Match, ConstScalarTakesOneElementOfAnyRank) {
  const auto g = parse_text(R"(graph "g" {
    input %x : f32[]
    const %a : f32[] = 0.5
    const %b : s64[1,1] = [3]
    const %c : f16[2] = [1.0, 1.0]
    const %s : string[] = "s"
    output %x
  })");
  EXPECT_EQ(const_scalar(g->find("a")), 0.5);
  EXPECT_EQ(const_scalar(g->find("b")), 3.0);
  EXPECT_EQ(const_scalar(g->find("c")), std::nullopt);
  EXPECT_EQ(const_scalar(g->find("s")), std::nullopt);
  EXPECT_EQ(const_scalar(g->find("x")), std::nullopt);
  EXPECT_EQ(const_scalar(nullptr), std::nullopt);
}

TEST(Match, ConstIntsTakesIntegerVectors) {
  const auto g = parse_text(R"(graph "g" {
    const %a : s64[3] = [0, -1, 2]
    const %b : s32[] = 4
    const %c : s64[1,2] = [1, 2]
    const %d : f32[1] = [1.0]
  })");
  EXPECT_EQ(const_ints(g->find("a")), (std::vector<int64_t>{0, -1, 2}));
  EXPECT_EQ(const_ints(g->find("b")), std::vector<int64_t>{4});
  EXPECT_EQ(const_ints(g->find("c")), std::nullopt);
  EXPECT_EQ(const_ints(g->find("d")), std::nullopt);
  EXPECT_EQ(const_ints(nullptr), std::nullopt);
}

TEST(Match, FollowsSingleUses) {
  const auto g = parse_text(R"(graph "g" {
    input %x : f32[4]
    %a = Relu(%x)
    %b = poprt.Silu(%a)
    %c = Add(%b, %b)
    %d = Mul(%c, %x)
    output %c
  })");
  Value *x = g->find("x"), *a = g->find("a"), *b = g->find("b"), *c = g->find("c");
  EXPECT_TRUE(single_use(a));
  EXPECT_FALSE(single_use(b)) << "read twice";
  EXPECT_FALSE(single_use(c)) << "read once and a graph output";
  EXPECT_FALSE(single_use(nullptr));
  EXPECT_EQ(single_reader(a), b->producer());
  EXPECT_EQ(single_reader(b), nullptr);
  EXPECT_EQ(producer_if(a, "Relu"), a->producer());
  EXPECT_EQ(producer_if(b, "Silu", "poprt"), b->producer());
  EXPECT_EQ(producer_if(b, "Silu"), nullptr);
  EXPECT_EQ(producer_if(x, "Relu"), nullptr);
  EXPECT_EQ(producer_if(nullptr, "Relu"), nullptr);
  const Node& d = *g->find("d")->producer();
  EXPECT_EQ(other_input(d, c), x);
  EXPECT_EQ(other_input(d, x), c);
  EXPECT_EQ(other_input(d, a), nullptr);
  EXPECT_EQ(other_input(*c->producer(), b), nullptr) << "both";
  EXPECT_EQ(other_input(*a->producer(), x), nullptr) << "one input";
}

TEST(Match, CanReplaceKeepsOutputNames) {
  const auto g = parse_text(R"(graph "g" {
    input %x : f32[4]
    const %w : f32[] = 1.0
    %a = Relu(%x)
    %y = Identity(%a)
    %z = Identity(%y)
    output %y
    output %z
  })");
  EXPECT_TRUE(can_replace(g->find("a"), g->find("x"))) << "not an output";
  EXPECT_TRUE(can_replace(g->find("y"), g->find("a")));
  EXPECT_FALSE(can_replace(g->find("y"), g->find("x"))) << "an input keeps its own name";
  EXPECT_FALSE(can_replace(g->find("y"), g->find("w")));
  EXPECT_FALSE(can_replace(g->find("z"), g->find("y"))) << "another output";
}

TEST(Match, CanReplaceChecksTheGraph) {
  const auto g = parse_text(R"(graph "g" {
    input %c : bool[]
    input %x : f32[4]
    %a = Relu(%x)
    %y = If(%c) {branch = graph "b" { %n = Neg(%a) output %n }}
    output %y
  })");
  const Graph& body =
      **std::get_if<std::shared_ptr<Graph>>(g->find("y")->producer()->find_attr("branch"));
  EXPECT_FALSE(can_replace(body.find("n"), g->find("a"))) << "of another graph";
  EXPECT_FALSE(single_use(g->find("a"))) << "by a node of the body";
}

TEST(Match, BooleansAndWholeNumbersCount) {
  const auto g = parse_text(R"(graph "g" {
    const %b : bool[] = true
    const %l : bool[2] = [true, false]
    const %e : f32[0] = []
    const %i : u8[1] = [7]
  })");
  EXPECT_EQ(const_scalar(g->find("b")), 1.0);
  EXPECT_EQ(const_scalar(g->find("e")), std::nullopt);
  EXPECT_EQ(const_scalar(g->find("i")), 7.0);
  EXPECT_EQ(const_ints(g->find("l")), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(const_ints(g->find("i")), std::vector<int64_t>{7});
}

}  // namespace
}  // namespace poprt::ir
