#include <fmt/format.h>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

TEST(ByteMaps, OperatorBetweenTwoQuantisationsBecomesATable) {
  for (const char* type : {"u8", "s8"})
    for (const char* op : {"Sigmoid", "LeakyRelu", "Log"})
      expect_ops({"byte_maps"},
                 fmt::format(R"(
    input %x : {0}[3,500]
    const %s : f32[] = 0.05
    const %z : {0}[] = 7
    const %t : f32[] = 0.011
    const %w : {0}[] = 100
    %f = DequantizeLinear(%x, %s, %z)
    %g = {1}(%f)
    %y = QuantizeLinear(%g, %t, %w)
    output %y
  )",
                             type, op),
                 "poprt.ByteMap", 17, 0);
}

// x * sigmoid(x), where the sigmoid is quantised as well.
TEST(ByteMaps, AllBytesThatDependOnTheSameOnesAreOneTable) {
  const auto text = [](std::string_view more) {
    return fmt::format(R"(
    input %x : u8[2,3,5,7]
    const %s : f32[1] = [0.05]
    const %z : u8[1] = [120]
    const %t : f32[] = 0.0039
    const %u : f32[] = 0.02
    const %three : f32[1,1,1,1] = [3]
    const %w : s8[] = -128
    %f = DequantizeLinear(%x, %s, %z) {{axis = 3}}
    %g = Sigmoid(%f)
    %q = QuantizeLinear(%g, %t, %w)
    %d = DequantizeLinear(%q, %t, %w)
    %scaled = Mul(%d, %three)
    %m = Mul(%f, %scaled)
    %y = QuantizeLinear(%m, %u, %z)
    output %y
    {}
  )",
                       more);
  };
  const auto graph =
      expect_ops({"byte_maps", "eliminate_deadend"}, text(""), "poprt.ByteMap", 17, 0);
  EXPECT_EQ(graph->nodes()[0]->input(0)->name(), "x");
  expect_ops({"byte_maps", "eliminate_deadend"}, text("output %q"), "poprt.ByteMap poprt.ByteMap",
             17, 0);
  expect_ops({"byte_maps", "eliminate_deadend"}, text("output %m"),
             "DequantizeLinear poprt.ByteMap DequantizeLinear Mul Mul poprt.ByteMap", 17, 0);
}

TEST(ByteMaps, TheSameBytesAreNotCopied) {
  expect_ops({"byte_maps", "eliminate_deadend"}, R"(
    input %x : u8[2,60]
    const %s : f32[] = 0.05
    const %z : u8[] = 120
    %r = DequantizeLinear(%x, %s, %z)
    %y = QuantizeLinear(%r, %s, %z)
    %t = Transpose(%y)
    output %t
  )",
             "Transpose", 17, 0);
}

TEST(ByteMaps, TwoTensorsOrAScaleAChannelAreNoTable) {
  expect_ops({"byte_maps"}, R"(
    input %x : u8[2,60]
    input %v : u8[2,60]
    const %s : f32[] = 0.05
    %f = DequantizeLinear(%x, %s)
    %g = DequantizeLinear(%v, %s)
    %m = Mul(%f, %g)
    %y = QuantizeLinear(%m, %s)
    output %y
  )",
             "DequantizeLinear DequantizeLinear Mul QuantizeLinear");
  expect_ops({"byte_maps"}, R"(
    input %x : u8[2,3]
    const %s : f32[3] = [0.05, 0.1, 0.2]
    const %t : f32[] = 0.1
    %f = DequantizeLinear(%x, %s)
    %y = QuantizeLinear(%f, %t)
    output %y
  )",
             "DequantizeLinear QuantizeLinear");
  expect_ops({"byte_maps"}, R"(
    input %x : u8[1,3]
    const %rows : f32[2,1] = [1, 2]
    const %t : f32[] = 0.1
    %f = DequantizeLinear(%x, %t)
    %m = Mul(%f, %rows)
    %y = QuantizeLinear(%m, %t)
    output %y
  )",
             "DequantizeLinear Mul QuantizeLinear");
}

// The number of nodes limits the depth of the search, too.
TEST(ByteMaps, ALongChainStays) {
  const auto graph = parsed(R"(
    input %x : u8[4]
    const %s : f32[] = 0.05
    const %z : u8[] = 120
    %f = DequantizeLinear(%x, %s, %z)
    %y = QuantizeLinear(%f, %s, %z)
    output %y
  )");
  ir::Node* q = graph->nodes().back();
  ir::Value* v = q->input(0);
  constexpr int kNodes = 200000;
  for (int i = 0; i < kNodes; i++) {
    ir::Node* n = graph->add_node("Neg", "", {v}, 1, q);
    n->output()->type = v->type;
    v = n->output();
  }
  q->set_input(0, v);
  run(*graph, {"byte_maps"});
  EXPECT_EQ(graph->nodes().back()->op_type, "QuantizeLinear");
}

}  // namespace
}  // namespace poprt::test
