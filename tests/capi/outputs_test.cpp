// Outputs that the library allocates: those whose size depends on data have only their real
// elements, and NAME:shape, which has their sizes, is removed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poprt/poprt.h>

#include <string>
#include <utility>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

using poprt::test::message_for;
using poprt::test::Node;
using poprt::test::onnx;
using poprt::test::Tensor;

class Outputs : public testing::Test {
 protected:
  ~Outputs() override {
    poprt_outputs_free(outputs);
    poprt_runner_free(runner);
  }

  void open(const std::string& model) { ASSERT_EQ(poprt::test::open_runner(model, &runner), "ok"); }

  // "name dtype [d,d] value value ..." of each output.
  std::vector<std::string> shown() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < poprt_outputs_count(outputs); i++) {
      const poprt_tensor& t = *poprt_outputs_at(outputs, i);
      std::string text = std::string(t.name) + " " + poprt_dtype_name(t.dtype) + " [";
      size_t count = 1;
      for (size_t d = 0; d < t.rank; d++) {
        text += (d ? "," : "") + std::to_string(t.shape[d]);
        count *= static_cast<size_t>(t.shape[d]);
      }
      text += "]";
      EXPECT_EQ(t.bytes * 8, count * static_cast<size_t>(poprt_dtype_bits(t.dtype))) << text;
      for (size_t k = 0; k < count; k++)
        text += " " + std::to_string(t.dtype == POPRT_DTYPE_F32
                                         ? static_cast<int64_t>(static_cast<float*>(t.data)[k])
                                         : static_cast<int64_t*>(t.data)[k]);
      all.push_back(text);
    }
    return all;
  }

  std::vector<std::string> run(std::vector<float> x, std::vector<int64_t> shape) {
    poprt_outputs_free(outputs);
    outputs = nullptr;
    const poprt_tensor in = {"x",          0,           x.data(), x.size() * 4, POPRT_DTYPE_F32, 0,
                             shape.data(), shape.size()};
    const std::string answer = message_for(poprt_runner_run(runner, &in, 1, &outputs));
    if (answer != "ok") return {answer};
    return shown();
  }

  poprt_runner* runner = nullptr;
  poprt_outputs* outputs = nullptr;
};

bool is_sanitized() {
  const auto loaded = [](const char* name) { return dlsym(RTLD_DEFAULT, name) != nullptr; };
  return loaded("__asan_init") || loaded("__tsan_init");
}

const Tensor kX = {"x", 1, {2, 3}};

TEST_F(Outputs, AMessageNamesTheOutputThatHasNoMemory) {
  if (is_sanitized()) GTEST_SKIP() << "a sanitizer ends the process";
  ASSERT_NO_FATAL_FAILURE(open(onnx({{"Neg", {"x"}, "y"}}, {kX}, {{"y", 1, {2, 3}}})));
  float x[6] = {};
  const int64_t shape[] = {int64_t{1} << 40, 3};
  const poprt_tensor in = {"x", 0, x, 0, POPRT_DTYPE_F32, 0, shape, 2};
  EXPECT_EQ(message_for(poprt_runner_run(runner, &in, 1, &outputs)),
            "resource_exhausted: output 'y': there is no memory for f32[1099511627776,3], "
            "13194139533312 bytes");
}

TEST_F(Outputs, CropsOutputsToTheirRealSize) {
  ASSERT_NO_FATAL_FAILURE(open(onnx({{"NonZero", {"x"}, "n"}, {"Neg", {"x"}, "y"}}, {kX},
                                    {{"n", 7, {2, 6}}, {"y", 1, {2, 3}}})));
  const std::string y = "y f32 [2,3] ";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(run({1, 0, 0, 2, 3, 4}, {2, 3}),
            (Texts{"n s64 [2,4] 0 1 1 1 0 0 1 2", y + "-1 0 0 -2 -3 -4"}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 5}, {2, 3}), (Texts{"n s64 [2,1] 1 2", y + "0 0 0 0 0 -5"}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0}, {2, 3}), (Texts{"n s64 [2,0]", y + "0 0 0 0 0 0"}));
  EXPECT_EQ(run({1, 1, 1, 1, 1, 1}, {2, 3}),
            (Texts{"n s64 [2,6] 0 0 0 1 1 1 0 1 2 0 1 2", y + "-1 -1 -1 -1 -1 -1"}));
  // A run of several batches has sizes for each, so outputs are not cropped.
  const auto two = run({1, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0, 5}, {4, 3});
  ASSERT_EQ(two.size(), 3U);
  EXPECT_TRUE(two[0].starts_with("n s64 [4,6] 0 1 1 1 ")) << two[0];
  EXPECT_EQ(two[2], "n:shape s64 [4] 2 4 2 1");
  EXPECT_EQ(two[1], "y f32 [4,3] -1 0 0 -2 -3 -4 0 0 0 0 0 -5");
}

TEST_F(Outputs, EveryDimensionIsCutToItsSize) {
  ASSERT_NO_FATAL_FAILURE(open(onnx({{"NonZero", {"x"}, "n"}, {"Gather", {"x", "n"}, "y"}},
                                    {{"x", 1, {3, 3}}}, {{"n", 7, {2, 9}}, {"y", 1, {2, 9, 3}}})));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(run({1, 0, 0, 0, 2, 0, 0, 0, 0}, {3, 3}),
            (Texts{"n s64 [2,2] 0 1 0 1", "y f32 [2,2,3] 1 0 0 0 2 0 1 0 0 0 2 0"}));
  EXPECT_EQ(run({0, 0, 0, 0, 0, 0, 0, 0, 0}, {3, 3}), (Texts{"n s64 [2,0]", "y f32 [2,0,3]"}));
}

// An output with the name of a shape that is not a list of sizes is an ordinary output.
TEST_F(Outputs, KeepsOutputsThatOnlyHaveTheNameOfAShape) {
  const auto named = [&](const Node& node, const Tensor& made) {
    open(onnx({{"Neg", {"x"}, "y"}, node}, {kX}, {{"y", 1, {2, 3}}, made}));
    return run({1, 2, 3, 4, 5, 6}, {2, 3});
  };
  using Texts = std::vector<std::string>;
  const std::string y = "y f32 [2,3] -1 -2 -3 -4 -5 -6";
  EXPECT_EQ(named({"Neg", {"x"}, "y:shape"}, {"y:shape", 1, {2, 3}}),
            (Texts{y, "y:shape f32 [2,3] -1 -2 -3 -4 -5 -6"}));
  poprt_runner_free(std::exchange(runner, nullptr));
  EXPECT_EQ(named({"Size", {"x"}, "y:shape"}, {"y:shape", 7, {}}), (Texts{y, "y:shape s64 [] 6"}));
  poprt_runner_free(std::exchange(runner, nullptr));
  // The output is removed even if the size is that of the whole output.
  EXPECT_EQ(named({"Shape", {"x"}, "y:shape"}, {"y:shape", 7, {2}}), Texts{y});
  poprt_runner_free(std::exchange(runner, nullptr));
  EXPECT_EQ(named({"Shape", {"x"}, "z:shape"}, {"z:shape", 7, {2}}),
            (Texts{y, "z:shape s64 [2] 2 3"}));
}

}  // namespace
