#include "runtime/telemetry/telemetry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "runtime/queue/queue_manager.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/session.h"
#include "runtime/telemetry/telemetry_reader.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

using std::chrono::nanoseconds;
using test::CopyModel;

class TelemetryTest : public ::testing::Test {
 protected:
  TelemetryTest() {
    char name[] = "/tmp/poprt_telemetry_XXXXXX";
    folder_ = mkdtemp(name);
    setenv("POPRT_TELEMETRY_DIR", folder_.c_str(), 1);
  }
  ~TelemetryTest() override {
    unsetenv("POPRT_TELEMETRY_DIR");
    unsetenv("POPRT_TELEMETRY");
    std::filesystem::remove_all(folder_);
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
};

ErrorCode code_of(const std::filesystem::path& path) {
  try {
    read_segment(path);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::ok;
}

TEST(TelemetryLayout, BucketsCoverEveryLatency) {
  for (uint64_t ns = 0; ns < 100'000; ns++) {
    const size_t b = telemetry::bucket_of(ns);
    ASSERT_LE(telemetry::bucket_begin(b), ns);
    ASSERT_GT(telemetry::bucket_begin(b + 1), ns);
  }
  EXPECT_LT(telemetry::bucket_of(UINT64_MAX), telemetry::kBuckets);
  for (size_t b = 5; b <= telemetry::bucket_of(UINT64_MAX); b++)  // widths of at most 25 %
    EXPECT_LE(telemetry::bucket_begin(b) - telemetry::bucket_begin(b - 1),
              std::max<uint64_t>(1, telemetry::bucket_begin(b - 1) / 4));
}

TEST_F(TelemetryTest, RunsAndAnswersAreCountedAtTheSameTime) {
  Telemetry t("m", 0, 0);
  constexpr uint64_t kEach = 500000;
  std::latch begin(4);
  const auto each = [&](auto&& count) {
    return std::jthread([&begin, count] {
      begin.arrive_and_wait();
      for (uint64_t i = 0; i < kEach; i++) count();
    });
  };
  {
    const Telemetry::Clock::time_point start{};
    const auto a = each([&] { t.completed(nanoseconds(1)); }),
               b = each([&] { t.completed(nanoseconds(2)); }), c = each([&] { t.failed(); }),
               d = each([&] { t.ran(start, start + nanoseconds(3)); });
  }
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_TRUE(s.consistent);
  EXPECT_EQ(s.completed, 2 * kEach);
  EXPECT_EQ(s.latency_sum_ns, 3 * kEach);
  EXPECT_EQ(s.failed, kEach);
  EXPECT_EQ(s.runs, kEach);
  EXPECT_EQ(s.busy_ns, 3 * kEach);
}

TEST_F(TelemetryTest, AThreadWaitsForTheChangeOfAnother) {
  Telemetry t("m", 0, 0);
  const int fd = open(t.path().c_str(), O_RDWR);
  constexpr size_t kBytes = sizeof(telemetry::Header) + sizeof(telemetry::Replica);
  void* const map = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(map, MAP_FAILED);
  auto& record = *std::launder(reinterpret_cast<telemetry::Replica*>(static_cast<std::byte*>(map) +
                                                                     sizeof(telemetry::Header)));
  record.sequence = 1;  // another thread is changing the record
  {
    const std::jthread answers([&] { t.completed(nanoseconds(1)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(record.completed, 0u);
    record.sequence = 2;
  }
  EXPECT_EQ(record.completed, 1u);
  EXPECT_EQ(record.sequence, 4u);
  munmap(map, kBytes);
  close(fd);
}

TEST_F(TelemetryTest, RunsAreCountedByVariant) {
  const std::vector<std::string> names = {"batch 1", "batch\t8"};
  Telemetry t("m", 0, 1, names);
  const Telemetry::Clock::time_point start(std::chrono::seconds(7));
  for (int i = 0; i < 3; i++) t.ran(start, start + nanoseconds(100), 1);
  t.ran(start, start + nanoseconds(50), 0);
  t.ran(start, start + nanoseconds(1), 2);  // no such variant: counted as a run alone
  t.name_queue(0, "image", false, 4);
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_EQ(s.runs, 5u);
  ASSERT_EQ(s.queues.size(), 1u);
  EXPECT_EQ(s.queues[0].name, "image");
  ASSERT_EQ(s.variants.size(), 2u);
  EXPECT_EQ(s.variants[0].name, "batch 1");
  EXPECT_EQ(s.variants[1].name, "batch?8") << "safe to print";
  EXPECT_EQ(s.variants[0].runs, 1u);
  EXPECT_EQ(s.variants[0].busy_ns, 50u);
  EXPECT_EQ(s.variants[1].runs, 3u);
  EXPECT_EQ(s.variants[1].busy_ns, 300u);
  EXPECT_EQ(nlohmann::json::parse(telemetry_json(folder_))[0]["branches"][1]["runs"], 3);
}

TEST_F(TelemetryTest, AGeneratorHasARecordAfterTheVariants) {
  const std::vector<std::string> names = {"decode", "prompt"};
  const Telemetry without("m", 0, 1, names);
  EXPECT_EQ(without.generator(), nullptr);
  EXPECT_FALSE(read_segment(without.path()).generator);
  const Telemetry t("m", 1, 1, names, true);
  telemetry::Generator& g = *t.generator();
  g.slots = 4;
  g.max_length = 100;
  g.cache_bytes = 4096;
  g.busy = 3;
  g.used = 150;
  g.decode_ns = 9;
  const TelemetrySnapshot s = read_segment(t.path());
  ASSERT_TRUE(s.generator);
  EXPECT_EQ(s.generator->busy, 3u);
  EXPECT_EQ(s.generator->cache_bytes, 4096u);
  EXPECT_EQ(s.generator->decode_ns, 9u);
  EXPECT_EQ(s.generator->used_part(), 0.375);
  EXPECT_EQ(s.variants.size(), 2u);
  // Numbers of another process are limited.
  g.slots = g.max_length = UINT64_MAX;
  g.busy = g.used = UINT64_MAX;
  const GeneratorSnapshot hostile = *read_segment(t.path()).generator;
  EXPECT_LE(hostile.busy, hostile.slots);
  EXPECT_EQ(hostile.places() / hostile.slots, hostile.max_length);
  EXPECT_LE(hostile.used_part(), 1);
  g.slots = 0;
  EXPECT_EQ(read_segment(t.path()).generator->used_part(), 0);
}

TEST_F(TelemetryTest, ReadersSeeCounters) {
  Telemetry t("resnet\n50", 3, 2);
  for (int i = 0; i < 5; i++) t.submitted();
  t.completed(nanoseconds(1000));
  t.completed(nanoseconds(3000));
  t.failed();
  const Telemetry::Clock::time_point start(std::chrono::seconds(7));
  t.ran(start, start + nanoseconds(400));
  telemetry::Queue* const q = t.name_queue(1, "image", true, 64);
  q->enqueued = 10;
  q->finished = 7;
  q->high_water = 5;
  q->stalls = 2;
  EXPECT_EQ(t.name_queue(2, "none", false, 1), nullptr);

  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_EQ(s.name, "resnet?50") << "safe to print";
  EXPECT_EQ(s.replica, 3u);
  EXPECT_EQ(s.pid, static_cast<uint64_t>(getpid()));
  EXPECT_TRUE(s.alive);
  EXPECT_TRUE(s.consistent);
  EXPECT_EQ(s.submitted, 5u);
  EXPECT_EQ(s.completed, 2u);
  EXPECT_EQ(s.failed, 1u);
  EXPECT_EQ(s.in_flight, 2u);
  EXPECT_EQ(s.runs, 1u);
  EXPECT_EQ(s.busy_ns, 400u);
  EXPECT_EQ(s.latency_sum_ns, 4000u);
  EXPECT_EQ(s.latency_max_ns, 3000u);
  EXPECT_GE(s.quantile_ns(0.5), 1000u);
  EXPECT_LE(s.quantile_ns(0.5), 1250u);
  EXPECT_EQ(s.quantile_ns(1), 3000u);
  ASSERT_EQ(s.queues.size(), 1u);
  EXPECT_EQ(s.queues[0].name, "image");
  EXPECT_TRUE(s.queues[0].is_output);
  EXPECT_EQ(s.queues[0].capacity, 64u);
  EXPECT_EQ(s.queues[0].fill, 3u);
  EXPECT_EQ(s.queues[0].high_water, 5u);
  EXPECT_EQ(s.queues[0].stalls, 2u);

  const auto j = nlohmann::json::parse(telemetry_json(folder_));
  ASSERT_EQ(j.size(), 1u);
  EXPECT_EQ(j[0]["requests"]["in_flight"], 2);
  EXPECT_EQ(j[0]["queues"][0]["direction"], "output");
  EXPECT_EQ(j[0]["latency_ns"]["histogram"].size(), 2u);
}

TEST_F(TelemetryTest, SegmentsGoWithTheirPublisher) {
  std::filesystem::path path;
  {
    const Telemetry t("m", 0, 0);
    path = t.path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
  }
  EXPECT_EQ(code_of(path), ErrorCode::not_found);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(telemetry_json(folder_), "[]");
}

TEST_F(TelemetryTest, SegmentsStayWhenAForkedChildDestroysItsCopy) {
  auto t = std::make_unique<Telemetry>("m", 0u, 0u);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    t.reset();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(code_of(t->path()), ErrorCode::ok);
  t.reset();
  EXPECT_EQ(files(), 0u);
}

TEST_F(TelemetryTest, SegmentOfAKilledProcessIsDeadAndRemovedLater) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Telemetry t("victim", 0, 0);
    t.submitted();
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) t.completed(nanoseconds(5));
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  auto list = list_segments(folder_);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0].alive);
  EXPECT_TRUE(read_segment(list[0].path).alive);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  list = list_segments(folder_);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].alive);
  EXPECT_EQ(read_segment(list[0].path).name, "victim");
  const Telemetry next("next", 0, 0);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read_segment(list_segments(folder_).at(0).path).name, "next");
}

