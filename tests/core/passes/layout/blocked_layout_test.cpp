// Convolutions of every rank, with groups and with weights that come at run time, move to blocks
// and keep their results.
#include <random>

#include "core/passes/pass_case.h"
#include "ops/common/conv_kernel.h"
#include "support/uniform.h"

namespace poprt::test {
namespace {

// A convolution, then `rest`, which reads %y : f32[1,20,4,5].
std::string after_conv(const std::string& rest) {
  return R"(input %x : f32[1,20,4,5]
    const %w : f32[20,20,1,1] = fill 0.125
    %y : ? = Conv(%x, %w)
    )" + rest;
}

const struct {
  const char *type, *elements;
} kOneElement[] = {{"f32[]", "1.5"},
                   {"f32[1]", "[1.5]"},
                   {"f32[1,1]", "[1.5]"},
                   {"f32[1,1,1]", "[1.5]"},
                   {"f32[1,1,1,1]", "[1.5]"}};

}  // namespace

TEST(BlockedLayout, ConstantOfOneElementMayBeEitherOperand) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"})
    for (const auto& one : kOneElement)
      for (const char* operands : {"%c, %y", "%y, %c"})
        expect_ops({"blocked_layout"},
                   after_conv(fmt::format("const %c : {} = {}\n%z : ? = {}({})\noutput %z",
                                          one.type, one.elements, op, operands)),
                   fmt::format("poprt.Block poprt.Conv {} poprt.Unblock", op));
}

TEST(BlockedLayout, TransposedConvolutionsMoveWhenTheirKernelTakesThem) {
  const char* graph = R"(input %x : f32[1,{0},4,5]
    const %w : f32[{0},{0},2,2] = fill 0.125
    %y : ? = ConvTranspose(%x, %w) {{strides = [2, 2]}}
    output %y)";
  expect_ops({"blocked_layout"}, fmt::format(fmt::runtime(graph), 32),
             "poprt.Block poprt.ConvTranspose poprt.Unblock");
  for (const char* attributes :
       {"strides = [2, 2], pads = [1, 1, 1, 1]", "strides = [1, 2]",
        "strides = [2, 2], output_padding = [1, 1]", "strides = [3, 2], output_shape = [10, 9]",
        "strides = [2, 2], auto_pad = \"SAME_LOWER\", dilations = [2, 2]"})
    expect_ops({"blocked_layout"},
               fmt::format(R"(input %x : f32[1,32,4,5]
    const %w : f32[32,18,3,3] = fill 0.125
    const %b : f32[18] = fill 0.5
    %y : ? = ConvTranspose(%x, %w, %b) {{{}}}
    output %y)",
                           attributes),
               "poprt.Block poprt.ConvTranspose poprt.Unblock");
  expect_ops({"blocked_layout"}, R"(input %x : f32[2,64,9]
    const %w : f32[64,16,4] = fill 0.125
    %y : ? = ConvTranspose(%x, %w) {strides = [2], pads = [1, 1], group = 2}
    output %y)",
             "Reshape poprt.Block poprt.ConvTranspose poprt.Unblock Reshape");
  // Three dimensions, whose weights are numbered so that a wrong tap or channel is visible.
  for (const char* bias : {"", ", %b"}) {
    auto volume = parsed(fmt::format(R"(input %x : f32[2,20,3,4,5]
    const %w : f32[20,18,2,3,1] = fill 0.125
    const %b : f32[18] = fill 0.5
    %y : ? = ConvTranspose(%x, %w{}) {{strides = [2, 3, 1]}}
    output %y)",
                                     bias));
    for (ir::Value* v : volume->values())
      if (v->is_constant() && v->name() == "w") {
        Tensor w = Tensor::zeros(DType::f32, v->shape());
        for (int i = 0; float& e : w.mutable_values<float>()) e = static_cast<float>(i++ % 37) / 37;
        v->set_constant(w);
      }
    EXPECT_EQ(ops_after(*volume, {"blocked_layout"}, 1e-5),
              "Reshape poprt.Block poprt.ConvTranspose poprt.Unblock Reshape");
  }
  expect_unchanged({"blocked_layout"}, R"(input %x : f32[1,32,4,4,4]
    const %w : f32[32,32,3,3,3] = fill 0.125
    %y : ? = ConvTranspose(%x, %w) {strides = [2, 2, 2]}
    output %y)");
  // A sum over inputs multiplies fewer zeros.
  expect_unchanged({"blocked_layout"}, R"(input %x : f32[1,32,2,2]
    const %w : f32[32,32,4,4] = fill 0.125
    %y : ? = ConvTranspose(%x, %w)
    output %y)");
  expect_unchanged({"blocked_layout"}, R"(input %x : f64[1,32,4,5]
    const %w : f64[32,32,2,2] = fill 0.125
    %y : ? = ConvTranspose(%x, %w) {strides = [2, 2]}
    output %y)");
}

