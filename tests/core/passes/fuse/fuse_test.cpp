#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::string layer_norm(std::string_view square, std::string_view normal) {
  return fmt::format(R"(
    input %x : f32[2,3,8]
    const %two : f32[] = 2.0
    const %one : f32[] = 1.0
    const %eps : f32[] = 1e-05
    const %half : f32[] = -0.5
    const %g : f32[8] = [1.0, 0.9, 1.1, 1.2, 0.8, 1.0, 1.05, 0.95]
    const %b : f32[8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    %mean = ReduceMean(%x) {{axes = [-1]}}
    %d = Sub(%x, %mean)
    %sq = {}
    %var = ReduceMean(%sq) {{axes = [2]}}
    %ve = Add(%var, %eps)
    {}
    %ng = Mul(%n, %g)
    %y = Add(%b, %ng)
    output %y
  )",
                     square, normal);
}

TEST(LayerNormPattern, TheSpellingsOfExporters) {
  const char* squares[] = {"Pow(%d, %two)", "Mul(%d, %d)"};
  const char* normals[] = {"%sd = Sqrt(%ve)\n %n = Div(%d, %sd)",
                           "%sd = Sqrt(%ve)\n %i = Reciprocal(%sd)\n %n = Mul(%d, %i)",
                           "%sd = Sqrt(%ve)\n %i = Div(%one, %sd)\n %n = Mul(%i, %d)",
                           "%i = Pow(%ve, %half)\n %n = Mul(%i, %d)"};
  for (const char* square : squares)
    for (const char* normal : normals)
      for (const int opset : {11, 13, 17}) {
        const auto graph = expect_ops({"layer_norm_pattern"}, layer_norm(square, normal),
                                      "LayerNormalization", opset);
        const ir::Node* norm = graph->nodes().front();
        ASSERT_EQ(norm->inputs().size(), 3u);
        EXPECT_EQ(norm->int_attr("axis", 0), 2);
      }
}

TEST(LayerNormPattern, OtherAxesStay) {
  const auto graph = parsed(R"(
    input %x : f32[2,3,8]
    const %two : f32[] = 2.0
    const %eps : f32[] = 1e-05
    %mean = ReduceMean(%x) {axes = [1]}
    %d = Sub(%x, %mean)
    %sq = Pow(%d, %two)
    %var = ReduceMean(%sq) {axes = [1]}
    %ve = Add(%var, %eps)
    %sd = Sqrt(%ve)
    %y = Div(%d, %sd)
    output %y
  )");
  run(*graph, {"layer_norm_pattern"});
  EXPECT_EQ(graph->node_count(), 7u);
}

TEST(ErfGeluPattern, EveryOrderOfOperands) {
  const char* scaled[] = {"Div(%x, %root2)", "Mul(%x, %inverse)", "Mul(%inverse, %x)"};
  const char* products[] = {
      "%p = Mul(%x, %a)\n %y = Mul(%p, %half)", "%p = Mul(%x, %half)\n %y = Mul(%p, %a)",
      "%p = Mul(%half, %a)\n %y = Mul(%x, %p)", "%p = Mul(%a, %x)\n %y = Div(%p, %two)"};
  for (const char* s : scaled)
    for (const char* add : {"Add(%e, %one)", "Add(%one, %e)"})
      for (const char* p : products)
        expect_ops({"erf_gelu_pattern"},
                   fmt::format(R"(
          input %x : f32[2,8]
          const %root2 : f32[] = 1.4142135
          const %inverse : f32[] = 0.70710677
          const %one : f32[] = 1.0
          const %two : f32[] = 2.0
          const %half : f32[] = 0.5
          %s = {}
          %e = Erf(%s)
          %a = {}
          {}
          output %y
        )",
                               s, add, p),
                   "poprt.Gelu");
}

