// Rules for axes that operators share, and the queries of passes on a map.
#include "ops/common/axes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace poprt::ops {
namespace {

AxisMap map_of(const std::string& node, const std::string& inputs, int64_t opset = 17) {
  const auto graph = ir::parse_text(fmt::format(
      "graph \"g\" opset {{\"\": {}, \"com.microsoft\": 1, \"com.example\": 1}} {{\n{}%y = {}\n"
      "output %y\n}}\n",
      opset, inputs, node));
  ir::Node& n = *graph->nodes().front();
  if (find_op(n.domain, n.op_type, opset)) infer(n);
  return axis_map(n);
}

// Returns the places of the output axis that are related to a place of the input axis.
std::vector<int64_t> related_places(const AxisLink& l, int64_t place, int64_t size) {
  std::vector<int64_t> places;
  for (int64_t b = 0; b < size; b++)
    if (l.meets(place, b)) places.push_back(b);
  return places;
}

TEST(AxisLink, RelatesDigitsOfPlaces) {
  using Places = std::vector<int64_t>;
  EXPECT_EQ(related_places({.extent = 4}, 2, 4), (Places{2}));
  EXPECT_EQ(related_places({.extent = 3}, 1, 6), (Places{1, 4})) << "Tile";
  EXPECT_EQ(related_places({.extent = 2, .output_block = 3}, 1, 6), (Places{3, 4, 5}))
      << "rows of a Reshape";
  EXPECT_EQ(related_places({.input_block = 3}, 4, 2), (Places{1})) << "a window of 3";
  EXPECT_EQ(related_places({.shift = 2}, 1, 6), (Places{3})) << "Concat";
  EXPECT_EQ(related_places({.shift = -2}, 1, 6), Places{}) << "Slice drops it";
  EXPECT_EQ(related_places({.extent = 4, .shift = 3}, 2, 4), (Places{1})) << "a rotation";
}

TEST(AxisMap, OfAReshapeHasRowsAndPlaces) {
  const AxisMap map =
      map_of("Reshape(%x, %s)", "input %x : f32[2,3,4]\nconst %s : s64[2] = [6, 4]\n");
  const std::vector<AxisLink> wanted = {
      {0, 2, 0, 1, 4, 1, 1}, {0, 1, 0, 0, 3, 1, 1}, {0, 0, 0, 0, 2, 1, 3}};
  EXPECT_EQ(map.links, wanted);
  EXPECT_EQ(carried(map, {0, 2}), size_t{1});
  EXPECT_FALSE(carried(map, {0, 0}));
  EXPECT_TRUE(is_linked(map, {0, 0}));
  EXPECT_TRUE(mixed_axes(map, 0).empty());
}

// The shape of such a result is not known, so there is no place to link.
TEST(AxisMap, OfANodeWhoseShapeAnInputDecidesIsEmpty) {
  const std::string x = "input %x : f32[1,4,4]\ninput %n : s64[3]\n";
  for (const char* node :
       {"Tile(%x, %n)", "Expand(%x, %n)", "Reshape(%x, %n)", "CenterCropPad(%x, %n)",
        "Resize(%x, _, _, %n)", "Slice(%x, %n, %n)", "ConstantOfShape(%n)"})
    EXPECT_TRUE(map_of(node, x, 18).links.empty()) << node;
  EXPECT_TRUE(
      map_of("Col2Im(%x, %s, %s)", "input %x : f32[1,4,4]\ninput %s : s64[2]\n", 18).links.empty());
}

TEST(AxisMap, OfAProductHasCarriedAndReducedAxes) {
  const AxisMap map = map_of("MatMul(%x, %w)", "input %x : f32[2,3,4]\ninput %w : f32[4,5]\n");
  EXPECT_EQ(carried(map, {0, 0}), size_t{0});
  EXPECT_EQ(carried(map, {0, 1}), size_t{1});
  EXPECT_EQ(carried(map, {1, 1}), size_t{2});
  EXPECT_EQ(carried_from(map, 0, 1), size_t{1});
  EXPECT_FALSE(carried_from(map, 0, 2));
  EXPECT_TRUE(is_reduced(map, {0, 2}) && is_reduced(map, {1, 0}));
  EXPECT_FALSE(is_reduced(map, {0, 1}));
}

TEST(AxisMap, OfSoftmaxMixesTheAxesThatTheOpsetDefines) {
  const std::string x = "input %x : f32[2,3,4]\n";
  EXPECT_EQ(mixed_axes(map_of("Softmax(%x)", x, 13), 0), (std::vector<size_t>{2}));
  EXPECT_EQ(mixed_axes(map_of("Softmax(%x)", x, 11), 0), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(mixed_axes(map_of("Softmax(%x) {axis = 0}", x, 13), 0), (std::vector<size_t>{0}));
}

TEST(AxisMap, HasNoLinksForUnknownOperatorsAndShapes) {
  EXPECT_TRUE(map_of("com.example.Own(%x)", "input %x : f32[2]\n").links.empty());
  EXPECT_TRUE(map_of("Relu(%x)", "input %x : f32[N,3]\n").links.empty());
  const AxisMap range = map_of("NonZero(%x)", "input %x : f32[2,3]\n");
  EXPECT_TRUE(range.links.empty());
  EXPECT_TRUE(depends(range, 0));
  EXPECT_FALSE(depends(map_of("Shape(%x)", "input %x : f32[2,3]\n"), 0));
}

TEST(AxisMap, FindsOperatorsThatKeepSamplesSeparate) {
  const std::string x = "input %x : f32[2,4,6]\n";
  const auto to = [](const std::string& node, const std::string& inputs) {
    return carried_exclusively(map_of(node, inputs), {0, 0});
  };
  EXPECT_EQ(to("Conv(%x, %w)", x + "input %w : f32[3,4,2]\n"), size_t{0});
  EXPECT_EQ(to("GlobalMaxPool(%x)", x), size_t{0});
  EXPECT_EQ(to("Add(%x, %x)", x), std::nullopt) << "two inputs have samples";
  EXPECT_EQ(to("Add(%x, %b)", x + "input %b : f32[6]\n"), size_t{0});
  EXPECT_EQ(to("Transpose(%x) {perm = [1, 0, 2]}", x), size_t{1});
  EXPECT_EQ(to("Softmax(%x) {axis = 0}", x), std::nullopt);
}

// Two composed links relate the places that the axis between them connects.
TEST(ComposedLinks, RelatePlacesThroughTheAxisBetween) {
  const int64_t from = 12, places = 12, to = 12;
  const std::vector<AxisLink> links = {{.extent = 12},
                                       {.extent = 3},
                                       {.input_block = 3},
                                       {.output_block = 3},
                                       {.shift = 2},
                                       {.shift = -3},
                                       {.extent = 4, .input_block = 3},
                                       {.extent = 2, .input_block = 2, .output_block = 6},
                                       {.extent = 6, .output_block = 2}};
  size_t made = 0;
  for (const AxisLink& first : links)
    for (const AxisLink& second : links) {
      const auto link = axes::composed(first, second, from, places, to);
      if (!link) continue;
      made++;
      for (int64_t a = 0; a < from; a++)
        for (int64_t b = 0; b < to; b++) {
          bool reached = false;
          for (int64_t k = 0; k < places; k++)
            reached = reached || (first.meets(a, k) && second.meets(k, b));
          EXPECT_TRUE(!reached || link->meets(a, b)) << "place " << a << " reaches " << b;
        }
    }
  EXPECT_GE(made, 40u);
}

TEST(ComposedLinks, OfCarriedAxesAreCarried) {
  const AxisMap map = map_of("com.microsoft.FusedMatMul(%a, %b) {transA = 1, alpha = 2.0}",
                             "input %a : f32[2,4,3]\ninput %b : f32[2,4,5]\n");
  EXPECT_EQ(carried(map, {0, 0}), size_t{0});
  EXPECT_EQ(carried(map, {0, 2}), size_t{1});
  EXPECT_EQ(carried(map, {1, 2}), size_t{2});
  EXPECT_FALSE(is_linked(map, {0, 1}));
}

TEST(ComposedLinks, ConstantsMakeAnAxisNonUniform) {
  const std::string rows = "input %x : f32[2,3]\ninput %y0 : f32[3]\n";
  EXPECT_TRUE(is_uniform(map_of("com.microsoft.BiasGelu(%x, %y0)", rows), {0, 1}));
  const AxisMap with_constant =
      map_of("com.microsoft.BiasGelu(%x, %b)",
             "input %x : f32[2,3]\nconst %b : f32[3] = [1.0, 2.0, 3.0]\n");
  EXPECT_TRUE(is_uniform(with_constant, {0, 0}));
  EXPECT_FALSE(is_uniform(with_constant, {0, 1}));
  EXPECT_EQ(carried(with_constant, {0, 1}), size_t{1});
}

}  // namespace
}  // namespace poprt::ops