// Opset 10 rounds the position up where it shrinks.
TEST(BlockedLayout, ResizeOfOpset10TakesThePixelsOfThePlainOperator) {
  for (const char* scales : {"1, 1, 0.6, 0.6", "1, 1, 2, 0.75", "1, 1, 1.5, 3"})
    expect_ops({"blocked_layout"},
               after_conv(fmt::format(
                   "const %s : f32[4] = [{}]\n%z : ? = Resize(%y, %s)\noutput %z", scales)),
               "poprt.Block poprt.Conv poprt.Resize poprt.Unblock", 10);
}

TEST(BlockedLayout, GroupsOfOddMultiplesOfEightChannelsArePaired) {
  std::mt19937 rng(2);
  const Uniform real{-1, 1};
  for (const auto& [c, m] : std::vector<std::pair<int64_t, int64_t>>{
           {24, 24}, {8, 24}, {40, 8}, {40, 40}, {24, 56}, {72, 40}})
    for (const int64_t groups : {4, 3, 7})
      for (const bool window : {false, true}) {
        SCOPED_TRACE(testing::Message() << groups << " groups of " << c << " to " << m);
        auto graph = std::make_unique<ir::Graph>();
        graph->opsets = {{"", 17}};
        Tensor w = Tensor::zeros(DType::f32, {groups * m, c, 3, 3}),
               b = Tensor::zeros(DType::f32, {groups * m});
        for (float& v : w.mutable_values<float>()) v = real(rng);
        for (float& v : b.mutable_values<float>()) v = real(rng);
        ir::Value* x = graph->add_input("x", ir::ValueType::of(DType::f32, {2, groups * c, 7, 6}));
        ir::Node* conv = graph->add_node(
            "Conv", "", {x, graph->add_constant("w", w), graph->add_constant("b", b)});
        conv->attributes["group"] = groups;
        if (window) {
          conv->attributes["strides"] = std::vector<int64_t>{2, 2};
          conv->attributes["pads"] = std::vector<int64_t>{1, 0, 1, 0};
        }
        graph->add_output(conv->output());
        ops::infer(*graph);
        EXPECT_EQ(ops_after(*graph, {"blocked_layout"}, 1e-4),
                  "poprt.Block poprt.Conv poprt.Unblock");
        EXPECT_EQ(graph->nodes()[1]->ints_attr(ops::kPairAttribute), (std::vector<int64_t>{c, m}));
        EXPECT_EQ(graph->nodes()[1]->int_attr("group", 0), groups / 2);
      }
}

// Long rows, a residual and an activation, in two and three dimensions. Lanes without a channel are
// not numbers, which must not reach a result.
TEST(BlockedLayout, AGroupAfterThePairsReadsOnlyItsChannels) {
  for (const std::string d : {"", "2,"}) {
    const std::string one = d.empty() ? "" : "1,";
    const std::string text = fmt::format(R"(
      input %x : f32[1,72,{0}3,31]
      const %w : f32[72,24,{1}3,3] = fill 0.01
      const %v : f32[72,24,{1}3,3] = fill -0.02
      %l : ? = Log(%x)
      %p : ? = Conv(%x, %w) {{group = 3, pads = [{2}1, 1, {2}1, 1]}}
      %q : ? = Log(%p)
      %y : ? = Conv(%q, %v) {{group = 3, pads = [{2}1, 1, {2}1, 1]}}
      %s : ? = Add(%y, %p)
      %r : ? = Relu(%s)
      output %r
    )",
                                         d, one, d.empty() ? "" : "0,");
    auto graph = parsed(text);
    Tensor x = Tensor::zeros(DType::f32, graph->inputs()[0]->shape());
    std::mt19937 rng(4);
    for (float& v : x.mutable_values<float>()) v = 1 + Uniform{0, 1}(rng);
    const auto want = evaluate_graph(*graph, {{"x", x}});
    run(*graph, {"blocked_layout", "conv_epilogue", "eliminate_deadend"});
    const auto got = evaluate_graph(*graph, {{"x", x}});
    for (const auto& [name, tensor] : want) expect_close(tensor, got.at(name), 1e-4, name);
  }
}

