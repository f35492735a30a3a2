// Runners with faithful numerics compute the model that an executable contains, which must have the
// inputs and outputs of the program. Blobs of the caller replace the one of the compiler.
#include <gtest/gtest.h>
#include <poprt/poprt.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

using poprt::test::identity;
using poprt::test::message_for;
using poprt::test::Node;
using poprt::test::onnx;
using poprt::test::Tensor;

class FaithfulRunner : public testing::Test {
 protected:
  ~FaithfulRunner() override {
    poprt_runner_free(runner);
    poprt_executable_free(executable);
  }

  // Compiles `model` and makes a runner. If `kept` is not null, it replaces the model that the
  // compiler would keep (blob poprt.faithful). Returns "ok" or the message.
  std::string open(const std::string& model, const std::string* kept, const char* numerics) {
    poprt_runner_free(runner);
    poprt_executable_free(executable);
    runner = nullptr;
    executable = nullptr;
    poprt_compile_options options = {};
    options.struct_size = sizeof options;
    const poprt_option faithful = {"numerics", "faithful"};
    options.options = &faithful;
    options.option_count = 1;
    poprt_opaque_blob blob = {};
    if (kept) {
      blob = {"poprt.faithful", kept->data(), kept->size()};
      options.opaque_blobs = &blob;
      options.opaque_blob_count = 1;
    }
    poprt_compiler* compiler = nullptr;
    std::string text = message_for(poprt_compiler_create(&options, &compiler));
    if (text == "ok")
      text = message_for(
          poprt_compiler_compile_bytes(compiler, model.data(), model.size(), nullptr, &executable));
    poprt_compiler_free(compiler);
    if (text != "ok") return "compile: " + text;
    poprt_runner_options run = {};
    run.struct_size = sizeof run;
    run.numerics = numerics;
    return message_for(poprt_runner_create(executable, &run, &runner));
  }

  poprt_executable* executable = nullptr;
  poprt_runner* runner = nullptr;
};

const Tensor kX = {"x", 1, {2, 3}}, kY = {"y", 1, {2, 3}};
constexpr const char* kSuch = ": such a model has no faithful numerics";

TEST_F(FaithfulRunner, TheKeptModelHasTheAnchorsOfTheProgram) {
  const std::string model = identity(kX, kY);
  const auto with = [&](const std::string& kept) { return open(model, &kept, "faithful"); };
  const std::string input =
      "failed_precondition: executable 'model': input 'x' of the program is f32[2,3], the stored "
      "model ";
  const std::string output =
      "failed_precondition: executable 'model': output 'y' of the program is f32[2,3], the stored "
      "model ";
  EXPECT_EQ(open(model, nullptr, "faithful"), "ok");
  EXPECT_EQ(with(model), "ok");
  EXPECT_EQ(with(identity({"a", 1, {2, 3}}, kY)), input + "has none" + kSuch);
  EXPECT_EQ(with(identity(kX, {"b", 1, {2, 3}})), output + "has none" + kSuch);
  EXPECT_EQ(with(identity({"x", 1, {3, 3}}, {"y", 1, {3, 3}})), input + "has f32[3,3]" + kSuch);
  EXPECT_EQ(with(identity({"x", 10, {2, 3}}, {"y", 10, {2, 3}})), input + "has f16[2,3]" + kSuch);
  // Values inside of the model have these names, but are no inputs or outputs.
  const Tensor a = {"a", 1, {2, 3}}, b = {"b", 1, {2, 3}};
  EXPECT_EQ(with(onnx({{"Neg", {"a"}, "x"}, {"Neg", {"x"}, "y"}}, {a}, {kY})),
            input + "has none" + kSuch);
  EXPECT_EQ(with(onnx({{"Neg", {"x"}, "y"}, {"Neg", {"y"}, "b"}}, {kX}, {b})),
            output + "has none" + kSuch);
  // Additional inputs and outputs of the model have no effect.
  EXPECT_EQ(with(onnx({{"Neg", {"x"}, "y"}, {"Neg", {"a"}, "b"}}, {a, kX}, {b, kY})), "ok");
  EXPECT_NE(with("no model").find("not an ONNX model"), std::string::npos);
}

TEST_F(FaithfulRunner, ComputesTheKeptModel) {
  const std::string model = identity(kX, kY);
  const std::string kept = onnx({{"Neg", {"x"}, "y"}}, {kX}, {kY});
  const float x[] = {1, -2, 3, 4, 5, -6};
  for (const char* numerics : {"fast", "faithful", "saturating"}) {
    ASSERT_EQ(open(model, &kept, numerics), "ok");
    float y[6] = {};
    const void* inputs[] = {x};
    void* outputs[] = {y};
    for (int run = 0; run < 2; run++) {
      ASSERT_EQ(message_for(poprt_runner_execute_indexed(runner, inputs, outputs)), "ok");
      for (int i = 0; i < 6; i++)
        EXPECT_EQ(y[i], numerics == std::string("fast") ? x[i] : -x[i]) << numerics;
    }
  }
  for (const std::string wrong : {"other", "faithful:", "faithful:x", "fast:1", "faithful:-1",
                                  "faithful:18446744073709551616", "faithful:1:2"})
    EXPECT_EQ(open(model, nullptr, wrong.c_str()),
              "invalid_argument: numerics: expected fast, faithful or saturating, or "
              "faithful:SEED or saturating:SEED for stochastic rounding, found '" +
                  wrong + "'");
  EXPECT_EQ(open(model, nullptr, ""), "ok");
}

