#include <cmath>
#include <random>

#include "base/half.h"
#include "core/passes/pass_case.h"
#include "ops/common/conv_kernel.h"
#include "support/uniform.h"

namespace poprt::test {
namespace {

// Builds networks of convolutions, and runs the pass on the blocked form.
struct Network {
  ir::Graph g;
  std::mt19937 rng{6};
  bool representable = false;  // whether bf16 represents the weights

  Network() { g.opsets = {{"", 17}, {"poprt", 1}}; }

  ir::Value* add(std::string op, std::vector<ir::Value*> inputs,
                 std::map<std::string, ir::Attribute, std::less<>> attributes = {}) {
    ir::Node* n = g.add_node(std::move(op), "", inputs, 1);
    n->attributes = std::move(attributes);
    ops::infer(*n);
    return n->output();
  }
  ir::Value* input(Shape shape) {
    return g.add_input("x", ir::ValueType::of(DType::f32, std::move(shape)));
  }
  ir::Value* conv(ir::Value* x, int64_t filters, int64_t kernel, int64_t group = 1) {
    const int64_t c = x->shape()[1] / group, pad = kernel / 2;
    Tensor w = Tensor::zeros(DType::f32, {filters, c, kernel, kernel});
    const double scale = 1 / std::sqrt(static_cast<double>(c * kernel * kernel));
    const test::Uniform d{-1, 1};
    for (float& v : w.mutable_values<float>()) {
      v = d(rng) * static_cast<float>(scale);
      if (representable) v = to_float(to_bf16(v));
    }
    return add("Conv", {x, g.add_constant("", w)},
               {{"pads", std::vector<int64_t>{pad, pad, pad, pad}}, {"group", group}});
  }
  ir::Value* relu(ir::Value* x) { return add("Relu", {x}); }

