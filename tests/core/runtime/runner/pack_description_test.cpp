#include "runtime/runner/pack_description.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "support/function_device.h"

namespace poprt::runtime {
namespace {

using namespace std::chrono_literals;
using test::FunctionDevice;

constexpr int64_t kRows = 2, kLength = 8, kItems = 4;

// A model as pass packed_transformer makes it: sums of up to two segments of at most 3 and 4.
std::shared_ptr<const Model> described_model(const char* segments, int64_t count) {
  auto model =
      std::make_shared<Model>(*test::anchors_only({{"ids", DType::s32, {kRows, kLength}},
                                                   {"types", DType::s32, {kRows, kLength}},
                                                   {"unpack_info", DType::s32, {kItems, count}}},
                                                  {{"sums", DType::s32, {kItems, 2}}}));
  model->onnx_metadata.emplace_back(
      "prop.PackRunnerConfig",
      fmt::format("{{\"unpack_info\":\"unpack_info\",\"max_valid_num\":{},"
                  "\"segment_max_size\":[{}],\"dynamic\":[\"ids\",\"types\"]}}",
                  kItems, segments));
  return model;
}

// Returns for each item the sum of its ids, and its types.
std::shared_ptr<FunctionDevice> summing_device(int64_t segments) {
  return std::make_shared<FunctionDevice>([segments](const void* const* in, void* const* out) {
    const auto *ids = static_cast<const int32_t*>(in[0]),
               *types = static_cast<const int32_t*>(in[1]),
               *info = static_cast<const int32_t*>(in[2]);
    auto* sums = static_cast<int32_t*>(out[0]);
    size_t at = 0;
    for (int64_t k = 0; k < kItems; k++) {
      sums[2 * k] = sums[2 * k + 1] = 0;
      for (int64_t s = 0; s < segments; s++)
        for (int32_t i = 0; i < info[k * segments + s]; i++, at++) {
          sums[2 * k] += ids[at];
          sums[2 * k + 1] += types[at];
        }
    }
  });
}

TEST(PackDescription, ATimeoutIsEnoughForAModelThatUnpacks) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.runner.session.device = summing_device(1);
  PackRunner runner(described_model("7", 1), c);
  ASSERT_EQ(runner.execute_inputs().size(), 2u);  // the runner fills in the lengths
  EXPECT_EQ(runner.execute_inputs()[0].anchor.shape, (Shape{1, 7}));
  EXPECT_EQ(runner.execute_outputs()[0].anchor.shape, (Shape{1, 2}));
  std::vector<std::thread> clients;
  for (unsigned t = 0; t < 3; t++)
    clients.emplace_back([&, t] {
      std::mt19937 rng(t);
      for (int i = 0; i < 100; i++) {
        std::vector<int32_t> ids(1 + rng() % 7), types(ids.size(), 3);
        int32_t sum = 0, got[2] = {-1, -1};
        for (int32_t& id : ids) sum += id = static_cast<int32_t>(rng() % 100);
        const InputBinding in[] = {{"ids", 0, ids.data(), ids.size() * 4},
                                   {"types", 1, types.data(), types.size() * 4}};
        const OutputBinding out[] = {{"sums", 0, got, 8}};
        runner.execute(in, out);
        ASSERT_EQ(got[0], sum);
        ASSERT_EQ(got[1], 3 * static_cast<int32_t>(ids.size()));
      }
    });
  for (auto& client : clients) client.join();
  std::vector<int32_t> longer(8);
  const InputBinding in[] = {{"ids", 0, longer.data(), 32}, {"types", 1, longer.data(), 32}};
  int32_t got[2];
  const OutputBinding out[] = {{"sums", 0, got, 8}};
  EXPECT_THROW(runner.execute(in, out),
               Error);  // otherwise the segment would be cut without an error
  c.enable_single_row_mode("types");
  EXPECT_THROW(PackRunner(described_model("7", 1), c), Error);
}

TEST(PackDescription, ItemsOfSeveralSegmentsContainTheirLengths) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.runner.session.device = summing_device(2);
  PackRunner runner(described_model("3,4", 2), c);
  ASSERT_EQ(runner.execute_inputs().size(), 3u);
  std::vector<int32_t> ids{1, 2, 3, 4, 5}, lengths{2, 3};
  int32_t got[2] = {};
  const OutputBinding out[] = {{"sums", 0, got, 8}};
  const auto execute = [&] {
    const InputBinding in[] = {{"ids", 0, ids.data(), 20},
                               {"types", 1, ids.data(), 20},
                               {"unpack_info", 2, lengths.data(), 8}};
    runner.execute(in, out);
  };
  execute();
  EXPECT_EQ(got[0], 15);
  for (const auto& wrong : {std::vector<int32_t>{2, 2}, {4, 1}, {-1, 6}}) {
    lengths = wrong;
    EXPECT_THROW(execute(), Error);
  }
}

