#include "passes/common/constant_cone.h"

#include <fmt/ranges.h>

#include <array>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kCones = R"(
  input %x : f32[2]
  const %a : f32[2] = [1.0, 2.0]
  const %b : f32[2] = [3.0, 5.0]
  const %half : s64[2] = [1, 1]
  %c = Add(%a, %b)
  %d = Mul(%c, %a)
  %e = Neg(%x)
  %f, %g = Split(%d, %half) {axis = 0}
  %h = Sub(%g, %f)
  %r = RandomNormal() {shape = [2]}
  %y = Add(%e, %d)
  output %h
  output %r
  output %y
)";

std::string outputs_of(const std::vector<ir::Node*>& nodes) {
  std::string text;
  for (const ir::Node* n : nodes) text += n->output()->name() + " ";
  return text;
}

TEST(ConstantCones, ContainNodesThatReadOnlyConstants) {
  const auto graph = parsed(kCones);
  const passes::ConstantCones cones(*graph, UINT64_MAX);
  EXPECT_EQ(outputs_of(cones.nodes()), "c d f h ");
  EXPECT_FALSE(cones.contains(graph->find("e")->producer()));
  EXPECT_FALSE(cones.contains(graph->find("r")->producer()));  // another number every time
  EXPECT_EQ(outputs_of(cones.of(graph->find("d")->producer())), "c d ");
  EXPECT_EQ(outputs_of(cones.of(graph->find("h")->producer())), "c d f h ");
  // No cone of 8 bytes is returned for a limit of 7.
  EXPECT_EQ(outputs_of(passes::ConstantCones(*graph, 8).nodes()), "c d f h ");
  EXPECT_EQ(outputs_of(passes::ConstantCones(*graph, 7).nodes()), "");
}

TEST(ConstantCones, AreComputedFromTheirConstants) {
  const auto graph = parsed(kCones);
  const passes::ConstantCones cones(*graph, UINT64_MAX);
  const auto cone = cones.of(graph->find("h")->producer());
  // The cone reads 16 bytes of floats, one of them twice, and 16 of sizes.
  EXPECT_EQ(passes::bytes_read(cone), 32u);
  EXPECT_EQ(passes::bytes_made(*graph->find("f")->producer()), 8u);
  EXPECT_EQ(passes::bytes_made(*graph->find("c")->producer()), 8u);
  EXPECT_GT(passes::work_of(cone), 0);
  // (1 + 3) * 1 and (2 + 5) * 2.
  const auto results = passes::evaluate(cones.of(graph->find("f")->producer()));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].to_doubles(), std::vector<double>{4});
  EXPECT_EQ(results[1].to_doubles(), std::vector<double>{14});
  EXPECT_EQ(passes::evaluate(cone).at(0).to_doubles(), std::vector<double>{10});
  EXPECT_TRUE(passes::evaluate({}).empty());
  // Values that are not constant are given.
  const ir::Value* x = graph->find("x");
  const std::vector<ir::Node*> one{graph->find("e")->producer()};
  EXPECT_EQ(
      passes::evaluate(one, {{x, Tensor::of<float>({2}, std::array{6.F, 7.F})}}).at(0).to_doubles(),
      (std::vector<double>{-6, -7}));
}

TEST(ConstantCones, ValuesAreKnownUpToASize) {
  const auto graph = parsed(kCones);
  const auto known = [&](const char* name, uint64_t largest = UINT64_MAX) {
    const Tensor t = passes::known_value(graph->find(name), largest);
    return t.defined() ? fmt::format("{}", fmt::join(t.to_doubles(), " ")) : "?";
  };
  EXPECT_EQ(known("b"), "3 5");
  EXPECT_EQ(known("g"), "14");  // the second result
  EXPECT_EQ(known("f"), "4");
  EXPECT_EQ(known("h"), "10");
  EXPECT_EQ(known("h", 8), "10");
  EXPECT_EQ(known("h", 7), "?");
  EXPECT_EQ(known("x"), "?");
  EXPECT_EQ(known("y"), "?");
  EXPECT_EQ(known("r"), "?");
}

TEST(ConstantCones, AreStaticAndHaveNoStrings) {
  const auto can = [](const std::string& body) {
    const auto graph = parsed(body + "\noutput %y");
    const ir::Node& n = *graph->nodes().back();
    return std::pair(passes::can_be_computed(n, UINT64_MAX),
                     passes::can_be_constant(n, UINT64_MAX));
  };
  EXPECT_EQ(can("input %x : f32[2]\n%y = Neg(%x)"), std::pair(true, true));
  EXPECT_EQ(can("input %x : f32[?]\n%y = Neg(%x)"), std::pair(false, false));
  EXPECT_EQ(can("input %x : string[2]\n%y = Identity(%x)"), std::pair(false, false));
  EXPECT_EQ(can("%y = RandomNormal() {shape = [2]}"), std::pair(false, false));
  EXPECT_EQ(can("input %c : bool[]\ninput %x : f32[2]\n%y = If(%c) {else_branch = graph \"e\" { "
                "%n = Neg(%x) output %n }, then_branch = graph \"t\" { %i = Abs(%x) output %i }}"),
            std::pair(false, false));
  // Weights that are widened stay narrow; one number does not matter.
  const std::string widened = "const %s : f32[] = 0.5\n%y = DequantizeLinear(%x, %s)";
  EXPECT_EQ(can("const %x : s8[2] = [1, 2]\n" + widened), std::pair(true, false));
  EXPECT_EQ(can("const %x : s8[1] = [1]\n" + widened), std::pair(true, true));
}

}  // namespace
}  // namespace poprt::test
