#include <random>

#include "core/passes/pass_case.h"
#include "ir/match.h"
#include "passes/common/byte_weights.h"

namespace poprt::test {
namespace {

passes::PrecisionParameters with_bytes(std::map<std::string, passes::ByteFormat> values,
                                       std::set<std::string> products) {
  passes::PrecisionParameters p;
  p.byte_values = std::move(values);
  p.byte_products = std::move(products);
  return p;
}

std::unique_ptr<ir::Graph> quantised(std::string_view text,
                                     const passes::PrecisionParameters& precision) {
  auto graph = parsed(text);
  const std::vector<const passes::PassDef*> list = {&passes::pass_of("float_to_qdq")};
  passes::PassManagerOptions options;
  options.precision = precision;
  passes::run_passes(*graph, list, options);
  return graph;
}

// A convolution of 3 channels with rows of different magnitude, one of them zeros.
constexpr const char* kConv = R"(
  input %x : f32[1,3,2,2]
  const %w : f32[4,3,1,1] = [0.5, -0.25, 0.125, 4.0, 2.0, -1.0, 0.0, 0.0, 0.0, 0.001, 0.0, -0.002]
  const %b : f32[4] = [0.3, -1.0, 2.0, 0.0]
  %c = Conv(%x, %w, %b) "node"
  %y = Relu(%c)
  output %y
)";

TEST(FloatToQdq, SurroundsAConvolutionByBytes) {
  const auto g = quantised(kConv, with_bytes({{"x", {0.01f, 100}}, {"y", {0.02f, 0}}}, {"c"}));
  EXPECT_EQ(ops_of(*g),
            "DequantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear Conv Relu "
            "QuantizeLinear DequantizeLinear");
  ASSERT_EQ(g->outputs().size(), 1u);
  EXPECT_EQ(g->outputs()[0]->name(), "y") << "the output keeps its name";
  const ir::Node* conv = nullptr;
  for (const ir::Node* n : g->nodes())
    if (n->is("Conv")) conv = n;
  const ir::Node *x = ir::producer_if(conv->input(0), "DequantizeLinear"),
                 *w = ir::producer_if(conv->input(1), "DequantizeLinear"),
                 *b = ir::producer_if(conv->input(2), "DequantizeLinear");
  ASSERT_TRUE(x && w && b);
  EXPECT_EQ(x->input(0)->dtype(), DType::u8);
  EXPECT_EQ(ir::const_scalar(x->input(2)), 100);
  // One scale for each channel: the largest weight is 127.
  EXPECT_EQ(w->int_attr("axis", 1), 0);
  const auto bytes = w->input(0)->constant().to_int64s();
  EXPECT_EQ(bytes, (std::vector<int64_t>{127, -64, 32, 127, 64, -32, 0, 0, 0, 64, 0, -127}));
  const auto scales = w->input(1)->constant().to_doubles();
  EXPECT_NEAR(scales[0], 0.5 / 127, 1e-9);
  EXPECT_NEAR(scales[1], 4.0 / 127, 1e-9);
  EXPECT_NEAR(scales[3], 0.002 / 127, 1e-9);
  EXPECT_EQ(scales[2], scales[3]) << "zeros have the finest resolution, for the bias";
  // The bias has the unit of the sums.
  const auto bias = b->input(0)->constant().to_int64s();
  const auto units = b->input(1)->constant().to_doubles();
  for (size_t i = 0; i < 4; i++) {
    EXPECT_NEAR(units[i], scales[i] * 0.01, 1e-6 * units[i]);
    const double was[] = {0.3, -1.0, 2.0, 0.0};
    EXPECT_NEAR(static_cast<double>(bias[i]) * units[i], was[i], units[i]);
  }
  // Together with qdq_products, one convolution of bytes is left.
  run(*g, {"qdq_products"});
  EXPECT_EQ(ops_of(*g), "QuantizeLinear QLinearConv DequantizeLinear");
}

// A sum of tiny weights and a large bias does not overflow 32 bits.
TEST(FloatToQdq, ALargeBiasMakesTheScaleLarger) {
  const auto g = quantised(R"(
    input %x : f32[1,3,2,2]
    const %w : f32[1,3,1,1] = [1e-9, -1e-9, 1e-9]
    const %b : f32[1] = [100.0]
    %y = Conv(%x, %w, %b)
    output %y
  )",
                           with_bytes({{"x", {0.01f, 0}}, {"y", {0.5f, 0}}}, {"y"}));
  for (const ir::Node* n : g->nodes())
    if (n->is("DequantizeLinear") && n->input(0)->dtype() == DType::s32) {
      const int64_t bias = n->input(0)->constant().to_int64s()[0];
      EXPECT_GT(bias, 1 << 28);
      EXPECT_LE(bias, 1 << 29);
      EXPECT_NEAR(static_cast<double>(bias) * n->input(1)->constant().to_doubles()[0], 100, 1e-4);
    }
}

TEST(FloatToQdq, MatrixProductsKeepResultsInFloats) {
  const auto g = quantised(R"(
    input %x : f32[2,3]
    const %w : f32[3,2] = [1.0, 0.1, 2.0, 0.2, 3.0, 0.3]
    %y = MatMul(%x, %w)
    output %y
  )",
                           with_bytes({{"x", {0.01f, 128}}}, {"y"}));
  EXPECT_EQ(ops_of(*g), "DequantizeLinear QuantizeLinear DequantizeLinear MatMul");
  run(*g, {"qdq_products", "scaled_products"});
  EXPECT_EQ(ops_of(*g), "QuantizeLinear poprt.ScaledMatMulInteger");
}

TEST(FloatToQdq, EveryReaderReadsTheBytesAndAnOutputStays) {
  const auto g = quantised(R"(
    input %x : f32[2,3]
    const %w : f32[3,2] = [1.0, 0.1, 2.0, 0.2, 3.0, 0.3]
    %h = Exp(%x)
    %y = MatMul(%h, %w)
    %z = Neg(%h)
    output %y
    output %z
    output %h
  )",
                           with_bytes({{"h", {0.01f, 0}}}, {"y"}));
  EXPECT_EQ(ops_of(*g), "Exp DequantizeLinear QuantizeLinear DequantizeLinear MatMul Neg");
  EXPECT_TRUE(ir::producer_if(g->find("h"), "Exp")) << "no convolution computes it";
  EXPECT_TRUE(ir::producer_if(g->find("z")->producer()->input(0), "DequantizeLinear"));
}

TEST(FloatToQdq, KeepsTheModelWithoutRanges) {
  const auto original = parsed(kConv);
  EXPECT_EQ(ir::to_text(*quantised(kConv, {})), ir::to_text(*original));
  // A product whose input has no range, and names that the model does not have.
  EXPECT_EQ(ir::to_text(*quantised(kConv, with_bytes({{"nowhere", {0.01f, 0}}}, {"c"}))),
            ir::to_text(*original));
}

}  // namespace
}  // namespace poprt::test
