#include "model/repeated_layers.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "ir/text.h"
#include "model/graph_layout.h"

namespace poprt::inspector {
namespace {

// One node for each letter; each reads the one before it.
std::vector<SequenceNode> chain(const std::string& letters) {
  std::vector<SequenceNode> nodes;
  for (size_t i = 0; i < letters.size(); i++)
    nodes.push_back({std::string(1, letters[i]), {static_cast<int>(i) - 1}});
  return nodes;
}

using Runs = std::vector<LayerRun>;

TEST(RepeatedLayers, FindsTheLargestRunThenRunsInTheRest) {
  EXPECT_EQ(repeated_layers(chain("xabcabcabcy")), (Runs{{1, 3, 3}}));
  EXPECT_EQ(repeated_layers(chain("abcdefabcdefxpqrpqrpqrpqrpqr")), (Runs{{0, 6, 2}, {13, 3, 5}}));
  EXPECT_EQ(repeated_layers(chain("abcxyz")), Runs{});
  EXPECT_EQ(repeated_layers(chain("")), Runs{});
}

TEST(RepeatedLayers, ChainsOfEqualNodesAndPairsAreNotLayers) {
  EXPECT_EQ(repeated_layers(chain(std::string(100, 'r'))), Runs{});
  EXPECT_EQ(repeated_layers(chain("abababababababab")), Runs{}) << "a layer has three nodes";
}

// "r" adds the value before the layer to the last of its values, so one value goes from layer to
// layer only there.
TEST(RepeatedLayers, CutsWhereTheFewestValuesCross) {
  std::string letters = "x";
  for (int i = 0; i < 4; i++) letters += "abcr";
  letters += "ab";  // the run may start at x + 0, 1 or 2
  auto nodes = chain(letters);
  for (size_t i = 4; i < 17; i += 4) nodes[i].producers.push_back(static_cast<int>(i) - 4);
  EXPECT_EQ(repeated_layers(nodes), (Runs{{1, 4, 4}}));
}

TEST(RepeatedLayers, LayersHaveEqualEdges) {
  auto nodes = chain("abcdabcdabcd");
  EXPECT_EQ(repeated_layers(nodes), (Runs{{0, 4, 3}}));
  nodes[11].producers[0] = 8;  // "d" of the last layer reads "a"
  EXPECT_EQ(repeated_layers(nodes), (Runs{{0, 4, 2}}));
}

// The runs are compared with a search that tries every position and period.
TEST(RepeatedLayers, CoversAsMuchAsAnExhaustiveSearch) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; trial++) {
    std::string letters;
    while (letters.size() < 24) {
      std::string word;
      for (unsigned k = 0; k < 2 + random() % 4; k++) word += static_cast<char>('a' + random() % 3);
      for (unsigned k = 0; k < 1 + random() % 3; k++) letters += word;
    }
    size_t most = 0;
    for (size_t first = 0; first < letters.size(); first++)
      for (size_t period = kLeastLayer; first + 2 * period <= letters.size(); period++) {
        const std::string word = letters.substr(first, period);
        bool primitive = true;
        for (size_t p = 1; p < period; p++)
          if (period % p == 0 && word == word.substr(p) + word.substr(0, p)) primitive = false;
        size_t count = 1;
        while (letters.compare(first + count * period, period, word) == 0) count++;
        if (primitive && count > 1) most = std::max(most, count * period);
      }
    size_t best = 0, end = 0;
    for (const LayerRun& run : repeated_layers(chain(letters))) {
      EXPECT_GE(run.first, end) << letters;
      end = run.first + run.length * run.count;
      best = std::max(best, run.length * run.count);
      for (size_t i = run.first; i + run.length < end; i++)
        EXPECT_EQ(letters[i], letters[i + run.length]) << letters;
    }
    EXPECT_EQ(best, most) << letters;
  }
}

std::string layers_text(int layers, const std::string& prefix = "n_") {
  std::string text = "graph \"g\" opset {\"\": 17} {\ninput %x : f32[4,4]\nconst %w : f32[4,4] = [";
  for (int i = 0; i < 16; i++) text += fmt::format("{}1.0", i ? ", " : "");
  text += "]\n%v0 : f32[4,4] = Tanh(%x) \"n_first\"\n";
  int n = 0;
  for (int i = 0; i < layers; i++) {
    const auto line = [&](const std::string& out, const std::string& call) {
      text += fmt::format("%{} : f32[4,4] = {} \"{}{}\"\n", out, call, prefix, n++);
    };
    line(fmt::format("a{}", i), fmt::format("MatMul(%v{}, %w)", i));
    line(fmt::format("b{}", i), fmt::format("Relu(%a{})", i));
    line(fmt::format("c{}", i), fmt::format("MatMul(%b{}, %w)", i));
    line(fmt::format("v{}", i + 1), fmt::format("Add(%c{}, %v{})", i, i));
  }
  return text + fmt::format("%y : f32[4,4] = Neg(%v{}) \"n_last\"\noutput %y\n}}\n", layers);
}