TEST(PackDescription, EveryRequestIsAnsweredOnceWithCancellationsAndFaults) {
  PackRunnerConfig c;
  c.timeout = 100us;
  c.runner.session.device = summing_device(1);
  c.runner.auto_reset = true;
  c.runner.faults = std::make_shared<FaultInjector>();
  c.runner.faults->add_random(1, 100'000, {DeviceErrorClass::application_runtime_error, {}});
  PackRunner runner(described_model("7", 1), c);
  std::atomic<int> answered{0}, refused{0};
  constexpr int kClients = 3, kEach = 2000;
  std::vector<std::thread> clients;
  for (unsigned t = 0; t < kClients; t++)
    clients.emplace_back([&, t] {
      std::mt19937 rng(t);
      for (int i = 0; i < kEach; i++) {
        std::vector<int32_t> ids(1 + rng() % 7, 2);
        int32_t got[2] = {-1, -1};
        const InputBinding in[] = {{"ids", 0, ids.data(), ids.size() * 4},
                                   {"types", 1, ids.data(), ids.size() * 4}};
        const OutputBinding out[] = {{"sums", 0, got, 8}};
        const RequestPtr r = runner.execute_async(in, out);
        if (rng() % 4 == 0) r->cancel();
        r->wait();
        answered++;
        if (r->code() == ErrorCode::ok)
          ASSERT_EQ(got[0], 2 * static_cast<int32_t>(ids.size()));
        else
          refused++;
      }
    });
  for (auto& client : clients) client.join();
  const RunnerStatistics s = runner.statistics();
  EXPECT_EQ(answered, kClients * kEach);
  EXPECT_EQ(s.completed + s.cancelled + s.failed, static_cast<uint64_t>(kClients * kEach));
  EXPECT_EQ(s.cancelled + s.failed, static_cast<uint64_t>(refused.load()));
  EXPECT_GT(s.failed, 0u);
  EXPECT_GT(s.cancelled, 0u);
  EXPECT_EQ(s.in_flight, 0u);
}

// The memory after an item's result belongs to the caller.
TEST(PackDescription, AnItemsOutputMayHaveMoreRoom) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.runner.session.device = summing_device(1);
  PackRunner runner(described_model("7", 1), c);
  std::vector<int32_t> ids{1, 2, 3}, sums(8, -5);
  const InputBinding in[] = {{"ids", 0, ids.data(), 12}, {"types", 1, ids.data(), 12}};
  const OutputBinding out[] = {{"sums", 0, sums.data(), 32}};
  runner.execute(in, out);
  EXPECT_EQ(sums, (std::vector<int32_t>{6, 6, -5, -5, -5, -5, -5, -5}));
}

TEST(PackDescription, InputsOfAnItemHaveTheirSize) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.runner.session.device = summing_device(2);
  PackRunner runner(described_model("3,4", 2), c);
  std::vector<int32_t> ids{1, 2, 3, 4, 5}, lengths{2, 3, 0};
  int32_t got[2];
  const OutputBinding out[] = {{"sums", 0, got, 8}};
  for (const uint64_t bytes : {4, 12}) {
    const InputBinding in[] = {{"ids", 0, ids.data(), 20},
                               {"types", 1, ids.data(), 20},
                               {"unpack_info", 2, lengths.data(), bytes}};
    try {
      runner.execute(in, out);
      ADD_FAILURE() << bytes;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(
                    fmt::format("input 'unpack_info': expected 8 bytes, given {} bytes", bytes)),
                std::string::npos)
          << e.message();
    }
  }
}

