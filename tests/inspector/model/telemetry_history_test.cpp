#include "model/telemetry_history.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "model/report.h"
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

class Folder : public ::testing::Test {
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

TelemetrySnapshot generator_snapshot(uint64_t second) {
  TelemetrySnapshot s = snapshot(1, second * 10);
  runtime::GeneratorSnapshot& g = s.generator.emplace();
  g.slots = 4;
  g.max_length = 64;
  g.cache_bytes = 8192;
  g.busy = 3;
  g.waiting = 2;
  g.used = 64;
  g.prompt_tokens = second * 200;
  g.decode_tokens = second * 50;
  return s;
}

TEST(TelemetryHistory, AGeneratorHasTokensPerSecond) {
  TelemetryHistory h;
  for (uint64_t i = 0; i < 4; i++) h.add(100 + static_cast<double>(i), {generator_snapshot(i)});
  const TelemetrySample& now = h.series()[0].samples.back();
  ASSERT_TRUE(now.generator);
  EXPECT_NEAR(now.prompt_tokens_per_second, 200, 1e-6);
  EXPECT_NEAR(now.decode_tokens_per_second, 50, 1e-6);
  EXPECT_EQ(now.generator->busy, 3u);
  EXPECT_EQ(now.generator->used_part(), 0.25);
  EXPECT_EQ(h.series()[0].samples.front().decode_tokens_per_second, 0);
  EXPECT_FALSE(TelemetrySample().generator);
}

TEST(TelemetryHistory, TheTablesHaveEachNumberOfAGenerator) {
  TelemetryHistory h;
  TelemetrySnapshot s = generator_snapshot(2);
  s.generator->submitted = 9;
  s.generator->ended = 7;
  s.generator->reused_tokens = 11;
  s.generator->decode_steps = 40;
  h.add(100, {generator_snapshot(1)});
  h.add(101, {s});
  const auto tables = queues_tables(h);
  ASSERT_EQ(tables.back().name, "generators");
  std::map<std::string, double> row;
  for (size_t i = 4; i < tables.back().columns.size(); i++) {
    const Cell& cell = tables.back().rows.at(0)[i];
    const auto* number = std::get_if<double>(&cell);
    row[tables.back().columns[i]] = number ? *number : static_cast<double>(std::get<int64_t>(cell));
  }
  EXPECT_EQ(row, (std::map<std::string, double>{{"slots", 4},
                                                {"busy", 3},
                                                {"waiting", 2},
                                                {"submitted", 9},
                                                {"ended", 7},
                                                {"prompt_tokens", 400},
                                                {"reused_tokens", 11},
                                                {"decode_tokens", 100},
                                                {"decode_steps", 40},
                                                {"prompt_tokens_per_second", 200},
                                                {"decode_tokens_per_second", 50},
                                                {"used_places", 64},
                                                {"places", 256},
                                                {"cache_bytes", 8192}}));
  TelemetryHistory none;
  none.add(100, {snapshot(1, 5)});
  for (const Table& t : queues_tables(none)) EXPECT_NE(t.name, "generators");
}

TEST_F(TelemetryRecording, HasEachNumberOfAGenerator) {
  const auto path = folder / "a.telemetry";
  TelemetrySnapshot s = generator_snapshot(2);
  runtime::GeneratorSnapshot& g = *s.generator;
  uint64_t next = 101;
  for (uint64_t* field : {&g.submitted, &g.ended, &g.prompt_tokens, &g.reused_tokens, &g.prompt_ns,
                          &g.decode_tokens, &g.decode_steps, &g.decode_ns})
    *field = next++;
  std::ofstream(path) << kRecordingHead << "\n" << recording_line(100, {s}) << "\n";
  const auto series = read_recording(path).series();
  const runtime::GeneratorSnapshot& now = *series[0].samples.back().generator;
  uint64_t expected = 101;
  for (const uint64_t field : {now.submitted, now.ended, now.prompt_tokens, now.reused_tokens,
                               now.prompt_ns, now.decode_tokens, now.decode_steps, now.decode_ns})
    EXPECT_EQ(field, expected++);
}

TEST_F(TelemetryRecording, HasTheStateOfGenerators) {
  const auto path = folder / "a.telemetry";
  std::string text = std::string(kRecordingHead) + "\n";
  for (uint64_t i = 0; i < 3; i++)
    text += recording_line(100 + static_cast<double>(i), {generator_snapshot(i)}) + "\n";
  std::ofstream(path) << text;
  const TelemetrySample now = read_recording(path).series()[0].samples.back();
  ASSERT_TRUE(now.generator);
  EXPECT_EQ(now.generator->cache_bytes, 8192u);
  EXPECT_EQ(now.generator->waiting, 2u);
  EXPECT_NEAR(now.decode_tokens_per_second, 50, 1e-6);
  // A field that is missing is an error, and numbers are limited.
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    std::ofstream(path) << changed;
    return read_recording(path);
  };
  EXPECT_THROW(replaced("\"waiting\"", "\"watching\""), Error);
  EXPECT_EQ(replaced("\"busy\":3", "\"busy\":900").series()[0].samples[0].generator->busy, 4u);
}