TEST(BlockedLayout, ConstantForEachChannelMayBeEitherOperand) {
  for (const char* type : {"f32[20,1,1]", "f32[1,20,1,1]"})
    for (const char* operands : {"%c, %y", "%y, %c"})
      expect_ops({"blocked_layout"},
                 after_conv(fmt::format("const %c : {} = fill 0.75\n%z : ? = Sub({})\noutput %z",
                                        type, operands)),
                 "poprt.Block poprt.Conv Sub poprt.Unblock");
}

TEST(BlockedLayout, OtherBroadcastsStayPlain) {
  for (const char* type : {"f32[5]", "f32[4,5]", "f32[4,1]", "f32[20,4,5]", "f32[1,20,1,5]",
                           "f32[2,20,4,5]", "f32[2,1,1,1]"})
    for (const char* operands : {"%c, %y", "%y, %c"})
      expect_ops({"blocked_layout"},
                 after_conv(fmt::format("const %c : {} = fill 0.75\n%z : ? = Sub({})\noutput %z",
                                        type, operands)),
                 "poprt.Block poprt.Conv poprt.Unblock Sub");
}

TEST(BlockedLayout, PositionsOfMaxPoolThatAreAnOutputStayPlain) {
  expect_ops({"blocked_layout"}, after_conv(R"(
    %z : ?, %i : ? = MaxPool(%y) {kernel_shape = [2, 2]}
    output %z
    output %i)"),
             "poprt.Block poprt.Conv poprt.Unblock MaxPool");
}

namespace {

using Attributes = std::map<std::string, ir::Attribute, std::less<>>;
using Ints = std::vector<int64_t>;

struct Net {
  ir::Graph graph;
  std::mt19937 rng{9};

  Net() { graph.opsets = {{"", 17}, {"poprt", 1}}; }
  ir::Value* input(std::string name, Shape shape) {
    return graph.add_input(std::move(name), ir::ValueType::of(DType::f32, std::move(shape)));
  }
  ir::Value* weights(Shape shape) {
    Tensor t = Tensor::zeros(DType::f32, std::move(shape));
    const test::Uniform d{-1, 1};
    for (float& v : t.mutable_values<float>()) v = d(rng);
    return graph.add_constant("", t);
  }
  ir::Value* add(std::string op, std::vector<ir::Value*> inputs, Attributes attributes = {}) {
    ir::Node* n = graph.add_node(std::move(op), "", inputs, 1);
    n->attributes = std::move(attributes);
    ops::infer(*n);
    return n->output();
  }
  void output(ir::Value* v) { graph.add_output(v); }

