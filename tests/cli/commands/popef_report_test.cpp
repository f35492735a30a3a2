#include "exec/support/popef_report.h"

#include <gtest/gtest.h>

namespace poprt::cli {
namespace {

// [4,8,3] of two bytes each has 192 bytes, of which a place has six.
TEST(PopefReport, ItemFillsWholePlacesOfOneRow) {
  EXPECT_EQ(item_bytes(48, {1, 8, 3}, 0.5), 24);
  EXPECT_EQ(item_bytes(48, {1, 8, 3}, 0.6), 24);
  EXPECT_EQ(item_bytes(48, {1, 8, 3}, 0.625), 30);
  EXPECT_EQ(item_bytes(48, {1, 8, 3}, 0.999), 42);
  EXPECT_EQ(item_bytes(48, {1, 8, 3}, 0), 6);
  EXPECT_EQ(item_bytes(32, {1, 8}, 0.25), 8);
}

TEST(PopefReport, InputWithoutPlacesIsWhole) {
  EXPECT_EQ(item_bytes(192, {4, 8, 3}, 0.5), 192);  // places of other sizes
  EXPECT_EQ(item_bytes(12, {3}, 0.5), 12);
  EXPECT_EQ(item_bytes(4, {}, 0.5), 4);
  EXPECT_EQ(item_bytes(0, {0, 3}, 0.5), 0);
  EXPECT_EQ(item_bytes(0, {3, 0}, 0.5), 0);
}

TEST(PopefReport, SummaryOfOneProcess) {
  std::vector<double> ms;
  for (int i = 0; i < 200; i++) ms.push_back(200 - i);  // 200, 199, ... 1
  EXPECT_EQ(summary({{"modelRunner", 2, 0.5, ms}}, {4, 50, 1, 1}),
            "runner: modelRunner, threads: 4, iterations: 50, batch size: 2\n"
            "latency ms: max 200.0000 min 1.0000 average 100.5000 P99 198.0000\n"
            "total: 500.00 ms, throughput: 800.0 samples/s\n");
}

TEST(PopefReport, ProcessesRunAtTheSameTime) {
  const std::vector<RunnerReport> reports = {
      {"modelRunner", 3, 2, {4, 2}}, {"modelRunner", 3, 1, {1, 5}}, {"modelRunner", 3, 0.5, {9}}};
  EXPECT_EQ(summary(reports, {1, 2, 3, 1}),
            "runner: modelRunner, threads: 1, iterations: 2, batch size: 3\n"
            "processes: 3, replicas in each: 1\n"
            "latency ms: max 9.0000 min 1.0000 average 4.2000 P99 9.0000\n"
            "total: 2000.00 ms, throughput: 15.0 samples/s\n");
}

TEST(PopefReport, ReportsProcessesAndReplicas) {
  const auto message_for = [](int64_t processes, int64_t replicas) {
    return summary({{"modelRunner", 1, 1, {1}}}, {1, 1, processes, replicas});
  };
  EXPECT_EQ(message_for(1, 1).find("processes"), std::string::npos);
  EXPECT_NE(message_for(1, 2).find("\nprocesses: 1, replicas in each: 2\n"), std::string::npos);
  EXPECT_NE(message_for(2, 1).find("\nprocesses: 2, replicas in each: 1\n"), std::string::npos);
}

TEST(PopefReport, LineIsReadAgain) {
  const std::string line = report_line({"packRunner", 7, 0.25, {1.5, 0.5}});
  EXPECT_EQ(line, R"({"runner":"packRunner","batch":7,"seconds":0.25,"latency_ms":[1.5,0.5]})");
  const RunnerReport read = read_report(line);
  EXPECT_EQ(read.kind, "packRunner");
  EXPECT_EQ(read.batch, 7);
  EXPECT_EQ(read.seconds, 0.25);
  EXPECT_EQ(read.ms, (std::vector<double>{1.5, 0.5}));
  EXPECT_EQ(read.throughput(), 56);
}

}  // namespace
}  // namespace poprt::cli