TEST(TelemetryHistory, RatesAreSinceTheSampleBefore) {
  TelemetryHistory h;
  h.add(100, {snapshot(1, 5000)});
  h.add(101, {snapshot(1, 5200)});
  ASSERT_EQ(h.series().size(), 1u);
  const TelemetrySeries& s = h.series()[0];
  ASSERT_EQ(s.samples.size(), 2u);
  EXPECT_EQ(s.samples[0].requests_per_second, 0);  // events before the first reading give no rate
  EXPECT_NEAR(s.samples[1].requests_per_second, 200, 1e-6);
  EXPECT_NEAR(s.samples[1].p50_ns, 1000, 300);
  EXPECT_DOUBLE_EQ(s.queues[0].part(s.samples[1].queues[0]), 0.25);
}

TEST(TelemetryHistory, CountsVariantRunsInTheRequestedInterval) {
  TelemetryHistory h;
  const auto at = [&](double time, uint64_t small, uint64_t large) {
    TelemetrySnapshot s = snapshot(1, small + large);
    s.variants = {{"batch 1", small, small * 10}, {"batch\n8", large, large * 50}};
    h.add(time, {s});
  };
  at(100, 5000, 70);  // from before the first reading
  at(101, 5010, 70);
  at(102, 5030, 75);
  const TelemetrySeries& s = h.series()[0];
  ASSERT_EQ(s.variants.size(), 2u);
  EXPECT_EQ(s.variants[1].find('\n'), std::string::npos);
  EXPECT_EQ(s.variant_use(0, 200)[0].runs, 30u);
  EXPECT_EQ(s.variant_use(0, 200)[1].runs, 5u);
  EXPECT_EQ(s.variant_use(0, 200)[1].busy_ns, 250u);
  EXPECT_EQ(s.variant_use(101, 102)[0].runs, 20u);
  EXPECT_EQ(s.variant_use(100, 101)[1].runs, 0u);
  const auto tables = queues_tables(h);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(std::get<std::string>(tables[1].rows.at(0)[3]), "batch 1");
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
  EXPECT_EQ(h.series()[0].starving_queue(h.series()[0].samples.back()), 0);
  TelemetryHistory calm;
  for (int i = 0; i < 50; i++) calm.add(i, {snapshot(1, 10, 7)});
  EXPECT_EQ(calm.series()[0].starving_queue(calm.series()[0].samples.back()), -1);
}

TEST(TelemetryHistory, KeepsABoundedPast) {
  TelemetryHistory h;
  for (int i = 0; i < 7000; i++) h.add(i, {snapshot(1, static_cast<uint64_t>(i))});
  EXPECT_EQ(h.series()[0].samples.size(), kMostSamples);
}

