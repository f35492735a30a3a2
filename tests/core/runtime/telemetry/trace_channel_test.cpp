#include "runtime/telemetry/trace_channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "runtime/telemetry/telemetry_reader.h"

namespace poprt::runtime {
namespace {

class TraceChannelTest : public ::testing::Test {
 protected:
  TraceChannelTest() {
    char name[] = "/tmp/poprt_trace_XXXXXX";
    folder_ = mkdtemp(name);
    setenv("POPRT_TELEMETRY_DIR", folder_.c_str(), 1);
  }
  ~TraceChannelTest() override {
    for (const char* name : {"POPRT_TELEMETRY_DIR", "POPRT_TELEMETRY", "PVTI_OPTIONS"})
      unsetenv(name);
    std::filesystem::remove_all(folder_);
  }
  nlohmann::json published() const { return nlohmann::json::parse(telemetry_json(folder_)); }

  std::filesystem::path folder_;
};

TEST_F(TraceChannelTest, PublishesOnlyIfTheEnvironmentEnablesIt) {
  const auto publishes = [](const char* options) {
    setenv("PVTI_OPTIONS", options, 1);
    return TraceChannel("c").is_published();
  };
  EXPECT_FALSE(TraceChannel("c").is_published());
  EXPECT_TRUE(publishes(R"({"enable":"true", "directory":"reports"})"));
  EXPECT_TRUE(publishes(R"({"enable":true})"));
  EXPECT_FALSE(publishes(R"({"enable":"false"})"));
  EXPECT_FALSE(publishes("{}"));
  EXPECT_FALSE(publishes("[1]"));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(publishes("enable"));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("PVTI_OPTIONS"), std::string::npos);
  unsetenv("PVTI_OPTIONS");
  setenv("POPRT_TELEMETRY", "1", 1);
  EXPECT_TRUE(TraceChannel("c").is_published());
}

TEST_F(TraceChannelTest, CountsSpansByLabel) {
  setenv("POPRT_TELEMETRY", "1", 1);
  TraceChannel channel("steps");
  channel.begin("outer");
  channel.begin("inner");
  channel.end("inner");
  channel.begin("inner");
  channel.end("inner");
  channel.begin("open");
  channel.end("outer");
  const auto all = published();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["name"], "steps");
  EXPECT_EQ(all[0]["requests"]["submitted"], 4);
  EXPECT_EQ(all[0]["requests"]["completed"], 3);
  EXPECT_EQ(all[0]["requests"]["in_flight"], 1);
  EXPECT_EQ(all[0]["runs"], 3);
  const auto& labels = all[0]["branches"];
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels[0]["name"], "outer");
  EXPECT_EQ(labels[1]["name"], "inner");
  EXPECT_EQ(labels[1]["runs"], 2);
  EXPECT_GE(labels[0]["busy_ns"], labels[1]["busy_ns"]);
  EXPECT_EQ(labels[2]["name"], "open");
  EXPECT_EQ(labels[2]["runs"], 0);
}

TEST_F(TraceChannelTest, EndsTheSpanOfItsThreadFirst) {
  setenv("POPRT_TELEMETRY", "1", 1);
  TraceChannel channel("threads");
  channel.begin("work");
  std::thread([&] {
    channel.begin("work");
    channel.end("work");
    channel.end("work");  // the span of the other thread
  }).join();
  EXPECT_EQ(published()[0]["requests"]["completed"], 2);
  testing::internal::CaptureStderr();
  channel.end("work");
  channel.end("work");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("'threads': span 'work' ends but was not begun"), std::string::npos) << log;
  EXPECT_EQ(log.find("not begun"), log.rfind("not begun")) << log;
  EXPECT_EQ(published()[0]["requests"]["completed"], 2);
}

TEST_F(TraceChannelTest, FurtherLabelsCountAsRequests) {
  setenv("POPRT_TELEMETRY", "1", 1);
  TraceChannel channel("labels");
  const std::string longest(1000, 'l');
  for (const std::string& label : {longest, std::string(), std::string("x")}) {
    channel.begin(label);
    channel.end(label);
  }
  for (size_t i = 0; i < TraceChannel::kLabels; i++) {
    channel.begin(std::to_string(i));
    channel.end(std::to_string(i));
  }
  const auto all = published();
  EXPECT_EQ(all[0]["requests"]["completed"], TraceChannel::kLabels + 3);
  EXPECT_EQ(all[0]["branches"][0]["name"], std::string(127, 'l'));
  EXPECT_EQ(all[0]["branches"].size(), TraceChannel::kLabels - 1);  // "" has no record
}

}  // namespace
}  // namespace poprt::runtime
