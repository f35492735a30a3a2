#include "ops/cost.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/ops/sample.h"
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

struct Chip {
  ipu::Target target = ipu::target_of("c600");
  ipu::ChipOptions options;
  ipu::PlanCache plans{target, {}};
  ipu::Lowering lowering{target, options, plans};

  ipu::OpCost cost(const ir::Node& node) {
    CostContext context(node, lowering, [](DType t) { return t; });
    add_cost(context);
    return lowering.take();
  }
};

// No rule may fail for a node that the compiler accepts, and equal nodes cost the same.
TEST(Cost, EverySampleHasACost) {
  Chip chip;
  // Operators that only layout and lowering passes make, after the estimate, or that serve caches
  // of generators, have no rule.
  std::set<std::string> without, free;
  for (const sampled::Sample& s : sampled::all_samples()) {
    const sampled::SampleGraph g = sampled::make_graph(s);
    infer(*g.graph);
    const ipu::OpCost cost = chip.cost(*g.node);
    EXPECT_GE(cost.cycles(), 0) << s.op;
    EXPECT_EQ(cost.cycles(), chip.cost(*g.node).cycles()) << s.op;
    for (const ipu::Superstep& step : cost.steps) EXPECT_GE(step.compute, 0) << s.op;
    const OpDef* op = find_op(g.node->domain, g.node->op_type, g.node->opset());
    if (!cost.has_rule && !(op && expands(*op))) without.insert(s.op);
    // Views, and values that are computed before the program runs, cost nothing.
    if (cost.has_rule && s.domain.empty() && cost.cycles() == 0) free.insert(s.op);
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(without, " ")),
            "ByteMap CacheAttention CheckSize MatMul QuantizeRows Resize Select");
  for (const char* op : {"AffineGrid",
                         "CausalConvWithState",
                         "DFT",
                         "DeformConv",
                         "Det",
                         "DynamicQuantizeLinear",
                         "HannWindow",
                         "LinearAttention",
                         "MaxRoiPool",
                         "MaxUnpool",
                         "MelWeightMatrix",
                         "Multinomial",
                         "NegativeLogLikelihoodLoss",
                         "NonMaxSuppression",
                         "NonZero",
                         "RoiAlign",
                         "STFT",
                         "SoftmaxCrossEntropyLoss",
                         "TfIdfVectorizer",
                         "Unique"})
    EXPECT_FALSE(free.contains(op)) << op;
}

// The report names no operator of the compiler as one without a rule. An operator that is replaced
// before the estimate, or that computes text on the host, needs none.
TEST(Cost, EveryOperatorOfTheCompilerHasARule) {
  std::set<std::string> without;
  for (const OpDef* op : all_ops()) {
    if (op->resolve || op->facts.text || expands(*op)) continue;
    const bool has_rule = op->cost || op->facts.per_element || op->facts.moves ||
                          op->sharing.view || op->facts.from_shapes;
    if (!has_rule) without.insert(fmt::format("{}.{}", op->domain, op->name));
  }
  // These are made by layout and lowering passes, which run after the estimate, or for caches of
  // generators, which have none.
  EXPECT_EQ(
      fmt::format("{}", fmt::join(without, " ")),
      "poprt.AveragePool poprt.Block poprt.ByteMap poprt.CacheAttention poprt.CheckSize "
      "poprt.Conv poprt.ConvTranspose poprt.GlobalAveragePool poprt.GuardBegin poprt.GuardEnd "
      "poprt.Linear poprt.LoopBegin poprt.LoopEnd poprt.MatMul poprt.MaxPool "
      "poprt.QLinearConv poprt.QuantizeRows poprt.Resize poprt.ScaledMatMulInteger poprt.Select "
      "poprt.Unblock");
}

namespace {

// The cycles of a node with these attributes on inputs of f16.
int64_t cycles_of(const char* op, int64_t opset, const std::vector<Shape>& inputs,
                  const std::vector<std::pair<const char*, ir::Attribute>>& attributes = {}) {
  ir::Graph g;
  g.opsets[""] = opset;
  std::vector<ir::Value*> values;
  for (size_t i = 0; i < inputs.size(); i++)
    values.push_back(g.add_input(fmt::format("x{}", i), ir::ValueType::of(DType::f16, inputs[i])));
  ir::Node* node = g.add_node(op, "", values);
  for (const auto& [name, value] : attributes) node->attributes[name] = value;
  infer(*node);
  Chip chip;
  const ipu::OpCost cost = chip.cost(*node);
  EXPECT_TRUE(cost.has_rule) << op;
  return cost.cycles();
}

}  // namespace

namespace {

ipu::OpCost cost_of_recurrence(const char* op, int64_t gates, int64_t steps, int64_t hidden,
                               int64_t directions = 1) {
  ir::Graph g;
  g.opsets[""] = 14;
  const auto input = [&](const char* name, Shape shape) {
    return g.add_input(name, ir::ValueType::of(DType::f16, std::move(shape)));
  };
  ir::Node* node =
      g.add_node(op, "",
                 {input("x", {steps, 16, hidden}), input("w", {directions, gates * hidden, hidden}),
                  input("r", {directions, gates * hidden, hidden})});
  node->attributes["hidden_size"] = hidden;
  if (directions == 2) node->attributes["direction"] = std::string("bidirectional");
  infer(*node);
  Chip chip;
  return chip.cost(*node);
}

// The results of each product are copied to the tiles of the state.
int64_t products_of(const ipu::OpCost& cost) {
  return std::ranges::count_if(cost.steps,
                               [](const ipu::Superstep& s) { return s.what == "copy"; });
}

}  // namespace