  // Runs the passes with the attribute `products` of the last one, and returns for each convolution
  // in order the kernel, with "!" if y is bf16.
  std::string after(const std::string& products) {
    std::vector<const passes::PassDef*> list;
    for (const char* name : {"blocked_layout", "conv_epilogue", "bf16_convolutions"})
      list.push_back(&passes::pass_of(name));
    passes::PassManagerOptions options;
    options.arguments["bf16_convolutions"] = {{"products", products}};
    passes::run_passes(g, list, options);
    std::string s;
    for (const ir::Node* n : g.nodes()) {
      const bool bf16 = n->output()->dtype() == DType::bf16;
      if (n->is("Conv", "poprt"))
        s += std::string(ops::conv_kernel_of(*n).name()) + (bf16 ? "! " : " ");
      else if (bf16)
        s += n->op_type + "! ";
    }
    return s;
  }
};

TEST(Bf16Convolutions, ResultsThatOnlyConvolutionsReadAreStoredAsBf16) {
  Network n;
  auto* x = n.relu(n.conv(n.input({1, 3, 20, 20}), 32, 3));
  x = n.relu(n.conv(x, 64, 1));
  n.g.add_output(n.conv(x, 16, 5));
  EXPECT_EQ(n.after("bf16"), "conv_stem_bf16! conv_bf16! conv_bf16 ");
}

TEST(Bf16Convolutions, KeepsTheModelWithoutTheOption) {
  Network n;
  n.g.add_output(n.conv(n.relu(n.conv(n.input({1, 16, 20, 20}), 32, 1)), 16, 1));
  EXPECT_EQ(n.after("f32"), "conv conv ");
}

TEST(Bf16Convolutions, AutoDependsOnTheWeights) {
  for (const bool representable : {false, true}) {
    Network n;
    n.representable = representable;
    n.g.add_output(n.conv(n.relu(n.conv(n.input({1, 16, 20, 20}), 32, 1)), 16, 1));
    EXPECT_EQ(n.after("auto"), representable ? "conv_bf16! conv_bf16 " : "conv conv ");
  }
}

TEST(Bf16Convolutions, ResidualsMayBeBf16) {
  Network n;
  auto* x = n.relu(n.conv(n.input({1, 16, 20, 20}), 64, 1));
  auto* y = n.conv(n.relu(n.conv(x, 64, 1)), 64, 1);
  y = n.relu(n.add("Add", {y, x}));
  n.g.add_output(n.conv(y, 16, 1));
  EXPECT_EQ(n.after("bf16"), "conv_bf16! conv_bf16! conv_bf16! conv_bf16 ");
}

TEST(Bf16Convolutions, OtherReadersNeedF32) {
  Network n;
  auto* x = n.relu(n.conv(n.input({1, 16, 20, 20}), 64, 1));
  n.g.add_output(n.add("GlobalAveragePool", {x}));
  n.g.add_output(n.conv(x, 16, 1));
  EXPECT_EQ(n.after("bf16"), "conv_bf16 conv_bf16 ");
}

// Depthwise convolutions compute in f32, and x and y have one type.
TEST(Bf16Convolutions, DepthwiseIsBf16IfBothSidesAre) {
  for (const bool last : {false, true}) {
    Network n;
    auto* x = n.relu(n.conv(n.input({1, 16, 20, 20}), 64, 1));
    x = n.relu(n.conv(x, 64, 3, 64));
    n.g.add_output(last ? x : n.conv(x, 16, 1));
    EXPECT_EQ(n.after("bf16"),
              last ? "conv_bf16 conv_depthwise " : "conv_bf16! conv_depthwise! conv_bf16 ");
  }
}

TEST(Bf16Convolutions, ConcatIsBf16IfAllItsInputsAre) {
  for (const bool pooled : {false, true}) {
    Network n;
    auto* x = n.relu(n.conv(n.input({1, 16, 20, 20}), 64, 1));
    auto* a = n.relu(n.conv(x, 32, 1));
    auto* b = pooled ? n.add("MaxPool", {x},
                             {{"kernel_shape", std::vector<int64_t>{3, 3}},
                              {"pads", std::vector<int64_t>{1, 1, 1, 1}}})
                     : n.relu(n.conv(x, 32, 1));
    n.g.add_output(n.conv(n.add("Concat", {a, b}, {{"axis", int64_t{1}}}), 16, 1));
    EXPECT_EQ(n.after("bf16"), pooled ? "conv_bf16 conv_bf16 conv_bf16 "
                                      : "conv_bf16! conv_bf16! conv_bf16! Concat! conv_bf16 ");
  }
}

TEST(Bf16Convolutions, WinogradAndGroupsComputeInF32) {
  Network n;
  auto* x = n.relu(n.conv(n.input({1, 16, 56, 56}), 64, 1));
  x = n.relu(n.conv(x, 64, 3));
  x = n.relu(n.conv(x, 64, 3, 16));
  n.g.add_output(n.conv(x, 16, 1));
  EXPECT_EQ(n.after("bf16"), "conv_bf16! conv_winograd conv_grouped conv_bf16 ");
}

// Every layer rounds its inputs, weights and results by at most 2^-8 each.
TEST(Bf16Convolutions, ResultsDifferByRoundingsOnly) {
  const auto build = [](Network& n) {
    auto* x = n.relu(n.conv(n.input({2, 3, 21, 19}), 40, 3));
    auto* y = n.relu(n.conv(x, 72, 1));
    y = n.relu(n.conv(y, 72, 3, 72));
    y = n.add("Add", {n.conv(y, 40, 1), x});
    auto* z = n.add("Sigmoid", {n.conv(y, 48, 3)});
    n.g.add_output(
        n.conv(n.add("Concat", {z, n.relu(n.conv(y, 16, 1))}, {{"axis", int64_t{1}}}), 20, 5));
  };
  Network before, after;
  build(before);
  build(after);
  after.after("bf16");
  expect_same_results(before.g, after.g, 2e-2);
}

TEST(Bf16Convolutions, AnUnknownTypeIsRefused) {
  Network n;
  n.g.add_output(n.conv(n.input({1, 16, 20, 20}), 32, 1));
  try {
    n.after("f8");
    ADD_FAILURE() << "f8 is accepted";
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("products is 'f8', expected f32, bf16, f16 or auto"),
              std::string::npos)
        << e.message();
  }
}

}  // namespace
}  // namespace poprt::test
