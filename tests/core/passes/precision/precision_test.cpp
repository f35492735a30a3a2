#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(FloatToHalf, TakesHalvesWhereOperatorsAreDefinedForThem) {
  const auto graph = parsed(R"(
    input %x : f32[3,4]
    const %w : f32[4,2] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    const %big : f32[] = 1e6
    const %tiny : f32[] = 1e-12
    %m = MatMul(%x, %w)
    %a = Add(%m, %tiny)
    %y = Min(%a, %big)
    output %y
  )");
  run(*graph, {"float_to_half"});
  EXPECT_EQ(ops_of(*graph), "MatMul Add Min");
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->find("w")->dtype(), DType::f16);
  EXPECT_NEAR(graph->find("big")->constant().to_doubles()[0], 65504, 32);
  EXPECT_GT(graph->find("tiny")->constant().to_doubles()[0], 0);

  run(*graph, {"constant_folding", "eliminate_unused_initializer"});
  EXPECT_EQ(ops_of(*graph), "MatMul Add Min");
  const auto results = evaluate_graph(*graph, random_feeds(*graph));
  EXPECT_EQ(results.at("y").dtype(), DType::f16);
}

TEST(FloatToHalf, OutputsOfFloatOperatorsKeepTheirNames) {
  const auto graph = parsed(R"(
    input %x : f32[3,4]
    const %w : f32[4,2] = fill 0.5
    %y = MatMul(%x, %w)
    output %y
  )");
  run(*graph, {"float_to_half"});
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
}

TEST(FloatToHalf, SkippedOperatorsAndTheirConstantsStayFloat) {
  const auto graph = parsed(R"(
    input %x : f32[3,4]
    const %c : f32[4] = [1.1, 2.2, 3.3, 4.4]
    %a = Add(%x, %c)
    %y = Mul(%a, %c)
    output %y
  )");
  passes::PassManagerOptions options;
  options.fp16_skip_op_types = {"Mul"};
  const passes::PassDef* list[] = {&passes::pass_of("float_to_half")};
  passes::run_passes(*graph, list, options);
  EXPECT_EQ(ops_of(*graph), "Add Cast Mul Cast");
  for (const ir::Node* n : graph->nodes())
    for (const ir::Value* v : n->inputs()) {
      if (n->op_type == "Mul") EXPECT_EQ(v->dtype(), DType::f32) << v->name();
      if (n->op_type == "Add") EXPECT_EQ(v->dtype(), DType::f16) << v->name();
    }
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
}

TEST(FloatToHalf, SkipsNodesByName) {
  const auto graph = parsed(R"(
    input %x : f32[3]
    %a = Relu(%x)
    %y = Relu(%a)
    output %y
  )");
  graph->nodes()[1]->name = "second";
  passes::PassManagerOptions options;
  options.precision.fp16_skip_op_names = {"second"};
  const passes::PassDef* list[] = {&passes::pass_of("float_to_half")};
  passes::run_passes(*graph, list, options);
  EXPECT_EQ(ops_of(*graph), "Relu Cast Relu Cast");
}

// The root of a sum of squares of 300 is 300 times a root, but the squares are beyond f16.
TEST(FloatToHalf, KeepsSquaresAndSumsInFloatOnRequest) {
  constexpr const char* kNorm = R"(
    input %x : f32[2,64]
    const %axes : s64[1] = [1]
    %q = Mul(%x, %x)
    %s = ReduceSum(%q, %axes)
    %r = Sqrt(%s)
    %y = Relu(%r)
    output %y
  )";
  const Tensor x = [] {
    Tensor t = Tensor::zeros(DType::f16, {2, 64});
    for (f16_t& v : t.mutable_values<f16_t>()) v = to_f16(300);
    return t;
  }();
  for (const bool avoid : {false, true}) {
    const auto graph = parsed(kNorm);
    passes::PassManagerOptions options;
    options.precision.avoid_overflow_patterns = avoid;
    const passes::PassDef* list[] = {&passes::pass_of("float_to_half")};
    passes::run_passes(*graph, list, options);
    const auto y = evaluate_graph(*graph, {{"x", x}}).at("y").to_doubles();
    EXPECT_EQ(std::isfinite(y[0]), avoid) << ir::to_text(*graph);
    if (avoid) {
      EXPECT_NEAR(y[0], 2400, 2);
      EXPECT_EQ(ops_of(*graph), "Cast Mul ReduceSum Sqrt Cast Relu");
    }
  }
}

TEST(ComputeHalfInFloat, OnlyInputsAndOutputsStayHalf) {
  const auto graph = parsed(R"(
    input %x : f32[3,4]
    const %w : f32[4,4] = fill 0.5
    %a = MatMul(%x, %w)
    %b = Relu(%a)
    %y = MatMul(%b, %w)
    output %y
  )");
  run(*graph, {"float_to_half", "compute_half_in_float", "fuse_consecutive_cast",
               "eliminate_nop_cast", "eliminate_deadend"});
  EXPECT_EQ(ops_of(*graph), "Cast MatMul Relu MatMul Cast");
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->find("a")->dtype(), DType::f32);
}