// One sample whose requests took these nanoseconds.
TelemetrySample sample_of(const std::vector<uint64_t>& latencies) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 1000);
  h.add(1, {s});
  for (const uint64_t ns : latencies) s.histogram[runtime::telemetry::bucket_of(ns)]++;
  s.completed += latencies.size();
  h.add(2, {s});
  return h.series()[0].samples.back();
}

// Ten requests per second. A reading every 0.1 s sees none, one or two new requests.
TEST(TelemetryHistory, RatesAreOverASecond) {
  TelemetryHistory h;
  for (int i = 0; i < 50; i++)
    h.add(100 + i * 0.1, {snapshot(1, static_cast<uint64_t>(i / 2 * 2))});
  for (size_t i = 20; i < 50; i++)
    EXPECT_NEAR(h.series()[0].samples[i].requests_per_second, 10, 1.01) << i;
  // A run is counted at its end, but a run of 0.4 s must not look like a pause before a burst.
  TelemetryHistory runs;
  TelemetrySnapshot s = snapshot(1, 0);
  for (int i = 0; i < 50; i++) {
    s.busy_ns = static_cast<uint64_t>(i / 4) * 400'000'000;
    runs.add(100 + i * 0.1, {s});
  }
  for (size_t i = 20; i < 50; i++) EXPECT_GE(runs.series()[0].samples[i].busy, 0.7) << i;
}

TEST(TelemetryHistory, AMomentIsKnownWhileItsProcessPublished) {
  TelemetryHistory h;
  for (int i = 0; i < 3; i++) h.add(10 + i, {snapshot(1, static_cast<uint64_t>(i) * 10)});
  h.add(13, {});
  h.add(20, {snapshot(2, 7)});
  h.add(21, {snapshot(2, 8)});
  const TelemetrySeries& s = h.series()[0];
  EXPECT_FALSE(s.at(9.9));
  ASSERT_TRUE(s.at(11.5));
  EXPECT_EQ(s.at(11.5)->all_completed, 10u);
  EXPECT_FALSE(s.at(15)) << "the first process has ended, the second not begun";
  EXPECT_TRUE(s.at(20)->first);
  EXPECT_EQ(s.at(99)->all_completed, 8u) << "it is alive";
  h.add(22, {});
  EXPECT_FALSE(s.at(99));
}

TEST(TelemetryHistory, LatenciesOfAnySpan) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  h.add(0, {s});
  for (int i = 1; i <= 100; i++) {
    s.histogram[runtime::telemetry::bucket_of(i <= 90 ? 1000 : 1000000)]++;
    h.add(i, {s});
  }
  const auto end = [](uint64_t ns) {
    return static_cast<double>(
        runtime::telemetry::bucket_begin(runtime::telemetry::bucket_of(ns) + 1));
  };
  const TelemetrySeries& series = h.series()[0];
  EXPECT_EQ(series.latency(0, 100, 0.5), end(1000));
  EXPECT_EQ(series.latency(0, 100, 0.99), end(1000000));
  EXPECT_EQ(series.latency(90, 100, 0.5), end(1000000));
  EXPECT_EQ(series.latency(200, 300, 0.5), -1);
}

TEST(TelemetryHistory, QuantilesAreEndsOfTheBucketsOfNewRequests) {
  const auto end = [](uint64_t ns) {
    return static_cast<double>(
        runtime::telemetry::bucket_begin(runtime::telemetry::bucket_of(ns) + 1));
  };
  std::vector<uint64_t> latencies(90, 5000);
  latencies.insert(latencies.end(), 9, 70000);
  latencies.push_back(900000);
  TelemetrySample s = sample_of(latencies);
  EXPECT_EQ(s.p50_ns, end(5000));
  EXPECT_EQ(s.p90_ns, end(5000));
  EXPECT_EQ(s.p99_ns, end(70000));
  latencies.assign(10, 5000);
  latencies.insert(latencies.end(), 11, 70000);
  latencies.insert(latencies.end(), 79, 900000);
  s = sample_of(latencies);
  EXPECT_EQ(s.p50_ns, end(900000));
  s = sample_of({3000});
  EXPECT_EQ(s.p50_ns, end(3000));
  EXPECT_EQ(s.p99_ns, end(3000));
  EXPECT_EQ(sample_of({}).p50_ns, -1);
}

