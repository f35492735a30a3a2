#include "compiler/chip_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "compiler/driver.h"
#include "core/compiler/chip_models.h"
#include "ipu/report.h"
#include "ir/text.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

EstimateOptions options_of(const chip_models::Model& m) {
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = m.weights;
  return o;
}

chip_models::Model small(int64_t batch) {
  chip_models::Transformer t;
  t.batch = batch;
  t.layers = 2;
  return chip_models::transformer(t);
}

TEST(ChipProgram, IsDeterministic) {
  const auto m = small(4);
  const auto o = options_of(m);
  const auto text = [&] {
    return ipu::report_text(ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip),
                            {true, true, {}});
  };
  EXPECT_EQ(text(), text());
}

TEST(ChipProgram, EveryNodeIsAnOperationWithARule) {
  const auto m = small(4);
  const auto p = chip_program(*m.graph, options_of(m));
  const auto calls =
      std::ranges::count_if(p.ops, [](const ipu::ChipOp& op) { return op.type == "Call"; });
  EXPECT_EQ(p.ops.size() - static_cast<size_t>(calls), m.graph->node_count());
  for (const ipu::ChipOp& op : p.ops) EXPECT_TRUE(op.cost.has_rule) << op.type;
  EXPECT_EQ(p.samples, 4);
}

TEST(ChipProgram, WeightsAreNotTransferredAndLiveAlways) {
  const auto m = small(1);
  const auto p = chip_program(*m.graph, options_of(m));
  EXPECT_EQ(p.input_bytes, 128 * 4 + 128 * 2);  // numbers of tokens, and the mask
  EXPECT_EQ(p.output_bytes, 128 * 2 * 2);
  int64_t weights = 0;
  for (const ipu::ChipTensor& t : p.tensors)
    if (t.kind == ipu::TensorKind::weight) weights += t.bytes;
  const int64_t layers = 2 * (12 * 768 * 768 + 13 * 768);
  EXPECT_NEAR(static_cast<double>(weights), 2.0 * static_cast<double>(layers + 30522 * 768), 3e6);
}

// A program ends where the model is cut: a call never has operations of another IPU.
TEST(ChipProgram, TheCallerMayDivideTheOperationsOverIpus) {
  const auto m = small(4);
  EstimateOptions o = options_of(m);
  o.chip.num_ipus = 2;
  ipu::PlanCache plans(o.target, o.chip.plan_options(o.target));
  o.plans = &plans;
  size_t seen = 0;
  const size_t half = m.graph->node_count() / 2;
  o.ipu_of = [&](const std::string&) -> int64_t { return seen++ < half ? 0 : 1; };
  const auto p = chip_program(*m.graph, o);
  EXPECT_EQ(seen, m.graph->node_count());
  EXPECT_GT(plans.size(), 0u);
  EXPECT_EQ(p.ops.front().ipu, 0);
  EXPECT_EQ(p.ops.back().ipu, 1);
  for (const ipu::ChipOp& op : p.ops)
    if (op.same_as != SIZE_MAX) EXPECT_EQ(p.ops[op.same_as].ipu, op.ipu) << op.name;
}

TEST(ChipProgram, SequencesOfARecurrentNetworkAreItsSamples) {
  ir::Graph g;
  g.opsets[""] = 14;
  const auto input = [&](const char* name, Shape shape) {
    return g.add_input(name, ir::ValueType::of(DType::f16, std::move(shape)));
  };
  ir::Node* node = g.add_node(
      "LSTM", "", {input("x", {32, 5, 64}), input("w", {1, 256, 64}), input("r", {1, 256, 64})});
  node->attributes["hidden_size"] = int64_t{64};
  node->output()->type = ir::ValueType::of(DType::f16, {32, 1, 5, 64});
  g.add_output(node->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = {"w", "r"};
  EXPECT_EQ(chip_program(g, o).samples, 5);
}

TEST(ChipProgram, HalvesAreFasterThanFloatsAndQuartersThanHalves) {
  const auto m = chip_models::resnet50(16, false);
  EstimateOptions o = options_of(m);
  const auto cycles = [&](Precision p) {
    o.precision = p;
    return ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip).cycles;
  };
  const int64_t whole = cycles(Precision::fp32), half = cycles(Precision::fp16);
  EXPECT_GT(whole, 2 * half);
  EXPECT_LT(cycles(Precision::fp8), half);
  EXPECT_EQ(cycles(Precision::keep), whole);
}

