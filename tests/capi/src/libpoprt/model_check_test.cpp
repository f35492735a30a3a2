// The check is given a wrong converted model that is made by hand.
#include "libpoprt/model_check.h"

#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "capi/onnx_bytes.h"
#include "runtime/session/popef_file.h"

namespace poprt::capi {
namespace {

using test::message_for;
using test::Node;
using test::onnx;
// Numbers of types in ONNX.
constexpr int kF32 = 1, kS64 = 7;
using Named = test::Tensor;

class ModelCheck : public testing::Test {
 protected:
  // Compiles the model with default options and opens the file.
  std::shared_ptr<const runtime::Model> compiled(const std::string& model) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      ("model_check_" + std::to_string(getpid()) + ".popef");
    poprt_compiler* compiler = nullptr;
    poprt_executable* executable = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(nullptr, &compiler)), "ok");
    EXPECT_EQ(message_for(poprt_compiler_compile_bytes(compiler, model.data(), model.size(),
                                                       nullptr, &executable)),
              "ok");
    EXPECT_EQ(message_for(poprt_executable_save(executable, path.c_str())), "ok");
    poprt_compiler_free(compiler);
    poprt_executable_free(executable);
    auto opened = runtime::open_popef(path);
    std::filesystem::remove(path);
    return opened;
  }

  // Returns the report of the check, or the error with its code.
  std::string checked(const std::string& original, const std::string& converted,
                      const Tolerance& tolerance = kExact, std::vector<std::string> inner = {}) {
    try {
      return check_same_results({compiled(original), compiled(converted), std::move(inner)},
                                tolerance, {});
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  // Both models read these; `z` has the largest shape that NonZero of `x` can have.
  const std::vector<Named> inputs = {{"x", kF32, {1, 4}}, {"z", kS64, {2, 4}}};
};

TEST_F(ModelCheck, ASizeThatBecameItsBoundIsFound) {
  const std::string right =
      onnx({{"NonZero", {"x"}, "n"}, {"Shape", {"n"}, "y"}, {"Identity", {"z"}, "w"}}, inputs,
           {{"y", kS64, {2}}, {"w", kS64, {2, 4}}});
  const std::string wrong = onnx({{"Shape", {"z"}, "y"}, {"Identity", {"z"}, "w"}}, inputs,
                                 {{"y", kS64, {2}}, {"w", kS64, {2, 4}}});
  const std::string found = checked(right, wrong);
  EXPECT_TRUE(contains(found,
                       "`check`: output 'y' of the converted model differs in 1 of 2 elements, "
                       "most at [1]: 0 in the original, 4 in the converted model (inputs: zeros)"))
      << found;
  EXPECT_TRUE(contains(found, "no converted model is written")) << found;
  EXPECT_TRUE(contains(checked(right, right), "the outputs are those of the original"));
}

TEST_F(ModelCheck, AnOutputThatBecameAsLargeAsItsBoundIsFound) {
  const std::vector<Named> outputs = {{"y", kS64, {2, 4}}, {"w", kS64, {2, 4}}};
  const std::string right = onnx({{"NonZero", {"x"}, "y"}, {"Identity", {"z"}, "w"}}, inputs,
                                 {{"y", kS64, {2, -1}}, {"w", kS64, {2, 4}}});
  const std::string wrong = onnx({{"Identity", {"z"}, "y"}, {"Abs", {"z"}, "w"}}, inputs, outputs);
  const std::string found = checked(right, wrong, kQuarter);
  EXPECT_TRUE(contains(found,
                       "data_loss: `check`: output 'y' has the size [2,0] in the original "
                       "and [2,4] in the converted model (inputs: zeros)"))
      << found;
}

TEST_F(ModelCheck, SizesOfOutputsAndInsideAreReported) {
  const std::vector<Named> in = {{"x", kF32, {1, 4}}};
  const auto text = [&](const std::string& found) {
    const nlohmann::json json = try_parse_json(found);
    std::string lines;
    for (const auto& line : json["text"]) lines += line.get<std::string>() + "\n";
    return lines;
  };
  const std::string model = onnx({{"NonZero", {"x"}, "y"}}, in, {{"y", kS64, {2, -1}}});
  const std::string whole = text(checked(model, model));
  EXPECT_TRUE(contains(whole, "size of 'y': at most [2,4]; zero: [2,0] with zeros; between: "))
      << whole;
  EXPECT_TRUE(contains(whole, "; the bound: [2,4] with random")) << whole;
  EXPECT_TRUE(contains(whole, "no elements: 'y' with zeros")) << whole;
  // A result inside of the original is an output there, and its size is reported, not compared.
  const std::string inside = onnx({{"NonZero", {"x"}, "n"}, {"Shape", {"n"}, "y"}}, in,
                                  {{"y", kS64, {2}}, {"n", kS64, {2, -1}}});
  const std::string converted =
      onnx({{"NonZero", {"x"}, "n"}, {"Shape", {"n"}, "y"}}, in, {{"y", kS64, {2}}});
  EXPECT_TRUE(contains(text(checked(inside, converted, kExact, {"n"})),
                       "size of 'n': at most [2,4]; zero: [2,0] with zeros; between: "));
  EXPECT_TRUE(contains(checked(inside, converted), "the converted model has no output 'n'"));
}

TEST_F(ModelCheck, ADifferenceIsReportedWithItsPlaceToleranceAndInputs) {
  const std::vector<Named> in = {{"x", kF32, {2, 3}}};
  const std::vector<Named> out = {{"y", kF32, {2, 3}}};
  const std::string relu = onnx({{"Relu", {"x"}, "y"}}, in, out);
  const std::string abs = onnx({{"Abs", {"x"}, "y"}}, in, out);
  const std::string found = checked(relu, abs);
  for (const char* part :
       {"output 'y' of the converted model differs in ",
        "largest absolute difference: ", " in 'y' at [", "(inputs: ", "tolerance: fp32: 0.1 %"})
    EXPECT_TRUE(contains(found, part)) << found;
}

TEST_F(ModelCheck, AnInputThatOnlyTheConvertedModelHasIsRefused) {
  const std::string one = onnx({{"Relu", {"x"}, "y"}}, {{"x", kF32, {2}}}, {{"y", kF32, {2}}});
  const std::string two = onnx({{"Relu", {"x"}, "a"}, {"Add", {"a", "b"}, "y"}},
                               {{"x", kF32, {2}}, {"b", kF32, {2}}}, {{"y", kF32, {2}}});
  EXPECT_TRUE(
      contains(checked(one, two), "failed_precondition: the converted model has input 'b'"));
}

TEST_F(ModelCheck, InputsAreFoundByTheirNames) {
  const Named a = {"a", kF32, {8}}, b = {"b", kF32, {8}}, y = {"y", kF32, {8}};
  const std::vector<Node> sub = {{"Sub", {"a", "b"}, "y"}};
  EXPECT_TRUE(contains(checked(onnx(sub, {a, b}, {y}), onnx(sub, {b, a}, {y})),
                       "the outputs are those of the original"));
}

TEST_F(ModelCheck, ThePrecisionChoosesTheTolerance) {
  const auto floats =
      compiled(onnx({{"Relu", {"x"}, "y"}}, {{"x", kF32, {2}}}, {{"y", kF32, {2}}}));
  const auto halves = compiled(onnx({{"Relu", {"x"}, "y"}}, {{"x", 10, {2}}}, {{"y", 10, {2}}}));
  EXPECT_EQ(tolerance_of("", *floats).precision, "fp32");
  EXPECT_EQ(tolerance_of("", *halves).precision, "fp16");
  EXPECT_EQ(tolerance_of("fp16", *floats).precision, "fp16");
  EXPECT_EQ(tolerance_of("fp8", *floats).precision, "fp8");
  EXPECT_EQ(tolerance_of("bf16", *floats).precision, "bf16");
  EXPECT_EQ(tolerance_of("fp8_weight", *halves).precision, "fp8");
  EXPECT_EQ(tolerance_of("fp16", *halves, true).precision, "int8");
  EXPECT_EQ(tolerance_of("bf16", *floats, true).precision, "int8");
  EXPECT_EQ(tolerance_of("", *floats, true).precision, "fp32");
}

TEST_F(ModelCheck, LayersOfRunTimeSizeAreCompared) {
  const std::vector<Named> in = {{"x", kF32, {1, 4}}};
  const std::string model = onnx({{"NonZero", {"x"}, "y"}}, in, {{"y", kS64, {2, -1}}});
  const auto same = compiled(model);
  const std::string log = compare_layers({{"MatMul", "y"}}, {same, same, {}}, kExact, {});
  EXPECT_TRUE(contains(log, "the results of all layers are those of the original\n")) << log;
  EXPECT_TRUE(contains(log, "size of 'y': at most [2,4]; zero: [2,0] with zeros;")) << log;
  EXPECT_TRUE(contains(log, "MatMul y: MSE 0 MAE 0")) << log;
  const std::string other =
      onnx({{"Relu", {"x"}, "r"}, {"NonZero", {"r"}, "y"}}, in, {{"y", kS64, {2, -1}}});
  const std::string unlike =
      compare_layers({{"MatMul", "y"}}, {same, compiled(other), {}}, kExact, {});
  EXPECT_TRUE(contains(unlike,
                       "outside the tolerance of check: output 'y' has the size [2,4] in "
                       "the original and [2,"))
      << unlike;
  EXPECT_TRUE(contains(unlike, "MatMul y: the size is [2,4] in the original and [2,")) << unlike;
}

}  // namespace
}  // namespace poprt::capi