TEST(GeluPattern, CubesAndProducts) {
  const char* inner[] = {
      "%c = Pow(%x, %three)\n %m = Mul(%c, %k)\n %s = Add(%x, %m)\n"
      "%t = Mul(%s, %r)",
      "%q = Mul(%x, %x)\n %c = Mul(%q, %x)\n %m = Mul(%k, %c)\n"
      "%s = Add(%m, %x)\n %t = Mul(%r, %s)",
      "%q = Mul(%x, %k)\n %c = Mul(%q, %x)\n %m = Add(%one, %c)\n"
      "%s = Mul(%x, %r)\n %t = Mul(%s, %m)"};
  for (const char* i : inner)
    expect_ops({"gelu_pattern"},
               fmt::format(R"(
      input %x : f32[2,8]
      const %three : f32[] = 3.0
      const %one : f32[] = 1.0
      const %half : f32[] = 0.5
      const %k : f32[] = 0.044715
      const %r : f32[] = 0.7978845608
      {}
      %h = Tanh(%t)
      %a = Add(%h, %one)
      %p = Mul(%x, %half)
      %y = Mul(%p, %a)
      output %y
    )",
                           i),
               "poprt.Gelu");
}

// 0.8 is the reciprocal of sqrt(pi / 2) rounded to bf16, and 0.80078125 is 0.8 rounded to bf16.
TEST(GeluPattern, AnotherFactorIsNoGelu) {
  const std::pair<const char*, const char*> factors[] = {
      {"f32", "0.8"}, {"f32", "0.798"}, {"f32", "0.80078125"}, {"f16", "0.8"}, {"bf16", "0.8"}};
  for (const auto& [type, factor] : factors)
    expect_unchanged({"gelu_pattern"}, fmt::format(R"(
      input %x : {0}[2,8]
      const %three : {0}[] = 3.0
      const %one : {0}[] = 1.0
      const %half : {0}[] = 0.5
      const %k : {0}[] = 0.044715
      const %r : {0}[] = {1}
      %c = Pow(%x, %three)
      %m = Mul(%c, %k)
      %s = Add(%x, %m)
      %t = Mul(%s, %r)
      %h = Tanh(%t)
      %a = Add(%h, %one)
      %p = Mul(%x, %half)
      %y = Mul(%p, %a)
      output %y
    )",
                                                   type, factor));
}

TEST(SiluPattern, PlainAndScaled) {
  expect_ops({"silu_pattern"}, R"(
    input %x : f32[2,8]
    const %k : f32[] = 1.702
    %s = Sigmoid(%x)
    %a = Mul(%s, %x)
    %t = Mul(%a, %k)
    %g = Sigmoid(%t)
    %y = Mul(%a, %g)
    output %y
  )",
             "poprt.Silu poprt.Silu");
}

// A constant of more dimensions than x gives the gate, and with it the result, its rank.
TEST(SiluPattern, AConstantThatAddsDimensionsIsNoScale) {
  expect_unchanged({"silu_pattern"}, R"(
    input %x : f32[8]
    const %k : f32[1,1] = [1.702]
    %t = Mul(%x, %k)
    %g = Sigmoid(%t)
    %y = Mul(%x, %g)
    output %y
  )");
}

TEST(HardSwishPattern, AConstantThatAddsDimensionsStays) {
  for (const char* wide : {"three", "six"})
    expect_unchanged({"hard_swish_pattern"},
                     fmt::format(R"(
    input %x : f32[8]
    const %zero : f32[] = 0.0
    const %three : f32[{}] = fill 3.0
    const %top : f32[] = 6.0
    const %six : f32[{}] = fill 6.0
    %a = Add(%x, %three)
    %c = Clip(%a, %zero, %top)
    %p = Mul(%x, %c)
    %y = Div(%p, %six)
    output %y
  )",
                                 wide[0] == 't' ? "1,1" : "", wide[0] == 's' ? "1,1" : ""));
}

TEST(HardSwishPattern, ClipAndHardSigmoid) {
  expect_ops({"hard_swish_pattern"}, R"(
    input %x : f32[2,8]
    const %zero : f32[] = 0.0
    const %three : f32[] = 3.0
    const %six : f32[] = 6.0
    %a = Add(%x, %three)
    %c = Clip(%a, %zero, %six)
    %p = Mul(%x, %c)
    %z = Div(%p, %six)
    %h = HardSigmoid(%z) {alpha = 0.16666667, beta = 0.5}
    %y = Mul(%z, %h)
    output %y
  )",
             "HardSwish HardSwish");
}

