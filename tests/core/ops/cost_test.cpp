#include "ops/cost.h"

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
  std::set<std::string> without;
  for (const sampled::Sample& s : sampled::all_samples()) {
    const sampled::SampleGraph g = sampled::make_graph(s);
    infer(*g.graph);
    const ipu::OpCost cost = chip.cost(*g.node);
    EXPECT_GE(cost.cycles(), 0) << s.op;
    EXPECT_EQ(cost.cycles(), chip.cost(*g.node).cycles()) << s.op;
    for (const ipu::Superstep& step : cost.steps) EXPECT_GE(step.compute, 0) << s.op;
    if (!cost.has_rule && s.domain.empty()) without.insert(s.op);
  }
  std::printf("%zu sampled operators of ai.onnx have no rule:", without.size());
  for (const std::string& op : without) std::printf(" %s", op.c_str());
  std::printf("\n");
  for (const char* op : {"Conv",
                         "MatMul",
                         "Gemm",
                         "Softmax",
                         "Gather",
                         "MaxPool",
                         "ReduceMean",
                         "LSTM",
                         "GRU",
                         "Transpose",
                         "Concat",
                         "Slice",
                         "Resize",
                         "TopK",
                         "CumSum",
                         "Attention",
                         "LayerNormalization",
                         "ScatterND",
                         "GatherElements",
                         "Einsum",
                         "Pow"})
    EXPECT_FALSE(without.contains(op)) << op;
}

TEST(Cost, MostOperatorsOfOnnxHaveARule) {
  int64_t all = 0, with = 0;
  for (const OpDef* op : all_ops()) {
    if (!op->domain.empty() || op->resolve || op->facts.text || expands(*op)) continue;
    all++;
    with += op->cost || op->facts.per_element || op->facts.moves || op->sharing.view ||
            op->facts.from_shapes;
  }
  EXPECT_GT(with, all * 85 / 100) << with << " of " << all;
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