TEST(ComputeHalfInFloat, KeepsAnInputThatIsAnOutput) {
  const auto graph = parsed(R"(
    input %x : f16[3]
    %y = Relu(%x)
    output %x
    output %y
  )");
  run(*graph, {"compute_half_in_float"});
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::f16);
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::f16);
}

TEST(ComputeHalfInFloat, BitCastSeesTheBitsOfTheHalf) {
  for (const char* half : {"f16", "bf16"}) {
    const auto graph = parsed(fmt::format(R"(
      input %x : {}[3]
      input %k : s16[3]
      %r = Relu(%x)
      %y = BitCast(%r) {{to = 5}}
      %h = BitCast(%k) {{to = {}}}
      %z = Relu(%h)
      output %y
      output %z
    )",
                                          half, std::string_view(half) == "f16" ? 10 : 16),
                              26);
    run(*graph, {"compute_half_in_float"});
    EXPECT_EQ(graph->outputs()[0]->dtype(), DType::s16);
    for (const ir::Node* n : graph->nodes()) {
      if (n->is("BitCast")) EXPECT_EQ(dtype_bits(n->input(0)->dtype()), 16);
      if (n->is("BitCast")) EXPECT_EQ(dtype_bits(n->output()->dtype()), 16);
      if (n->is("Relu")) EXPECT_EQ(n->output()->dtype(), DType::f32);
    }
  }
}

// The mask of a converted model is -65504, which would leave the scores of a row that is masked
// entirely in the f32 sum.
TEST(ComputeHalfInFloat, ConstantsThatMaskScoresAbsorbThem) {
  const auto graph = parsed(R"(
    input %s : f16[2,4]
    input %m : f16[2,4]
    input %keep : bool[2,4]
    const %one : f16[] = 1
    const %least : f16[] = -65504
    const %most : f16[] = 65504
    const %row : f16[4] = [0, -65504, -10000, 0]
    const %edge : f16[] = -65504
    %inv = Sub(%one, %m)
    %bias = Mul(%inv, %least)
    %a = Add(%s, %bias)
    %b = Add(%a, %row)
    %c = Where(%keep, %b, %least)
    %y = Softmax(%c)
    %z = Max(%s, %edge)
    %over = Greater(%s, %most)
    %picked = Where(%over, %s, %m)
    %w = Softmax(%picked)
    output %y
    output %z
    output %w
  )",
                            13);
  run(*graph, {"compute_half_in_float"});
  std::map<std::string, std::vector<double>> found;
  for (const ir::Node* n : graph->nodes())
    for (const ir::Value* v : n->inputs())
      if (v->is_constant() && v->dtype() == DType::f32)
        found[n->output()->name()] = v->constant().to_doubles();
  const double masked = static_cast<float>(-1e30);
  EXPECT_EQ(found["bias"], (std::vector<double>{masked}));
  EXPECT_EQ(found["b"], (std::vector<double>{0, masked, -10000, 0}));
  EXPECT_EQ(found["c"], (std::vector<double>{masked}));
  EXPECT_EQ(found["z_wide"], (std::vector<double>{-65504})) << "no score";
  EXPECT_EQ(found["over"], (std::vector<double>{65504})) << "the operand of a comparison";
}

TEST(DoubleToFloat, EverythingIsF32) {
  const auto graph = parsed(R"(
    input %x : f64[3]
    const %k : f64[] = 0.1
    %y = Mul(%x, %k)
    output %y
  )");
  run(*graph, {"double_to_float"});
  for (const ir::Value* v : graph->values()) EXPECT_EQ(v->dtype(), DType::f32);
}

TEST(Int64ToInt32, ShapesStayAndOtherResultsAreCast) {
  const auto graph = parsed(R"(
    input %x : s64[2,3]
    input %f : f32[4,5]
    const %k : s64[] = 9223372036854775807
    const %s : s64[1] = [6]
    %a = Mul(%x, %k)
    %y = Reshape(%a, %s)
    %z = Shape(%f)
    output %y
    output %z
  )");
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "Mul Reshape Shape Cast");
  EXPECT_EQ(graph->find("s")->dtype(), DType::s64);
  EXPECT_EQ(graph->find("k")->constant().to_int64s()[0], 2147483647);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::s32);
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::s32);
}

TEST(Int64ToInt32, ANumberThatDecidesAShapeStaysAConstant) {
  const auto graph = parsed(R"(
    input %x : f32[3,5]
    const %k : s64[1] = [2]
    %v, %i = TopK(%x, %k)
    output %v
    output %i
  )");
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "TopK Cast");
  ops::infer(*graph);
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{3, 2}));
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::s32);
}