  std::string blocked() { return ops_after(graph, {"blocked_layout"}); }
};

TEST(BlockedLayout, ConvolutionsInOneDimensionAreRows) {
  Net n;
  auto* x = n.input("x", {2, 3, 50});
  x = n.add("Conv", {x, n.weights({20, 3, 5}), n.weights({20})},
            {{"strides", Ints{2}}, {"pads", Ints{2, 1}}});
  x = n.add("Relu", {x});
  n.output(x);
  x = n.add("MaxPool", {x}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
  x = n.add("Conv", {x, n.weights({32, 20, 3})},
            {{"dilations", Ints{2}}, {"auto_pad", std::string("SAME_LOWER")}});
  x = n.add("Add", {x, n.weights({32, 1})});
  n.output(n.add("GlobalAveragePool", {x}));
  const std::string left = n.blocked();
  for (const char* plain : {" Conv", " MaxPool", " GlobalAveragePool"})
    EXPECT_EQ(left.find(plain), std::string::npos) << left;
}

TEST(BlockedLayout, ConvolutionsInThreeDimensionsHaveTheirSlicesAsRows) {
  Net n;
  auto* x = n.input("x", {1, 2, 5, 9, 8});
  x = n.add("Conv", {x, n.weights({16, 2, 3, 3, 2}), n.weights({16})},
            {{"pads", Ints{1, 1, 0, 1, 1, 1}}, {"strides", Ints{1, 2, 1}}});
  x = n.add("MaxPool", {x},
            {{"kernel_shape", Ints{2, 3, 2}},
             {"strides", Ints{1, 1, 2}},
             {"pads", Ints{1, 0, 1, 0, 1, 0}}});
  x = n.add("Conv", {x, n.weights({32, 16, 3, 3, 3})},
            {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"strides", Ints{2, 1, 1}}});
  auto* y = n.add("Relu", {x});
  x = n.add("Conv", {y, n.weights({32, 16, 1, 3, 1})},
            {{"group", int64_t{2}}, {"pads", Ints{0, 1, 0, 0, 1, 0}}});
  x = n.add("Add", {x, y});
  auto* gate = n.add(
      "Sigmoid", {n.add("Conv", {n.add("GlobalAveragePool", {x}), n.weights({32, 32, 1, 1, 1})})});
  x = n.add("Mul", {x, gate});
  n.output(n.add("AveragePool", {x},
                 {{"kernel_shape", Ints{2, 2, 3}}, {"pads", Ints{0, 1, 1, 1, 0, 1}}}));
  n.output(n.add("AveragePool", {x},
                 {{"kernel_shape", Ints{2, 2, 3}},
                  {"strides", Ints{1, 2, 2}},
                  {"ceil_mode", int64_t{1}},
                  {"count_include_pad", int64_t{1}},
                  {"pads", Ints{1, 1, 0, 0, 0, 1}}}));
  const std::string left = n.blocked();
  EXPECT_EQ(left.find(" Conv"), std::string::npos) << left;
  EXPECT_EQ(left.find(" MaxPool"), std::string::npos) << left;
}

TEST(BlockedLayout, AValueThatHasItsSlicesScaledStaysPlain) {
  Net n;
  auto* x = n.input("x", {1, 16, 3, 4, 5});
  auto* slices = n.add("Conv", {n.input("s", {1, 16, 3, 1, 1}), n.weights({16, 16, 1, 1, 1})});
  x = n.add("Conv", {x, n.weights({16, 16, 1, 1, 1})});
  n.output(n.add("Mul", {x, slices}));
  EXPECT_NE(n.blocked().find(" Mul"), std::string::npos);
}

TEST(BlockedLayout, WeightsAndBiasMayComeAtRunTime) {
  for (const auto& [c, m, group, k] : std::vector<std::array<int64_t, 4>>{{32, 40, 1, 3},
                                                                          {5, 7, 1, 3},
                                                                          {40, 40, 40, 3},
                                                                          {24, 24, 3, 3},
                                                                          {64, 32, 2, 1},
                                                                          {33, 17, 1, 5}}) {
    Net n;
    n.output(
        n.add("Conv",
              {n.input("x", {2, c, 9, 10}), n.input("w", {m, c / group, k, k}), n.input("b", {m})},
              {{"group", group}, {"pads", Ints{1, 0, 1, 2}}}));
    EXPECT_NE(n.blocked().find("poprt.Conv"), std::string::npos);
  }
  Net one;
  one.output(one.add("Conv", {one.input("x", {1, 3, 40}), one.input("w", {8, 3, 4})}));
  EXPECT_NE(one.blocked().find("poprt.Conv"), std::string::npos);
}

TEST(BlockedLayout, FewPixelsAreNotWorthPackingWeightsFor) {
  Net n;
  n.output(n.add("Conv", {n.input("x", {1, 32, 3, 3}), n.input("w", {32, 32, 1, 1})}));
  EXPECT_EQ(n.blocked(), "Conv");
}

TEST(BlockedLayout, GroupsThatFillBlocksStayBlocked) {
  for (const int64_t size : {1, 2, 4, 8, 16, 32}) {
    Net n;
    auto* x = n.input("x", {1, 64, 7, 11});
    x = n.add("Conv", {x, n.weights({64, size, 3, 3}), n.weights({64})},
              {{"group", 64 / size}, {"pads", Ints{1, 1, 1, 1}}});
    n.output(n.add("Conv", {x, n.weights({64, size, 1, 4})},
                   {{"group", 64 / size}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}}));
    EXPECT_EQ(n.blocked(), "poprt.Block poprt.Conv poprt.Conv poprt.Unblock");
  }
}

}  // namespace
}  // namespace poprt::test