TEST(ChipProgram, OnlyAChipWithProductsOfQuartersComputesWithThem) {
  const auto m = small(1);
  EstimateOptions o = options_of(m);
  for (const char* name : {"mk1", "mk2", "bow", "c600"}) {
    o.target = ipu::target_of(name);
    o.precision = Precision::fp8_weight;
    EXPECT_NO_THROW(chip_program(*m.graph, o)) << name;
    o.precision = Precision::fp8;
    std::string message;
    try {
      chip_program(*m.graph, o);
    } catch (const Error& e) {
      message = e.message();
    }
    EXPECT_EQ(message.find("has no products of 8-bit floats") != message.npos, !o.target.quarter)
        << name;
    EXPECT_EQ(o.target.quarter, std::string_view(name) == "c600");
  }
}

TEST(ChipProgram, ViewsAndResultsInPlaceNeedNoMemory) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {64, 64}));
  ir::Node* relu = g.add_node("Relu", "", {x});
  relu->output()->type = x->type;
  ir::Node* abs = g.add_node("Abs", "", {relu->output()});
  abs->output()->type = x->type;
  g.add_output(abs->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  const auto p = chip_program(g, o);
  EXPECT_EQ(p.tensors[1].alias_of, 0);
  EXPECT_EQ(p.tensors[2].alias_of, 0);
}

TEST(ChipProgram, ResultsOfOnlyWeightsAreComputedAtCompileTime) {
  ir::Graph g;
  g.opsets[""] = 17;
  const auto type = ir::ValueType::of(DType::f16, {64, 64});
  ir::Value *x = g.add_input("x", type), *w = g.add_input("w", type);
  ir::Node* negative = g.add_node("Neg", "", {w});
  negative->output()->type = type;
  ir::Node* product = g.add_node("MatMul", "", {x, negative->output()});
  product->output()->type = type;
  g.add_output(product->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = {"w"};
  const auto p = chip_program(g, o);
  ASSERT_EQ(p.ops.size(), 1u);
  EXPECT_EQ(p.ops[0].type, "MatMul");
  EXPECT_EQ(p.tensors[1].kind, ipu::TensorKind::weight);
}

// The trip count of the loop is constant, but its body reads x.
TEST(ChipProgram, ALoopThatReadsAnInputInItsBodyIsComputedOnTheChip) {
  std::string numbers = "[1";
  for (int i = 1; i < 64 * 64; i++) numbers += ", 1";
  numbers += "]";
  const auto types_of = [&](const char* read) {
    auto g = ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
      input %x : f32[64,64]
      const %m : s64[] = 3
      const %s : f32[64,64] = {}
      %y : f32[64,64] = Loop(%m, _, %s) {{body = graph "b" {{
        input %i : s64[]
        input %c : bool[]
        input %v : f32[64,64]
        %n : f32[64,64] = MatMul(%v, %{})
        %k : bool[] = Identity(%c)
        output %k
        output %n
      }}}}
      %z : f32[64,64] = Add(%x, %y)
      output %z
    }})",
                                        numbers, read));
    EstimateOptions o;
    o.target = ipu::target_of("c600");
    std::string types;
    for (const ipu::ChipOp& op : chip_program(*g, o).ops) types += op.type + " ";
    return types;
  };
  EXPECT_NE((" " + types_of("x")).find(" MatMul "), std::string::npos) << types_of("x");
  EXPECT_EQ((" " + types_of("s")).find(" MatMul "), std::string::npos) << types_of("s");
}

// A loop with a product. `declared` has the trip count %m and the condition %t; `body` makes %k.
std::unique_ptr<ir::Graph> loop_of(const std::string& declared, const std::string& body,
                                   const char* inputs = "%m, %t, %x") {
  return ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
    input %x : f32[64,64]
    input %w : f32[64,64]
    {}
    %y : f32[64,64] = Loop({}) {{body = graph "b" {{
      input %i : s64[]
      input %c : bool[]
      input %v : f32[64,64]
      %n : f32[64,64] = MatMul(%v, %w)
      {}
      output %k
      output %n
    }}}} "lp"
    output %y
  }})",
                                    declared, inputs, body));
}