TEST(LinearFusion, BiasActivationAndResidual) {
  const auto graph = expect_ops({"linear_fusion"}, R"(
    input %x : f32[2,3,4]
    input %r : f32[2,3,2]
    const %w : f32[4,2] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    const %b : f32[2] = [1.0, -1.0]
    %m = MatMul(%x, %w)
    %a = Add(%b, %m)
    %s = Add(%r, %a)
    %t = Relu(%s)
    %n = MatMul(%x, %w)
    %u = Tanh(%n)
    %v = Add(%u, %t)
    %y = Neg(%v)
    output %y
  )",
                                "poprt.Linear poprt.Linear Neg");
  const auto nodes = graph->nodes();
  EXPECT_EQ(nodes[0]->string_attr("activation", ""), "relu");
  EXPECT_EQ(nodes[0]->int_attr("residual_after_activation", 0), 0);
  EXPECT_EQ(nodes[1]->string_attr("activation", ""), "tanh");
  EXPECT_EQ(nodes[1]->int_attr("residual_after_activation", 0), 1);
}

TEST(LinearFusion, GemmWithFactorsAndClip) {
  expect_ops({"linear_fusion"}, R"(
    input %x : f32[3,2]
    const %w : f32[4,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    const %b : f32[1,4] = [1.0, 2.0, 3.0, 4.0]
    const %low : f32[] = 0.0
    const %high : f32[] = 6.0
    %c = Gemm(%x, %w, %b) {transB = 1, alpha = 0.5, beta = 2.0}
    %y = Clip(%c, %low, %high)
    output %y
  )",
             "poprt.Linear");
}

TEST(LinearFusion, SharedResultsAndBroadcastResidualsStay) {
  expect_ops({"linear_fusion"}, R"(
    input %x : f32[3,4]
    input %r : f32[1,2]
    const %w : f32[4,2] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    %m = MatMul(%x, %w)
    %s = Add(%m, %r)
    %n = MatMul(%x, %w)
    %t = Relu(%n)
    output %s
    output %t
    output %n
  )",
             "poprt.Linear Add poprt.Linear Relu");
}

TEST(ConvEpilogue, BiasResidualAndActivationOnTheBlockedGraph) {
  const auto graph = expect_ops({"conv_epilogue"}, R"(
    input %x : f32[1,1,4,4,16]
    input %r : f32[1,1,4,4,16]
    const %w : f32[16,16,1,1] = fill 0.25
    const %b : f32[1,1,1,1,16] = fill 0.5
    %c = poprt.Conv(%x, %w) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 1, channels = 16}
    %a = Add(%c, %b)
    %s = Add(%r, %a)
    %y = Relu(%s)
    output %y
  )",
                                "poprt.Conv");
  const ir::Node* n = graph->nodes().front();
  EXPECT_EQ(n->string_attr("activation", ""), "relu");
  EXPECT_EQ(n->input(3)->name(), "r");
  EXPECT_EQ(n->input(2)->shape(), Shape{16});
}

TEST(ElementwiseFusion, ADiamondIsOneNode) {
  expect_ops({"elementwise_fusion"}, R"(
    input %x : f32[2,8]
    input %z : f32[8]
    const %k : f32[] = 0.5
    %a = Exp(%x)
    %b = Mul(%a, %k)
    %c = Add(%a, %z)
    %y = Div(%b, %c)
    output %y
  )",
             "poprt.Elementwise");
}

TEST(ElementwiseFusion, APathThroughAnotherNodeSplitsTheGroup) {
  const auto graph = expect_ops({"elementwise_fusion"}, R"(
    input %x : f32[8,8]
    %a = Exp(%x)
    %b = Neg(%a)
    %t = Transpose(%b)
    %c = Add(%a, %t)
    %y = Abs(%c)
    output %y
  )",
                                "poprt.Elementwise Transpose poprt.Elementwise");
  EXPECT_EQ(graph->nodes()[0]->outputs().size(), 2u);
}

