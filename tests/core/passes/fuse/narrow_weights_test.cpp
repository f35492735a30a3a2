#include <fmt/ranges.h>

#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// A product with weights [64, 80], which are random whole numbers up to `numerators` with exponent
// `unit`.
std::string product_of(uint32_t numerators, const std::string& unit, const std::string& tail = "") {
  std::mt19937 rng(1);
  std::vector<std::string> v;
  for (size_t i = 0; i < 64 * 80; i++)
    v.push_back(fmt::format("{}{}", 1 + rng() % numerators, unit));
  return fmt::format(R"(
    input %x : f32[3,64]
    const %w : f32[64,80] = [{}]
    %y = poprt.Linear(%x, %w)
    output %y
  )",
                     fmt::join(v, ", ")) +
         tail;
}

DType weights_after(const std::string& text, const std::string& products, std::string* chosen,
                    const std::string& find = "True") {
  const auto graph = parsed(text);
  passes::PassManagerOptions options;
  options.arguments["narrow_weights"] = {{"products", products}, {"find", find}};
  const passes::PassDef* list[] = {&passes::pass_of("narrow_weights")};
  passes::run_passes(*graph, list, options);
  const ir::Node* linear = graph->nodes()[0];
  if (chosen) *chosen = linear->string_attr("products", "f32");
  return linear->input(1)->dtype();
}

TEST(NarrowWeights, WeightsOfANarrowTypeAreStoredInIt) {
  // The weights have 4, 11 and 7 significant bits, and in the last product more than any narrow
  // type.
  EXPECT_EQ(weights_after(product_of(15, "e0"), "f32", nullptr), DType::f8_143);
  EXPECT_EQ(weights_after(product_of(2047, "e0"), "f32", nullptr), DType::f16);
  EXPECT_EQ(weights_after(product_of(127, "e0"), "f32", nullptr), DType::f16);
  EXPECT_EQ(weights_after(product_of(1000000, "e-3"), "f32", nullptr), DType::f32);
}

TEST(NarrowWeights, ResultsAreTheSame) {
  for (const uint32_t numerators : {15u, 127u, 2047u})
    expect_ops({"narrow_weights"}, product_of(numerators, "e0"), "poprt.Linear", 17, 1e-6);
}

TEST(NarrowWeights, RowsOfATableAreWidenedAfterGather) {
  std::mt19937 rng(1);
  std::vector<std::string> v;
  for (size_t i = 0; i < 64 * 80; i++) v.push_back(fmt::format("{}e0", 1 + rng() % 2047));
  const auto text = [&](const std::string& last) {
    v.back() = last;
    return fmt::format(R"(
      input %i : s64[3]
      const %w : f32[64,80] = [{}]
      %y = Gather(%w, %i)
      output %y
    )",
                       fmt::join(v, ", "));
  };
  expect_ops({"narrow_weights"}, text("5"), "Gather Cast");
  expect_ops({"narrow_weights"}, text("0.1234567"), "Gather");
}

TEST(NarrowWeights, WeightsAreRoundedToF16IfItIsChosen) {
  std::string products;
  EXPECT_EQ(weights_after(product_of(1000000, "e-3"), "f16", &products, "False"), DType::f16);
  EXPECT_EQ(products, "f16");
  EXPECT_EQ(weights_after(product_of(1000000, "e1"), "f16", &products, "False"), DType::f32)
      << "f16 has no such number";
}

TEST(NarrowWeights, ModelsOfF16ChooseProductsOfF16) {
  std::string products;
  EXPECT_EQ(weights_after(product_of(2047, "e0"), "auto_f16", &products), DType::f16);
  EXPECT_EQ(products, "f16");
  EXPECT_EQ(weights_after(product_of(1000000, "e-3"), "auto_f16", &products), DType::f32)
      << "f16 does not represent the weights";
  EXPECT_EQ(products, "f32");
}

TEST(NarrowWeights, ProductsOfBf16RoundWeights) {
  std::string products;
  EXPECT_EQ(weights_after(product_of(1000000, "e-3"), "bf16", &products), DType::bf16);
  EXPECT_EQ(products, "bf16");
  EXPECT_EQ(weights_after(product_of(1000000, "e-3"), "auto", &products), DType::f32);
  EXPECT_EQ(products, "f32");
  EXPECT_EQ(weights_after(product_of(127, "e0"), "auto", &products), DType::bf16);
  EXPECT_EQ(products, "bf16");
  EXPECT_EQ(weights_after(product_of(127, "e0"), "auto", &products, "False"), DType::f32);
  EXPECT_EQ(weights_after(product_of(127, "e0"), "bf16", &products, "False"), DType::bf16);
}

}  // namespace
}  // namespace poprt::test
