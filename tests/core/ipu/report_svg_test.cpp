#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <regex>

#include "ipu/report.h"

namespace poprt::ipu {
namespace {

// The picture has a width of 960, of which 70 at the left side and 20 at the right side are
// margins, and each panel has a height of 180: phases, cycles by operator, and for each IPU the
// memory by tile and the liveness.
constexpr double kWidth = 960, kLeft = 70, kInner = 870, kPanel = 180;
// Coordinates have one or two digits after the point.
constexpr double kError = 0.0501;

// All matches of a pattern with the given number of groups.
std::vector<std::vector<std::string>> all(const std::string& svg, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::vector<std::string>> out;
  for (std::sregex_iterator m(svg.begin(), svg.end(), regex), end; m != end; ++m) {
    std::vector<std::string> groups;
    for (size_t i = 1; i < m->size(); i++) groups.push_back((*m)[i]);
    out.push_back(groups);
  }
  return out;
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  std::string colour, title;
};

std::vector<Box> boxes_of(const std::string& svg) {
  std::vector<Box> out;
  for (const auto& g : all(svg,
                           "<rect x=\"([^\"]*)\" y=\"([^\"]*)\" width=\"([^\"]*)\" "
                           "height=\"([^\"]*)\" fill=\"([^\"]*)\">"
                           "<title>([^<]*)</title></rect>\n"))
    out.push_back({std::stod(g[0]), std::stod(g[1]), std::stod(g[2]), std::stod(g[3]), g[4], g[5]});
  return out;
}

void expect_boxes(const std::vector<Box>& found, const std::vector<Box>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    SCOPED_TRACE(fmt::format("box {}: {}", i, expected[i].title));
    EXPECT_NEAR(found[i].x, expected[i].x, kError);
    EXPECT_NEAR(found[i].y, expected[i].y, kError);
    EXPECT_NEAR(found[i].width, expected[i].width, kError);
    EXPECT_NEAR(found[i].height, expected[i].height, kError);
    EXPECT_EQ(found[i].colour, expected[i].colour);
    EXPECT_EQ(found[i].title, expected[i].title);
  }
}

struct Text {
  double x = 0, y = 0;
  std::string text;
};

void expect_texts(const std::string& svg, const std::vector<Text>& expected) {
  const auto found = all(svg, "<text x=\"([^\"]*)\" y=\"([^\"]*)\">([^<]*)</text>\n");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    EXPECT_EQ(found[i][2], expected[i].text);
    EXPECT_NEAR(std::stod(found[i][0]), expected[i].x, kError) << found[i][2];
    EXPECT_NEAR(std::stod(found[i][1]), expected[i].y, kError) << found[i][2];
  }
}

struct Polygon {
  std::vector<double> points;  // x, y, x, y, ...
  std::string colour;
};

std::vector<Polygon> polygons_of(const std::string& svg) {
  std::vector<Polygon> out;
  for (const auto& g : all(svg, "<polygon points=\"([^\"]*)\" fill=\"([^\"]*)\"/>\n")) {
    out.push_back({{}, g[1]});
    for (const auto& number : all(g[0], "([^ ,]+)"))
      out.back().points.push_back(std::stod(number[0]));
  }
  return out;
}

// The outline of columns of equal width whose heights are in proportion to the values: `most` has
// 120.
Polygon columns(double top, const std::vector<int64_t>& values, int64_t most, const char* colour) {
  const double floor = top + 140, width = kInner / static_cast<double>(values.size());
  Polygon p{{kLeft, floor}, colour};
  double x = kLeft;
  for (const int64_t v : values) {
    const double y = floor - 120.0 * static_cast<double>(v) / static_cast<double>(most);
    p.points.insert(p.points.end(), {x, y, x + width, y});
    x += width;
  }
  p.points.insert(p.points.end(), {kLeft + kInner, floor});
  return p;
}

void expect_polygons(const std::string& svg, const std::vector<Polygon>& expected) {
  const std::vector<Polygon> found = polygons_of(svg);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++) {
    SCOPED_TRACE(fmt::format("polygon {}", i));
    EXPECT_EQ(found[i].colour, expected[i].colour);
    ASSERT_EQ(found[i].points.size(), expected[i].points.size());
    for (size_t k = 0; k < found[i].points.size(); k++)
      EXPECT_NEAR(found[i].points[k], expected[i].points[k], kError) << "number " << k;
  }
}

ChipOp operation(std::string type, std::string name, int64_t repeats,
                 std::vector<Superstep> steps) {
  ChipOp op;
  op.type = std::move(type);
  op.name = std::move(name);
  op.repeats = repeats;
  op.cost.steps = std::move(steps);
  return op;
}