// 60000 + 60000 is beyond the range of f16: the chip gives NaN, unless it saturates.
TEST_F(FaithfulRunner, OverflowIsThatOfTheNumerics) {
  const Tensor x = {"x", 10, {2}}, y = {"y", 10, {2}};
  const std::string model = onnx({{"Add", {"x", "x"}, "y"}}, {x}, {y});
  const uint16_t halves[] = {0x7b53, 0x3c00};  // 60000, 1
  for (const char* numerics : {"faithful", "saturating"}) {
    ASSERT_EQ(open(model, nullptr, numerics), "ok");
    uint16_t sums[2] = {};
    const void* inputs[] = {halves};
    void* outputs[] = {sums};
    ASSERT_EQ(message_for(poprt_runner_execute_indexed(runner, inputs, outputs)), "ok");
    EXPECT_EQ(sums[1], 0x4000);
    if (numerics == std::string("saturating"))
      EXPECT_EQ(sums[0], 0x7bff);
    else
      EXPECT_GT(sums[0] & 0x7fff, 0x7c00);
  }
}

// 2048 + 0.5 is between the halves 2048 and 2050.
TEST_F(FaithfulRunner, ASeedRoundsStochastically) {
  constexpr int64_t kCount = 64;
  const Tensor x = {"x", 10, {kCount}}, y = {"y", 10, {kCount}}, b = {"b", 10, {kCount}};
  const std::string model = onnx({{"Add", {"x", "b"}, "y"}}, {x, b}, {y});
  const std::vector<uint16_t> large(kCount, 0x6800), half(kCount, 0x3800);
  const auto sums = [&](const char* numerics) {
    std::vector<uint16_t> result(kCount);
    EXPECT_EQ(open(model, nullptr, numerics), "ok");
    const void* inputs[] = {large.data(), half.data()};
    void* outputs[] = {result.data()};
    EXPECT_EQ(message_for(poprt_runner_execute_indexed(runner, inputs, outputs)), "ok");
    return result;
  };
  const auto first = sums("faithful:1");
  int up = 0;
  for (const uint16_t sum : first) {
    EXPECT_TRUE(sum == 0x6800 || sum == 0x6801) << sum;
    up += sum == 0x6801;
  }
  EXPECT_GT(up, 2);
  EXPECT_LT(up, 40);
  EXPECT_EQ(first, sums("faithful:1"));
  EXPECT_EQ(first, sums("saturating:1"));
  EXPECT_NE(first, sums("faithful:2"));
  EXPECT_EQ(sums("faithful"), large);
}

// The interpreter uses no device and has no profile, so options of these are refused.
TEST_F(FaithfulRunner, OptionsOfDevicesDoNotGoWithIt) {
  ASSERT_EQ(open(identity(kX, kY), nullptr, "faithful"), "ok");
  poprt_device_manager* manager = nullptr;
  poprt_device* device = nullptr;
  ASSERT_EQ(message_for(poprt_device_manager_create(nullptr, &manager)), "ok");
  ASSERT_EQ(message_for(poprt_device_manager_create_ipu_model_device(manager, 1, 0, 0, &device)),
            "ok");
  poprt_device_manager_free(manager);
  const poprt_replica_device pin = {0, device};
  const auto with = [&](auto&& set) {
    poprt_runner_options o = {};
    o.struct_size = sizeof o;
    o.numerics = "faithful";
    set(o);
    poprt_runner_free(std::exchange(runner, nullptr));
    return message_for(poprt_runner_create(executable, &o, &runner));
  };
  const auto refused = [](const std::string& other) {
    return "invalid_argument: `numerics` faithful and `" + other +
           "` exclude each other: an interpreter computes the model, one run after the other, "
           "without a shared device";
  };
  EXPECT_EQ(with([&](auto& o) { o.device = device; }), refused("device"));
  EXPECT_EQ(with([&](auto& o) { o.replica_devices = &pin, o.replica_device_count = 1; }),
            refused("replica_devices"));
  EXPECT_EQ(with([](auto& o) { o.replication_factor = 2; }), refused("replication_factor"));
  EXPECT_EQ(with([](auto& o) { o.profile = 1; }), refused("profile"));
  EXPECT_EQ(with([](auto& o) { o.replication_factor = 1; }), "ok");
  EXPECT_EQ(with([](auto& o) { o.profile = 1, o.numerics = "fast"; }), "ok");
  EXPECT_EQ(with([](auto& o) { o.profile = 1, o.numerics = nullptr; }), "ok");
  poprt_device_free(device);
}

// If the kept model has an operator without a faithful kernel, no runner is created.
TEST_F(FaithfulRunner, RefusesAnOperatorWithoutAFaithfulKernel) {
  const std::string kept = onnx({{"Neg", {"x"}, "h"}, {"Nobody", {"h"}, "y"}}, {kX}, {kY});
  EXPECT_NE(open(identity(kX, kY), &kept, "faithful").find("Nobody"), std::string::npos);
}

}  // namespace
