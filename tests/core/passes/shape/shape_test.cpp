#include "core/passes/alter.h"
#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(ShapeInference, ForgetsStaleTypes) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[8,3]
    %a : f32[3,1] = Transpose(%x)
    %y : f32[1,3] = Transpose(%a)
    output %y
  })");
  run(*graph, {"shape_inference"});
  EXPECT_EQ(graph->find("a")->shape(), (Shape{3, 8}));
  EXPECT_EQ(graph->find("y")->shape(), (Shape{8, 3}));
}

TEST(TransposeToReshape, MovingOnesIsFree) {
  expect_ops({"transpose_to_reshape"}, R"(
    input %x : f32[2,1,3,1]
    %y = Transpose(%x) {perm = [1, 0, 3, 2]}
    output %y
  )",
             "Reshape");
  expect_unchanged({"transpose_to_reshape"}, R"(
    input %x : f32[2,1,3]
    %y = Transpose(%x) {perm = [2, 1, 0]}
    output %y
  )");
}

TEST(PadIntoConv, ZeroPaddingOfSpatialDimensions) {
  expect_ops({"pad_into_conv"}, R"(
    input %x : f32[1,2,5,5]
    const %w : f32[3,2,3,3] = fill 0.5
    const %pads : s64[8] = [0, 0, 1, 0, 0, 0, 1, 2]
    %a = Pad(%x, %pads)
    %y = Conv(%a, %w) {kernel_shape = [3, 3], pads = [0, 1, 0, 0]}
    output %y
  )",
             "Conv");
}

// Pools include the padding in front of them; each graph is also tried with one fact changed.
TEST(PadIntoConv, ComputesTheSameWhenAltered) {
  const std::vector<passes::PassCall> calls{{&passes::pass_of("pad_into_conv"), {}}};
  const char* const graphs[] = {
      R"(
    input %x : f32[1,2,5,5]
    const %w : f32[3,2,3,3] = fill 0.5
    const %pads : s64[8] = [0, 0, 1, 0, 0, 0, 1, 2]
    %a = Pad(%x, %pads)
    %y = Conv(%a, %w) {kernel_shape = [3, 3], pads = [0, 1, 0, 0]}
    output %y
  )",
      R"(
    input %x : f32[1,2,5,5]
    const %pads : s64[8] = [0, 0, 1, 1, 0, 0, 1, 2]
    %a = Pad(%x, %pads)
    %y = AveragePool(%a) {kernel_shape = [3, 3], ceil_mode = 0, auto_pad = "NOTSET"}
    output %y
  )",
      R"(
    input %x : f32[1,2,5,6]
    const %pads : s64[8] = [0, 0, 1, 0, 0, 0, 1, 1]
    %a = Pad(%x, %pads)
    %y = AveragePool(%a) {kernel_shape = [3, 3], pads = [1, 0, 0, 1], count_include_pad = 1}
    output %y
  )"};
  for (const char* text : graphs) {
    expect_ops(
        {"pad_into_conv"}, text,
        std::string_view(text).find("Conv") != std::string_view::npos ? "Conv" : "AveragePool");
    expect_same_when_altered(*parsed(text), calls, 1e-5);
  }
}

// If a pad is as wide as the kernel, a window would contain only padding.
TEST(PadIntoConv, LeavesPoolsThatWouldHaveEmptyWindows) {
  for (const char* pads : {"[0, 0, 3, 0, 0, 0, 0, 0]", "[0, 0, 0, 0, 0, 0, 0, 3]"})
    expect_unchanged({"pad_into_conv"}, fmt::format(R"(
    input %x : f32[1,2,5,5]
    const %pads : s64[8] = {}
    %a = Pad(%x, %pads)
    %y = AveragePool(%a) {{kernel_shape = [3, 3]}}
    output %y
  )",
                                                    pads));
}

TEST(PadIntoConv, LeavesPaddingThatIsNotOfAllDimensionsOrNotKnown) {
  for (const char* pad :
       {"const %p : s64[4] = [1, 0, 1, 2]\nconst %axes : s64[2] = [2, 3]\n%a = Pad(%x, %p, _, "
        "%axes)",
        "const %p : s64[8] = [1, 0, 1, 0, 0, 0, 1, 2]\n%a = Pad(%x, %p)",
        "const %p : s64[8] = [0, 1, 1, 0, 0, 0, 1, 2]\n%a = Pad(%x, %p)",
        "const %p : s64[8] = [0, 0, 1, 0, 0, 1, 1, 2]\n%a = Pad(%x, %p)",
        "const %p : s64[8] = [0, 0, 1, 0, 1, 0, 1, 2]\n%a = Pad(%x, %p)",
        "const %p : s64[8] = [0, 0, -1, 0, 0, 0, 1, 2]\n%a = Pad(%x, %p)",
        "const %p : s64[8] = [0, 0, 1, 0, 0, 0, 1, 2]\nconst %v : f32[] = 0.5\n%a = Pad(%x, %p, "
        "%v)",
        "const %p : s64[8] = [0, 0, 1, 0, 0, 0, 1, 2]\n%a = Pad(%x, %p) {mode = \"edge\"}",
        "input %p : s64[8]\n%a : f32[1,2,7,7] = Pad(%x, %p)"}) {
    const auto graph = parsed(
        fmt::format("input %x : f32[1,2,5,5]\n{}\n%y = AveragePool(%a) {{kernel_shape = [3, 3]}}\n"
                    "output %y",
                    pad),
        18);
    const std::string before = ir::to_text(*graph);
    run(*graph, {"pad_into_conv"});
    EXPECT_EQ(ir::to_text(*graph), before);
  }
}

TEST(PadIntoConv, LeavesPaddingOfEmptyTensors) {
  expect_unchanged({"pad_into_conv"}, R"(
    input %x : f32[1,2,5,0]
    const %w : f32[3,2,3,3] = fill 0.5
    const %pads : s64[8] = [0, 0, 1, 0, 0, 0, 1, 4]
    %a = Pad(%x, %pads)
    %y = Conv(%a, %w) {kernel_shape = [3, 3]}
    output %y
  )");
}

}  // namespace
}  // namespace poprt::test
