#include "core/ops/recurrent_reference.h"

namespace poprt::test {
namespace {

TEST(GRU, EveryDirectionLayoutAndOptionalInput) {
  RecurrentCase c;
  c.op = "GRU";
  check_recurrent_forms(c);
}

TEST(GRU, LinearBeforeReset) {
  RecurrentCase c;
  c.op = "GRU";
  c.linear_before_reset = true;
  c.attributes = {{"linear_before_reset", int64_t{1}}};
  check_recurrent_forms(c);
}

// The types are like those after a DynamicQuantizeLSTM whose shapes are unknown.
TEST(GRU, TakesTheTypeOfItsWeightsWhereThatOfItsDataIsNotKnownYet) {
  ir::Graph graph;
  graph.opsets[""] = 17;
  ir::Value* w = graph.add_input("w", {DType::f32, true, {1, 6, 3}});
  ir::Value* r = graph.add_input("r", {DType::f32, true, {1, 6, 2}});
  ir::Node* n = graph.add_node("GRU", "", {graph.add_input("x", {}), w, r}, 2);
  n->attributes["hidden_size"] = int64_t{2};
  ops::infer(*n);
  EXPECT_EQ(ir::type_string(n->output(0)->type), "f32[?,1,?,2]");
  n->set_input(0, graph.add_input("other", {DType::s32, true, {4, 5, 3}}));
  EXPECT_THROW(ops::infer(*n), Error);
}

TEST(GRU, ComputesInDouble) {
  RecurrentCase c;
  c.op = "GRU";
  c.in_double = true;
  check_recurrent_forms(c);
  c.linear_before_reset = true;
  c.attributes = {{"linear_before_reset", int64_t{1}}};
  check_recurrent_forms(c);
}

TEST(GRU, ClipsAndTakesOtherActivations) {
  RecurrentCase c;
  c.op = "GRU";
  c.clip = 0.4;
  c.attributes = {{"clip", 0.4f},
                  {"activations", std::vector<std::string>{"Sigmoid", "LeakyRelu"}},
                  {"activation_alpha", std::vector<float>{0.2f}}};
  c.g = [](double x) { return x < 0 ? 0.2 * x : x; };
  check_recurrent(c);
}

TEST(GRU, GivesTheSameBitsForAnyNumberOfThreads) {
  RecurrentCase c;
  c.op = "GRU";
  for (const int64_t linear : {0, 1}) {
    c.attributes = {{"linear_before_reset", linear}};
    check_recurrent_splits(c);
  }
}

}  // namespace
}  // namespace poprt::test
