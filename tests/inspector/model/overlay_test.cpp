#include "model/overlay.h"

#include <gtest/gtest.h>

#include "inspector/sample_files.h"
#include "ir/text.h"

namespace poprt::inspector {
namespace {

class OverlayTest : public testing::Test {
 protected:
  std::string error_of(const std::string& name, const std::string& text) {
    try {
      read_overlay(folder.write(name, text), graph);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  double at(const Overlay& o, const std::string& node) const {
    return o.values[static_cast<size_t>(graph.find(node))];
  }

  SampleFolder folder{"overlay"};
  const GraphModel graph{*ir::parse_text(kSampleText)};
};

TEST_F(OverlayTest, ReadsJsonByNodeAndByResult) {
  const Overlay o = read_overlay(
      folder.write("times.json", R"({"/block/fc/MatMul": 3, "c": -1.5, "nothing": 7})"), graph);
  EXPECT_EQ(o.name, "times.json");
  EXPECT_EQ(o.count(), 2u);
  EXPECT_EQ(at(o, "/block/fc/MatMul"), 3);
  EXPECT_EQ(at(o, "/block/Sigmoid"), -1.5);
  EXPECT_TRUE(std::isnan(at(o, "/Add")));
  EXPECT_EQ(o.unknown, std::vector<std::string>{"nothing"});
  EXPECT_EQ(o.least, -1.5);
  EXPECT_EQ(o.most, 3);
  const Overlay list = read_overlay(
      folder.write("list.json", R"([{"node": "/Add", "value": 2}, {"name": "b", "value": 4}])"),
      graph);
  EXPECT_EQ(at(list, "/Add"), 2);
  EXPECT_EQ(at(list, "/block/fc/Relu"), 4);
}

// The output of a graph has the name of a value that a node computes. The node gets the value.
TEST_F(OverlayTest, ResultsThatAreOutputsAreThoseOfTheirNode) {
  const Overlay o = overlay_of("errors", {{"d", 2}, {"x", 1}}, graph);
  EXPECT_EQ(at(o, "/Add"), 2);
  EXPECT_EQ(at(o, "x"), 1) << "an input";
  EXPECT_EQ(o.count(), 2u);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(overlay_of("errors", {{"c", nan}, {"d", 2}}, graph).nans, 1u);
}

TEST_F(OverlayTest, ReadsCsvWithAndWithoutAHeader) {
  const Overlay o = read_overlay(
      folder.write("v.csv", "node,microseconds\r\n/Add,1e3\r\n\r\n\"/block/Sigmoid\", 2\r\n"),
      graph);
  EXPECT_EQ(o.count(), 2u);
  EXPECT_EQ(at(o, "/Add"), 1000);
  EXPECT_EQ(at(o, "/block/Sigmoid"), 2);
  EXPECT_EQ(at(read_overlay(folder.write("w.csv", "/Add,-4"), graph), "/Add"), -4);
  EXPECT_EQ(read_overlay(folder.write("q.csv", "/Add,1\n\",2"), graph).unknown,
            std::vector<std::string>{"\""})
      << "one quotation mark is a name";
}

TEST_F(OverlayTest, BadFilesReportTheExpectedFormatAndPlace) {
  for (const auto& [name, text, error] : std::vector<std::array<std::string, 3>>{
           {"a.csv", "node,value\n/Add,1\n/Add,x\n",
            "a.csv:3: expected NODE,VALUE, found '/Add,x'"},
           {"b.csv", "no comma", "b.csv:1: expected NODE,VALUE"},
           {"c.csv", "", "no value for a node"},
           {"d.json", "{\"/Add\": \"1\"}", "expected a number for '/Add', found string"},
           {"e.json", "{\"/Add\": ", "expected a JSON object"},
           {"f.json", "[1]", "element 0 has no"},
           {"g.json", "[{\"node\": 3, \"value\": 1}]", "element 0 has no"},
           {"h.json", "{\"elsewhere\": 1}", "its first name is 'elsewhere'"},
           {"i.json", std::string(100000, '['), "expected a JSON object"}})
    EXPECT_NE(error_of(name, text).find(error), std::string::npos) << error_of(name, text);
  EXPECT_THROW(read_overlay(folder.path / "none.csv", graph), Error);
}

// A value by a name says nothing about which of several nodes with this name it belongs to.
TEST(Overlay, NamesOfSeveralNodesGiveNoValue) {
  const GraphModel graph(*ir::parse_text(R"(graph "g" {
  input %x : f32[2]
  %a : f32[2] = Relu(%x) "same"
  %b : f32[2] = Neg(%a) "same"
  output %b
})"));
  const Overlay o = overlay_of("times", {{"same", 7}, {"b", 2}, {"absent", 3}}, graph);
  EXPECT_EQ(o.shared, std::vector<std::string>{"same"});
  EXPECT_EQ(o.unknown, std::vector<std::string>{"absent"});
  EXPECT_EQ(o.count(), 1u);
  EXPECT_EQ(o.values[static_cast<size_t>(graph.node_of_instruction("b"))], 2);
}

TEST_F(OverlayTest, InfiniteValuesAreNotLimitsOfTheScale) {
  const double inf = std::numeric_limits<double>::infinity();
  const Overlay o = overlay_of("errors", {{"a", inf}, {"b", 2}, {"c", 1}}, graph);
  EXPECT_EQ(o.least, 1);
  EXPECT_EQ(o.most, 2);
  EXPECT_EQ(o.count(), 3u);
}

}  // namespace
}  // namespace poprt::inspector