TEST(Int64ToInt32, StatesOfLoopsAreNarrowedAndTheirCountsAreNot) {
  const auto graph = parsed(R"(
    input %n : s64[]
    input %x : s64[2]
    const %go : bool[] = true
    %y : s64[2], %r : s64[*] = Loop(%n, %go, %x) {body = graph "b" {
      input %i : s64[]
      input %c : bool[]
      input %a : s64[2]
      %b : s64[2] = Add(%a, %i)
      output %c
      output %b
      output %i
    }}
    output %y
    output %r
  )");
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "Cast Loop");  // the Cast is that of the trip count
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::s32);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::s32);
  EXPECT_EQ(graph->outputs()[1]->dtype(), DType::s32);
  ir::for_each_subgraph(*graph->nodes().back(), [](const ir::Graph& body) {
    EXPECT_EQ(body.inputs()[0]->dtype(), DType::s64);
    EXPECT_EQ(body.inputs()[2]->dtype(), DType::s32);
    EXPECT_EQ(ops_of(body), "Cast Add");
  });
}

TEST(Int64ToInt32, ProductsThatMayExceed32BitsStay) {
  const std::string text = R"(
    input %id : s64[4]
    const %factor : s64[] = 1000003
    const %size : s64[] = 5000
    %product = Mul(%id, %factor)
    %y = Mod(%product, %size)
    output %y
  )";
  const auto graph = parsed(text);
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "Cast Mul Mod Cast");
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::s32);
  EXPECT_EQ(graph->outputs()[0]->dtype(), DType::s32);
  EXPECT_EQ(graph->find("factor")->dtype(), DType::s64);
  const std::vector<int32_t> ids = {1, 77, 123456, -999999};
  std::map<std::string, Tensor> feeds;
  feeds["id"] = Tensor::of<int32_t>({4}, ids);
  const auto got = evaluate_graph(*graph, feeds).at("y").to_int64s();
  for (size_t i = 0; i < ids.size(); i++)
    EXPECT_EQ(got[i], (ids[i] * int64_t{1000003} % 5000 + 5000) % 5000);
}

TEST(Int64ToInt32, OutputsBeyond32BitsBecomeS32) {
  const auto graph = parsed(R"(
    input %x : f64[2]
    const %scale : f64[] = 1000000000.0
    %m = Mul(%x, %scale)
    %y = Cast(%m) {to = 7}
    %z = Neg(%y)
    output %y
    output %z
    output %y
  )");
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "Mul Cast Neg Cast Cast");
  for (const ir::Value* v : graph->outputs()) EXPECT_EQ(v->dtype(), DType::s32);
  EXPECT_EQ(graph->outputs()[0], graph->outputs()[2]);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
}

TEST(Int64ToInt32, StatesOfLoopsAreNarrowedAfterTheProduct) {
  const auto graph = parsed(R"(
    input %n : s64[]
    input %x : s64[2]
    const %go : bool[] = true
    const %c : s64[] = 31
    %w : s64[2] = Mul(%x, %c)
    %y : s64[2] = Loop(%n, %go, %w) {body = graph "b" {
      input %i : s64[]
      input %e : bool[]
      input %a : s64[2]
      %b : s64[2] = Mul(%a, %c)
      output %e
      output %b
    }}
    output %y
  )");
  run(*graph, {"int64_to_int32"});
  EXPECT_EQ(ops_of(*graph), "Cast Mul Cast Cast Loop");
  ir::for_each_subgraph(*graph->nodes().back(), [](const ir::Graph& body) {
    EXPECT_EQ(body.inputs()[2]->dtype(), DType::s32);
    EXPECT_EQ(body.outputs()[1]->dtype(), DType::s32);
    EXPECT_EQ(ops_of(body), "Cast Mul Cast");
  });
}

TEST(Int64ToInt32, LeavesBodiesOfSequenceMapUnchanged) {
  const auto graph = parsed(R"(
    input %x : s64[2]
    %k : s64[2] = Neg(%x)
    %s = SequenceConstruct(%x)
    %m = SequenceMap(%s, %k) {body = graph "b" {
      input %a : s64[2]
      input %z : s64[2]
      %b : s64[2] = Add(%a, %z)
      output %b
    }}
    output %k
    output %m
  )");
  run(*graph, {"int64_to_int32"});
  ir::for_each_subgraph(*graph->nodes().back(), [](const ir::Graph& body) {
    EXPECT_EQ(body.inputs()[0]->dtype(), DType::s64);
    EXPECT_EQ(body.outputs()[0]->dtype(), DType::s64);
  });
}

}  // namespace
}  // namespace poprt::test