TEST(ChipProgram, RoundsThatAreKnownAtRunTimeOnlyAreAnAssumption) {
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  o.weights = {"w"};
  struct Counted {
    int64_t rounds;
    std::string assumption;
  };
  const auto counted = [&](const ir::Graph& g) {
    const ipu::Estimate e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
    Counted c{-1, ""};
    for (const ipu::ChipOp& op : e.program.ops)
      if (op.type == "MatMul") c.rounds = op.repeats;
    for (const std::string& line : e.program.assumptions) c.assumption += line;
    EXPECT_EQ(e.cycle_quality.trust == ipu::Trust::unchecked,
              !c.assumption.empty() || c.rounds != 1);
    return c;
  };
  const std::string passes = "%k : bool[] = Identity(%c)",
                    option = "; --max_size y=N counts N rounds";
  const std::string open =
      "Loop 'lp' counts as 1 round, because the number of rounds is known at "
      "run time only" +
      option;
  const std::string at_run_time = "input %m : s64[]\nconst %t : bool[] = true";
  const std::string seven = "const %m : s64[] = 7\nconst %t : bool[] = true";
  const auto is = [](const Counted& c, int64_t rounds, const std::string& assumption) {
    EXPECT_EQ(c.rounds, rounds);
    EXPECT_EQ(c.assumption, assumption);
  };
  is(counted(*loop_of(seven, passes)), 7, "");
  is(counted(*loop_of(at_run_time, passes)), 1, open);
  is(counted(*loop_of("input %t : bool[]", passes, "_, %t, %x")), 1, open);
  const std::string may_end = "%k : bool[] = Less(%i, %m)";
  is(counted(*loop_of(seven, may_end)), 7,
     "Loop 'lp' counts as 7 rounds, its trip count, but its condition may end it earlier" + option);
  is(counted(*loop_of("const %m : s64[] = 9223372036854775807\nconst %t : bool[] = true", may_end)),
     1, open);
  is(counted(*loop_of("const %m : s64[] = 16777217\nconst %t : bool[] = true", passes)), 1,
     "Loop 'lp' counts as 1 round, because at most 16777216 rounds in total are counted" + option);
  for (const char* name : {"y", "m"}) {
    o.rounds = {{name, 30}};
    is(counted(*loop_of(at_run_time, passes)), 30, "");
    is(counted(*loop_of(seven, may_end)), 30, "");
    check_rounds(*loop_of(seven, may_end), o.rounds);
  }
  o.rounds = {{"y", 0}};
  is(counted(*loop_of(at_run_time, passes)), 0, "");
  EXPECT_THROW(check_rounds(*loop_of(seven, passes), {{"x", 3}}), Error);
}

// The converter copies a loop. Its results keep their names, so that the advice of an estimate
// holds.
TEST(ChipProgram, RoundsAreGivenByTheNamesOfTheModel) {
  const auto model = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[64,64]
    input %m : s64[]
    const %t : bool[] = true
    %y : f32[64,64] = Loop(%m, %t, %x) {body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %v : f32[64,64]
      %k : bool[] = Identity(%c)
      %n : f32[64,64] = Loop(%m, %t, %v) {body = graph "inner" {
        input %j : s64[]
        input %d : bool[]
        input %u : f32[64,64]
        %l : bool[] = Identity(%d)
        %o : f32[64,64] = MatMul(%u, %x)
        output %l
        output %o
      }} "inside"
      output %k
      output %n
    }} "around"
    %z : f32[64,64] = Softmax(%y)
    output %z
  })");
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  const auto program = [&] {
    check_rounds(*model, o.rounds);
    const auto copy = model->clone();
    convert_model(*copy, {});
    prepare_for_chip(*copy);
    return chip_program(*copy, o);
  };
  const auto advice = program().assumptions;
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_NE(advice[0].find("--max_size y=N"), std::string::npos) << advice[0];
  EXPECT_NE(advice[1].find("--max_size n=N"), std::string::npos) << advice[1];
  o.rounds = {{"y", 5}, {"n", 7}};
  const ipu::ChipProgram counted = program();
  EXPECT_TRUE(counted.assumptions.empty());
  EXPECT_TRUE(std::ranges::any_of(
      counted.ops, [](const ipu::ChipOp& op) { return op.type == "MatMul" && op.repeats == 35; }));
}