TEST(TelemetryHistory, TheLastBucketHasNoEnd) {
  constexpr size_t kLast = runtime::telemetry::kBuckets - 1;
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  h.add(1, {s});
  s.histogram[kLast]++;
  h.add(2, {s});
  EXPECT_EQ(h.series()[0].samples.back().p50_ns,
            static_cast<double>(runtime::telemetry::bucket_begin(kLast)));
}

TEST(TelemetryHistory, OccupancyIsAtMostFullAndZeroWithoutCapacity) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  s.queues[0].fill = 100;
  s.queues[1].capacity = 0;
  s.queues[1].fill = 5;
  h.add(1, {s});
  const TelemetrySeries& series = h.series()[0];
  EXPECT_EQ(series.queues[0].part(series.samples[0].queues[0]), 1);
  EXPECT_EQ(series.queues[1].part(series.samples[0].queues[1]), 0);
  EXPECT_EQ(series.full_queue(series.samples[0]), 0);
}

TEST(TelemetryHistory, TheInputThatStallsMostStarves) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  s.queues.push_back(s.queues[0]);
  s.queues[2].name = "z";
  for (uint64_t i = 0; i < 50; i++) {
    s.queues[0].stalls = i * 3;
    s.queues[1].stalls = i * 100;  // an output that waits for its reader does not starve
    s.queues[2].stalls = i * 5;
    h.add(static_cast<double>(i), {s});
  }
  const TelemetrySample& last = h.series()[0].samples.back();
  EXPECT_EQ(h.series()[0].starving_queue(last), 2);
  EXPECT_NEAR(last.queues[0].stalls_per_second, 3, 0.5);
}

TEST(TelemetryHistory, FailuresAreEvents) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  h.add(1, {s});
  s.failed = 3;
  h.add(2, {s});
  h.add(3, {s});
  EXPECT_EQ(h.series()[0].samples[1].failed, 3u);
  EXPECT_EQ(h.series()[0].samples[2].failed, 0u);
  ASSERT_EQ(h.series()[0].events.size(), 2u);
  EXPECT_EQ(h.series()[0].events[1].text, "3 requests failed");
}

TEST(TelemetryHistory, BusyAndRunsAreSinceTheSampleBefore) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  s.runs = 100;
  s.busy_ns = 5'000'000'000;
  h.add(10, {s});
  s.runs += 6;
  s.busy_ns += 500'000'000;
  h.add(12, {s});
  EXPECT_NEAR(h.series()[0].samples[1].runs_per_second, 3, 1e-6);
  EXPECT_NEAR(h.series()[0].samples[1].busy, 0.25, 1e-6);
  s.busy_ns += 9'000'000'000;
  h.add(13, {s});
  EXPECT_EQ(h.series()[0].samples[2].busy, 1);
}

TEST(TelemetryHistory, OtherNamesAndReplicasAreOtherSeries) {
  TelemetryHistory h;
  TelemetrySnapshot a = snapshot(1, 0), b = a, c = a;
  b.name = "other";
  c.replica = 1;
  h.add(1, {a, b, c});
  ASSERT_EQ(h.series().size(), 3u);
  EXPECT_EQ(h.series()[1].name, "other");
  EXPECT_EQ(h.series()[2].replica, 1);
  // Two segments with the same identity count once.
  h.add(2, {a, a});
  EXPECT_EQ(h.series().size(), 3u);
  EXPECT_EQ(h.series()[0].samples.size(), 2u);
}

