#include <fmt/ranges.h>

#include <random>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

std::string bytes(size_t n, int low, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<int> v;
  for (size_t i = 0; i < n; i++) v.push_back(low + static_cast<int>(rng() % 256));
  return fmt::format("[{}]", fmt::join(v, ", "));
}
std::string numbers(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<double> v;
  for (size_t i = 0; i < n; i++) v.push_back(0.001 * static_cast<double>(1 + rng() % 100));
  return fmt::format("[{}]", fmt::join(v, ", "));
}

// Returns a linear layer in the form of dynamic quantisers, from 9 to 70 columns.
std::string linear(const std::string& type, const std::string& scale, const std::string& tail) {
  return fmt::format(R"(
    input %x : f32[2,3,9]
    const %w : {0}[9,70] = {1}
    const %wz : {0}[] = {2}
    const %ws : f32[{3}] = {4}
    const %bias : f32[70] = {5}
    %q, %s, %z = DynamicQuantizeLinear(%x)
    %p = MatMulInteger(%q, %w, %z, %wz)
    %c = Cast(%p) {{to = 1}}
    %f = Mul(%s, %ws)
    {6}
  )",
                     type, bytes(9 * 70, type == "s8" ? -128 : 0, 1), type == "s8" ? 0 : 128, scale,
                     scale.empty() ? "0.01" : numbers(70, 2), numbers(70, 3), tail);
}

TEST(ScaledProducts, SumsScalesAndBiasAreOneOperator) {
  const std::string fused = "DynamicQuantizeLinear poprt.ScaledMatMulInteger";
  for (const char* type : {"s8", "u8"})
    for (const char* scale : {"", "70"}) {
      expect_ops({"scaled_products"}, linear(type, scale, "%y = Mul(%c, %f)\noutput %y"), fused);
      expect_ops({"scaled_products"},
                 linear(type, scale, "%m = Mul(%f, %c)\n%y = Add(%bias, %m)\noutput %y"), fused);
    }
}

TEST(ScaledProducts, KeepsValuesWithOtherReaders) {
  expect_ops({"scaled_products"},
             linear("s8", "", "%y = Mul(%c, %f)\noutput %y\n%n = Neg(%c)\noutput %n"),
             "DynamicQuantizeLinear MatMulInteger Cast Mul Mul Neg");
  expect_ops({"scaled_products"}, linear("s8", "", "%m = Mul(%c, %f)\n%y = Add(%m, %m)\noutput %y"),
             "DynamicQuantizeLinear poprt.ScaledMatMulInteger Add");
}

TEST(ScaledProducts, WeightsWithAZeroPointStay) {
  std::string text = linear("u8", "", "%y = Mul(%c, %f)\noutput %y");
  const std::string zero = "%wz : u8[] = 128";
  text.replace(text.find(zero), zero.size(), "%wz : u8[] = 127");
  expect_unchanged({"scaled_products"}, text);
}

}  // namespace
}  // namespace poprt::test
