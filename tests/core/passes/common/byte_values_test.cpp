#include "passes/common/byte_values.h"

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::string zeros_text(const std::string& name, const Shape& shape) {
  std::string numbers;
  for (int64_t i = 0; i < element_count(shape); i++) numbers += i ? ", 0.0" : "0.0";
  return fmt::format("const %{} : f32{} = [{}]\n", name, shape_string(shape), numbers);
}

// Whether the only product of the body, %y, can be computed on bytes.
bool product_takes_bytes(const std::string& body) {
  const auto graph = parsed(body + "output %y\n");
  std::vector<bool> answers;
  passes::for_each_product(
      *graph, [&](const passes::WeightedProduct& p) { answers.push_back(passes::takes_bytes(p)); });
  EXPECT_EQ(answers.size(), 1u) << body;
  return answers == std::vector{true};
}

bool conv_takes_bytes(const Shape& input, const Shape& weight, int64_t group = 1) {
  return product_takes_bytes(fmt::format("input %x : f32{}\n", shape_string(input)) +
                             zeros_text("w", weight) +
                             fmt::format("%y : ? = Conv(%x, %w) {{group = {}}}\n", group));
}

TEST(TakesBytes, ConvolutionsOfOneToThreeDimensions) {
  EXPECT_TRUE(conv_takes_bytes({1, 3, 5}, {4, 3, 3}));
  EXPECT_TRUE(conv_takes_bytes({1, 3, 5, 5}, {4, 3, 3, 3}));
  EXPECT_TRUE(conv_takes_bytes({1, 3, 5, 5, 5}, {4, 3, 3, 3, 3}));
}

TEST(TakesBytes, ConvolutionsOfThreeChannelsOrDepthwiseOnes) {
  EXPECT_FALSE(conv_takes_bytes({1, 2, 5, 5}, {4, 2, 3, 3}));
  EXPECT_TRUE(conv_takes_bytes({1, 16, 5, 5}, {16, 1, 3, 3}, 16));
  EXPECT_FALSE(conv_takes_bytes({1, 8, 5, 5}, {8, 1, 3, 3}, 8));
  EXPECT_FALSE(conv_takes_bytes({1, 16, 5, 5}, {32, 1, 3, 3}, 16));
}

TEST(TakesBytes, SumsOfAsManyProductsAsFitIn32Bits) {
  const auto takes = [](int64_t products) {
    return product_takes_bytes(fmt::format("input %x : f32[2,{}]\n", products) +
                               zeros_text("w", {products, 1}) + "%y : ? = MatMul(%x, %w)\n");
  };
  EXPECT_TRUE(takes(1 << 14));
  EXPECT_FALSE(takes((1 << 14) + 1));
}

TEST(TakesBytes, ProductsOfFloatsOfKnownShapesWithAWeightAtTheRight) {
  const std::string weight = zeros_text("w", {4, 3}), x = "input %x : f32[2,4]\n";
  const std::string product = "%y : ? = MatMul(%x, %w)\n";
  EXPECT_TRUE(product_takes_bytes(x + weight + product));
  EXPECT_FALSE(product_takes_bytes("input %x : f32[?,4]\n" + weight + product));
  EXPECT_FALSE(product_takes_bytes("input %x : f32[4]\n" + weight + product));
  EXPECT_FALSE(product_takes_bytes(x + zeros_text("w", {1, 4, 3}) + product));
  EXPECT_FALSE(product_takes_bytes(x + zeros_text("w", {4, 0}) + product));
  const std::string half = "const %h : f16[4,3] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n";
  EXPECT_FALSE(product_takes_bytes("input %x : f16[2,4]\n" + half + "%y : ? = MatMul(%x, %h)\n"));
  EXPECT_FALSE(product_takes_bytes(x + half + "%w : ? = Cast(%h) {to = 1}\n" + product));
  EXPECT_FALSE(product_takes_bytes("input %h : f16[2,4]\n" + weight +
                                   "%x : ? = Cast(%h) {to = 1}\n" + product));
}

TEST(TakesBytes, GemmWithoutFactorsAndWithABiasForEachColumn) {
  const auto takes = [](const Shape& bias, const std::string& attributes) {
    return product_takes_bytes("input %x : f32[2,4]\n" + zeros_text("w", {4, 3}) +
                               zeros_text("b", bias) + "%y : ? = Gemm(%x, %w, %b)" + attributes +
                               "\n");
  };
  EXPECT_TRUE(takes({3}, ""));
  EXPECT_FALSE(takes({1}, ""));
  EXPECT_FALSE(takes({3}, " {alpha = 0.5}"));
  EXPECT_FALSE(takes({3}, " {beta = 0.5}"));
}

// Names of the values that become bytes, each with the name of the value whose range it has.
std::string byte_values_of(const std::string& body) {
  const auto graph = parsed(zeros_text("w", {4, 4, 1, 1}) + "input %x : f32[1,4,2,2]\n" + body);
  std::vector<passes::WeightedProduct> products;
  passes::for_each_product(*graph,
                           [&](const passes::WeightedProduct& p) { products.push_back(p); });
  const passes::ByteValues values(*graph, products);
  std::string text;
  for (const ir::Value* v : values.values())
    text += (text.empty() ? "" : " ") + v->name() + ":" + values.source(v)->name();
  return text;
}

TEST(ByteValues, AreTheDataAndTheResultsOfConvolutionsAfterTheirBounds) {
  EXPECT_EQ(byte_values_of("%y : ? = Conv(%x, %w)\n%z : ? = Relu(%y)\noutput %z\n"), "x:x z:z");
}

TEST(ByteValues, OfASumAreItsOperandsAndItsResult) {
  EXPECT_EQ(byte_values_of("input %o : f32[1,4,2,2]\n%y : ? = Conv(%x, %w)\n"
                           "%s : ? = Add(%y, %o)\n%z : ? = Relu(%s)\n%n : ? = Neg(%z)\n"
                           "output %n\n"),
            "x:x y:y o:o z:z");
}

TEST(ByteValues, ThatAreMovedHaveTheRangeOfTheirSource) {
  EXPECT_EQ(byte_values_of("%y : ? = Conv(%x, %w)\n%t : ? = Transpose(%y)\n%f : ? = Flatten(%t)\n"
                           "%n : ? = Neg(%f)\noutput %n\n"),
            "x:x y:y t:y f:y");
}

TEST(ByteValues, OfAConcatAreBytesIfAllOperandsAre) {
  const std::string two = "%y : ? = Conv(%x, %w)\n%o : ? = Neg(%x)\n";
  EXPECT_EQ(byte_values_of(two + "%c : ? = Concat(%x, %y) {axis = 1}\n%n : ? = Neg(%c)\n"
                                 "output %n\noutput %o\n"),
            "x:x y:y c:c");
  EXPECT_EQ(byte_values_of(two + "%c : ? = Concat(%x, %y, %o) {axis = 1}\n%n : ? = Neg(%c)\n"
                                 "output %n\n"),
            "x:x y:y");
}

}  // namespace
}  // namespace poprt::test