TEST(TelemetryHistory, OfTwoThatEndedTheFirstBeginsAgain) {
  TelemetryHistory h;
  h.add(1, {snapshot(1, 5), snapshot(2, 5)});
  h.add(2, {});
  h.add(3, {snapshot(3, 5)});
  ASSERT_EQ(h.series().size(), 2u);
  EXPECT_EQ(h.series()[0].pid, 3u);
  EXPECT_EQ(h.series()[0].started_ns, 3000u);
  EXPECT_EQ(h.series()[1].pid, 2u);
  EXPECT_FALSE(h.series()[1].alive);
  // A process with the number of one that ended, but begun later, is another.
  TelemetrySnapshot again = snapshot(3, 0);
  again.started_ns++;
  h.add(4, {again});
  EXPECT_NE(h.series()[1].events.back().text.find("began again"), std::string::npos);
}

TEST(TelemetryHistory, SeriesAndEventsAreBounded) {
  TelemetryHistory h;
  std::vector<TelemetrySnapshot> many;
  for (uint64_t i = 1; i <= 300; i++) {
    many.push_back(snapshot(i, 0));
    many.back().queues.clear();
  }
  h.add(1, many);
  EXPECT_EQ(h.series().size(), 256u);
  h.add(2, many);  // the known series continue
  EXPECT_EQ(h.series().size(), 256u);
  for (const TelemetrySeries& s : h.series()) {
    EXPECT_TRUE(s.alive) << s.pid;
    EXPECT_EQ(s.samples.size(), 2u) << s.pid;
  }
  TelemetryHistory one;
  TelemetrySnapshot s = snapshot(1, 0);
  for (int i = 0; i < 1100; i++) {
    s.failed++;
    one.add(i, {s});
  }
  EXPECT_EQ(one.series()[0].events.size(), 1000u);
}

TEST_F(TelemetryRecording, RoundTrips) {
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
    publisher.name_queue(0, "x", false, 8);
    EXPECT_TRUE(wait_for([](const TelemetryHistory& h) {
      return !h.series().empty() && h.series()[0].alive;
    })) << round;
    publisher.submitted();
    publisher.completed(std::chrono::microseconds(5));
    EXPECT_TRUE(wait_for(
        [](const TelemetryHistory& h) { return h.series()[0].samples.back().all_completed == 1; }));
    if (round == 0) watcher.mark(1234);
    if (round == 1) break;
  }
  EXPECT_TRUE(wait_for([](const TelemetryHistory& h) { return !h.series()[0].alive; }));
  watcher.stop_recording();
  watcher.with_history([](const TelemetryHistory& h) { EXPECT_EQ(h.series().size(), 1u); });
  const TelemetryHistory back = read_recording(path);
  EXPECT_EQ(back.series().size(), 1u);
  ASSERT_EQ(back.marks().size(), 1u);
  EXPECT_EQ(back.marks()[0].time, 1234);
  EXPECT_EQ(back.marks()[0].text, "mark 1");
  unsetenv("POPRT_TELEMETRY_DIR");
}

