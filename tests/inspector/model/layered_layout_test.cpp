#include "model/layered_layout.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "support/recorded_lines.h"

namespace poprt::inspector {
namespace {

std::vector<LayoutBox> boxes(size_t n, double width = 80, double height = 30) {
  return std::vector<LayoutBox>(n, LayoutBox{width, height});
}

// Expects that no two boxes meet, and that edges point down and end at their boxes.
void expect_sound(const std::vector<LayoutBox>& b, const std::vector<LayoutEdge>& edges,
                  const LevelLayout& l) {
  ASSERT_EQ(l.centres.size(), b.size());
  for (size_t i = 0; i < b.size(); i++) {
    EXPECT_GE(l.centres[i].x - b[i].width / 2, -1e-6);
    EXPECT_LE(l.centres[i].x + b[i].width / 2, l.width + 1e-6);
    for (size_t k = 0; k < i; k++) {
      const bool apart =
          std::abs(l.centres[i].x - l.centres[k].x) >= (b[i].width + b[k].width) / 2 - 1e-6 ||
          std::abs(l.centres[i].y - l.centres[k].y) >= (b[i].height + b[k].height) / 2 - 1e-6;
      ASSERT_TRUE(apart) << i << " over " << k;
    }
  }
  for (size_t e = 0; e < edges.size(); e++) {
    if (edges[e].from == edges[e].to) continue;
    const auto from = static_cast<size_t>(edges[e].from), to = static_cast<size_t>(edges[e].to);
    ASSERT_GE(l.routes[e].size(), 2u);
    if (from < to) {
      EXPECT_LT(l.centres[from].y, l.centres[to].y);
      EXPECT_NEAR(l.routes[e].front().y, l.centres[from].y + b[from].height / 2, 1e-6);
      EXPECT_NEAR(l.routes[e].back().x, l.centres[to].x, 1e-6);
    }
  }
}

TEST(LayeredLayout, AnEmptyGraphHasAnEmptyLayout) {
  const LevelLayout l = layered_layout({}, {});
  EXPECT_EQ(l.width, 0);
  EXPECT_EQ(l.height, 0);
}

TEST(LayeredLayout, AChainIsAStraightLine) {
  std::vector<LayoutEdge> edges;
  for (int i = 0; i + 1 < 20; i++) edges.push_back({i, i + 1, i});
  const LevelLayout l = layered_layout(boxes(20), edges);
  expect_sound(boxes(20), edges, l);
  for (const Point& c : l.centres) EXPECT_NEAR(c.x, l.centres[0].x, 1e-6);
}

TEST(LayeredLayout, ALongEdgeAvoidsBoxes) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3.
  const std::vector<LayoutEdge> edges = {{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {0, 3, 0}};
  const auto b = boxes(4);
  const LevelLayout l = layered_layout(b, edges);
  expect_sound(b, edges, l);
  for (const Point& p : l.routes[3])
    for (size_t i = 1; i <= 2; i++)
      EXPECT_FALSE(std::abs(p.x - l.centres[i].x) < 40 && std::abs(p.y - l.centres[i].y) < 15)
          << "through box " << i;
}

TEST(LayeredLayout, CyclesAndEdgesToItselfDoNotHang) {
  const std::vector<LayoutEdge> edges = {{0, 1, 0}, {1, 2, 1}, {2, 0, 2}, {1, 1, 3}};
  const LevelLayout l = layered_layout(boxes(3), edges);
  expect_sound(boxes(3), edges, l);
  EXPECT_TRUE(l.routes[3].empty());
  // The edge back runs from the lower box to the upper one.
  EXPECT_GT(l.routes[2].front().y, l.routes[2].back().y);
}

// A group that is left and entered again: 0 -> 1 -> 0.
TEST(LayeredLayout, AnEdgeBackLeavesBelowAndEntersAbove) {
  const std::vector<LayoutEdge> edges = {{0, 1, 0, 10, 0}, {1, 0, 1, 0, -20}};
  const auto b = boxes(2);
  const LevelLayout l = layered_layout(b, edges);
  expect_sound(b, edges, l);
  const auto& route = l.routes[1];
  EXPECT_NEAR(route.front().x, l.centres[1].x, 1e-6);
  EXPECT_NEAR(route.front().y, l.centres[1].y + b[1].height / 2, 1e-6);
  EXPECT_NEAR(route.back().x, l.centres[0].x - 20, 1e-6);
  EXPECT_NEAR(route.back().y, l.centres[0].y - b[0].height / 2, 1e-6);
  for (const Point& p : route) {
    EXPECT_TRUE(p.x >= 0 && p.x <= l.width && p.y >= 0 && p.y <= l.height) << p.x << " " << p.y;
    for (const Point& centre : l.centres)
      EXPECT_FALSE(std::abs(p.x - centre.x) < b[0].width / 2 - 1 &&
                   std::abs(p.y - centre.y) < b[0].height / 2 - 1);
  }
}

TEST(LayeredLayout, TwoBranchesDoNotCross) {
  // Two edges that would cross if boxes were placed in the order of their numbers.
  const std::vector<LayoutEdge> edges = {{0, 3, 0}, {1, 2, 1}};
  const LevelLayout l = layered_layout(boxes(4), edges);
  EXPECT_EQ(l.centres[0].x < l.centres[1].x, l.centres[3].x < l.centres[2].x);
}

TEST(LayeredLayout, PinnedBoxesAreFirstAndLast) {
  auto b = boxes(5);
  b[0].pin = LayoutBox::Pin::first;
  b[4].pin = LayoutBox::Pin::last;
  const std::vector<LayoutEdge> edges = {{1, 2, 1}, {2, 3, 2}, {0, 3, 0}, {1, 4, 1}};
  const LevelLayout l = layered_layout(b, edges);
  for (size_t i = 1; i < 4; i++) {
    EXPECT_LT(l.centres[0].y, l.centres[i].y);
    EXPECT_GT(l.centres[4].y, l.centres[i].y);
  }
}

// A chain 0, 1, 2, 5, 6; in parallel 3 feeds 5 and 6, and 4 goes from 0 to 6.
TEST(LayeredLayout, BoxesWithMoreReadersThanInputsStandAtTheirFirstReader) {
  const std::vector<LayoutEdge> edges = {{0, 1, 0}, {1, 2, 1}, {2, 5, 2}, {5, 6, 5},
                                         {3, 5, 3}, {3, 6, 3}, {0, 4, 0}, {4, 6, 4}};
  auto b = boxes(7);
  LevelLayout l = layered_layout(b, edges);
  EXPECT_NEAR(l.centres[3].y, l.centres[2].y, 1e-6) << "right above 5";
  EXPECT_NEAR(l.centres[4].y, l.centres[1].y, 1e-6) << "as many inputs as readers: below its input";
  b[3].pin = LayoutBox::Pin::first;
  l = layered_layout(b, edges);
  EXPECT_LT(l.centres[3].y, l.centres[0].y);
}

// 0 is an input, whose chain is 0, 1, 2, 5; 3 and 4 scale a weight that 5 reads.
TEST(LayeredLayout, NodesWithoutAnInputAreNextToTheirReader) {
  const std::vector<LayoutEdge> edges = {{0, 1, 0}, {1, 2, 1}, {2, 5, 2}, {3, 4, 3}, {4, 5, 4}};
  auto b = boxes(6);
  EXPECT_NEAR(layered_layout(b, edges).centres[3].y, layered_layout(b, edges).centres[0].y, 1e-6)
      << "where nothing is called an input, a chain begins at the top";
  b[0].input = true;
  const LevelLayout l = layered_layout(b, edges);
  EXPECT_NEAR(l.centres[4].y, l.centres[2].y, 1e-6);
  EXPECT_NEAR(l.centres[3].y, l.centres[1].y, 1e-6);
}

TEST(LayeredLayout, SizesDoNotChangeTheOrder) {
  std::mt19937 random(7);
  std::vector<LayoutEdge> edges;
  for (int i = 1; i < 60; i++)
    edges.push_back({static_cast<int>(random() % static_cast<unsigned>(i)), i, i});
  auto b = boxes(60);
  const LevelLayout before = layered_layout(b, edges);
  b[17] = {700, 400};
  const LevelLayout after = layered_layout(b, edges);
  for (size_t i = 0; i < 60; i++)
    for (size_t k = 0; k < 60; k++)
      if (std::abs(before.centres[i].y - before.centres[k].y) < 1e-6)
        EXPECT_EQ(before.centres[i].x < before.centres[k].x,
                  after.centres[i].x < after.centres[k].x);
}

TEST(LayeredLayout, RandomGraphsAreSound) {
  for (unsigned seed = 0; seed < 30; seed++) {
    std::mt19937 random(seed);
    const int n = 2 + static_cast<int>(random() % 80);
    std::vector<LayoutBox> b;
    for (int i = 0; i < n; i++) b.push_back({20.0 + random() % 200, 10.0 + random() % 60});
    std::vector<LayoutEdge> edges;
    for (int i = 0; i < 2 * n; i++) {
      const int from = static_cast<int>(random() % static_cast<unsigned>(n)),
                to = static_cast<int>(random() % static_cast<unsigned>(n));
      if (from != to) edges.push_back({std::min(from, to), std::max(from, to), from});
    }
    expect_sound(b, edges, layered_layout(b, edges));
  }
}

// Graphs whose layout is recorded: shared routes, edges that go back, pinned nodes.
struct Form {
  std::string name;
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  LayoutGaps gaps = {};
};

Form random_form(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
  Form f{fmt::format("random {}", seed), {}, {}};
  const size_t n = 8 + random() % 8;
  for (size_t i = 0; i < n; i++) f.boxes.push_back({20.0 + below(100), 10.0 + below(40)});
  if (seed % 2) f.boxes[random() % 3].input = true;
  if (seed % 3 == 0) f.boxes[0].pin = LayoutBox::Pin::first;
  if (seed % 3 == 1) f.boxes[n - 1].pin = LayoutBox::Pin::last;
  for (size_t e = 0; e < 2 * n; e++) {
    const int a = below(n), b = below(n);
    const bool back = random() % 6 == 0;
    f.edges.push_back({back ? std::max(a, b) : std::min(a, b),
                       back ? std::min(a, b) : std::max(a, b), below(2), below(21) - 10.0,
                       below(21) - 10.0});
  }
  return f;
}

std::vector<Form> forms() {
  std::vector<Form> all = {
      {"edges of one value share their way",
       boxes(6),
       {{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 3}, {4, 5, 4}, {0, 5, 0}, {0, 4, 0}, {0, 3, 7}}},
      {"edges that go back",
       boxes(5, 60, 20),
       {{0, 1, 0, 10, -5},
        {1, 2, 1, -8, 4},
        {2, 3, 2},
        {3, 4, 3},
        {4, 0, 0, 6, 9},
        {3, 1, 0, -6, 3},
        {4, 1, 1, 2, 1},
        {1, 0, 5, 7, -7},
        {2, 2, 6}}},
      {"pinned boxes and gaps",
       boxes(7),
       {{1, 2, 1}, {2, 3, 2}, {0, 3, 0}, {1, 4, 1}, {5, 3, 5}},
       {10, 20, 5}},
      {"boxes alone", {{30, 10}, {50, 40}, {10, 10}}, {}}};
  all[2].boxes[0].pin = all[2].boxes[5].pin = LayoutBox::Pin::first;
  all[2].boxes[4].pin = all[2].boxes[6].pin = LayoutBox::Pin::last;
  for (unsigned seed = 0; seed < 12; seed++) all.push_back(random_form(seed));
  return all;
}

//   POPRT_WRITE_RECORDS=1 test_inspector_model --gtest_filter='LayeredLayout.*'
TEST(LayeredLayout, IsAsRecorded) {
  test::RecordedLines found;
  for (const Form& f : forms()) {
    const LevelLayout l = layered_layout(f.boxes, f.edges, f.gaps);
    std::set<std::string>& lines = found[f.name];
    lines.insert(fmt::format("all {:.0f} x {:.0f}", l.width, l.height));
    for (size_t i = 0; i < l.centres.size(); i++)
      lines.insert(fmt::format("box {} at {:.0f} {:.0f}", i, l.centres[i].x, l.centres[i].y));
    for (size_t e = 0; e < f.edges.size(); e++) {
      std::string text = fmt::format("edge {} from {} to {}:", e, f.edges[e].from, f.edges[e].to);
      for (const Point& p : l.routes[e]) text += fmt::format(" {:.0f},{:.0f}", p.x, p.y);
      lines.insert(text);
    }
  }
  test::expect_recorded(found, POPRT_TEST_DATA "/inspector_layouts.txt",
                        "Where layered_layout puts boxes and edges: layered_layout_test.cpp.");
}

TEST(LayeredLayout, CanBeCancelled) {
  const std::atomic<bool> cancel{true};
  const std::vector<LayoutEdge> edges = {{0, 1, 0}};
  EXPECT_THROW(layered_layout(boxes(2), edges, {}, &cancel), Error);
}

}  // namespace
}  // namespace poprt::inspector