// The sum of latencies is always 7 times their number in a consistent copy.
TEST_F(TelemetryTest, CopiesAreConsistentWhileItCounts) {
  Telemetry t("m", 0, 0);
  std::atomic<bool> stop{false};
  std::thread publisher([&] {
    while (!stop) {
      for (int i = 0; i < 100; i++) t.completed(nanoseconds(7));
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  int consistent = 0;
  for (int i = 0; i < 2000; i++) {
    const TelemetrySnapshot s = read_segment(t.path());
    if (!s.consistent) continue;
    consistent++;
    ASSERT_EQ(s.latency_sum_ns, 7 * s.completed);
    ASSERT_EQ(s.histogram[telemetry::bucket_of(7)], s.completed);
  }
  stop = true;
  publisher.join();
  EXPECT_GT(consistent, 1000);
}

// Readers in other processes may be killed at any moment without an effect on others.
TEST_F(TelemetryTest, ReadersMayVanish) {
  Telemetry t("m", 0, 1);
  for (int i = 0; i < 5; i++) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) static_cast<void>(telemetry_json(folder_));
    for (int k = 0; k < 1000; k++) t.completed(nanoseconds(1));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_TRUE(s.consistent);
  EXPECT_TRUE(s.alive);
  EXPECT_EQ(s.completed, 5000u);
}

// The counters of a session with three queues, one of which is named.
std::string published_bytes() {
  Telemetry t("m", 0, 3);
  t.name_queue(0, "x", false, 8);
  std::ifstream in(t.path(), std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

TEST_F(TelemetryTest, HostileSegmentsAreRefusedOrRead) {
  const std::string original = published_bytes();
  const auto path = folder_ / "telemetry.1.2.3";
  const auto write = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  };
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 1000; i++) {
    std::string bytes = original;
    for (unsigned n = 0; n <= random() % 3; n++)
      bytes[random() % (random() % 2 ? 64 : bytes.size())] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    write(bytes);
    const ErrorCode code = code_of(path);
    ASSERT_TRUE(code == ErrorCode::ok || code == ErrorCode::data_loss ||
                code == ErrorCode::failed_precondition)
        << error_code_name(code);
    accepted += code == ErrorCode::ok;
    if (i % 16 == 0) EXPECT_NO_THROW(telemetry_json(folder_));
  }
  EXPECT_GT(accepted, 30);
  std::string newer = original;
  newer[8] = 2;
  write(newer);
  EXPECT_EQ(code_of(path), ErrorCode::failed_precondition);
  std::string odd = original;
  odd[sizeof(telemetry::Header)] = 1;  // the process died while it counted
  write(odd);
  EXPECT_FALSE(read_segment(path).consistent);
  // A path that is no file does not block and is not followed.
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(code_of(path), ErrorCode::data_loss);
  std::filesystem::create_symlink("/etc/passwd", folder_ / "telemetry.link");
  EXPECT_EQ(code_of(folder_ / "telemetry.link"), ErrorCode::permission_denied);
  EXPECT_TRUE(list_segments(folder_).empty());
}

TEST_F(TelemetryTest, AFolderThatCannotBeUsedIsNoReasonToFail) {
  setenv("POPRT_TELEMETRY_DIR", "/dev/null", 1);
  EXPECT_EQ(Telemetry::try_make("m", 0, 0), nullptr);
  setenv("POPRT_TELEMETRY", "1", 1);
  CopyModel copy(4);
  Session session(make_model("m", copy.image()));
  EXPECT_EQ(session.telemetry(), nullptr);
}

TEST_F(TelemetryTest, SessionsPublishRunsAndQueues) {
  CopyModel copy(4);
  EXPECT_EQ(Session(make_model("m", copy.image())).telemetry(), nullptr) << "only when asked";
  for (const char* off : {"", "0"}) {
    setenv("POPRT_TELEMETRY", off, 1);
    EXPECT_FALSE(telemetry_wanted());
  }
  setenv("POPRT_TELEMETRY", "1", 1);
  Session session(make_model("copies", copy.image()));
  ASSERT_NE(session.telemetry(), nullptr);
  QueueManager& queues = session.create_queue_manager(8);
  std::vector<float> x(4), y(4), c(4);
  for (int i = 0; i < 3; i++) {
    queues.input_queue("x").enqueue(x.data(), 16);
    queues.output_queue("y").enqueue(y.data(), 16);
    queues.output_queue("c").enqueue(c.data(), 16);
  }
  for (int i = 0; i < 2; i++) session.run_main_programs();
  const TelemetrySnapshot s = read_segment(session.telemetry()->path());
  EXPECT_EQ(s.name, "copies");
  EXPECT_EQ(s.runs, 2u);
  ASSERT_EQ(s.queues.size(), 3u);
  EXPECT_EQ(s.queues[0].name, "x");
  EXPECT_FALSE(s.queues[0].is_output);
  EXPECT_EQ(s.queues[0].capacity, 8u);
  EXPECT_EQ(s.queues[0].high_water, 3u);
  EXPECT_EQ(s.queues[0].fill, 1u);
  EXPECT_EQ(s.queues[2].finished, 2u);
  EXPECT_EQ(s.completed, 2u) << "each transfer is a request";
  EXPECT_EQ(s.submitted, 2u);
  EXPECT_GT(s.latency_sum_ns, 0u);
  EXPECT_EQ(s.in_flight, 0u);
}

// Without queues, transfers through handlers are requests. A handler that fails is a failed
// request.
TEST_F(TelemetryTest, TransfersThroughHandlersAreRequests) {
  CopyModel copy(4);
  SessionConfig config;
  config.telemetry = true;
  Session session(make_model("copies", copy.image()), config);
  struct Handler : StreamCallback {
    Result fetch(void*) noexcept override {
      return fails ? Result::not_available : Result::success;
    }
    bool fails = false;
  };
  const auto y = std::make_shared<Handler>();
  session.set_user_input_handler("x", std::make_shared<Handler>());
  session.set_user_output_handler("y", y);
  session.set_user_output_handler("c", std::make_shared<Handler>());
  for (int i = 0; i < 3; i++) session.run_main_programs();
  y->fails = true;
  EXPECT_THROW(session.run_main_programs(), Error);
  const TelemetrySnapshot s = read_segment(session.telemetry()->path());
  EXPECT_EQ(s.completed, 3u);
  EXPECT_EQ(s.failed, 1u);
  EXPECT_EQ(s.in_flight, 0u);
  EXPECT_EQ(s.runs, 4u);
}

TEST_F(TelemetryTest, ARunnersAnchorsShareItsRing) {
  CopyModel copy(4);
  RunnerConfig config;
  config.session.telemetry = true;
  config.ring_buffer_size_multiplier = 3;
  ModelRunner runner(make_model("m", copy.image()), config);
  std::vector<float> x(4), y(4), c(4);
  const InputBinding in[] = {{"x", 0, x.data(), 16}};
  const OutputBinding out[] = {{"y", 0, y.data(), 16}, {"c", 0, c.data(), 16}};
  for (int i = 0; i < 10; i++) runner.execute_async(in, out)->wait();
  runner.execute(in, out);  // needs no queue
  const auto path = std::filesystem::directory_iterator(folder_)->path();
  TelemetrySnapshot s = read_segment(path);
  // It waits for more requests.
  for (int i = 0; i < 10'000 && s.queues.at(0).stalls == 0; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    s = read_segment(path);
  }
  ASSERT_EQ(s.queues.size(), 3u);
  EXPECT_EQ(s.completed, 11u);
  for (const QueueSnapshot& q : s.queues) {
    EXPECT_EQ(q.capacity, 3u);
    EXPECT_EQ(q.enqueued, 10u);
    EXPECT_EQ(q.finished, 10u);
    EXPECT_EQ(q.fill, 0u);
    EXPECT_EQ(q.high_water, 1u);
    EXPECT_GT(q.stalls, 0u);
  }
  EXPECT_EQ(s.queues[0].name, "x");
  EXPECT_EQ(s.queues[2].name, "c");
  EXPECT_TRUE(s.queues[2].is_output && !s.queues[0].is_output);
  const auto json = nlohmann::json::parse(to_json(s));
  EXPECT_NEAR(json["requests_per_second"].get<double>(),
              11e9 / static_cast<double>(s.sampled_ns - s.started_ns), 1e-3);
}

TEST_F(TelemetryTest, FailedRunsAreCounted) {
  for (const bool synchronous : {true, false}) {
    CopyModel copy(4);
    RunnerConfig config;
    config.session.telemetry = true;
    config.faults = std::make_shared<FaultInjector>("application_runtime_error@2");
    ModelRunner runner(make_model("m", copy.image()), config);
    std::vector<float> x(4), y(4), c(4);
    const InputBinding in[] = {{"x", 0, x.data(), 16}};
    const OutputBinding out[] = {{"y", 0, y.data(), 16}, {"c", 0, c.data(), 16}};
    const auto run = [&] {
      if (synchronous) return runner.execute(in, out);
      const RequestPtr request = runner.execute_async(in, out);
      request->wait();
      request->check();
    };
    run();
    EXPECT_THROW(run(), Error);
    const TelemetrySnapshot s = read_segment(std::filesystem::directory_iterator(folder_)->path());
    EXPECT_EQ(s.completed, 1u);
    EXPECT_EQ(s.failed, 1u);
    EXPECT_EQ(s.submitted, 2u);
    EXPECT_EQ(s.in_flight, 0u);
  }
}

TEST_F(TelemetryTest, AQueueSharesTheCountersOfOneThatThereIs) {
  const std::string original = published_bytes();
  const auto path = folder_ / "telemetry.1.2.3";
  const auto with = [&](uint64_t shares) {
    std::string bytes = original;
    const size_t queues = sizeof(telemetry::Header) + sizeof(telemetry::Replica);
    std::memcpy(&bytes[queues + offsetof(telemetry::Queue, shares)], &shares, 8);
    const uint64_t counted = 5;
    std::memcpy(&bytes[queues + 2 * sizeof(telemetry::Queue) + offsetof(telemetry::Queue, stalls)],
                &counted, 8);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  };
  with(3);
  EXPECT_EQ(read_segment(path).queues.at(0).stalls, 5u);
  with(0);
  EXPECT_EQ(read_segment(path).queues.at(0).stalls, 0u);
  with(4);
  EXPECT_EQ(code_of(path), ErrorCode::data_loss);
}

// Changes one field of the header at a time.
TEST_F(TelemetryTest, SizesThatMakeNoSenseAreRefused) {
  const std::string original = published_bytes();
  const auto path = folder_ / "telemetry.1.2.3";
  const auto message_for = [&](auto change) -> std::string {
    telemetry::Header h;
    std::memcpy(&h, original.data(), sizeof h);
    change(h);
    std::string bytes = original;
    bytes.resize(1 << 20);  // room for records of any size
    std::memcpy(bytes.data(), &h, sizeof h);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    try {
      read_segment(path);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  };
  const std::string senseless = "its sizes make no sense";
  const auto refused = [&](auto change) {
    EXPECT_NE(message_for(change).find(senseless), std::string::npos) << message_for(change);
  };
  EXPECT_EQ(message_for([](auto&) {}), "");
  EXPECT_EQ(message_for([](auto& h) { h.header_bytes += 8; }), "");  // a later version's
  for (const uint32_t wrong : {0u, 8u, 1u << 19, ~0u}) {
    refused([&](auto& h) { h.header_bytes = wrong; });
    refused([&](auto& h) { h.replica_bytes = wrong; });
    refused([&](auto& h) { h.queue_bytes = wrong; });
  }
  refused([](auto& h) { h.header_bytes += 4; });
  refused([](auto& h) { h.replica_bytes += 1; });
  refused([](auto& h) { h.queue_bytes += 7; });
  refused([](auto& h) { h.queue_count = ~0u; });
  refused([](auto& h) { h.queue_count = 4097; });
  const std::string too_short = "it is too short";
  EXPECT_NE(message_for([](auto& h) { h.queue_count = 4096; }).find(too_short), std::string::npos);
  EXPECT_EQ(message_for([](auto& h) { h.queue_bytes = 1 << 16; }), "");
  refused([](auto& h) { h.queue_bytes = (1 << 16) + 8; });
  refused([](auto& h) { h.variant_count = 1025; });
  EXPECT_EQ(message_for([](auto& h) { h.variant_count = 1024; }), "");
  for (const uint32_t wrong : {0u, 184u, 193u, 65544u}) {
    EXPECT_EQ(message_for([&](auto& h) { h.variant_bytes = wrong; }), "");
    refused([&](auto& h) { h.variant_count = 1, h.variant_bytes = wrong; });
  }
  for (const uint32_t wrong : {8u, 184u, 193u, 65544u})
    refused([&](auto& h) { h.generator_bytes = wrong; });
  EXPECT_EQ(message_for([](auto& h) { h.generator_bytes = 200; }), "");
  refused([](auto& h) { h.histogram_buckets++; });
  refused([](auto& h) { h.histogram_buckets--; });
  const std::string other = message_for([](auto& h) { h.major = 7, h.minor = 3; });
  EXPECT_NE(other.find("'" + path.string() + "' has version 7.3, this library reads 1"),
            std::string::npos)
      << other;
}

// The bytes of a published segment, with each field at the place that the layout states.
TEST_F(TelemetryTest, HeaderDescribesTheLayout) {
  const std::vector<std::string> names = {"one", std::string(200, 'b')};
  const std::string name(130, 'n');
  const auto before = std::chrono::system_clock::now().time_since_epoch();
  const Telemetry t(name, 7, 3, names);
  const auto after = std::chrono::system_clock::now().time_since_epoch();
  std::ifstream in(t.path(), std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  const std::string file = bytes.str();
  telemetry::Header h;
  std::memcpy(&h, file.data(), sizeof h);
  EXPECT_EQ(std::string(h.magic.data(), 8), "POPRTTEL");
  EXPECT_EQ(std::pair(h.major, h.minor), std::pair(1u, 3u));
  EXPECT_EQ(h.generator_bytes, 0u);
  EXPECT_EQ(h.header_bytes, 256u);
  EXPECT_EQ(h.replica_bytes, 64u + 8 * 256 + 64);
  EXPECT_EQ(h.queue_bytes, 256u);
  EXPECT_EQ(h.queue_count, 3u);
  EXPECT_EQ(h.variant_bytes, 192u);
  EXPECT_EQ(h.variant_count, 2u);
  EXPECT_EQ(h.histogram_buckets, 256u);
  EXPECT_EQ(h.replica, 7u);
  EXPECT_EQ(h.pid, static_cast<uint64_t>(getpid()));
  EXPECT_GE(h.started_ns, static_cast<uint64_t>(nanoseconds(before).count()));
  EXPECT_LE(h.started_ns, static_cast<uint64_t>(nanoseconds(after).count()));
  EXPECT_EQ(std::string(h.name.data()), name.substr(0, 127));
  EXPECT_EQ(file.size(), 256u + 2176 + 3 * 256 + 2 * 192);
  const TelemetrySnapshot s = read_segment(t.path());
  ASSERT_EQ(s.variants.size(), 2u);
  EXPECT_EQ(s.variants[0].name, "one");
  EXPECT_EQ(s.variants[1].name, std::string(127, 'b'));
  EXPECT_TRUE(s.queues.empty()) << "none of them is in use";
}

TEST_F(TelemetryTest, MoreQueuesAndVariantsThanItHoldsAreLeftOut) {
  const std::vector<std::string> names(1025, "b");
  Telemetry t("m", 0, 5000, names);
  EXPECT_NE(t.name_queue(4095, "last", false, 1), nullptr);
  EXPECT_EQ(t.name_queue(4096, "none", false, 1), nullptr);
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_EQ(s.variants.size(), 1024u);
  ASSERT_EQ(s.queues.size(), 1u);
  EXPECT_EQ(s.queues[0].name, "last");
}

TEST_F(TelemetryTest, TimesThatRunBackwardsCountAsZero) {
  Telemetry t("m", 0, 0, std::vector<std::string>{"b"});
  const Telemetry::Clock::time_point start(std::chrono::seconds(7));
  t.completed(nanoseconds(-5));
  t.ran(start, start - nanoseconds(3));
  t.completed(nanoseconds(20));
  t.completed(nanoseconds(10));
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_EQ(s.completed, 3u);
  EXPECT_EQ(s.latency_sum_ns, 30u);
  EXPECT_EQ(s.latency_max_ns, 20u);
  EXPECT_EQ(s.histogram[0], 1u);
  EXPECT_EQ(s.runs, 1u);
  EXPECT_EQ(s.busy_ns, 0u);
  EXPECT_EQ(s.variants.at(0).busy_ns, 0u);
}

TEST_F(TelemetryTest, TheLastChangeIsTheEndOfARun) {
  Telemetry t("m", 0, 0);
  t.ran(Telemetry::Clock::time_point(nanoseconds(100)),
        Telemetry::Clock::time_point(nanoseconds(321)));
  std::ifstream in(t.path(), std::ios::binary);
  in.seekg(sizeof(telemetry::Header) + offsetof(telemetry::Replica, updated_ns));
  uint64_t updated = 0;
  in.read(reinterpret_cast<char*>(&updated), 8);
  EXPECT_EQ(updated, 321u);
}

TEST_F(TelemetryTest, ARingHasOneSetOfCountersForTheQueuesThatThereAre) {
  Telemetry t("m", 0, 2);
  t.enqueued(3), t.finished(1), t.stalled();  // nothing to count with yet
  const std::pair<std::string_view, bool> anchors[] = {{"x", false}, {"y", true}, {"z", true}};
  t.add_ring(anchors, 9);
  for (const uint64_t fill : {2, 5, 4}) t.enqueued(fill);
  t.finished(0);
  t.finished(2);
  t.stalled();
  const TelemetrySnapshot s = read_segment(t.path());
  ASSERT_EQ(s.queues.size(), 2u);
  EXPECT_EQ(s.queues[0].name, "x");
  EXPECT_EQ(s.queues[1].name, "y");
  EXPECT_FALSE(s.queues[0].is_output);
  EXPECT_TRUE(s.queues[1].is_output);
  for (const QueueSnapshot& q : s.queues) {
    EXPECT_EQ(q.capacity, 9u);
    EXPECT_EQ(q.enqueued, 3u);
    EXPECT_EQ(q.high_water, 5u);
    EXPECT_EQ(q.finished, 2u);
    EXPECT_EQ(q.fill, 1u);
    EXPECT_EQ(q.stalls, 1u);
  }
}

TEST_F(TelemetryTest, CountersThatAreReadAtDifferentMomentsAreNeverNegative) {
  Telemetry t("m", 0, 1);
  t.submitted();
  t.completed(nanoseconds(1));
  t.failed();
  telemetry::Queue* const q = t.name_queue(0, "x", false, 4);
  q->enqueued = 2;
  q->finished = 3;
  const TelemetrySnapshot s = read_segment(t.path());
  EXPECT_EQ(s.in_flight, 0u);
  EXPECT_EQ(s.queues.at(0).fill, 0u);
}

// Every quantile is the upper end of its bucket, but at most the greatest latency.
TEST(TelemetrySnapshot, QuantilesAreTheEndsOfBuckets) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; round++) {
    TelemetrySnapshot s;
    std::vector<uint64_t> latencies;
    for (uint64_t n = 1 + random() % 20; n-- > 0;) {
      const uint64_t shift = random() % 64;
      latencies.push_back(random() >> shift);
    }
    for (const uint64_t ns : latencies) s.histogram[telemetry::bucket_of(ns)]++;
    std::ranges::sort(latencies);
    s.latency_max_ns = latencies.back();
    for (const double q : {0.0, 0.25, 0.5, 0.75, 0.9, 1.0}) {
      size_t at = 0;  // the smallest latency that at least the part q does not exceed
      while (static_cast<double>(at + 1) < q * static_cast<double>(latencies.size())) at++;
      const size_t bucket = telemetry::bucket_of(latencies[at]);
      const uint64_t end = bucket == telemetry::bucket_of(UINT64_MAX)
                               ? UINT64_MAX
                               : telemetry::bucket_begin(bucket + 1) - 1;
      ASSERT_EQ(s.quantile_ns(q), std::min(end, s.latency_max_ns))
          << q << " of " << latencies.size();
    }
  }
  EXPECT_EQ(TelemetrySnapshot().quantile_ns(0.5), 0u);
  TelemetrySnapshot longest;  // the last bucket but one, and the last
  longest.histogram[250] = longest.histogram[251] = 1;
  longest.latency_max_ns = UINT64_MAX;
  EXPECT_EQ(longest.quantile_ns(0.5), (uint64_t{7} << 61) - 1);
  EXPECT_EQ(longest.quantile_ns(1), UINT64_MAX);
}

TEST(TelemetrySnapshot, AsJsonHasEveryField) {
  TelemetrySnapshot s;
  s.name = "m";
  s.pid = 11;
  s.replica = 12;
  s.alive = true;
  s.consistent = false;
  s.started_ns = 1'000;
  s.sampled_ns = 3'000;
  s.submitted = 14;
  s.completed = 2;
  s.failed = 5;
  s.in_flight = 7;
  s.latency_sum_ns = 9;
  s.latency_max_ns = 6;
  s.runs = 16;
  s.busy_ns = 17;
  s.histogram[3] = s.histogram[6] = 1;
  s.queues = {{"x", false, 1, 2, 3, 4, 5, 6}, {"y", true, 7, 8, 9, 10, 11, 12}};
  s.variants = {{"b", 20, 21}};
  const auto wanted = nlohmann::json::parse(R"({"name": "m", "pid": 11, "replica": 12,
    "alive": true, "consistent": false, "started_ns": 1000, "sampled_ns": 3000,
    "requests": {"submitted": 14, "completed": 2, "failed": 5, "in_flight": 7},
    "requests_per_second": 1e6, "runs": 16, "busy_ns": 17,
    "latency_ns": {"mean": 4.5, "p50": 3, "p90": 6, "p99": 6, "p99.9": 6, "max": 6,
                   "histogram": [[3, 1], [6, 1]]},
    "queues": [{"name": "x", "direction": "input", "capacity": 1, "fill": 2, "high_water": 3,
                "enqueued": 4, "finished": 5, "stalls": 6},
               {"name": "y", "direction": "output", "capacity": 7, "fill": 8, "high_water": 9,
                "enqueued": 10, "finished": 11, "stalls": 12}],
    "branches": [{"name": "b", "runs": 20, "busy_ns": 21}],
    "generator": {"slots": 4, "busy": 3, "waiting": 2, "submitted": 9, "ended": 5,
                  "prompt_tokens": 100, "reused_tokens": 30, "prompt_ns": 40, "decode_tokens": 50,
                  "decode_steps": 20, "decode_ns": 60, "max_length": 64, "places": 256,
                  "used_places": 70, "cache_bytes": 8192}})");
  GeneratorSnapshot& g = s.generator.emplace();
  g.slots = 4, g.max_length = 64, g.cache_bytes = 8192;
  g.busy = 3, g.waiting = 2, g.used = 70, g.submitted = 9, g.ended = 5;
  g.prompt_tokens = 100, g.reused_tokens = 30, g.prompt_ns = 40;
  g.decode_tokens = 50, g.decode_steps = 20, g.decode_ns = 60;
  EXPECT_EQ(nlohmann::json::parse(to_json(s)), wanted) << to_json(s);
  s.completed = 0;
  s.sampled_ns = s.started_ns;
  const auto idle = nlohmann::json::parse(to_json(s));
  EXPECT_EQ(idle["latency_ns"]["mean"], 0);
  EXPECT_EQ(idle["requests_per_second"], 0);
}

// The message for creating a segment while a limit of the process is this low.
std::string message_with_limit(int resource, uint64_t most) {
  rlimit before;
  getrlimit(static_cast<__rlimit_resource>(resource), &before);
  rlimit low = before;
  low.rlim_cur = most;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(static_cast<__rlimit_resource>(resource), &low);
  std::string error_text;
  try {
    const Telemetry t("m", 0, 0);
  } catch (const Error& e) {
    error_text = std::string(error_code_name(e.code())) + ": " + e.message();
  }
  setrlimit(static_cast<__rlimit_resource>(resource), &before);
  signal(SIGXFSZ, SIG_DFL);
  return error_text;
}

TEST_F(TelemetryTest, ASegmentThatCannotBeCreatedLeavesNoFile) {
  const std::string begin = "telemetry segment '" + std::filesystem::canonical(folder_).string();
  const std::string large = message_with_limit(RLIMIT_FSIZE, 1000);
  EXPECT_TRUE(large.starts_with("resource_exhausted: cannot allocate " + begin)) << large;
  EXPECT_TRUE(large.ends_with("': File too large")) << large;
  EXPECT_EQ(files(), 0u);
  const std::string open = message_with_limit(RLIMIT_NOFILE, 0);
  EXPECT_TRUE(open.starts_with("permission_denied: cannot make " + begin)) << open;
  EXPECT_TRUE(open.ends_with("': Too many open files")) << open;
  EXPECT_EQ(files(), 0u);
  EXPECT_NO_THROW(Telemetry("m", 0, 0));
}

TEST_F(TelemetryTest, NamesAreSafeToPrint) {
  const Telemetry t("a\x1f\x7f b~\xc3\xa4", 0, 0);
  EXPECT_EQ(read_segment(t.path()).name, "a?? b~\xc3\xa4");
}

TEST_F(TelemetryTest, SegmentsAreListedByPath) {
  std::vector<std::unique_ptr<Telemetry>> all;
  for (int i = 0; i < 12; i++) all.push_back(std::make_unique<Telemetry>("m", i, 0));
  const auto list = list_segments(folder_);
  ASSERT_EQ(list.size(), 12u);
  for (size_t i = 1; i < list.size(); i++) EXPECT_LT(list[i - 1].path, list[i].path);
}

}  // namespace
}  // namespace poprt::runtime