TEST_F(TelemetryLive, WakesWhileSomethingIsAliveAndOnceMore) {
  setenv("POPRT_TELEMETRY_DIR", folder.c_str(), 1);
  std::atomic<int> woken = 0;
  {
    TelemetryWatcher watcher(folder, 0.001, [&] { woken++; });
    const auto looks_more = [&](uint64_t n) {
      const uint64_t until = watcher.sample_count() + n;
      for (int i = 0; i < 2000 && watcher.sample_count() < until; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_GE(watcher.sample_count(), until);
    };
    looks_more(5);
    EXPECT_EQ(woken, 0);
    {
      const runtime::Telemetry publisher("net", 0, 1);
      looks_more(5);
      EXPECT_GE(woken, 2);
    }
    looks_more(3);  // one reader sees the end; from then on no thread is woken
    const int before = woken;
    looks_more(5);
    EXPECT_EQ(woken, before);
  }
  unsetenv("POPRT_TELEMETRY_DIR");
}

// Events before the first reading give no rate and no current failure.
TEST(TelemetryHistory, TheFirstSampleHasTotalsAndNoRates) {
  TelemetryHistory h;
  EXPECT_EQ(h.first_time(), 0);
  TelemetrySnapshot s = snapshot(1, 7, 30);
  s.failed = 2;
  s.in_flight = 4;
  s.runs = 9;
  s.busy_ns = 5000;
  h.add(5, {s});
  const TelemetrySample first = h.series()[0].samples[0];
  EXPECT_TRUE(first.first);
  EXPECT_EQ(first.all_completed, 7u);
  EXPECT_EQ(first.all_failed, 2u);
  EXPECT_EQ(first.all_runs, 9u);
  EXPECT_EQ(first.all_busy_ns, 5000u);
  EXPECT_EQ(first.in_flight, 4u);
  EXPECT_EQ(first.failed + first.stalls, 0u);
  EXPECT_EQ(first.requests_per_second + first.runs_per_second + first.busy, 0);
  for (const double none : {first.p50_ns, first.p90_ns, first.p99_ns}) EXPECT_EQ(none, -1);
  EXPECT_EQ(first.queues[0].stalls_per_second, 0);
  EXPECT_TRUE(first.latencies.empty());
  // The shortest requests are in the first bucket.
  s.histogram[0] += 3;
  s.queues[0].stalls += 40;
  s.queues[1].stalls += 2;
  h.add(7, {s});
  const TelemetrySample next = h.series()[0].samples[1];
  EXPECT_FALSE(next.first);
  EXPECT_EQ(next.latencies, (std::vector<std::pair<uint16_t, uint32_t>>{{0, 3}}));
  EXPECT_EQ(next.p50_ns, static_cast<double>(runtime::telemetry::bucket_begin(1)));
  EXPECT_EQ(next.stalls, 42u);
  EXPECT_FLOAT_EQ(next.queues[0].stalls_per_second, 40 / 2.0f / 20) << "smoothed over 20 looks";
  EXPECT_EQ(h.first_time(), 5);
  EXPECT_EQ(h.last_time(), 7);
  TelemetrySnapshot dead = snapshot(9, 1);
  dead.name = "dead";
  dead.alive = false;
  h.add(8, {s, dead});
  EXPECT_EQ(h.series().size(), 1u) << "an ended process publishes nothing";
}

TEST(TelemetryHistory, NewOrRenamedQueuesHaveNoStalls) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  h.add(1, {s});
  s.queues.push_back(s.queues[0]);
  s.queues[2].name = "z";
  s.queues[2].stalls = 100;
  h.add(2, {s});
  EXPECT_EQ(h.series()[0].samples[1].queues[2].stalls_per_second, 0);
  EXPECT_EQ(h.series()[0].queues.size(), 3u);
  s.queues[2].stalls = 120;
  h.add(3, {s});
  EXPECT_FLOAT_EQ(h.series()[0].samples[2].queues[2].stalls_per_second, 1);
  s.queues[2].name = "w";
  h.add(4, {s});
  EXPECT_EQ(h.series()[0].samples[3].queues[2].stalls_per_second, 0);
  EXPECT_EQ(h.series()[0].queues[2].name, "w");
  s.queues.resize(1);
  h.add(5, {s});
  EXPECT_EQ(h.series()[0].queues.size(), 1u);
}

