// The options of poprt_compiler_estimate_file that are fields of poprt_compile_options.
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "capi/onnx_bytes.h"

namespace {

using poprt::test::message_for;
using poprt::test::onnx;

class Estimates : public testing::Test {
 protected:
  Estimates() {
    char pattern[] = "/tmp/poprt_estimates_XXXXXX";
    folder = ::mkdtemp(pattern);
    options.struct_size = sizeof options;
    write("product", onnx({{"MatMul", {"x", "w"}, "y"}},
                          {{"x", 1, {96, 120}}, {"w", 1, {120, 120}}}, {{"y", 1, {96, 120}}}));
    write("declared", onnx({{"Relu", {"x"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 1, {9, 9}}}));
  }
  ~Estimates() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return folder + "/" + name + ".onnx"; }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  // Returns "ok" or the error; `cycles` has those of the last estimate.
  std::string estimate(const std::string& name) {
    poprt_compiler* compiler = nullptr;
    poprt_estimate* made = nullptr;
    std::string message = message_for(poprt_compiler_create(&options, &compiler));
    if (message == "ok")
      message = message_for(poprt_compiler_estimate_file(compiler, path(name).c_str(), &made));
    if (made) cycles = poprt_estimate_cycles(made);
    poprt_estimate_free(made);
    poprt_compiler_free(compiler);
    return message;
  }
  int64_t cycles_of(poprt_precision field, const char* named) {
    poprt_option option{"precision", named};
    options.precision = field;
    options.options = &option;
    options.option_count = named ? 1 : 0;
    EXPECT_EQ(estimate("product"), "ok");
    return cycles;
  }

  std::string folder;
  poprt_compile_options options{};
  int64_t cycles = 0;
};

TEST_F(Estimates, ThePrecisionIsAFieldOrAName) {
  const int64_t half = cycles_of(POPRT_PRECISION_FP16, nullptr);
  const int64_t single = cycles_of(POPRT_PRECISION_FP32, nullptr);
  EXPECT_LT(half, single);
  EXPECT_EQ(half, cycles_of(POPRT_PRECISION_KEEP, "fp16"));
  EXPECT_EQ(single, cycles_of(POPRT_PRECISION_KEEP, "fp32"));
  EXPECT_EQ(single, cycles_of(POPRT_PRECISION_KEEP, nullptr)) << "the model has f32";
}

TEST_F(Estimates, ShapesAndThePrecisionMayBothBeNamed) {
  write("open", onnx({{"MatMul", {"x", "w"}, "y"}}, {{"x", 1, {-1, 120}}, {"w", 1, {120, 120}}},
                     {{"y", 1, {-1, 120}}}));
  const auto cycles_at = [&](const char* shape, const char* precision) {
    const poprt_option named[] = {{"input_shape", shape}, {"precision", precision}};
    options.options = named;
    options.option_count = 2;
    EXPECT_EQ(estimate("open"), "ok");
    return cycles;
  };
  const int64_t half = cycles_at("x=96,120", "fp16"), single = cycles_at("x=96,120", "fp32");
  EXPECT_LT(half, single);
  EXPECT_LT(single, cycles_at("x=960,120", "fp32"));
  EXPECT_EQ(half, cycles_of(POPRT_PRECISION_FP16, nullptr));
}

TEST_F(Estimates, TheCallerCanStopThem) {
  options.stop = [](void*) { return 1; };
  EXPECT_EQ(estimate("product"), "cancelled: the estimate was stopped by its caller");
}

// The file of the weights may be missing, but not a link.
TEST_F(Estimates, FilesOfWeightsAreNoLinksUnlessAllowed) {
  write("weights", onnx({{"MatMul", {"x", "w"}, "y"}}, {{"x", 1, {96, 120}}}, {{"y", 1, {96, 120}}},
                        poprt::test::external("w", {120, 120}, "w.bin")));
  EXPECT_EQ(estimate("weights"), "ok");
  std::ofstream(folder + "/w.bin") << std::string(120 * 120 * 4, '\0');
  EXPECT_EQ(estimate("weights"), "ok");
  const int64_t known = cycles;
  std::filesystem::create_hard_link(folder + "/w.bin", folder + "/link");
  EXPECT_NE(estimate("weights").find("links are refused without `allow_links`"), std::string::npos);
  options.allow_links = 1;
  EXPECT_EQ(estimate("weights"), "ok");
  EXPECT_EQ(cycles, known);
}

TEST_F(Estimates, StrictRefusesADeclaredShapeThatContradictsTheInferredOne) {
  EXPECT_EQ(estimate("declared"), "ok");
  options.strict = 1;
  EXPECT_NE(estimate("declared").find("[9,9]"), std::string::npos);
}

}  // namespace
