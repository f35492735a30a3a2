// Operators that move elements: the nodes of older opsets move the same ones.
#include <gtest/gtest.h>

#include "core/opsets/conversion.h"

namespace poprt::opsets {
namespace {

TEST(ConvertShapes, PartsOfAShapeAreSlices) {
  const std::string x = "input %x : f32[2,3,4,5]";
  convert_node(x, "Shape(%x)", 15, 14, "Shape");
  convert_node(x, "Shape(%x) {start = 0}", 15, 14, "Shape");
  for (const char* part : {"{start = 1}", "{end = 2}", "{end = -1, start = 1}", "{start = -2}",
                           "{end = 0}", "{end = 9, start = -9}", "{end = 1, start = 3}"})
    convert_node(x, fmt::format("Shape(%x) {}", part), 15, 14, "Shape Slice");
}

TEST(ConvertShapes, ZeroesOfAReshape) {
  const auto x = [](const char* shape, const char* wanted) {
    return fmt::format("input %x : f32{}\nconst %s : s64{}", shape, wanted);
  };
  convert_node(x("[2,6]", "[2] = [3, 4]"), "Reshape(%x, %s) {allowzero = 1}", 14, 13, "Reshape");
  convert_node(x("[0,6]", "[2] = [0, 3]"), "Reshape(%x, %s) {allowzero = 1}", 14, 13, "Reshape");
  convert_node(x("[2,6]", "[3] = [0, 2, 3]"), "Reshape(%x, %s) {allowzero = 0}", 14, 13, "Reshape");
  convert_node(x("[2,6]", "[2] = [0, -1]"), "Reshape(%x, %s)", 14, 11, "Reshape");
  for (const char* wanted : {"[3] = [3, 4, 0]", "[2] = [4, 0]"})
    expect_refusal(x("[0,4]", wanted) + "\n%y : ? = Reshape(%x, %s) {allowzero = 1}\noutput %y", 14,
                   13, {"that opset has no allowzero, which dimensions of zero elements need"});
}

TEST(ConvertShapes, OldResizesRoundAsTheyDid) {
  const auto x = [](const char* scales) {
    return fmt::format("input %x : f32[1,1,5,7]\nconst %s : f32[4] = [1.0, 1.0, {}]", scales);
  };
  const auto of = [&](const char* scales, const char* mode, const char* rounding) {
    const auto graph =
        convert_node(x(scales), fmt::format("Resize(%x, %s) {}", mode), 10, 11, "Resize");
    const ir::Node& node = *graph->nodes()[0];
    EXPECT_EQ(node.string_attr("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(node.string_attr("nearest_mode", "none"), rounding);
    ASSERT_EQ(node.inputs().size(), 3u);
    EXPECT_EQ(node.input(1)->shape(), Shape{0});
  };
  of("2.0, 3.0", "", "floor");
  of("1.0, 1.0", "", "floor");
  of("0.6, 0.4", "{mode = \"nearest\"}", "ceil");
  of("1.0, 0.4", "{mode = \"nearest\"}", "ceil");
  of("0.6, 2.0", "{mode = \"linear\"}", "none");
}

TEST(ConvertShapes, InputsThatAResizeOmitsAreEmpty) {
  const std::string x =
      "input %x : f32[1,1,5,7]\nconst %z : s64[4] = [1, 1, 8, 4]\n"
      "const %s : f32[4] = [1.0, 1.0, 2.0, 0.5]\n"
      "const %w : s64[1] = [9]\nconst %t : f32[1] = [2.0]";
  for (const char* call : {"Resize(%x, _, _, %z) {mode = \"linear\"}", "Resize(%x, _, %s)"}) {
    const auto graph = convert_node(x, call, 13, 11, "Resize");
    EXPECT_EQ(graph->nodes()[0]->input(1)->shape(), Shape{0});
    EXPECT_EQ(graph->nodes()[0]->input(2)->shape()[0], call[14] == '_' ? 0 : 4) << call;
  }
  convert_node(x, "Resize(%x, _, _, %w) {axes = [3], mode = \"linear\"}", 18, 17, "Resize");
  convert_node(x, "Resize(%x, _, %t) {axes = [-2], mode = \"cubic\"}", 18, 11, "Resize");
  convert_node(x, "Resize(%x, _, %s) {antialias = 0, keep_aspect_ratio_policy = \"stretch\"}", 18,
               17, "Resize");
}

TEST(ConvertShapes, ScattersHaveANewName) {
  convert_node("input %x : f32[4,3]\nconst %i : s64[2,3] = [0, 1, 2, 3, 2, 0]\ninput %u : f32[2,3]",
               "Scatter(%x, %i, %u)", 10, 11, "ScatterElements");
  convert_node(
      "input %x : f32[4,3]\nconst %i : s64[4,2] = [0, 1, 2, 0, 1, 2, 0, 1]\n"
      "input %u : f32[4,2]",
      "Scatter(%x, %i, %u) {axis = 1}", 10, 13, "ScatterElements");
  convert_node("input %x : f32[4]\nconst %i : s64[2] = [3, 1]\ninput %u : f32[2]",
               "ScatterElements(%x, %i, %u) {reduction = \"none\"}", 18, 15, "ScatterElements");
}

TEST(ConvertShapes, IndicesWithoutABatchStay) {
  convert_node("input %x : f32[3,4]\nconst %i : s64[2,1] = [2, 0]",
               "GatherND(%x, %i) {batch_dims = 0}", 12, 11, "GatherND");
  convert_node(
      "input %x : f32[3,2,4,5]\nconst %i : s64[3,2,2,1] = [0, 3, 1, 2, 2, 0, 1, 1, 0, 3, "
      "-1, -4]",
      "GatherND(%x, %i) {batch_dims = 2}", 12, 11, "Concat GatherND");
}

TEST(ConvertShapes, CropsAndPads) {
  for (const char* sizes : {"[3] = [2, 6, 5]", "[3] = [7, 1, 6]", "[3] = [4, 3, 5]"})
    convert_node(fmt::format("input %x : f32[4,3,5]\nconst %s : s64{}", sizes),
                 "CenterCropPad(%x, %s)", 18, 17, "Slice Pad");
  convert_node("input %x : f32[4,3,5]\nconst %s : s64[1] = [8]",
               "CenterCropPad(%x, %s) {axes = "
               "[1]}",
               18, 17, "Slice Pad");
}

TEST(ConvertShapes, TrianglesAreChosenByAMask) {
  const auto x = [](const char* type, const char* k) {
    return fmt::format("input %x : {}\nconst %k : s64[] = {}\ninput %n : s64[]", type, k);
  };
  for (const char* upper : {"", " {upper = 0}", " {upper = 1}"}) {
    for (const char* k : {"0", "1", "-2", "9", "-9"})
      for (const char* type : {"f32[4,5]", "s64[2,5,3]"})
        convert_node(x(type, k), fmt::format("Trilu(%x, %k){}", upper), 14, 13, "Where");
    convert_node(x("f32[4,4]", "0"), fmt::format("Trilu(%x){}", upper), 14, 13, "Where");
  }
  convert_node(x("f32[4,5]", "0"), "Trilu(%x, %n)", 14, 12, "GreaterOrEqual Where");
  convert_node(x("f32[4,5]", "0"), "Trilu(%x, %n) {upper = 0}", 14, 11, "Less Equal Or Where");
}

TEST(ConvertShapes, BlocksOfSpace) {
  const std::string x = "input %x : f32[2,3,4,6]";
  convert_node(x, "SpaceToDepth(%x) {blocksize = 2}", 28, 13, "SpaceToDepth");
  convert_node(x, "SpaceToDepth(%x) {blocksize = 2, mode = \"DCR\"}", 28, 13, "SpaceToDepth");
  convert_node(x, "SpaceToDepth(%x) {blocksize = 2, mode = \"CRD\"}", 28, 13,
               "Reshape Transpose Reshape");
}

TEST(ConvertShapes, GridsOfAffineMaps) {
  for (const char* corners : {"", " {align_corners = 1}"}) {
    convert_node("input %t : f32[2,2,3]\nconst %s : s64[4] = [2, 7, 4, 5]",
                 fmt::format("AffineGrid(%t, %s){}", corners), 20, 19, "Transpose MatMul Reshape");
    convert_node("input %t : f32[1,2,3]\nconst %s : s64[4] = [1, 1, 1, 3]",
                 fmt::format("AffineGrid(%t, %s){}", corners), 20, 19, "Transpose MatMul Reshape");
    convert_node("input %t : f32[2,3,4]\nconst %s : s64[5] = [2, 7, 2, 3, 4]",
                 fmt::format("AffineGrid(%t, %s){}", corners), 20, 19, "Transpose MatMul Reshape");
  }
}

TEST(ConvertShapes, ModesOfGridsHaveTwoNames) {
  const std::string values = "input %x : f32[1,2,4,5]\ninput %g : f32[1,3,3,2]";
  const std::pair<const char*, const char*> modes[] = {
      {"bilinear", "linear"}, {"bicubic", "cubic"}, {"nearest", "nearest"}};
  for (const auto& [older, newer] : modes) {
    const auto up = convert_node(values, fmt::format("GridSample(%x, %g) {{mode = \"{}\"}}", older),
                                 16, 20, "GridSample");
    EXPECT_EQ(up->nodes()[0]->string_attr("mode", ""), newer);
    const auto down = convert_node(
        values, fmt::format("GridSample(%x, %g) {{mode = \"{}\"}}", newer), 20, 19, "GridSample");
    EXPECT_EQ(down->nodes()[0]->string_attr("mode", ""), older);
  }
  EXPECT_EQ(convert_node(values, "GridSample(%x, %g)", 20, 16, "GridSample")
                ->nodes()[0]
                ->string_attr("mode", ""),
            "bilinear");
  EXPECT_EQ(convert_node(values, "GridSample(%x, %g)", 16, 20, "GridSample")
                ->nodes()[0]
                ->string_attr("mode", ""),
            "linear");
}

TEST(ConvertShapes, RegionsHaveThePositionsOfTheirOpset) {
  const std::string values =
      "input %x : f32[1,2,6,6]\nconst %r : f32[2,4] = [0.5, 1.0, 4.0, 5.0, 0.0, 0.0, 3.0, 2.0]\n"
      "const %b : s64[2] = [0, 0]";
  const std::string call = "RoiAlign(%x, %r, %b) {output_height = 2, output_width = 3";
  convert_node(values, call + "}", 10, 16, "RoiAlign");
  convert_node(values, call + ", coordinate_transformation_mode = \"output_half_pixel\"}", 16, 15,
               "RoiAlign");
  expect_refusal(values + "\n%y : ? = " + call + "}\noutput %y", 16, 15,
                 {"coordinates are output_half_pixel there"});
}

}  // namespace
}  // namespace poprt::opsets
