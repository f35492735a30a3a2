#include "onnx/node_order.h"

#include "support.h"

namespace poprt::onnx {
namespace {

std::string order_of(const pb::GraphProto& g) {
  std::string out;
  for (const int i : node_order(g.node())) out += g.node(i).op_type() + " ";
  return out;
}

// The message for nodes given as "result <- inputs".
std::string refusal(const std::vector<std::pair<std::string, std::vector<std::string>>>& nodes) {
  pb::GraphProto g;
  for (const auto& [out, ins] : nodes) add_node(g, "Op", ins, {out});
  return message_of_action([&] { node_order(g.node()); });
}

TEST(NodeOrder, IsTheOldOneWhereThatWorks) {
  pb::GraphProto g;
  add_node(g, "A", {"x"}, {"a"});
  add_node(g, "B", {"x", "a"}, {"b"});
  add_node(g, "C", {"x", ""}, {"", "c"});
  add_node(g, "D", {}, {""});
  EXPECT_EQ(order_of(g), "A B C D ");
}

TEST(NodeOrder, IsStableOtherwise) {
  pb::GraphProto g;
  add_node(g, "A", {"d", "d"}, {"a"});
  add_node(g, "B", {"x"}, {"b"});
  add_node(g, "C", {"a"}, {"c"});
  add_node(g, "D", {"x"}, {"d", "d2"});
  add_node(g, "E", {"d2", "b"}, {"e"});
  EXPECT_EQ(order_of(g), "B D A C E ");
}

TEST(NodeOrder, ValuesAreMadeOnce) {
  EXPECT_EQ(refusal({{"a", {"x"}}, {"b", {"x"}}, {"a", {"x"}}}),
            "value 'a' is made twice: a name may be assigned once");
  EXPECT_EQ(refusal({{"", {"x"}}, {"", {"x"}}}), "taken") << "results without names";
}

TEST(NodeOrder, CyclesAreShownFromReaderToMaker) {
  EXPECT_EQ(refusal({{"a", {"a"}}}), "the graph has a cycle of 1 nodes: 'a'");
  EXPECT_EQ(refusal({{"a", {"x", "c"}}, {"b", {"a"}}, {"c", {"b"}}}),
            "the graph has a cycle of 3 nodes: 'c' <- 'b' <- 'a'");
  // A node that waits for the cycle is not part of it.
  EXPECT_EQ(refusal({{"y", {"z"}}, {"z", {"b"}}, {"a", {"b"}}, {"b", {"a"}}, {"ok", {"x"}}}),
            "the graph has a cycle of 2 nodes: 'a' <- 'b'");
  const auto round = [](int nodes) {
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    for (int i = 0; i < nodes; i++)
      all.push_back({std::to_string(i), {std::to_string((i + 1) % nodes)}});
    return refusal(all);
  };
  EXPECT_EQ(round(6), "the graph has a cycle of 6 nodes: '1' <- '2' <- '3' <- '4' <- '5' <- '0'");
  EXPECT_EQ(round(7),
            "the graph has a cycle of 7 nodes: '1' <- '2' <- '3' <- '4' <- '5' <- '6' <- ...");
}

// A node waits for the outer values that its bodies read, and not for the names inside the bodies.
TEST(NodeOrder, NodesWaitForOuterValuesOfTheirBodies) {
  using Fill = void (*)(pb::GraphProto&);
  const std::pair<Fill, bool> bodies[] = {
      {[](pb::GraphProto& b) { add_node(b, "Op", {"late"}, {"r"}); }, true},
      {[](pb::GraphProto& b) { add_output(b, "late"); }, true},
      {[](pb::GraphProto& b) {
         add_node(b, "Op", {"late"}, {"r"});
         add_input(b, "late");
       },
       false},
      {[](pb::GraphProto& b) {
         add_node(b, "Op", {"late"}, {"r"});
         b.add_initializer()->set_name("late");
       },
       false},
      {[](pb::GraphProto& b) {
         add_node(b, "Op", {"late"}, {"r"});
         b.add_sparse_initializer()->mutable_values()->set_name("late");
       },
       false},
      {[](pb::GraphProto& b) {
         add_node(b, "Op", {"x"}, {"late"});
         add_node(b, "Op", {"late"}, {"r"});
         add_output(b, "late");
       },
       false},
      {[](pb::GraphProto& b) {
         pb::NodeProto& n = add_node(b, "Inner", {}, {"r"});
         add_output(*add_attribute(n, "g", pb::AttributeProto::GRAPHS).add_graphs(), "late");
       },
       true},
  };
  for (size_t i = 0; i < std::size(bodies); i++)
    for (const bool list : {false, true}) {
      pb::GraphProto g;
      pb::NodeProto& holder = add_node(g, "Holder", {"x"}, {"h"});
      pb::AttributeProto& a =
          add_attribute(holder, "g", list ? pb::AttributeProto::GRAPHS : pb::AttributeProto::GRAPH);
      bodies[i].first(list ? *a.add_graphs() : *a.mutable_g());
      add_node(g, "Late", {"x"}, {"late"});
      EXPECT_EQ(order_of(g), bodies[i].second ? "Late Holder " : "Holder Late ") << i;
    }
}

}  // namespace
}  // namespace poprt::onnx
