// Typed tensors and runs that make their outputs, as a user of C++17 writes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "poprt/poprt.hpp"

namespace {

using poprt::runtime::run;
using poprt::runtime::Runner;
using poprt::runtime::TypedTensor;

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const poprt::Error& e) {
    return e.what();
  }
  return "";
}

TEST(Run, MakesTypedOutputs) {
  const Runner runner(MODELS "/relu.onnx");
  const auto shape = runner.getExecuteInputs()[0].shape;
  const std::string name = runner.getExecuteInputs()[0].name;
  ASSERT_EQ(shape.size(), 2U);
  const int64_t rows = 3 * shape[0], columns = shape[1];
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) - 4;
  const auto outputs = run(runner, {{name, x, {rows, columns}}});
  const auto y = outputs.at(outputs[0].name).as<float>();
  EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{rows, columns}));
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); i++) EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0);
  EXPECT_NE(message_of([&] { outputs[0].as<int32_t>(); }).find("requested s32"), std::string::npos);
  EXPECT_NE(message_of([&] { outputs.at("z"); }).find("there is no output 'z'"), std::string::npos);
}

TEST(Run, CropsPaddingFromOutputs) {
  const Runner runner(MODELS "/nonzero.onnx");
  const std::vector<float> x = {0, 1, 0, 0, 0, 2};
  const auto outputs = run(runner, {{"x", x, {2, 3}}});
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{2, 2}));
  const auto at = outputs[0].as<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(at.begin(), at.end()), (std::vector<int64_t>{0, 1, 1, 2}));
}

TEST(Run, ChecksTypesShapesAndSizes) {
  const Runner runner(MODELS "/relu.onnx");
  const auto in = runner.getExecuteInputs()[0];
  const std::vector<float> x(64);
  const std::vector<double> d(64);
  const auto message_for = [&](const TypedTensor& t) {
    return message_of([&] { run(runner, {t}); });
  };
  EXPECT_NE(message_for({in.name, x.data(), {in.shape[1] + 1, in.shape[0]}}).find("expected f32["),
            std::string::npos);
  EXPECT_NE(message_for({in.name, d.data(), in.shape}).find("given f64["), std::string::npos);
  EXPECT_NE(message_for({in.name, x, in.shape}).find("given 256 bytes"), std::string::npos);
}

TEST(Run, AnEmptyRangeHasNoElements) {
  const Runner runner(MODELS "/relu.onnx");
  const auto in = runner.getExecuteInputs()[0];
  std::vector<float> none;
  none.reserve(64);  // data() is not null
  EXPECT_EQ(message_of([&] { run(runner, {TypedTensor(in.name, none, in.shape)}); }),
            "input '" + in.name + "': the range is empty, and the shape is not");
}

TEST(Run, AnInputIsMissing) {
  const Runner runner(MODELS "/relu.onnx");
  EXPECT_EQ(message_of([&] { run(runner, {}); }),
            "input '" + runner.getExecuteInputs()[0].name + "' is missing");
}

TEST(Text, ZeroCharactersAreRefused) {
  const std::string zero("x\0y", 3), refused = " contains the character \\0";
  const Runner runner(MODELS "/relu.onnx");
  const std::vector<float> x(6);
  EXPECT_EQ(message_of([&] { run(runner, {TypedTensor(zero, x, {2, 3})}); }),
            "argument 'name'" + refused);
  EXPECT_NE(message_of([&] { Runner(MODELS "/relu.onnx" + std::string("\0", 1)); }).find(refused),
            std::string::npos);
}

TEST(Run, EachTypeOfCppHasItsType) {
  using poprt::runtime::impl::dtypeOf;
  EXPECT_EQ(dtypeOf<float>(), POPRT_DTYPE_F32);
  EXPECT_EQ(dtypeOf<const double>(), POPRT_DTYPE_F64);
  EXPECT_EQ(dtypeOf<bool>(), POPRT_DTYPE_BOOL);
  EXPECT_EQ(dtypeOf<int8_t>(), POPRT_DTYPE_S8);
  EXPECT_EQ(dtypeOf<uint8_t>(), POPRT_DTYPE_U8);
  EXPECT_EQ(dtypeOf<int16_t>(), POPRT_DTYPE_S16);
  EXPECT_EQ(dtypeOf<uint16_t>(), POPRT_DTYPE_U16);
  EXPECT_EQ(dtypeOf<const int32_t>(), POPRT_DTYPE_S32);
  EXPECT_EQ(dtypeOf<uint32_t>(), POPRT_DTYPE_U32);
  EXPECT_EQ(dtypeOf<int64_t>(), POPRT_DTYPE_S64);
  EXPECT_EQ(dtypeOf<const uint64_t>(), POPRT_DTYPE_U64);
  EXPECT_EQ(dtypeOf<std::string>(), POPRT_DTYPE_UNDEFINED);
}

// Types that C++ lacks are given as unsigned integers of their size, and those of less than a byte
// as bytes.
TEST(Run, UnsignedIntegersHoldTypesThatCppLacks) {
  using poprt::runtime::impl::holds;
  const auto is = [](int32_t type, std::initializer_list<int32_t> of) {
    return std::find(of.begin(), of.end(), type) != of.end();
  };
  for (int32_t given = POPRT_DTYPE_F32; given <= POPRT_DTYPE_F8; given++)
    for (int32_t anchor = POPRT_DTYPE_F32; anchor <= POPRT_DTYPE_F8; anchor++) {
      if (anchor == POPRT_DTYPE_STRING) continue;
      const bool words =
          given == POPRT_DTYPE_U16 && is(anchor, {POPRT_DTYPE_F16, POPRT_DTYPE_BF16});
      const bool bytes = given == POPRT_DTYPE_U8 &&
                         ((anchor >= POPRT_DTYPE_F8E4M3FN && anchor <= POPRT_DTYPE_F4E2M1) ||
                          is(anchor, {POPRT_DTYPE_F8E8M0, POPRT_DTYPE_F8}));
      EXPECT_EQ(holds(given, anchor), given == anchor || words || bytes)
          << poprt_dtype_name(given) << " for " << poprt_dtype_name(anchor);
    }
}

TEST(Load, KnowsAModelByItsFirstByte) {
  const std::string path = DATA "/model_without_a_suffix";
  {
    std::ifstream from(MODELS "/relu.onnx", std::ios::binary);
    std::ofstream(path, std::ios::binary) << from.rdbuf();
  }
  const Runner runner(path);
  EXPECT_EQ(runner.getExecuteInputs().size(), 1U);
  EXPECT_NE(message_of([] { const Runner none(DATA "/none"); }).find("none"), std::string::npos);
}

TEST(Load, KnowsBothKindsAndTheModelsMetadata) {
  poprt::compiler::CompilerOptions options;
  options.batchSize = 1;
  const auto digits = poprt::compiler::Compiler::load(DIGITS, options);
  EXPECT_EQ(digits->onnxMetadata().count("producer_name"), 1U);
  EXPECT_EQ(poprt::Executable::load(DATA "/copies.popef").getInputs().size(), 1U);
  EXPECT_EQ(poprt::compiler::Compiler::load(DIGITS)->getInputs()[0].shape[0], -1);
  options.batchSize = 0;
  options.shapes = "fixed";
  EXPECT_NE(message_of([&] {
              poprt::compiler::Compiler::load(DIGITS, options);
            }).find("give inputShape image="),
            std::string::npos);
}

}  // namespace
