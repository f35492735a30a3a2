#include <fmt/ranges.h>

#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::string narrow_numbers(size_t n, int low, int range, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int> v;
  for (size_t i = 0; i < n; i++)
    v.push_back(low + static_cast<int>(rng() % static_cast<uint32_t>(range)));
  return fmt::format("[{}]", fmt::join(v, ", "));
}
std::string narrow_scales(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<double> v;
  for (size_t i = 0; i < n; i++) v.push_back(0.001 * static_cast<double>(1 + rng() % 100));
  return fmt::format("[{}]", fmt::join(v, ", "));
}

// DequantizeLinear of weights [64, 20] before a product.
std::string weight_only(const std::string& type, const std::string& scales, size_t count,
                        const std::string& attributes, const std::string& tail,
                        const std::string& shape = "64,20") {
  const bool is_signed = type[0] == 's';
  const int range = type.back() == '4' ? 16 : type.back() == '2' ? 4 : 256;
  return fmt::format(R"(
    input %x : f32[2,3,64]
    input %m : f32[3,64]
    const %w : {0}[{6}] = {1}
    const %s : f32[{2}] = {3}
    const %b : f32[20] = {7}
    %d = DequantizeLinear(%w, %s) {4}
    {5}
  )",
                     type, narrow_numbers(64 * 20, is_signed ? -range / 2 : 0, range, 1), scales,
                     count == 1 ? "0.01" : narrow_scales(count, 2), attributes, tail, shape,
                     narrow_scales(20, 3));
}

TEST(NarrowProducts, WeightsOfAnyScaleStayAsStored) {
  const std::string product = "%y = MatMul(%x, %d)\noutput %y";
  for (const char* type : {"s4", "u4", "s8", "u8"}) {
    expect_ops({"narrow_products"}, weight_only(type, "", 1, "", product), "poprt.Linear", 21);
    expect_ops({"narrow_products"}, weight_only(type, "20", 20, "{axis = 1}", product),
               "poprt.Linear", 21);
    expect_ops({"narrow_products"},
               weight_only(type, "2,20", 40, "{axis = 0, block_size = 32}", product),
               "poprt.Linear", 21);
  }
}

TEST(NarrowProducts, TransposedWeightsAndGemmAreRead) {
  const std::string by_row = "{axis = 0}";
  expect_ops(
      {"narrow_products"},
      weight_only("s8", "20", 20, by_row,
                  "%t = Transpose(%d) {perm = [1, 0]}\n%y = MatMul(%x, %t)\noutput %y", "20,64"),
      "poprt.Linear", 21);
  expect_ops(
      {"narrow_products"},
      weight_only("s8", "20", 20, by_row, "%y = Gemm(%m, %d, %b) {transB = 1}\noutput %y", "20,64"),
      "poprt.Linear Add", 21);
  expect_ops({"narrow_products", "linear_fusion"},
             weight_only("s8", "20", 20, by_row,
                         "%g = Gemm(%m, %d, %b) {transB = 1}\n%y = Relu(%g)\noutput %y", "20,64"),
             "poprt.Linear", 21);
}

TEST(NarrowProducts, OtherScalesStay) {
  const std::string product = "%y = MatMul(%x, %d)\noutput %y";
  // A scale for each row, and blocks that are not whole groups.
  expect_unchanged({"narrow_products"}, weight_only("s8", "64", 64, "{axis = 0}", product), 21);
  expect_unchanged({"narrow_products"},
                   weight_only("u4", "4,20", 80, "{axis = 0, block_size = 20}", product), 21);
  expect_unchanged({"narrow_products"},
                   weight_only("u4", "64,2", 128, "{axis = 1, block_size = 10}", product), 21);
}

// MatMulNBits of 20 columns and K rows.
std::string nbits(int64_t k, int64_t bits, int64_t block, bool zeros, const std::string& more) {
  const int64_t blocks = (k + block - 1) / block;
  const auto bytes = static_cast<size_t>(20 * blocks * block * bits / 8),
             points = static_cast<size_t>(20 * ((blocks * bits + 7) / 8));
  return fmt::format(R"(
    input %x : f32[2,3,{0}]
    const %w : u8[20,{1},{2}] = {3}
    const %s : f32[20,{1}] = {4}
    const %z : u8[20,{5}] = {6}
    const %b : f32[20] = {9}
    %y = com.microsoft.MatMulNBits(%x, %w, %s{7}) {{N = 20, K = {0}, bits = {10}, block_size = {11}{8}}}
    output %y
  )",
                     k, blocks, block * bits / 8, narrow_numbers(bytes, 0, 256, 1),
                     narrow_scales(static_cast<size_t>(20 * blocks), 2), points / 20,
                     narrow_numbers(points, 0, 256, 3), zeros ? ", %z" : "", more,
                     narrow_scales(20, 4), bits, block);
}

// The graph of `body` after the pass, which must keep its results.
std::unique_ptr<ir::Graph> narrowed(const std::string& body, double tolerance) {
  const auto contrib = [&] {
    auto graph = ir::parse_text(
        fmt::format("graph \"g\" opset {{\"\": 17, \"com.microsoft\": 1}} {{\n{}\n}}", body));
    ops::infer(*graph);
    return graph;
  };
  const auto original = contrib();
  auto graph = contrib();
  run(*graph, {"narrow_products"});
  EXPECT_EQ(ops_of(*graph), "poprt.Linear");
  expect_same_results(*original, *graph, tolerance);
  return graph;
}

TEST(NarrowProducts, MatMulNBitsIsALinear) {
  for (const int64_t bits : {2, 4, 8})
    for (const bool zeros : {false, true})
      for (const int64_t k : {64, 72}) {
        SCOPED_TRACE(testing::Message() << bits << " bits, K " << k);
        const auto graph = narrowed(nbits(k, bits, 32, zeros, ""), 1e-5);
        EXPECT_EQ(graph->nodes()[0]->string_attr("products", ""), "f32");
      }
}

TEST(NarrowProducts, AccuracyLevel4AllowsProductsOfBytes) {
  const auto graph = narrowed(nbits(64, 4, 32, false, ", accuracy_level = 4"), 2e-2);
  EXPECT_EQ(graph->nodes()[0]->string_attr("products", ""), "bytes");
}

}  // namespace
}  // namespace poprt::test
