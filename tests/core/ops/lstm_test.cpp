#include "core/ops/recurrent_reference.h"

namespace poprt::test {
namespace {

RecurrentCase lstm() {
  RecurrentCase c;
  c.op = "LSTM";
  return c;
}

TEST(LSTM, EveryDirectionLayoutAndOptionalInput) {
  RecurrentCase c = lstm();
  check_recurrent_forms(c);
  c.peephole = true;
  check_recurrent_forms(c);
}

TEST(LSTM, ClipsAndCouplesGates) {
  RecurrentCase c = lstm();
  c.clip = 0.3;
  c.input_forget = true;
  c.peephole = true;
  c.attributes = {{"clip", 0.3f}, {"input_forget", int64_t{1}}};
  check_recurrent(c);
}

TEST(LSTM, TakesOtherActivations) {
  RecurrentCase c = lstm();
  c.attributes = {{"activations", std::vector<std::string>{"HardSigmoid", "Affine", "Softsign"}},
                  {"activation_alpha", std::vector<float>{0.3f, 0.7f}},
                  {"activation_beta", std::vector<float>{0.4f, 0.1f}}};
  c.f = [](double x) { return std::clamp(0.3 * x + 0.4, 0.0, 1.0); };
  c.g = [](double x) { return 0.7 * x + 0.1; };
  c.h = [](double x) { return x / (1 + std::fabs(x)); };
  check_recurrent(c);
  c.attributes = {{"activations", std::vector<std::string>{"Sigmoid", "relu", "ScaledTanh"}},
                  {"activation_alpha", std::vector<float>{1.5f}},
                  {"activation_beta", std::vector<float>{0.5f}}};
  c.f = lstm().f;
  c.g = [](double x) { return std::max(x, 0.0); };
  c.h = [](double x) { return 1.5 * std::tanh(0.5 * x); };
  check_recurrent(c);
}

TEST(LSTM, ComputesInDouble) {
  RecurrentCase c = lstm();
  c.in_double = true;
  check_recurrent_forms(c);
  c.peephole = true;
  check_recurrent_forms(c);
  c.clip = 0.3f;
  c.input_forget = true;
  c.attributes = {{"clip", 0.3f}, {"input_forget", int64_t{1}}};
  check_recurrent(c);
  c = lstm();
  c.in_double = true;
  check_recurrent_splits(c);
  c.steps = 0;
  c.initial = true;
  check_recurrent(c);
}

TEST(LSTM, MakesOnlyTheResultsThatAreRead) {
  const NodeCase node = recurrent_node(lstm());
  const auto g = build_node(node);
  ops::infer(*g->node);
  const auto all = ops::evaluate(*g->node, node.inputs);
  NodeCase one = node;
  one.outputs = 1;
  EXPECT_TRUE(run_node(one)[0].same_as(all[0]));
}

TEST(LSTM, KeepsTheInitialStateWithoutSteps) {
  RecurrentCase c = lstm();
  c.steps = 0;
  c.initial = true;
  check_recurrent(c);
}

TEST(LSTM, RefusesShapesThatDoNotFit) {
  NodeCase node = recurrent_node(lstm());
  node.inputs[2] = Tensor::zeros(DType::f32, {1, 20, 4});
  EXPECT_THROW(infer_node(node), Error);
  node = recurrent_node(lstm());
  node.inputs[3] = Tensor::zeros(DType::f32, {1, 20});
  EXPECT_THROW(infer_node(node), Error);
  node = recurrent_node(lstm());
  node.attributes["activations"] = std::vector<std::string>{"Tanh"};
  EXPECT_THROW(infer_node(node), Error);
  node.attributes["activations"] = std::vector<std::string>{"Tanh", "Tanh", "Other"};
  EXPECT_THROW(infer_node(node), Error);
}

TEST(LSTM, GivesTheSameBitsForAnyNumberOfThreads) { check_recurrent_splits(lstm()); }

}  // namespace
}  // namespace poprt::test