// Descriptions of packing in a file, with one number changed at a time.
TEST(PackDescription, NumbersOfTheDescriptionAreInRange) {
  const auto made = [](const char* json) {
    auto model = std::make_shared<Model>(*described_model("7", 1));
    model->onnx_metadata.back().second = json;
    PackRunnerConfig c;
    c.timeout = 500us;
    c.runner.session.device = summing_device(1);
    try {
      PackRunner runner(model, c);
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return std::string();
  };
  const auto with = [&](const char* valid, const char* sizes, const char* dynamic) {
    return made(fmt::format("{{\"unpack_info\":\"unpack_info\",\"max_valid_num\":{},"
                            "\"segment_max_size\":[{}],\"dynamic\":[{}]}}",
                            valid, sizes, dynamic)
                    .c_str());
  };
  const char* both = "\"ids\",\"types\"";
  EXPECT_EQ(with("4", "7", both), "");
  EXPECT_EQ(with("4", "1048576", both).find("data_loss"), std::string::npos);
  for (const std::string& error_text :
       {with("0", "7", both), with("1048577", "7", both), with("4", "0", both),
        with("4", "7,1048577", both), with("4", "", both), with("4", "7", "")})
    EXPECT_EQ(error_text, "data_loss: PackRunnerConfig of the model: a number is out of range");
  EXPECT_EQ(with("-1", "7", "1").find("data_loss: PackRunnerConfig of the model: "), 0u);
  EXPECT_EQ(made("{}").find("data_loss: PackRunnerConfig of the model: "), 0u);
}

std::string message_of_pack(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "";
}

// Returns the message for an item of five places in two segments.
std::string message_of_five(PackRunner& runner, const std::vector<int32_t>& lengths) {
  const std::vector<int32_t> ids{1, 2, 3, 4, 5};
  int32_t got[2] = {};
  const InputBinding in[] = {{"ids", 0, ids.data(), 20},
                             {"types", 1, ids.data(), 20},
                             {"unpack_info", 2, lengths.data(), 8}};
  const OutputBinding out[] = {{"sums", 0, got, 8}};
  return message_of_pack([&] { runner.execute(in, out); });
}

TEST(PackDescription, ErrorsNameTheSegment) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.runner.session.device = summing_device(2);
  PackRunner runner(described_model("3,4", 2), c);
  const auto with = [&](std::vector<int32_t> lengths) { return message_of_five(runner, lengths); };
  EXPECT_EQ(with({3, 2}), "");
  EXPECT_EQ(with({1, 4}), "");
  EXPECT_EQ(with({4, 1}), "unpack_info: segment 0 has 4 places, expected 0 to 3");
  EXPECT_EQ(with({0, 5}), "unpack_info: segment 1 has 5 places, expected 0 to 4");
  EXPECT_EQ(with({-1, 6}), "unpack_info: segment 0 has -1 places, expected 0 to 3");
  EXPECT_EQ(with({2, 2}), "unpack_info: segments have 4 places together, inputs 5");
  EXPECT_EQ(with({3, 3}), "unpack_info: segments have 6 places together, inputs 5");
}

// Without a description, the limit is the number of places of the item.
TEST(PackDescription, SegmentsOfAModelWithoutADescription) {
  PackRunnerConfig c;
  c.timeout = 500us;
  c.dynamic_input_name = "ids";
  c.unpack_info_input_name = "unpack_info";
  c.runner.session.device = summing_device(2);
  Model model(*described_model("3,4", 2));
  model.onnx_metadata.clear();
  PackRunner runner(std::make_shared<Model>(model), c);
  const auto with = [&](std::vector<int32_t> lengths) { return message_of_five(runner, lengths); };
  EXPECT_EQ(with({5, 0}), "");
  EXPECT_EQ(with({-1, 6}), "unpack_info: segment 0 has -1 places, expected 0 to 5");
  EXPECT_EQ(with({6, 0}), "unpack_info: segments have 6 places together, inputs 5");
}

