#include "runtime/runner/host_concat_runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

// Input "joined" consists of a, b and c; "other" is not joined. The device copies both to outputs.
struct JoinSetup {
  static HostConcatConfig join() { return {"joined", {"a", "b", "c"}, {6}, 24, {4, 8, 12}}; }
  explicit JoinSetup(std::map<std::string, HostConcatConfig> join_config = {{"joined", join()}},
                     std::string blob = "") {
    const auto model = test::anchors_only({{"joined", DType::f32, {6}}, {"other", DType::f32, {1}}},
                                          {{"y", DType::f32, {6}}, {"z", DType::f32, {1}}});
    if (!blob.empty()) model->opaque["HostConcatRunnerConfig"] = blob;
    HostConcatRunnerConfig config;
    config.host_concat_config = std::move(join_config);
    config.runner.session.device =
        std::make_shared<test::FunctionDevice>([](const void* const* in, void* const* out) {
          std::memcpy(out[0], in[0], 24);
          std::memcpy(out[1], in[1], 4);
        });
    runner = std::make_unique<HostConcatRunner>(model, std::move(config));
  }
  std::unique_ptr<HostConcatRunner> runner;
};

struct Client {
  explicit Client(float first = 0) {
    for (int i = 0; i < 6; i++) abc[i] = first + static_cast<float>(i);
  }
  float abc[6], other = 42, y[6] = {}, z = 0;
  std::vector<InputBinding> in{
      {"a", 0, abc, 4}, {"b", 0, abc + 1, 8}, {"other", 0, &other, 4}, {"c", 0, abc + 3, 12}};
  std::vector<OutputBinding> out{{"y", 0, y, 24}, {"z", 0, &z, 4}};
  bool right() const { return std::memcmp(abc, y, 24) == 0 && z == 42; }
};

TEST(HostConcatRunner, JoinsTheOriginalInputs) {
  JoinSetup s;
  ASSERT_EQ(s.runner->execute_inputs().size(), 4u);
  EXPECT_EQ(s.runner->execute_inputs()[1].anchor.name, "b");
  EXPECT_EQ(s.runner->execute_inputs()[1].size_in_bytes, 8u);
  EXPECT_EQ(s.runner->execute_inputs()[3].anchor.name, "other");
  for (int i = 0; i < 3; i++) {
    Client k(static_cast<float>(i));
    s.runner->execute(k.in, k.out);
    EXPECT_TRUE(k.right());
  }
}

TEST(HostConcatRunner, InputsStackedAlongANewAxisKeepTheirShape) {
  const auto model =
      test::anchors_only({{"joined", DType::f32, {3, 2, 1}}}, {{"y", DType::f32, {3, 2, 1}}});
  HostConcatRunnerConfig config;
  config.host_concat_config = {{"joined", {"joined", {"a", "b", "c"}, {3, 2, 1}, 24, {}}}};
  config.runner.session.device = std::make_shared<test::FunctionDevice>(
      [](const void* const* in, void* const* out) { std::memcpy(out[0], in[0], 24); });
  HostConcatRunner runner(model, std::move(config));
  ASSERT_EQ(runner.execute_inputs().size(), 3u);
  for (const DataDesc& d : runner.execute_inputs()) {
    EXPECT_EQ(d.anchor.shape, (Shape{2, 1}));
    EXPECT_EQ(d.size_in_bytes, 8u);
  }
}

TEST(HostConcatRunner, ManyRequestsAndThreads) {
  JoinSetup s;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; i++) {
        Client k[4] = {Client(1), Client(static_cast<float>(t)), Client(3), Client(4)};
        RequestPtr r[4];
        for (int j = 0; j < 4; j++) r[j] = s.runner->execute_async(k[j].in, k[j].out);
        for (int j = 0; j < 4; j++) {
          r[j]->wait();
          r[j]->check();
          ASSERT_TRUE(k[j].right());
        }
      }
    });
  for (auto& t : threads) t.join();
}

TEST(HostConcatRunner, ReadsItsConfigurationFromTheModel) {
  JoinSetup s({}, R"({"joined": {"input_tensor_names": ["a", "b", "c"], "data_size_bytes": 24}})");
  EXPECT_EQ(s.runner->execute_inputs()[0].size_in_bytes, 8u);  // equal parts
  EXPECT_THROW(JoinSetup({}, "{"), Error);
  EXPECT_THROW(JoinSetup({}, R"({"joined": {"input_tensor_names": 5}})"), Error);
  EXPECT_THROW(JoinSetup({}), Error);
}

TEST(HostConcatRunner, RefusesMismatchedConfigurations) {
  const auto refuse = [](auto change) {
    HostConcatConfig c = JoinSetup::join();
    change(c);
    EXPECT_THROW(JoinSetup({{"joined", c}}), Error);
  };
  refuse([](auto& c) { c.tensor_name = "nothing"; });
  refuse([](auto& c) { c.shape = {5}; });
  refuse([](auto& c) { c.data_size_bytes = 20; });
  refuse([](auto& c) { c.sizes = {4, 8}; });
  refuse([](auto& c) { c.sizes = {4, 8, 16}; });
  refuse([](auto& c) { c.input_tensor_names.clear(); });
  JoinSetup s;
  const auto fails = [&](auto change, std::string_view part) {
    Client k;
    change(k.in);
    try {
      s.runner->execute(k.in, k.out);
      ADD_FAILURE() << part;
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
    }
  };
  fails([](auto& in) { in.pop_back(); }, "input 'c' is missing");
  fails([](auto& in) { in[0].bytes = 8; }, "input 'a': expected 4 bytes, given 8 bytes");
  fails([](auto& in) { in[0].name = "joined"; }, "there is no input 'joined'");
  fails([](auto& in) { in[1].name = "a"; }, "input 'a' is given twice");
}

}  // namespace
}  // namespace poprt::runtime
