// Tensors of a call by name and by position: the messages for tensors that do not fit, word for
// word, and the assignment of many tensors; counters agree with their JSON.
#include <gtest/gtest.h>
#include <poprt/poprt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

using poprt::test::message_for;
using poprt::test::onnx;

class TensorWords : public testing::Test {
 protected:
  ~TensorWords() override { poprt_runner_free(runner); }

  void open(const std::string& model) { ASSERT_EQ(poprt::test::open_runner(model, &runner), "ok"); }

  poprt_runner* runner = nullptr;
};

const int64_t kShape[] = {2, 3};

poprt_tensor tensor(const char* name, size_t index, float* data) {
  return {name, index, data, 24, POPRT_DTYPE_F32, 0, kShape, 2};
}

TEST_F(TensorWords, RefusesMismatchedTensors) {
  ASSERT_NO_FATAL_FAILURE(
      open(onnx({{"Neg", {"x"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 1, {2, 3}}})));
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  const auto with = [&](auto&& change) {
    poprt_tensor in = tensor("x", 0, x), out = tensor("y", 0, y);
    change(in, out);
    std::fill(std::begin(y), std::end(y), 0.F);
    const std::string answer = message_for(poprt_runner_execute_tensors(runner, &in, 1, &out, 1));
    EXPECT_EQ(y[5], answer == "ok" ? -6 : 0) << answer;
    return answer;
  };
  const std::string no = "invalid_argument: ";
  EXPECT_EQ(with([](auto&, auto&) {}), "ok");
  EXPECT_EQ(with([](auto& in, auto& out) { in.bytes = out.bytes = 0; }), "ok")
      << "by type and shape";
  EXPECT_EQ(with([](auto& in, auto& out) { in.name = out.name = nullptr; }), "ok");
  EXPECT_EQ(with([](auto& in, auto&) { in.index = 9; }), "ok") << "the name counts";
  EXPECT_EQ(with([](auto& in, auto&) {
              in.dtype = POPRT_DTYPE_UNDEFINED;
              in.shape = nullptr;
              in.rank = 0;
            }),
            "ok");
  EXPECT_EQ(with([](auto& in, auto&) { in.bytes = 20; }),
            no + "input 'x': f32[2,3] are 24 bytes, given 20 bytes");
  EXPECT_EQ(with([](auto&, auto& out) { out.bytes = 28; }),
            no + "output 'y': f32[2,3] are 24 bytes, given 28 bytes");
  for (const int dtype : {-1, 25, 29, 1000})
    EXPECT_EQ(with([&](auto& in, auto&) { in.dtype = static_cast<poprt_dtype>(dtype); }),
              no + "input 'x': dtype " + std::to_string(dtype) + " has no size");
  EXPECT_EQ(with([](auto& in, auto&) {
              in.dtype = static_cast<poprt_dtype>(-1);
              in.name = nullptr;
            }),
            no + "input 'x': dtype -1 has no size")
      << "by its place";
  EXPECT_EQ(with([](auto& in, auto&) {
              in.dtype = static_cast<poprt_dtype>(-1);
              in.name = nullptr;
              in.index = 1;
            }),
            no + "input '1': dtype -1 has no size");
  const int64_t negative[] = {2, -3};
  EXPECT_EQ(with([&](auto& in, auto&) { in.shape = negative; }),
            no + "input 'x': a dimension is -3");
  EXPECT_EQ(with([](auto& in, auto&) { in.shape = nullptr; }), no + "argument 'shape' is null");
  const int64_t huge[] = {INT64_MAX, INT64_MAX};
  EXPECT_NE(with([&](auto& in, auto&) { in.shape = huge; }).find("overflow"), std::string::npos);
  EXPECT_NE(with([](auto& in, auto&) { in.reserved = 1; }), "ok");
  for (const char* name : {"", "X", "x ", "y"})
    EXPECT_NE(with([&](auto& in, auto&) { in.name = name; }), "ok") << name;
}

TEST_F(TensorWords, ManyTensorsAreBoundByName) {
  constexpr size_t kMany = 19;  // more than fit on the stack
  std::vector<poprt::test::Node> nodes;
  std::vector<poprt::test::Tensor> inputs, outputs;
  for (size_t i = 0; i < kMany; i++) {
    const std::string n = std::to_string(i);
    nodes.push_back({"Neg", {"x" + n}, "y" + n});
    inputs.push_back({"x" + n, 1, {2, 3}});
    outputs.push_back({"y" + n, 1, {2, 3}});
  }
  ASSERT_NO_FATAL_FAILURE(open(onnx(nodes, inputs, outputs)));
  for (const bool named : {true, false})
    for (const bool typed : {true, false}) {
      std::vector<std::vector<float>> x(kMany), y(kMany);
      std::vector<std::string> names;
      std::vector<poprt_tensor> in, out;
      for (size_t i = 0; i < kMany; i++) {
        x[i].assign(6, static_cast<float>(i + 1));
        y[i].assign(6, 0);
        names.push_back("x" + std::to_string(i));
        names.push_back("y" + std::to_string(i));
      }
      for (size_t i = kMany; i-- > 0;) {  // from the last to the first
        in.push_back(tensor(named ? names[2 * i].c_str() : nullptr, i, x[i].data()));
        out.push_back(tensor(named ? names[2 * i + 1].c_str() : nullptr, i, y[i].data()));
      }
      std::string answer;
      if (typed) {
        answer = message_for(
            poprt_runner_execute_tensors(runner, in.data(), in.size(), out.data(), out.size()));
      } else {
        std::vector<poprt_input> plain_in;
        std::vector<poprt_output> plain_out;
        for (size_t i = 0; i < kMany; i++) {
          plain_in.push_back({in[i].name, in[i].index, in[i].data, in[i].bytes});
          plain_out.push_back({out[i].name, out[i].index, out[i].data, out[i].bytes});
        }
        answer = message_for(
            poprt_runner_execute(runner, plain_in.data(), kMany, plain_out.data(), kMany));
      }
      ASSERT_EQ(answer, "ok");
      for (size_t i = 0; i < kMany; i++)
        EXPECT_EQ(y[i], std::vector<float>(6, -static_cast<float>(i + 1))) << i;
    }
}

TEST_F(TensorWords, CountersEqualTheJsonStatistics) {
  ASSERT_NO_FATAL_FAILURE(
      open(onnx({{"Neg", {"x"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 1, {2, 3}}})));
  float x[6] = {}, y[6];
  const poprt_tensor in = tensor("x", 0, x), out = tensor("y", 0, y);
  for (int i = 0; i < 5; i++)
    ASSERT_EQ(message_for(poprt_runner_execute_tensors(runner, &in, 1, &out, 1)), "ok");
  poprt_string* text = nullptr;
  ASSERT_EQ(message_for(poprt_runner_statistics(runner, &text)), "ok");
  const auto all = nlohmann::json::parse(poprt_string_data(text));
  poprt_string_free(text);
  for (const int64_t replica : {int64_t{POPRT_ALL_REPLICAS}, int64_t{0}}) {
    poprt_runner_counters c = {};
    c.struct_size = sizeof c;
    ASSERT_EQ(message_for(poprt_runner_get_counters(runner, replica, &c)), "ok");
    const auto& json = replica == POPRT_ALL_REPLICAS ? all : all.at("replicas").at(0);
    const auto& latency = json.at("latency");
    EXPECT_EQ(c.submitted, 5u);
    EXPECT_EQ(c.completed, 5u);
    EXPECT_EQ(c.replicas, 1u);
    for (const auto& [name, value] :
         {std::pair("submitted", c.submitted), std::pair("completed", c.completed),
          std::pair("failed", c.failed), std::pair("cancelled", c.cancelled),
          std::pair("timed_out", c.timed_out), std::pair("rows", c.rows),
          std::pair("padded_rows", c.padded_rows), std::pair("batches", c.batches),
          std::pair("steps", c.steps), std::pair("device_errors", c.device_errors),
          std::pair("resets", c.resets), std::pair("in_flight", c.in_flight),
          std::pair("queue_capacity", c.queue_capacity)})
      EXPECT_EQ(json.at(name).get<uint64_t>(), value) << name;
    EXPECT_EQ(latency.at("count").get<uint64_t>(), c.latency_count);
    EXPECT_EQ(latency.at("total_ns").get<uint64_t>(), c.latency_total_ns);
    EXPECT_EQ(latency.at("max_ns").get<uint64_t>(), c.latency_max_ns);
    EXPECT_EQ(latency.at("p50_ns").get<uint64_t>(), c.latency_p50_ns);
    EXPECT_EQ(latency.at("p99_ns").get<uint64_t>(), c.latency_p99_ns);
    EXPECT_EQ(latency.at("buckets").get<std::vector<uint64_t>>(),
              std::vector<uint64_t>(std::begin(c.latency_buckets), std::end(c.latency_buckets)));
    EXPECT_LE(c.latency_p50_ns, c.latency_p99_ns);
  }
}

}  // namespace