TEST(TelemetryHistory, AQueueStarvesFromHalfAStallASecondOn) {
  TelemetrySeries series;
  for (const char* name : {"a", "b", "c"}) series.queues.push_back({name, false, 4});
  const auto starving = [&](std::vector<float> rates) {
    TelemetrySample s;
    for (const float rate : rates) s.queues.push_back({0, 0, 0, 0, rate});
    return series.starving_queue(s);
  };
  EXPECT_EQ(starving({0.5f, 0.5f, 0.5f}), -1);
  EXPECT_EQ(starving({0.5f, 0.6f, 0.5f}), 1);
  EXPECT_EQ(starving({5, 3, 4}), 0);
  EXPECT_EQ(starving({3, 3, 3}), 0) << "the first of equals";
  EXPECT_EQ(starving({1, 3, 2}), 1);
  EXPECT_EQ(series.full_queue({}), -1) << "of no queues";
  TelemetrySample half;
  half.queues.assign(3, {2, 0, 0, 0, 0});
  EXPECT_EQ(series.full_queue(half), -1);
  half.queues[2].fill = 4;
  EXPECT_EQ(series.full_queue(half), 2);
}

TEST(TelemetryHistory, AQueueWithWaitingElementsDoesNotStarve) {
  TelemetryHistory h;
  TelemetrySnapshot s = snapshot(1, 0);
  for (uint64_t i = 0; i < 100; i++) {
    s.queues[0].capacity = 16;
    s.queues[0].fill = 6;  // 38 %
    s.queues[0].stalls = i * 30;
    h.add(static_cast<double>(i), {s});
  }
  EXPECT_NEAR(h.series()[0].samples.back().queues[0].mean_fill, 6, 0.01);
  EXPECT_EQ(h.series()[0].starving_queue(h.series()[0].samples.back()), -1);
  for (uint64_t i = 100; i < 200; i++) {
    s.queues[0].fill = i % 2;
    s.queues[0].stalls = i * 30;
    h.add(static_cast<double>(i), {s});
  }
  EXPECT_EQ(h.series()[0].starving_queue(h.series()[0].samples.back()), 0);
}

TEST(TelemetryHistory, RequestsThatUseNoQueueAreCounted) {
  TelemetrySeries series;
  series.queues = {{"a", false, 4}, {"b", true, 4}};
  TelemetrySample s;
  s.all_completed = 22000;
  s.all_failed = 3;
  s.queues.assign(2, {});
  EXPECT_EQ(series.direct(s), 22003u);
  s.queues[1].enqueued = 22000;
  EXPECT_EQ(series.direct(s), 3u);
  s.queues[1].enqueued = 30000;  // requests in flight are enqueued and not completed
  EXPECT_EQ(series.direct(s), 0u);
  series.queues.clear();
  s.queues.clear();
  EXPECT_EQ(series.direct(s), 0u) << "a trace channel has no queues";
}

TEST(TelemetryHistory, TheLastSampleOfAProcessIsThatOfItsMoment) {
  TelemetryHistory h;
  h.add(10, {snapshot(1, 5)});
  h.add(11, {snapshot(1, 6)});
  h.add(12, {});
  ASSERT_TRUE(h.series()[0].at(11));
  EXPECT_EQ(h.series()[0].at(11)->all_completed, 6u);
  EXPECT_FALSE(h.series()[0].at(11.1));
}