TEST(RepeatedLayers, AreGroupsOfAGraphWhoseNamesHaveNoScopes) {
  const auto g = std::make_shared<GraphModel>(*ir::parse_text(layers_text(12)));
  ASSERT_EQ(g->groups().size(), 14u) << "the root, the repetition and its layers";
  const GraphGroup& all = g->group(1);
  EXPECT_EQ(all.name, "layer \u00d7 12");
  EXPECT_EQ(all.repeats, 12u);
  EXPECT_EQ(all.groups.size(), 12u);
  EXPECT_EQ(all.all_nodes, 48u);
  EXPECT_EQ(g->group(2).name, "1 of 12");
  EXPECT_EQ(g->node(g->find("n_0")).group, 2);
  EXPECT_EQ(g->node(g->find("n_3")).group, 2);
  EXPECT_EQ(g->node(g->find("n_4")).group, 3);
  EXPECT_EQ(g->node(g->find("n_last")).group, kRoot);
  // At first all layers are one box; an opened group shows a box for each layer.
  GraphLayout layout(g);
  EXPECT_EQ(layout.groups_within(400), std::set<int>{});
  EXPECT_EQ(layout.scene({})->boxes.size(), 5u);
  EXPECT_EQ(layout.scene({1})->boxes.size(), 5u + 12u);
  EXPECT_EQ(layout.scene({1, 4})->boxes.size(), 5u + 12u + 4u);
}

TEST(RepeatedLayers, DoNotChangeScopedNamesAndSmallGraphs) {
  const GraphModel scopes(*ir::parse_text(layers_text(12, "encoder/n_")));
  for (const GraphGroup& g : scopes.groups()) EXPECT_EQ(g.repeats, 0u);
  EXPECT_EQ(GraphModel(*ir::parse_text(layers_text(5))).groups().size(), 1u);
}

TEST(Direction, ALayoutToTheRightHasLayersFromLeftToRight) {
  const auto g = std::make_shared<GraphModel>(*ir::parse_text(layers_text(12)));
  GraphLayout down(g), right(g, Direction::right);
  for (const std::set<int>& open : {std::set<int>{}, {1}, {1, 2, 5}}) {
    const auto a = down.scene(open), b = right.scene(open);
    ASSERT_EQ(a->boxes.size(), b->boxes.size());
    EXPECT_GT(a->height, a->width);
    EXPECT_GT(b->width, b->height);
    for (const SceneRoute& r : b->routes) {
      ASSERT_GE(r.points.size(), 2u);
      EXPECT_LT(r.points.front().x, r.points.back().x);
    }
    // Ends of routes to nodes are at the middle of the left border, and no boxes overlap.
    for (const SceneRoute& r : b->routes) {
      if (!r.arrow) continue;
      const SceneBox* box = b->find(*g, r.to);
      ASSERT_TRUE(box);
      EXPECT_NEAR(r.points.back().x, box->area.x, 1e-6);
      EXPECT_GE(r.points.back().y, box->area.y);
      EXPECT_LE(r.points.back().y, box->area.bottom());
    }
    for (size_t i = 0; i < b->boxes.size(); i++)
      for (size_t k = i + 1; k < b->boxes.size(); k++) {
        const SceneBox &p = b->boxes[i], &q = b->boxes[k];
        if (p.open || q.open) continue;
        EXPECT_FALSE(p.area.meets(q.area)) << i << " " << k;
      }
    for (const SceneBox& box : b->boxes) {
      EXPECT_GE(box.area.x, 0);
      EXPECT_LE(box.area.right(), b->width + 1e-6);
      EXPECT_LE(box.area.bottom(), b->height + 1e-6);
      if (box.node != kNone && g->node(box.node).group != kRoot) {
        const auto outer = b->box_of_group.find(g->node(box.node).group);
        ASSERT_NE(outer, b->box_of_group.end());
        const Rect& area = b->boxes[outer->second].area;
        EXPECT_TRUE(area.contains({box.area.x, box.area.y - 20})) << "below the header";
        EXPECT_TRUE(area.contains({box.area.right(), box.area.bottom()}));
      }
    }
  }
}

}  // namespace
}  // namespace poprt::inspector