TEST(ChipProgram, AnIfCostsAsMuchAsItsMoreExpensiveBranch) {
  const auto estimate_with = [](const char* first, const char* second) {
    const auto g = ir::parse_text(fmt::format(R"(graph "g" opset {{"": 17}} {{
      input %x : f32[64,64]
      input %w : f32[64,64]
      input %c : bool[]
      %y : f32[64,64] = If(%c) {{then_branch = graph "a" {{
        %a : f32[64,64] = {}
        output %a
      }}, else_branch = graph "b" {{
        %b : f32[64,64] = {}
        output %b
      }}}}
      output %y
    }})",
                                              first, second));
    EstimateOptions o;
    o.target = ipu::target_of("c600");
    o.weights = {"w"};
    o.chip.outline_threshold = -1;
    return ipu::estimate_of(chip_program(*g, o), o.target, o.chip);
  };
  const char *product = "MatMul(%x, %w)", *sum = "Add(%x, %w)";
  const ipu::Estimate both = estimate_with(product, product), one = estimate_with(product, sum),
                      other = estimate_with(sum, product), least = estimate_with(sum, sum);
  EXPECT_EQ(both.cycles, one.cycles);
  EXPECT_EQ(one.cycles, other.cycles);
  EXPECT_EQ(one.flops, other.flops);
  EXPECT_GT(one.cycles, least.cycles);
  EXPECT_EQ(one.flops, 2 * 64 * 64 * 64);
  EXPECT_EQ(one.cycle_quality.trust, ipu::Trust::unchecked);
}

TEST(ChipProgram, ValuesOfUnknownSizeAreAnAssumption) {
  const auto g = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[64,64]
    %y : s64[2,?] = NonZero(%x)
    output %y
  })");
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  EXPECT_EQ(chip_program(*g, o).assumptions,
            std::vector<std::string>{"1 value of unknown size counts as empty, such as 'y'"});
}

TEST(ChipProgram, TheHostWritesInputsOfProductsWhereTheyAreRead) {
  ir::Graph g;
  g.opsets[""] = 17;
  ir::Value* a = g.add_input("a", ir::ValueType::of(DType::f16, {4096, 4096}));
  ir::Value* b = g.add_input("b", ir::ValueType::of(DType::f16, {4096, 4}));
  ir::Node* product = g.add_node("MatMul", "", {a, b});
  product->output()->type = ir::ValueType::of(DType::f16, {4096, 4});
  g.add_output(product->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  const auto cycles = [&] { return ipu::estimate_of(chip_program(g, o), o.target, o.chip).cycles; };
  const int64_t direct = cycles();
  o.chip.num_io_tiles = 32;
  EXPECT_GT(cycles(), direct + 4096 * 4096 * 2 / 32 / 4);
}

TEST(ChipProgram, CachesStayOnTheChip) {
  ir::Graph g;
  g.opsets[""] = 17;
  g.opsets["poprt"] = 1;
  ir::Value* step = g.add_input("step", ir::ValueType::of(DType::s32, {}));
  ir::Value* x = g.add_input("x", ir::ValueType::of(DType::f16, {16, 1, 1024}));
  ir::Node* cache = g.add_node("Shift", "poprt", {step, x});
  cache->name = "keys";
  cache->attributes["axis"] = int64_t{1};
  cache->attributes["length"] = int64_t{512};
  cache->attributes["slots"] = int64_t{2};
  ops::infer(*cache);
  g.add_output(cache->output());
  EstimateOptions o;
  o.target = ipu::target_of("c600");
  const auto e = ipu::estimate_of(chip_program(g, o), o.target, o.chip);
  EXPECT_TRUE(e.without_rule.empty());
  EXPECT_GT(e.cycles, 0);
  const int64_t bytes = 2 * 16 * 512 * 1024 * 2;
  EXPECT_NEAR(static_cast<double>(
                  e.memory[0].total_by_category[static_cast<size_t>(ipu::Category::weights)]),
              static_cast<double>(bytes), 0.01 * static_cast<double>(bytes));
  EXPECT_EQ(e.memory[0].largest[0].name, "keys:state");
}

TEST(ChipProgram, EqualLayersShareTheirPrograms) {
  const auto m = small(4);
  const auto p = chip_program(*m.graph, options_of(m));
  size_t shared = 0, calls = 0;
  for (const ipu::ChipOp& op : p.ops) {
    shared += op.same_as != SIZE_MAX;
    calls += op.type == "Call";
  }
  EXPECT_GT(shared, p.ops.size() / 3);
  EXPECT_GE(calls, 2u);
}

TEST(ChipProgram, SeveralIpusExchangeTheirOperands) {
  const auto m = small(4);
  EstimateOptions o = options_of(m);
  o.chip.num_ipus = 2;
  const auto e = ipu::estimate_of(chip_program(*m.graph, o), o.target, o.chip);
  EXPECT_GT(e.inter_ipu_cycles, 0);
  EXPECT_EQ(e.memory.size(), 2u);
  EXPECT_GT(e.stage_cycles[0], 0);
  EXPECT_GT(e.stage_cycles[1], 0);
}

}  // namespace
}  // namespace poprt::compiler