TEST_F(TelemetryRecording, EveryFieldIsReadBack) {
  const auto path = folder / "fields.telemetry";
  TelemetrySnapshot s = snapshot(5, 70, 3);
  s.started_ns = 12345;
  s.replica = 2;
  s.submitted = 80;
  s.failed = 4;
  s.in_flight = 6;
  s.latency_max_ns = 777;
  s.runs = 11;
  s.busy_ns = 222;
  s.histogram[0] = 9;
  s.queues[0].high_water = 7;
  s.queues[0].enqueued = 81;
  s.queues[1].finished = 71;
  s.variants = {{"one", 5, 50}};
  std::ofstream(path) << kRecordingHead << "\n\n" << recording_line(3, {s}) << "\n\n";
  const TelemetryHistory h = read_recording(path);
  ASSERT_EQ(h.series().size(), 1u) << "empty lines are ignored";
  EXPECT_EQ(h.last_time(), 3);
  const TelemetrySeries& series = h.series()[0];
  EXPECT_EQ(series.title(), "net · replica 2 · pid 5");
  EXPECT_EQ(series.started_ns, 12345u);
  const TelemetrySnapshot& back = series.last;
  EXPECT_EQ(back.submitted, 80u);
  EXPECT_EQ(back.completed, 70u);
  EXPECT_EQ(back.failed, 4u);
  EXPECT_EQ(back.in_flight, 6u);
  EXPECT_EQ(back.latency_max_ns, 777u);
  EXPECT_EQ(back.runs, 11u);
  EXPECT_EQ(back.busy_ns, 222u);
  EXPECT_EQ(back.histogram, s.histogram);
  ASSERT_EQ(back.queues.size(), 2u);
  EXPECT_EQ(back.queues[0].capacity, 8u);
  EXPECT_EQ(back.queues[0].fill, 2u);
  EXPECT_EQ(back.queues[0].high_water, 7u);
  EXPECT_EQ(back.queues[0].enqueued, 81u);
  EXPECT_EQ(back.queues[0].stalls, 3u);
  EXPECT_EQ(back.queues[1].finished, 71u);
  EXPECT_TRUE(back.queues[1].is_output);
  ASSERT_EQ(back.variants.size(), 1u);
  EXPECT_EQ(back.variants[0].runs, 5u);
  EXPECT_EQ(back.variants[0].busy_ns, 50u);
}

TEST_F(TelemetryRecording, OfManyQueuesAndVariantsTheFirstAreRead) {
  const auto path = folder / "many.telemetry";
  TelemetrySnapshot s = snapshot(1, 0);
  s.queues.resize(300);
  s.variants.resize(300);
  std::ofstream(path) << kRecordingHead << '\n' << recording_line(3, {s}) << '\n';
  const TelemetryHistory h = read_recording(path);
  EXPECT_EQ(h.series()[0].last.queues.size(), kMostShownQueues);
  EXPECT_EQ(h.series()[0].last.variants.size(), kMostShownQueues);
  EXPECT_EQ(h.series()[0].queues.size(), kMostShownQueues);
  EXPECT_EQ(h.series()[0].variants.size(), kMostShownQueues);
}

TEST_F(TelemetryRecording, TimesDoNotDecrease) {
  const auto path = folder / "back.telemetry";
  const auto write = [&](double second) {
    std::ofstream(path) << kRecordingHead << '\n'
                        << recording_line(5, {}) << '\n'
                        << recording_line(second, {}) << '\n';
  };
  write(5);
  EXPECT_EQ(read_recording(path).last_time(), 5);
  write(4.5);
  EXPECT_THROW(read_recording(path), Error);
}

TEST_F(TelemetryLive, ASecondRecordingIsAnotherFile) {
  TelemetryWatcher watcher(folder, 3600);
  EXPECT_FALSE(watcher.recording());
  watcher.record(folder / "first.telemetry");
  EXPECT_TRUE(watcher.recording());
  watcher.mark(1);
  EXPECT_THROW(watcher.record(folder / "nowhere" / "second.telemetry"), Error);
  watcher.record(folder / "second.telemetry");
  watcher.mark(2);
  watcher.stop_recording();
  EXPECT_FALSE(watcher.recording());
  watcher.mark(3);
  EXPECT_EQ(read_recording(folder / "first.telemetry").marks().size(), 1u);
  const TelemetryHistory second = read_recording(folder / "second.telemetry");
  ASSERT_EQ(second.marks().size(), 1u);
  EXPECT_EQ(second.marks()[0].text, "mark 2");
}

}  // namespace
}  // namespace poprt::inspector