TEST(ElementwiseFusion, MaskChainsStartFromIntegers) {
  expect_ops({"elementwise_fusion"}, R"(
    input %mask : s64[2,4]
    const %one : f32[] = 1.0
    const %low : f32[] = -10000.0
    %f = Cast(%mask) {to = 1}
    %d = Sub(%one, %f)
    %y = Mul(%d, %low)
    output %y
  )",
             "poprt.Elementwise");
}

TEST(ElementwiseFusion, SingleNodesAndIntegersStay) {
  expect_ops({"elementwise_fusion"}, R"(
    input %x : f32[4]
    input %i : s64[4]
    %y = Exp(%x)
    %j = Add(%i, %i)
    %z = Mul(%j, %i)
    output %y
    output %z
  )",
             "Exp Add Mul");
}

TEST(ElementwiseFusion, ArithmeticOnQuantisedOperandsReadsAndWritesBytes) {
  const auto graph = expect_ops({"elementwise_fusion"}, R"(
    input %a : u8[2,5,301]
    input %b : s8[2,5,301]
    input %c : f32[5,1]
    const %sa : f32[] = 0.05
    const %za : u8[] = 128
    const %sb : f32[] = 0.021
    const %sy : f32[] = 0.1
    const %zy : u8[] = 3
    %fa = DequantizeLinear(%a, %sa, %za)
    %fb = DequantizeLinear(%b, %sb)
    %sum = Add(%fa, %fb)
    %scaled = Mul(%sum, %c)
    %again = Mul(%scaled, %fa)
    %y = QuantizeLinear(%again, %sy, %zy)
    output %y
    output %fb
  )",
                                "poprt.Elementwise", 17, 0);
  EXPECT_EQ(graph->nodes()[0]->outputs().size(), 2u);
}

// Only stored values saturate, so a program ends with its QuantizeLinear.
TEST(ElementwiseFusion, ReadersOfQuantisedBytesStartANewProgram) {
  expect_ops({"elementwise_fusion"}, R"(
    input %x : f32[2,700]
    const %s : f32[] = 0.001
    const %z : u8[] = 128
    %e = Exp(%x)
    %q = QuantizeLinear(%e, %s, %z)
    %d = DequantizeLinear(%q, %s, %z)
    %y = Abs(%d)
    output %y
  )",
             "poprt.Elementwise poprt.Elementwise", 17, 0);
}

// A quotient that is rounded to another type is not a step of a float program.
TEST(ElementwiseFusion, AQuotientOfHalvesStays) {
  expect_ops({"elementwise_fusion"}, R"(
    input %x : f32[2,300]
    const %s : f32[] = 0.013
    const %z : u8[] = 128
    %e = Tanh(%x)
    %y = QuantizeLinear(%e, %s, %z) {precision = 10}
    output %y
  )",
             "Tanh QuantizeLinear", 23, 0);
}

TEST(ElementwiseFusion, ScalesByChannelStay) {
  expect_ops({"elementwise_fusion"}, R"(
    input %x : u8[2,3,8]
    const %s : f32[3] = [0.1, 0.2, 0.3]
    %d = DequantizeLinear(%x, %s)
    %y = Abs(%d)
    output %y
  )",
             "DequantizeLinear Abs", 17, 0);
}

TEST(ElementwiseFusion, LongChainsRespectTheKernelsLimits) {
  std::string text = "input %x0 : f32[4]\n";
  for (int i = 0; i < 200; i++)
    text += fmt::format("%x{} = {}(%x{})\n", i + 1, i % 2 ? "Neg" : "Tanh", i);
  const auto graph = parsed(text + "output %x200\n");
  const auto original = parsed(text + "output %x200\n");
  run(*graph, {"elementwise_fusion"});
  EXPECT_LE(graph->node_count(), 4u);
  expect_same_results(*original, *graph);
}

}  // namespace
}  // namespace poprt::test
