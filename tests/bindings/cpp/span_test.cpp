// The addition of C++20 to the C++17 wrapper: spans of the standard library.
#include <gtest/gtest.h>

#include <numeric>
#include <poprt/poprt.hpp>
#include <span>

namespace {

using poprt::runtime::Span;

static_assert(std::is_convertible_v<Span<float>, std::span<float>>);
static_assert(std::is_convertible_v<Span<float>&, std::span<const float>>);
static_assert(std::is_convertible_v<const Span<float>&, std::span<float>>);
static_assert(!std::is_convertible_v<Span<const float>, std::span<float>>);

TEST(span, outputs_convert_also_as_temporaries) {
  poprt::compiler::CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  poprt::runtime::ModelRunner runner(
      poprt::compiler::Compiler::compile(DATA "/affine.onnx", {}, options));
  std::vector<float> x(8);
  std::iota(x.begin(), x.end(), 0.0f);
  const auto out = poprt::runtime::run(runner, {{"x", x, {2, 4}}});
  std::span<float> values = out.at("y").as<float>();
  const std::span<const float> constants = out.at("y").as<float>();
  ASSERT_EQ(values.size(), 8u);
  EXPECT_EQ(constants.data(), values.data());
  for (size_t i = 0; i < values.size(); i++) EXPECT_EQ(values[i], 2 * x[i] + 1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