// Returns the configuration after complete(): dynamic input, unpack info, group.
std::string completed(const std::vector<program::Anchor>& inputs, PackRunnerConfig config,
                      const std::optional<PackDescription>& description = std::nullopt,
                      const std::function<void(Model&)>& change = {}) {
  Model model(*test::anchors_only(inputs, {{"y", DType::s32, {1}}}));
  if (change) change(model);
  const std::string error_text = message_of_pack([&] { complete(config, model, description); });
  if (!error_text.empty()) return error_text;
  std::string text = config.dynamic_input_name + "|" + config.unpack_info_input_name + "|";
  for (const std::string& name : config.dynamic_group) text += name + " ";
  return text;
}

TEST(PackDescription, CompletesTheConfiguration) {
  const std::vector<program::Anchor> inputs = {
      {"ids", DType::s32, {2, 8}}, {"types", DType::s32, {2, 8}}, {"info", DType::s32, {4}}};
  const PackDescription d{"info", 4, {8}, {"ids", "types", "more"}};
  EXPECT_EQ(completed(inputs, {}, d), "ids|info|types more ");
  PackRunnerConfig c;
  c.dynamic_input_name = "types";
  c.unpack_info_input_name = "other";
  c.dynamic_group = {"mine"};
  EXPECT_EQ(completed(inputs, c, d), "types|other|mine ids more ");
  const std::string off =
      "the model unpacks contiguous sequences: leave single row mode and "
      "delimiters off, they are for models with an attention mask of item numbers";
  c = {};
  c.disable_data_across_rows = true;
  EXPECT_EQ(completed(inputs, c, d), off);
  c = {};
  c.delimiter_num = 1;
  EXPECT_EQ(completed(inputs, c, d), off);
}

TEST(PackDescription, WithoutOneTheFirstInputThatCallersGiveIsPacked) {
  const std::vector<program::Anchor> inputs = {{"n", DType::s32, {}},
                                               {"flat", DType::s32, {4}},
                                               {"a", DType::s32, {2, 8}},
                                               {"b", DType::s32, {2, 8}},
                                               {"unpack_info", DType::s32, {4, 1}}};
  EXPECT_EQ(completed(inputs, {}), "a|unpack_info|");
  PackRunnerConfig c;
  c.mask_name = "b";
  EXPECT_EQ(completed(inputs, c), "b|unpack_info|");
  c.dynamic_input_name = "flat";
  EXPECT_EQ(completed(inputs, c), "flat||") << "who names the input names the lengths, too";
  c = {};
  c.disable_data_across_rows = true;
  EXPECT_EQ(completed(inputs, c), "a||");
  c = {};
  c.unpack_info_input_name = "a";
  EXPECT_EQ(completed(inputs, c), "b|a|");
  static const std::array<std::byte, 64> data{};
  EXPECT_EQ(completed(inputs, {}, {}, [](Model& m) { m.input_data[2] = data; }), "b|unpack_info|");
  EXPECT_EQ(completed(inputs, {}, {}, [](Model& m) { m.metadata.setSeedHandle("h2d_a"); }),
            "b|unpack_info|");
  EXPECT_EQ(completed({inputs[0], inputs[1]}, {}), "flat||");
  EXPECT_EQ(completed({inputs[1], inputs[4]}, {}), "flat|unpack_info|")
      << "lengths are no sequence";
  EXPECT_EQ(completed({inputs[2], {"unpack_info", DType::f32, {4}}}, {}), "a||");
  EXPECT_EQ(completed({inputs[0]}, {}),
            "the model has no input of variable length: give `dynamic_input_name`");
}

}  // namespace
}  // namespace poprt::runtime
