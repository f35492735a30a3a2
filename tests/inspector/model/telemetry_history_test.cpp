#include "model/telemetry_history.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "runtime/telemetry/telemetry.h"

namespace poprt::inspector {
namespace {

using runtime::QueueSnapshot;
using runtime::TelemetrySnapshot;

TelemetrySnapshot snapshot(uint64_t pid, uint64_t completed, uint64_t stalls = 0) {
  TelemetrySnapshot s;
  s.name = "net";
  s.pid = pid;
  s.started_ns = pid * 1000;
  s.alive = true;
  s.completed = completed;
  s.histogram[runtime::telemetry::bucket_of(1000)] = completed;
  s.latency_max_ns = 1100;
  QueueSnapshot in, out;
  in.name = "x";
  in.capacity = 8;
  in.fill = 2;
  in.stalls = stalls;
  out.name = "y";
  out.is_output = true;
  out.capacity = 8;
  s.queues = {in, out};
  return s;
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("inspector." + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};
using TelemetryRecording = Folder;
using TelemetryLive = Folder;

TEST(TelemetryHistory, RatesAreSinceTheSampleBefore) {
  TelemetryHistory h;
  h.add(100, {snapshot(1, 5000)});
  h.add(101, {snapshot(1, 5200)});
  ASSERT_EQ(h.series().size(), 1u);
  const TelemetrySeries& s = h.series()[0];
  ASSERT_EQ(s.samples.size(), 2u);
  EXPECT_EQ(s.samples[0].requests_per_second, 0);  // what was before the first look is no rate
  EXPECT_NEAR(s.samples[1].requests_per_second, 200, 1e-6);
  EXPECT_NEAR(s.samples[1].p50_ns, 1000, 300);
  EXPECT_FLOAT_EQ(s.samples[1].fill[0], 0.25f);
}

TEST(TelemetryHistory, ASeriesSurvivesTheEndAndRestartOfItsProcess) {
  TelemetryHistory h;
  h.add(1, {snapshot(1, 10)});
  h.add(2, {});
  EXPECT_FALSE(h.series()[0].alive);
  h.add(3, {snapshot(2, 0)});
  h.add(4, {snapshot(2, 50)});
  ASSERT_EQ(h.series().size(), 1u);
  const TelemetrySeries& s = h.series()[0];
  EXPECT_TRUE(s.alive);
  EXPECT_EQ(s.pid, 2u);
  ASSERT_EQ(s.events.size(), 3u);
  EXPECT_NE(s.events[1].text.find("ended"), std::string::npos);
  EXPECT_NE(s.events[2].text.find("began again"), std::string::npos);
  EXPECT_NEAR(s.samples.back().requests_per_second, 50, 1e-6);
}

TEST(TelemetryHistory, TwoProcessesOfOneModelAreTwoSeries) {
  TelemetryHistory h;
  h.add(1, {snapshot(1, 10), snapshot(2, 20)});
  h.add(2, {snapshot(1, 11), snapshot(2, 22)});
  EXPECT_EQ(h.series().size(), 2u);
}

TEST(TelemetryHistory, NamesTheQueueThatStarves) {
  TelemetryHistory h;
  for (int i = 0; i < 50; i++) h.add(i, {snapshot(1, 10, static_cast<uint64_t>(i) * 30)});
  EXPECT_EQ(h.series()[0].starving(), 0);
  TelemetryHistory calm;
  for (int i = 0; i < 50; i++) calm.add(i, {snapshot(1, 10, 7)});
  EXPECT_EQ(calm.series()[0].starving(), -1);
}

TEST(TelemetryHistory, KeepsABoundedPast) {
  TelemetryHistory h;
  for (int i = 0; i < 7000; i++) h.add(i, {snapshot(1, static_cast<uint64_t>(i))});
  EXPECT_EQ(h.series()[0].samples.size(), kMostSamples);
}

TEST_F(TelemetryRecording, IsReadBackAsItWas) {
  const auto path = folder / "a.telemetry";
  TelemetryHistory h;
  {
    std::ofstream file(path);
    file << kRecordingHead << '\n';
    for (int i = 0; i < 5; i++) {
      h.add(i, {snapshot(1, static_cast<uint64_t>(i) * 100)});
      file << recording_line(i, {snapshot(1, static_cast<uint64_t>(i) * 100)}) << '\n';
    }
    file << "{\"time\": 9, \"segm";  // killed here
  }
  const TelemetryHistory back = read_recording(path);
  ASSERT_EQ(back.series().size(), 1u);
  ASSERT_EQ(back.series()[0].samples.size(), 5u);
  EXPECT_EQ(back.series()[0].samples[4].requests_per_second,
            h.series()[0].samples[4].requests_per_second);
  EXPECT_EQ(back.series()[0].samples[4].p99_ns, h.series()[0].samples[4].p99_ns);
}

TEST_F(TelemetryRecording, BrokenLinesAreNamed) {
  const auto path = folder / "b.telemetry";
  for (const char* line : {"{}", "nonsense", "{\"time\": 1, \"segments\": [{\"name\": 3}]}",
                           "{\"time\": \"x\", \"segments\": []}"}) {
    std::ofstream(path) << kRecordingHead << '\n' << line << '\n' << recording_line(5, {}) << '\n';
    try {
      read_recording(path);
      ADD_FAILURE() << line;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(":2:"), std::string::npos) << e.what();
    }
  }
}

TEST_F(TelemetryLive, FollowsAPublisherThroughItsEndAndRestart) {
  setenv("POPRT_TELEMETRY_DIR", folder.c_str(), 1);
  TelemetryWatcher watcher(folder, 0.01);
  const auto wait_for = [&](auto&& holds) {
    for (int i = 0; i < 1000; i++) {
      bool done = false;
      watcher.with_history([&](const TelemetryHistory& h) { done = holds(h); });
      if (done) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  };
  const auto path = folder / "live.telemetry";
  watcher.record(path);
  for (int round = 0; round < 2; round++) {
    runtime::Telemetry publisher("net", 0, 1);
    publisher.queue(0, "x", false, 8);
    EXPECT_TRUE(wait_for([](const TelemetryHistory& h) {
      return !h.series().empty() && h.series()[0].alive;
    })) << round;
    publisher.submitted();
    publisher.completed(std::chrono::microseconds(5));
    EXPECT_TRUE(wait_for([](const TelemetryHistory& h) { return h.series()[0].completed == 1; }));
    if (round == 1) break;
  }
  EXPECT_TRUE(wait_for([](const TelemetryHistory& h) { return !h.series()[0].alive; }));
  watcher.stop_recording();
  watcher.with_history([](const TelemetryHistory& h) { EXPECT_EQ(h.series().size(), 1u); });
  EXPECT_EQ(read_recording(path).series().size(), 1u);
  unsetenv("POPRT_TELEMETRY_DIR");
}

}  // namespace
}  // namespace poprt::inspector
