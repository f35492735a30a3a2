#include "model/graph_changes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ir/text.h"
#include "model/diff.h"

namespace poprt::inspector {
namespace {

GraphModel parsed(const std::string& body) {
  return GraphModel(
      *ir::parse_text("graph \"g\" opset {\"\": 17} {\ninput %x : f32[2]\n" + body + "\n}\n"));
}

// "name<-name" and the change of the right node; then the removed nodes.
std::string described_changes(const std::string& left, const std::string& right) {
  const GraphModel a = parsed(left), b = parsed(right);
  const GraphChanges c = changes_between(a, b);
  std::string text;
  for (size_t i = 0; i < c.after.size(); i++) {
    if (b.nodes()[i].kind == NodeKind::input) continue;
    text += b.nodes()[i].name + "<-" + (c.before[i] == kNone ? "" : a.node(c.before[i]).name) +
            " " + change_name(c.after[i]) + "; ";
  }
  for (const int n : c.removed) text += a.node(n).name + " gone; ";
  EXPECT_EQ(c.added,
            static_cast<size_t>(std::count(c.after.begin(), c.after.end(), Change::added)));
  EXPECT_EQ(c.changed,
            static_cast<size_t>(std::count(c.after.begin(), c.after.end(), Change::changed)));
  return text;
}

// A node that absorbs its reader gets the name of the reader's result and keeps its own.
TEST(GraphChanges, ANodeThatAbsorbsItsReaderStays) {
  EXPECT_EQ(described_changes("%a : f32[2] = Conv(%x) \"c\"\n%b : f32[2] = BatchNormalization(%a) "
                              "\"bn\"\n%y : f32[2] = Relu(%b) \"r\"\noutput %y",
                              "%b : f32[2] = Conv(%x) \"c\"\n%y : f32[2] = Relu(%b) \"r\"\n"
                              "output %y"),
            "c<-c changed; r<-r same; y<-y same; bn gone; ");
}

// A name that several nodes have does not identify the one that is kept.
TEST(GraphChanges, NodesWithOneNameCorrespondByTheirResults) {
  EXPECT_EQ(
      described_changes("%a : f32[2] = Relu(%x) \"n\"\n%b : f32[2] = Relu(%a) \"n\"\noutput %b",
                        "%b : f32[2] = Relu(%x) \"n\"\noutput %b"),
      "n<-n changed; b<-b same; n gone; ");
}

TEST(GraphChanges, NodesCorrespondByResultThenByName) {
  const std::string plain = "%a : f32[2] = Relu(%x) \"n\"\noutput %a";
  EXPECT_EQ(described_changes(plain, plain), "n<-n same; a<-a same; ");
  EXPECT_EQ(described_changes(plain, "%a : f32[2] = Relu(%x) \"m\"\noutput %a"),
            "m<-n same; a<-a same; ")
      << "a name alone is no change";
  EXPECT_EQ(described_changes(plain, "%a : f32[2] = Neg(%x) \"n\"\noutput %a"),
            "n<-n changed; a<-a same; ");
  EXPECT_EQ(described_changes(plain, "%a : f32[2] = Relu(%x) {k = 1} \"n\"\noutput %a"),
            "n<-n changed; a<-a same; ");
  EXPECT_EQ(described_changes(plain, "%a : f32[3] = Relu(%x) \"n\"\noutput %a"),
            "n<-n changed; a<-a changed; ");
  EXPECT_EQ(described_changes(plain, "%a : f32[2] = Relu(%x, _) \"n\"\noutput %a"),
            "n<-n changed; a<-a same; ");
  EXPECT_EQ(described_changes(plain, "%b : f32[2] = Relu(%x) \"n\"\noutput %b"),
            "n<-n changed; b<- added; a gone; ")
      << "the node by its name, the output by nothing";
  EXPECT_EQ(described_changes(plain, "%b : f32[2] = Relu(%x) \"m\"\noutput %b"),
            "m<- added; b<- added; n gone; a gone; ");
  EXPECT_EQ(
      described_changes("%a : f32[2] = Relu(%x) \"n\"\n%b : f32[2] = Neg(%a) \"n\"\noutput %b",
                        "%c : f32[2] = Relu(%x) \"n\"\n%d : f32[2] = Neg(%c) \"n\"\noutput %d"),
      "n<-n changed; n<- added; d<- added; n gone; b gone; ")
      << "an old one is one new one at most";
  EXPECT_EQ(
      described_changes("%a : f32[2] = Relu(%x) \"b\"\noutput %a",
                        "%c : f32[2] = Relu(%x) \"d\"\n%b : f32[2] = Neg(%c) \"e\"\noutput %b"),
      "d<- added; e<- added; b<- added; b gone; a gone; ")
      << "an output is no node of that name";
}

}  // namespace
}  // namespace poprt::inspector
