#include "runtime/runner/host_concat_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
  HostConcatConfig joined;  // the sizes are those of the model
  joined.tensor_name = "joined";
  joined.input_tensor_names = {"a", "b", "c"};
  config.host_concat_config = {{"joined", joined}};
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

// The replica returns buffers while the callers take others.
TEST(HostConcatRunner, RequestsInFlightDoNotShareBuffers) {
  JoinSetup s;
  constexpr int kThreads = 3, kRounds = 150, kInFlight = 64;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::deque<Client> clients;  // bindings have addresses of their client
      for (int i = 0; i < kInFlight; i++) clients.emplace_back(static_cast<float>(100 * t + i));
      for (int round = 0; round < kRounds; round++) {
        std::vector<RequestPtr> requests;
        for (Client& k : clients) requests.push_back(s.runner->execute_async(k.in, k.out));
        for (size_t i = 0; i < requests.size(); i++) {
          requests[i]->wait();
          wrong += requests[i]->code() != ErrorCode::ok || !clients[i].right();
          std::ranges::fill(clients[i].y, -1.0f);
        }
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HostConcatRunner, CallsTheCallbackOfTheCaller) {
  JoinSetup s;
  Client k(5);
  struct Calls {
    const Client& client;
    std::atomic<bool> right_before{false}, done{false};
  } calls{k, {}, {}};
  RequestCallback callback;
  callback.context = &calls;
  callback.before = [](void* context) noexcept {
    auto& own = *static_cast<Calls*>(context);
    own.right_before = own.client.right();
  };
  callback.call = [](void* context, ErrorCode code) noexcept {
    static_cast<Calls*>(context)->done = code == ErrorCode::ok;
  };
  const RequestPtr request = s.runner->execute_async(k.in, k.out, callback);
  request->wait();
  request->check();
  for (int i = 0; i < 1000 && !calls.done; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(calls.right_before);
  EXPECT_TRUE(calls.done);
}

// A binding without a name has the index of a description; the index of one with a name has no
// effect.
TEST(HostConcatRunner, BindingsAreByIndexOrByName) {
  JoinSetup s;
  Client k(3);
  const size_t at[] = {0, 1, 3, 2};  // of a, b, other and c
  for (size_t i = 0; i < 4; i++) k.in[i] = {{}, at[i], k.in[i].data, k.in[i].bytes};
  s.runner->execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  Client named(7);
  for (InputBinding& b : named.in) b.index = 3;
  s.runner->execute(named.in, named.out);
  EXPECT_TRUE(named.right());
}

// The device copies the inputs to the outputs.
std::unique_ptr<HostConcatRunner> runner_of(std::vector<program::Anchor> inputs,
                                            std::map<std::string, HostConcatConfig> joins) {
  std::vector<program::Anchor> outputs = inputs;
  for (program::Anchor& a : outputs) a.name += "_out";
  HostConcatRunnerConfig config;
  config.host_concat_config = std::move(joins);
  config.runner.session.device =
      std::make_shared<test::FunctionDevice>([inputs](const void* const* in, void* const* out) {
        for (size_t i = 0; i < inputs.size(); i++) std::memcpy(out[i], in[i], inputs[i].bytes());
      });
  return std::make_unique<HostConcatRunner>(test::anchors_only(inputs, outputs), std::move(config));
}

// Parts of equal sizes along the first axis have the shape of the rest, others are vectors.
TEST(HostConcatRunner, DescribesThePartsOfAnInput) {
  struct Case {
    DType dtype;
    Shape joined;
    std::vector<std::string> names;
    std::vector<uint64_t> sizes;
    std::vector<Shape> wanted;
  };
  const Case cases[] = {
      {DType::f32, {2, 3}, {"a", "b"}, {}, {{3}, {3}}},
      {DType::f32, {2, 3}, {"a", "b"}, {12, 12}, {{3}, {3}}},
      {DType::f32, {2, 3, 1}, {"a", "b"}, {8, 16}, {{2}, {4}}},
      {DType::f32, {2, 3, 1}, {"a", "b", "c"}, {}, {{2}, {2}, {2}}},
      {DType::f32, {2, 3, 1}, {"a", "b"}, {}, {{3, 1}, {3, 1}}},
      {DType::f32, {3}, {"a", "b", "c"}, {}, {{1}, {1}, {1}}},
      {DType::f16, {4}, {"a"}, {}, {{4}}},
      {DType::s64, {5}, {"a", "b"}, {16, 24}, {{2}, {3}}},
  };
  for (const Case& c : cases) {
    const program::Anchor whole{"x", c.dtype, c.joined};
    const auto runner = runner_of({whole}, {{"x", {"x", c.names, c.joined, 0, c.sizes}}});
    ASSERT_EQ(runner->execute_inputs().size(), c.wanted.size());
    for (size_t i = 0; i < c.wanted.size(); i++) {
      const DataDesc& d = runner->execute_inputs()[i];
      EXPECT_EQ(d.anchor.name, c.names[i]);
      EXPECT_EQ(d.anchor.dtype, c.dtype);
      EXPECT_EQ(d.anchor.shape, c.wanted[i]) << shape_string(c.joined);
      EXPECT_EQ(d.size_in_bytes, c.sizes.empty() ? whole.bytes() / c.names.size() : c.sizes[i]);
    }
  }
}

TEST(HostConcatRunner, TheInputBeforeAJoinedOneStaysAsItIs) {
  const auto runner = runner_of({{"first", DType::f32, {2}}, {"x", DType::f32, {2}}},
                                {{"x", {"x", {"a", "b"}, {}, 0, {}}}});
  ASSERT_EQ(runner->execute_inputs().size(), 3u);
  EXPECT_EQ(runner->execute_inputs()[2].anchor.name, "first");
  EXPECT_EQ(runner->execute_inputs()[2].anchor.shape, (Shape{2}));
  const float first[] = {1, 2}, a = 3, b = 4;
  float y[2] = {}, z[2] = {};
  const InputBinding in[] = {{"first", 0, first, 8}, {"b", 0, &b, 4}, {"a", 0, &a, 4}};
  const OutputBinding out[] = {{"first_out", 0, y, 8}, {"x_out", 0, z, 8}};
  runner->execute(in, out);
  EXPECT_TRUE(std::ranges::equal(y, first));
  EXPECT_EQ(z[0], 3);
  EXPECT_EQ(z[1], 4);
}

TEST(HostConcatRunner, ReadsItsConfigurationFromTheModel) {
  const JoinSetup shortest({}, R"({"joined": {"input_tensor_names": ["a", "b"]}})");
  EXPECT_EQ(shortest.runner->execute_inputs()[1].size_in_bytes, 12u);
  JoinSetup s({}, R"({"joined": {"input_tensor_names": ["a", "b", "c"], "data_size_bytes": 24}})");
  EXPECT_EQ(s.runner->execute_inputs()[0].size_in_bytes, 8u);  // equal parts
  EXPECT_THROW(JoinSetup({}, "{"), Error);
  EXPECT_THROW(JoinSetup({}, R"({"joined": {"input_tensor_names": 5}})"), Error);
  EXPECT_THROW(JoinSetup({}), Error);
}

std::string concat_refusal(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(HostConcatRunner, ExplainsWhyAConfigurationIsRefused) {
  using Joins = std::map<std::string, HostConcatConfig>;
  const auto divided = [](uint64_t parts, uint64_t sizes) {
    return fmt::format("input 'joined': 24 bytes do not divide among {} inputs with {} sizes",
                       parts, sizes);
  };
  const std::pair<Joins, std::string> cases[] = {
      {{{"p", {"joined", {"a"}, {}, 0, {}}}, {"q", {"joined", {"b"}, {}, 0, {}}}},
       "input 'joined' is joined twice"},
      {{{"joined", {"joined", {"a"}, {5}, 0, {}}}},
       "input 'joined' has shape [6], the configuration has [5]"},
      {{{"joined", {"joined", {}, {}, 0, {}}}}, divided(0, 0)},
      {{{"joined", {"joined", {}, {}, 0, {24}}}}, divided(0, 1)},
      {{{"joined", {"joined", {"a", "b"}, {}, 0, {24}}}}, divided(2, 1)},
      {{{"joined", {"joined", {"a", "b"}, {}, 0, {8, 8, 8}}}}, divided(2, 3)},
      {{{"joined", {"joined", {"a", "b", "c", "d", "e"}, {}, 0, {}}}}, divided(5, 0)},
      {{{"joined", {"joined", {"a", "b"}, {}, 0, {8, 12}}}},
       "input 'joined' has 24 bytes, the inputs that it joins 20"},
  };
  for (const auto& [joins, wanted] : cases)
    EXPECT_EQ(concat_refusal([&] { JoinSetup{joins}; }), wanted);
  HostConcatRunnerConfig merging;
  merging.runner.batching_dim = 0;
  merging.host_concat_config = {{"x", {"x", {"a", "b"}, {}, 0, {}}}};
  const auto model = test::anchors_only({{"x", DType::f32, {2}}}, {{"y", DType::f32, {2}}});
  EXPECT_EQ(concat_refusal([&] { HostConcatRunner(model, merging); }),
            "joined inputs make whole batches: leave `batching_dim` unset");
}

TEST(HostConcatRunner, ExplainsWhyARequestIsRefused) {
  JoinSetup s;
  const auto message = [&](auto&& change) {
    Client k;
    change(k.in);
    return concat_refusal([&] { s.runner->execute(k.in, k.out); });
  };
  EXPECT_EQ(message([](auto& in) { in.erase(in.begin()); }), "input 'a' is missing");
  EXPECT_EQ(message([](auto& in) { in[2].name = "z"; }),
            "there is no input 'z'; inputs are: 'a', 'b', 'c', 'other'");
  EXPECT_EQ(message([](auto& in) { in[2] = {{}, 4, in[2].data, 4}; }),
            "there is no input '4'; inputs are: 'a', 'b', 'c', 'other'");
  EXPECT_EQ(message([](auto& in) { in[1].data = nullptr; }), "input 'b': the pointer is null");
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