Superstep superstep(int64_t sync, int64_t overhead, int64_t exchange, int64_t compute,
                    int64_t repeats) {
  Superstep s;
  s.sync = sync;
  s.overhead = overhead;
  s.exchange = exchange;
  s.compute = compute;
  s.repeats = repeats;
  return s;
}

TEST(ReportSvg, APictureOfNothingHasTwoPanelsWithoutBoxes) {
  const std::string svg = report_svg({});
  const auto size =
      all(svg, "^<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"([^\"]*)\" height=\"([^\"]*)\"");
  ASSERT_EQ(size.size(), 1U);
  EXPECT_EQ(std::stod(size[0][0]), kWidth);
  EXPECT_EQ(std::stod(size[0][1]), 2 * kPanel);
  EXPECT_TRUE(boxes_of(svg).empty());
  EXPECT_TRUE(polygons_of(svg).empty());
  expect_texts(svg, {{kLeft, 14,
                      "Phases over 0 cycles: compute blue, exchange orange, sync and control grey"},
                     {kLeft, kPanel + 14, "Cycles by operator"}});
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

// Operations without cycles, and phases without cycles, have no box.
TEST(ReportSvg, PhasesOfOperationsFollowEachOtherInProportionToTheirCycles) {
  Estimate e;
  e.program.ops = {
      operation("MatMul", "m", 2, {superstep(3, 4, 50, 60, 3), superstep(7, 0, 11, 13, 1)}),
      operation("Nothing", "n", 5, {superstep(0, 0, 0, 0, 9)}),
      operation("Softmax", "s", 1, {superstep(0, 0, 0, 200, 2)}),
      operation("Copy", "c", 3, {superstep(0, 0, 70, 0, 1)}),
      operation("Loop", "l", 1, {superstep(0, 90, 0, 0, 1)}),
  };
  for (const ChipOp& op : e.program.ops) e.cycles += op.cycles();
  const std::pair<const char*, std::vector<std::pair<double, const char*>>> expected[] = {
      {"MatMul m: 764 cycles",
       {{2 * (3 * (3 + 4) + 7), "#a0a0a0"},
        {2 * (3 * 50 + 11), "#e09040"},
        {2 * (3 * 60 + 13), "#4878b0"}}},
      {"Softmax s: 400 cycles", {{400, "#4878b0"}}},
      {"Copy c: 210 cycles", {{210, "#e09040"}}},
      {"Loop l: 90 cycles", {{90, "#a0a0a0"}}}};
  EXPECT_EQ(e.cycles, 764 + 400 + 210 + 90);
  std::vector<Box> boxes;
  double x = kLeft;
  for (const auto& [title, phases] : expected)
    for (const auto& [cycles, colour] : phases) {
      const double width = kInner * cycles / static_cast<double>(e.cycles);
      boxes.push_back({x, 30, width, 100, colour, title});
      x += width;
    }
  EXPECT_NEAR(x, kLeft + kInner, 1e-9);
  std::vector<Box> found = boxes_of(report_svg(e));
  std::erase_if(found, [](const Box& b) { return b.y > kPanel; });
  expect_boxes(found, boxes);
}

TEST(ReportSvg, TheEightMostExpensiveTypesHaveBarsInTheirOrder) {
  std::mt19937 random(17);
  for (const size_t count : {1, 3, 8, 9, 12}) {
    Estimate e;
    std::vector<std::pair<int64_t, std::string>> types;
    for (size_t i = 0; i < count; i++) {
      const int64_t cycles =
          1000 * (1 + static_cast<int64_t>(random() % 9)) + static_cast<int64_t>(i);
      types.emplace_back(cycles, "Type" + std::to_string(i));
      e.program.ops.push_back(
          operation(types.back().second, "x", 1, {superstep(0, 0, 0, cycles, 1)}));
    }
    e.program.ops.push_back(operation("Free", "x", 1, {}));
    std::ranges::sort(types, std::greater());
    std::vector<Box> bars;
    std::vector<Text> texts = {
        {kLeft, 14, "Phases over 0 cycles: compute blue, exchange orange, sync and control grey"},
        {kLeft, kPanel + 14, "Cycles by operator"}};
    for (size_t i = 0; i < std::min<size_t>(count, 8); i++) {
      const auto& [cycles, type] = types[i];
      const double y = kPanel + 24 + 17.0 * static_cast<double>(i);
      bars.push_back({kLeft + 160, y,
                      610.0 * static_cast<double>(cycles) / static_cast<double>(types[0].first), 13,
                      "#4878b0", type});
      texts.push_back({kLeft, y + 11, type});
      texts.push_back({kWidth - 110, y + 11, std::to_string(cycles)});
    }
    const std::string svg = report_svg(e);
    std::vector<Box> found = boxes_of(svg);
    std::erase_if(found, [](const Box& b) { return b.y < kPanel; });
    expect_boxes(found, bars);
    expect_texts(svg, texts);
  }
}

// The larger of the available bytes and the needed ones has the full height; the line is at the
// available ones.
TEST(ReportSvg, MemoryOfTilesAndLivenessOfFourIpusAreColumns) {
  std::mt19937 random(18);
  Estimate e;
  std::vector<Polygon> polygons;
  std::vector<double> lines;
  std::vector<Text> texts = {
      {kLeft, 14, "Phases over 0 cycles: compute blue, exchange orange, sync and control grey"},
      {kLeft, kPanel + 14, "Cycles by operator"}};
  for (int64_t ipu = 0; ipu < 5; ipu++) {
    TileMemory m;
    m.ipu = 10 + ipu;
    for (size_t i = 0; i < 4 + static_cast<size_t>(ipu); i++)
      m.by_tile.push_back(1 + static_cast<int64_t>(random() % 1000));
    for (size_t i = 0; i < 3 + 2 * static_cast<size_t>(ipu); i++)
      m.liveness.push_back(1 + static_cast<int64_t>(random() % 50000));
    m.bytes = std::ranges::max(m.by_tile);
    m.available = ipu % 2 ? m.bytes * 2 / 3 : m.bytes * 3 / 2;
    e.memory.push_back(m);
    if (ipu == 4) break;
    const double top = kPanel * static_cast<double>(2 + 2 * ipu);
    const int64_t most = ipu % 2 ? m.bytes : m.available, live = std::ranges::max(m.liveness);
    polygons.push_back(columns(top, m.by_tile, most, "#4878b0"));
    polygons.push_back(columns(top + kPanel, m.liveness, live, "#58a068"));
    lines.push_back(top + 140 -
                    120.0 * static_cast<double>(m.available) / static_cast<double>(most));
    texts.push_back(
        {kLeft, top + 14, fmt::format("IPU {}: bytes by tile, of {} (line)", m.ipu, m.available)});
    texts.push_back({kLeft, top + kPanel + 14,
                     fmt::format("IPU {}: bytes that are not always live, by operation, at most {}",
                                 m.ipu, live)});
  }
  const std::string svg = report_svg(e);
  expect_polygons(svg, polygons);
  expect_texts(svg, texts);
  const auto found = all(svg,
                         "<line x1=\"([^\"]*)\" y1=\"([^\"]*)\" x2=\"([^\"]*)\" y2=\"([^\"]*)\" "
                         "stroke=\"#c03030\"/>\n");
  ASSERT_EQ(found.size(), lines.size());
  for (size_t i = 0; i < lines.size(); i++) {
    EXPECT_EQ(std::stod(found[i][0]), kLeft);
    EXPECT_EQ(std::stod(found[i][2]), kLeft + kInner);
    EXPECT_NEAR(std::stod(found[i][1]), lines[i], kError);
    EXPECT_NEAR(std::stod(found[i][3]), lines[i], kError);
  }
  EXPECT_NE(svg.find("height=\"1800\""), std::string::npos);  // ten panels
}

// Such an estimate has no cycles, although its operations have some.
TEST(ReportSvg, PhasesWithoutATotalHaveNoWidth) {
  Estimate e;
  e.program.ops = {operation("Copy", "c", 1, {superstep(0, 0, 1, 0, 1)})};
  std::vector<Box> found = boxes_of(report_svg(e));
  std::erase_if(found, [](const Box& b) { return b.y > kPanel; });
  expect_boxes(found, {{kLeft, 30, 0, 100, "#e09040", "Copy c: 1 cycles"}});
}

TEST(ReportSvg, AnIpuWithoutOperationsHasNoLiveness) {
  Estimate e;
  TileMemory m;
  m.available = 100;
  m.by_tile = {0, 0, 7};
  e.memory = {m};
  EXPECT_EQ(polygons_of(report_svg(e)).size(), 1U);
  EXPECT_NE(report_svg(e).find("by operation, at most 0<"), std::string::npos);
  e.memory[0].liveness = {0, 0};  // nothing that has a height
  EXPECT_EQ(polygons_of(report_svg(e)).size(), 1U);
  e.memory[0].liveness = {0, 1};
  EXPECT_EQ(polygons_of(report_svg(e)).size(), 2U);
}

TEST(ReportSvg, MarkupAndControlCharactersOfNamesAreEscaped) {
  Estimate e;
  e.cycles = 5;
  e.program.ops = {operation("A<B", "x>y&z\n\x1f \x7f\xc3\xa9", 1, {superstep(0, 0, 0, 5, 1)})};
  const std::vector<Box> boxes = boxes_of(report_svg(e));
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_EQ(boxes[0].title, "A&lt;B x&gt;y&amp;z \x7f\xc3\xa9: 5 cycles");
  EXPECT_EQ(boxes[1].title, "A&lt;B");
}

}  // namespace
}  // namespace poprt::ipu
