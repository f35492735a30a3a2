#include <cmath>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kQuantizedModel = R"(
  input %x : f32[3,4]
  const %w : f32[4,2] = [0.5, -4.0, 0.25, 2.0, -1.0, 1.0, 0.125, 0.0]
  %y = MatMul(%x, %w)
  output %y
)";

void run_int8(ir::Graph& graph, const passes::PrecisionParameters& parameters) {
  passes::PassManagerOptions options;
  options.precision = parameters;
  const passes::PassDef* list[] = {&passes::pass_of("float_to_int8")};
  passes::run_passes(graph, list, options);
}

TEST(FloatToInt8, StoresBytesWithAScaleForEachColumn) {
  const auto graph = parsed(kQuantizedModel);
  const auto original = parsed(kQuantizedModel);
  run(*graph, {"float_to_int8"});
  EXPECT_EQ(ops_of(*graph), "Cast Mul MatMul");
  EXPECT_EQ(graph->find("w"), nullptr);
  EXPECT_EQ(graph->find("w_int8")->dtype(), DType::s8);
  // The largest magnitudes of the columns, 1 and 4, become 127.
  EXPECT_EQ(graph->find("w_int8")->constant().to_int64s(),
            (std::vector<int64_t>{64, -127, 32, 64, -127, 32, 16, 0}));
  const std::vector<double> scales = graph->find("w_scale")->constant().to_doubles();
  EXPECT_NEAR(scales[0], 1 / 127.0, 1e-7);
  EXPECT_NEAR(scales[1], 4 / 127.0, 1e-7);
  expect_same_results(*original, *graph, 0.02);
}

TEST(FloatToInt8, OfConvolutionsScalesChannels) {
  constexpr const char* kConv = R"(
    input %x : f32[1,2,4,4]
    const %w : f32[3,2,3,3] = fill 0.3
    %y = Conv(%x, %w)
    output %y
  )";
  const auto graph = expect_ops({"float_to_int8"}, kConv, "Cast Mul Conv");
  EXPECT_EQ(graph->find("w_scale")->shape(), (Shape{3, 1, 1, 1}));
}

TEST(FloatToInt8, UsesGivenValuesOffsetsAndScales) {
  const auto graph = parsed(kQuantizedModel), reference = parsed(kQuantizedModel);
  passes::PrecisionParameters p;
  p.int8_offset_scale["w"] = {Tensor::of<int8_t>({4, 2}, {1, 2, 3, 4, -5, 6, 7, -128}),
                              Tensor::of<float>({2}, {0.5f, -3.0f}), Tensor::scalar(0.25f)};
  run_int8(*graph, p);
  EXPECT_EQ(ops_of(*graph), "Cast Sub Mul MatMul");
  std::vector<float> values;
  for (const int q : {1, 2, 3, 4, -5, 6, 7, -128}) {
    const float offset = values.size() % 2 ? -3.0f : 0.5f;
    values.push_back((static_cast<float>(q) - offset) * 0.25f);
  }
  reference->find("w")->set_constant(Tensor::of<float>({4, 2}, values));
  expect_same_results(*reference, *graph, 1e-6);
}

TEST(FloatToInt8, RefusesMismatchedValuesAndScales) {
  for (const auto& [value, scale] :
       {std::pair(Tensor::zeros(DType::s8, {2, 4}), Tensor::scalar(1.0f)),
        std::pair(Tensor::zeros(DType::u8, {4, 2}), Tensor::scalar(1.0f)),
        std::pair(Tensor::zeros(DType::s8, {4, 2}), Tensor::zeros(DType::f32, {3}))}) {
    const auto graph = parsed(kQuantizedModel);
    passes::PrecisionParameters p;
    p.int8_offset_scale["w"] = {value, Tensor::scalar(0.0f), scale};
    try {
      run_int8(*graph, p);
      ADD_FAILURE() << "taken";
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("'w' is"), std::string::npos) << e.message();
    }
  }
}

TEST(FloatToInt8, LeavesNodesWithoutAConstantWeight) {
  expect_unchanged({"float_to_int8"},
                   "input %x : f32[3,4]\ninput %w : f32[4,2]\n%y = MatMul(%x, %w)\noutput %y");
}

}  // namespace
}  // namespace poprt::test