// The body of the loop exists once and keeps nothing of earlier steps, so that only the cycles grow
// with the number of steps.
TEST(Cost, ALongerSequenceOfAnLstmNeedsNoMoreTemporaryMemory) {
  const ipu::OpCost one = cost_of_recurrence("LSTM", 4, 1, 256),
                    many = cost_of_recurrence("LSTM", 4, 100, 256);
  EXPECT_EQ(one.steps.size(), many.steps.size());
  EXPECT_EQ(one.temporary_bytes, many.temporary_bytes);
  EXPECT_EQ(100 * one.cycles(), many.cycles());
}

// Inputs and state have one product in each step. The last gate of a GRU reads the state after its
// reset, so it has a separate product.
TEST(Cost, ProductsOfAStepOfRecurrentOperators) {
  EXPECT_EQ(products_of(cost_of_recurrence("RNN", 1, 10, 64)), 1);
  EXPECT_EQ(products_of(cost_of_recurrence("LSTM", 4, 10, 64)), 1);
  EXPECT_EQ(products_of(cost_of_recurrence("GRU", 3, 10, 64)), 2);
  EXPECT_EQ(products_of(cost_of_recurrence("LSTM", 4, 10, 64, 2)), 2);
  for (const ipu::Superstep& s : cost_of_recurrence("GRU", 3, 10, 64).steps)
    EXPECT_EQ(s.repeats, 10) << s.what;
}

// The cost is proportional to the work: twice the rounds cost about twice the cycles.
TEST(Cost, CostOfSpecialOperatorsIsProportionalToTheirWork) {
  const auto det = [](int64_t size) { return cycles_of("Det", 11, {{16, size, size}}); };
  EXPECT_GT(det(128), 2 * det(64));
  const auto dft = [](int64_t points) { return cycles_of("DFT", 17, {{64, points, 2}}); };
  EXPECT_GT(dft(2048), 3 * dft(512));
  const auto deformed = [](int64_t taps) {
    return cycles_of("DeformConv", 19,
                     {{1, 64, 56, 56}, {64, 64, taps, taps}, {1, 2 * taps * taps, 56, 56}},
                     {{"pads", ir::Attribute(std::vector<int64_t>(4, taps / 2))}});
  };
  EXPECT_GT(deformed(3), 4 * deformed(1));
  // An operator whose results depend on data has the cost of its inputs.
  EXPECT_GT(cycles_of("NonZero", 13, {{1 << 20}}), cycles_of("NonZero", 13, {{1 << 10}}));
  EXPECT_GT(cycles_of("Unique", 11, {{4096}}), cycles_of("Unique", 11, {{64}}));
}

TEST(Cost, AnElementwiseOperandOnOtherTilesIsExchanged) {
  ir::Graph g;
  g.opsets[""] = 17;
  const auto type = ir::ValueType::of(DType::f16, {1024, 1024});
  ir::Value *a = g.add_input("a", type), *b = g.add_input("b", type);
  ir::Node* add = g.add_node("Add", "", {a, b});
  infer(*add);
  Chip chip;
  const auto cycles = [&](bool aligned) {
    CostContext context(*add, chip.lowering, [](DType t) { return t; });
    context.aligned = [aligned](size_t) { return aligned; };
    add_cost(context);
    return chip.lowering.take().cycles();
  };
  EXPECT_GT(cycles(false), cycles(true));
}

TEST(Cost, AConvolutionHasAPlanOfItsShapes) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {4, 64, 56, 56}));
  ir::Value* w = g.add_input("w", ir::ValueType::of(DType::f16, {128, 64, 3, 3}));
  ir::Node* conv = g.add_node("Conv", "", {x, w});
  conv->attributes["strides"] = std::vector<int64_t>{2, 2};
  conv->attributes["pads"] = std::vector<int64_t>{1, 1, 1, 1};
  infer(*conv);
  Chip chip;
  const ipu::OpCost cost = chip.cost(*conv);
  ASSERT_TRUE(cost.plan);
  const ipu::Product& p = cost.plan->product;
  EXPECT_EQ(p.multiplies(), int64_t{4} * 28 * 28 * 128 * 64 * 9);
  EXPECT_EQ(p.stride_width, 2);
}

TEST(Cost, ATransposeOfAxesWithOnePlaceIsAView) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {8, 1, 64, 128}));
  const auto cycles = [&](std::vector<int64_t> perm) {
    ir::Node* n = g.add_node("Transpose", "", {x});
    n->attributes["perm"] = std::move(perm);
    infer(*n);
    Chip chip;
    return chip.cost(*n).cycles();
  };
  EXPECT_EQ(cycles({0, 2, 1, 3}), 0);
  EXPECT_GT(cycles({0, 1, 3, 2}), 0);
  EXPECT_GT(cycles({2, 1, 0, 3}), 0);
}

}  // namespace
}  // namespace poprt::ops
